"""The whole journey on text that every machine has: what `make demo` runs.

In: nothing but this machine's own documentation. Out: a data directory, a run and a story of both on the terminal:
the corpus in figures, a sentence as the policy hides it, the model before and after, and what to try next.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask import progress
from unmask.console.documents import document_counts
from unmask.console.hiding import draw_shown
from unmask.evaluation.intrinsic import evaluate
from unmask.inference.fill import fill_blanks
from unmask.inference.held_out_fills import write_fills
from unmask.inference.show import show_text
from unmask.models.load import LoadedModel, load_model
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.quantities import format_bar
from unmask.results import Demonstrated, Evaluated, Filled, Prepared
from unmask.runs.directory import Run
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode
from unmask.training.budget import Budget
from unmask.training.machine.computing import FASTEST

SENTENCES = 5
SENTENCE = re.compile(r"(?<![^.\n] )\b[A-Z][a-z][^.!?:;()\[\]<>{}`\"\n]{50,110}\.(?=\s|$)")
WORD = re.compile(r"(?<= )[a-z]{5,12}(?= )")


@dataclass(frozen=True)
class HiddenWord:
    """A held-out sentence with one word hidden."""

    text: str
    answer: str


def demo(out: Path, minutes: float, seed: int) -> Demonstrated:
    """Prepare, hide, train, measure and fill, telling the story on the way."""
    console, budget = progress.console(), Budget(minutes=minutes)
    data, run = out / "data", out / "run"
    shutil.rmtree(run, ignore_errors=True)
    chapter(console, "1", "Prepare", "the documentation that is already on this machine becomes tokens")
    prepared = prepare(["builtin"], data, vocab_size=8192, overwrite=True)
    console.print(corpus_in_figures(prepared))
    dataset = Dataset.open(data)

    chapter(console, "2", "Corrupt", "15 % of the tokens are hidden: masked, replaced or kept")
    blanks = held_out_blanks(dataset, SENTENCES)
    sentence = blanks[0].text.replace("[MASK]", blanks[0].answer)
    shown = show_text(dataset.tokenizer(), sentence, seed=seed)
    colour = console.color_system is not None
    console.print(Padding(draw_shown(shown, width=console.width - 4, colour=colour), (0, 2)))

    chapter(console, "3", "Pretrain", "an encoder learns to restore them from both sides")
    plan = recipe_named("tiny")  # in so short a time it gets further than a larger one
    model = untrained_model(dataset, plan, seed)
    texts = [blank.text for blank in blanks]
    before = fill_blanks(model, texts, top=5)
    trained = pretrain(data, run, plan, budget, seed=seed, computing=FASTEST, tell=write_fills)
    evaluated = evaluate(run, data)
    console.print(improvement(run, evaluated))

    chapter(console, "4", "Use", "five sentences it never saw, a word hidden in each")
    after = fill_blanks(load_model(run), texts, top=5)
    console.print(before_and_after(blanks, before, after, colour=colour))
    return Demonstrated(
        prepared=prepared,
        trained=trained,
        evaluated=evaluated,
        before=tuple(before),
        after=tuple(after),
        shown=sentence,
    )


def chapter(console: Console, number: str, title: str, line: str) -> None:
    """A heading of the story."""
    console.print(f"\n[bold cyan]{number}  {title}[/]  [dim]{line}[/]\n")


def corpus_in_figures(prepared: Prepared) -> Padding:
    """What was gathered, and what was made of it."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(justify="right", style="bold")
    for fate, count in document_counts(prepared):
        table.add_row(fate, f"{count:,}")
    table.add_row("tokens to train on", f"{prepared.tokens['train']:,}")
    table.add_row("tokens held out", f"{prepared.tokens['valid']:,}")
    table.add_row("vocabulary", f"{prepared.vocabulary:,}")
    return Padding(table, (1, 0, 0, 0))


def held_out_blanks(dataset: Dataset, count: int) -> list[HiddenWord]:
    """Sentences of held-out documents from all over the text, each with its most common longer word hidden."""
    blanks = [blank for text in dataset.texts("valid") if (blank := _blank(text, dataset))]
    return blanks[:: max(1, len(blanks) // count)][:count]


def _blank(text: str, dataset: Dataset) -> HiddenWord | None:
    """The first sentence with a word in its later part that is one token of the vocabulary."""
    tokenizer = dataset.tokenizer()
    for sentence in SENTENCE.findall(text):
        words = list(WORD.finditer(sentence))
        words = words[len(words) // 3 :]  # late enough for a context on both sides
        tokens = encode(tokenizer, [f" {word[0]}" for word in words])
        common = {
            int(dataset.counts[ids[0]]): word for word, (ids, *_) in zip(words, tokens, strict=True) if len(ids) == 1
        }
        if common:
            word = common[max(common)]
            return HiddenWord(f"{sentence[: word.start()]}[MASK]{sentence[word.end() :]}", word[0])
    return None


def untrained_model(dataset: Dataset, recipe: Recipe, seed: int) -> LoadedModel:
    """The model as it is before its first step."""
    pretraining = Pretraining.of(dataset, recipe, seed)
    model = pretraining.objective.masked_lm(pretraining.learner())
    assert model is not None
    return LoadedModel.of(
        dataset.path, model.eval(), dataset.tokenizer(), dataset.vocabulary, recipe.settings.lengths.longest
    )


def improvement(run: Path, evaluated: Evaluated) -> Padding:
    """Loss and masked accuracy on the held-out masks as they improved, beside what needs no model."""
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("", "loss", "accuracy"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_column("")
    table.add_row("always the most frequent token", "", f"{evaluated.most_frequent_top1:.1%}", style="dim")
    table.add_row("only how frequent each token is", f"{evaluated.unigram_loss:.2f}", "", style="dim")
    for figures in Run(run, {}).read_log():
        for prefix, when in (("validation_", f"step {figures['step']:,}"), ("final_", "[bold]all that is held out[/]")):
            if f"{prefix}loss" in figures:
                loss, accuracy = figures[f"{prefix}loss"], figures[f"{prefix}accuracy"]
                table.add_row(when, f"{loss:.2f}", f"{accuracy:.1%}", f"[green]{format_bar(accuracy, 40)}[/]")
    return Padding(table, (1, 2))


def before_and_after(blanks: list[HiddenWord], before: list[Filled], after: list[Filled], *, colour: bool) -> Padding:
    """The five best guesses for each blank, by the untrained and by the trained model; the hidden word is marked."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for blank, early, late in zip(blanks, before, after, strict=True):
        head, tail = blank.text.split("[MASK]")
        answer = (blank.answer, "bold underline") if colour else f"[{blank.answer}]"
        table.add_row("text", Text.assemble(head, answer, tail))
        table.add_row("before", _guess_line(early, blank.answer))
        table.add_row("after", _guess_line(late, blank.answer))
        table.add_row()
    return Padding(table, (0, 2))


def _guess_line(result: Filled, answer: str) -> Text:
    """Guesses with their probabilities; the right one stands out, by a sign too."""
    guesses = [
        Text.assemble(
            (
                f"✓ {guess.token}" if guess.token == answer else guess.token,
                "bold green" if guess.token == answer else "",
            ),
            f" {guess.probability:.0%}",
        )
        for guess in result.blanks[0]
    ]
    return Text(" · ").join(guesses)
