"""Recipes side by side: each trained under the same budget on the same data, and asked the same.

In: a data directory, recipes and a budget. Out: `Comparison`, and a directory with an ordinary run for each recipe,
`compare.json`, `README.md` and `compare.png`. What was found out is never found out again: killed, it goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.evaluation import intrinsic
from unmask.evaluation.chart import draw_chart
from unmask.evaluation.comparison_tables import comparison_tables
from unmask.evaluation.features import encoder_of, load_encoder
from unmask.evaluation.ledger import Ledger, open_ledger
from unmask.evaluation.likelihood import bits_per_byte
from unmask.evaluation.probes import majority_score, probe_score
from unmask.evaluation.questions import ProbeTask, labelled_texts, order_task, punctuation_task, tagged_words
from unmask.files import explain_disk_errors, sha256_of, write_json
from unmask.planning.cost import cost_of
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.settings import Recipe
from unmask.progress import say
from unmask.results import ComparedRun, Comparison, Figure, Probed, to_plain
from unmask.tokens.held_out import HELD_OUT_LENGTH
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint
from unmask.training.budget import Budget
from unmask.training.interrupt import Interruption, interruptible
from unmask.training.session import Session

AGAIN = "the same command with --resume"
FLAGS = {"seed": "--seed", **{f"budget.{name}": f"--{name}" for name in ("minutes", "steps", "tokens", "flops")}}
GENERATOR, MODEL = "generator", "model"  # of the directories a run exports, the first is the masked LM if it is there


@dataclass(frozen=True)
class Entry:
    """A recipe, and what can be said of it before it is trained."""

    recipe: Recipe
    budget: Budget
    masked: str | None  # the directory of its run that restores masked tokens; none where nothing does
    bound: bool  # whether what it says of a text's likelihood is a bound


@dataclass(frozen=True)
class Setting:
    """What all recipes have in common."""

    dataset: Dataset
    out: Path
    seed: int
    questions: tuple[ProbeTask, ...]
    ledger: Ledger
    interruption: Interruption

    def once(self, entry: Entry, stage: str, find: Any) -> Any:
        """Find something out about a recipe, if it is not known; then is a good moment to stop."""
        answer = self.ledger.once(f"{entry.recipe.name}: {stage}", find)
        if self.interruption.pending:
            raise self.interruption.error(
                f"stopped after {stage} of {entry.recipe.name}, saved in {self.out}; to go on: {AGAIN}"
            )
        return answer


def compare(
    data: Path,
    out: Path,
    recipes: Sequence[Recipe],
    budget: Budget,
    *,
    flops: float | None = None,
    seed: int = 0,
    probe_texts: Path | None = None,
    probe_tags: Path | None = None,
    resume: bool = False,
) -> Comparison:
    """Train recipes under one budget, of time, tokens or floating-point work, and ask them the same."""
    check_comparison(recipes, budget, flops)
    dataset = Dataset.open(data)
    questions = probe_tasks(dataset, probe_texts, probe_tags)
    entries = [entry_of(recipe, dataset, seed, budget, flops) for recipe in recipes]
    settings = {
        "recipes": {recipe.name: asdict(recipe) for recipe in recipes},
        "data": dataset.fingerprint,
        "budget": {**asdict(budget), "flops": flops},
        "seed": seed,
        "files": [sha256_of(file) for file in (probe_texts, probe_tags) if file is not None],
    }
    with open_ledger(out, settings, resume=resume, flags=FLAGS) as ledger, interruptible() as interruption:
        setting = Setting(dataset, out, seed, questions, ledger, interruption)
        runs = tuple(compared_run(entry, setting) for entry in entries)
        comparison = Comparison(
            path=out,
            data=data,
            budget={name: value for name, value in settings["budget"].items() if value is not None},  # type: ignore[attr-defined]
            seed=seed,
            runs=runs,
            plot=out / "compare.png",
        )
        write_json(out / "compare.json", to_plain(asdict(comparison)))
        with explain_disk_errors(out):
            comparison.plot.write_bytes(draw_chart(comparison))
            (out / "README.md").write_text(comparison_readme(comparison), encoding="utf-8")
    return comparison


def comparison_readme(comparison: Comparison) -> str:
    """The tables, in Markdown."""
    sections = [f"# {', '.join(run.recipe for run in comparison.runs)}, under the same budget"]
    sections.append(
        "What is defined for each of them, with 95 % intervals; one seed. `compare.json` has the same and more."
    )
    for heads, lines in comparison_tables(comparison):
        rule = ["---", *["---:"] * (len(heads) - 1)]
        sections.append("\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *lines)))
    return "\n\n".join([*sections, f"![compare.png]({comparison.plot.name})"]) + "\n"


def check_comparison(recipes: Sequence[Recipe], budget: Budget, flops: float | None) -> None:
    """Refuse what cannot be meant."""
    names = [recipe.name for recipe in recipes]
    if not names:
        raise BadInput("nothing to compare: give --recipes bert,electra and so on")
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"--recipes: {twice[0]} is named twice")
    if budget.is_set == (flops is not None):
        raise BadInput("how long? give one of --minutes, --tokens or --flops")
    if flops is not None and not flops > 0:
        raise BadInput(f"--flops {flops}: give a number above 0")


def probe_tasks(dataset: Dataset, probe_texts: Path | None, probe_tags: Path | None) -> tuple[ProbeTask, ...]:
    """The two that held-out text answers itself, where there is enough of it, and those of the user's files."""
    texts = list(dataset.texts("valid"))
    tasks = [task for task in (order_task(texts), punctuation_task(texts)) if task.is_enough]
    if len(tasks) < 2:
        say("[yellow]too little held-out text for the probes order and punctuation: prepare with a larger --valid[/]")
    if probe_texts is not None:
        tasks.append(labelled_texts(probe_texts))
    if probe_tags is not None:
        tasks.append(tagged_words(probe_tags))
    return tuple(tasks)


def entry_of(recipe: Recipe, dataset: Dataset, seed: int, budget: Budget, flops: float | None) -> Entry:
    """Look at a recipe as it would begin; one that cannot is told before anything is trained."""
    try:
        pretraining = Pretraining.of(dataset, recipe, seed)
        pretraining.job()
    except BadInput as error:
        raise BadInput(f"{recipe.name}: {error}") from error
    learner, objective = pretraining.learner(), pretraining.objective
    exported = objective.exports(learner)
    restores = objective.masked_lm(learner) is not None
    masked = None if not restores else GENERATOR if GENERATOR in exported else MODEL
    if flops is not None:
        budget = Budget(steps=max(1, round(flops / cost_of(pretraining).a_step)))
    gc.collect()  # models have cycles, and the next one wants their memory
    return Entry(recipe, budget, masked, "bound" in objective.terms)


def compared_run(entry: Entry, setting: Setting) -> ComparedRun:
    """One recipe: trained, measured and asked."""
    run, recipe = setting.out / entry.recipe.name, entry.recipe
    say(f"[bold cyan]{recipe.name}[/]")

    def train() -> Any:
        data, budget = setting.dataset.path, entry.budget
        return to_plain(asdict(pretrain(data, run, recipe, budget, seed=setting.seed, resume=True, again=AGAIN)))

    training = setting.once(entry, "training", train)
    masked = None
    if entry.masked:
        masked = setting.once(entry, "masks", lambda: mask_figures(run / str(entry.masked), entry, setting))
    text = setting.once(entry, "likelihood", lambda: likelihood(run, training["steps"], entry, setting))
    return ComparedRun(
        recipe=recipe.name,
        run=run,
        parameters=training["parameters"],
        steps=training["steps"],
        tokens=training["tokens"],
        seconds=training["seconds"],
        tokens_per_second=training["tokens"] / max(1e-9, training["seconds"]),
        masked_loss=figure_from_json(masked and masked["loss"]),
        masked_accuracy=figure_from_json(masked and masked["accuracy"]),
        hidden_bits_per_byte=figure_from_json(masked and masked["bits_per_byte"]),
        text_bits_per_byte=figure_from_json(text),
        text_bound=entry.bound,
        figures=training["figures"],
        probes={question.name: probe_result(question, run, entry, setting) for question in setting.questions},
    )


def mask_figures(model: Path, entry: Entry, setting: Setting) -> dict[str, Any]:
    """What it makes of the fixed masks."""
    length = min(HELD_OUT_LENGTH, entry.recipe.settings.length)
    result = intrinsic.evaluate(model, setting.dataset.path, length=length)
    return {"loss": asdict(result.loss), "accuracy": asdict(result.top1), "bits_per_byte": asdict(result.bits_per_byte)}


def likelihood(run: Path, steps: int, entry: Entry, setting: Setting) -> dict[str, float] | None:
    """What held-out text costs it, where its objective says so."""
    pretraining = Pretraining.of(setting.dataset, entry.recipe, setting.seed)
    session = Session.begin(pretraining.job(), steps)
    newest = checkpoint.newest(run / "checkpoints")
    if newest is None:
        return None
    session.restore(newest)
    cost = bits_per_byte(session.learner, pretraining.validation(session.learner))
    return None if cost is None else asdict(cost)


def probe_result(question: ProbeTask, run: Path, entry: Entry, setting: Setting) -> Probed:
    """What can be read off its vectors, after training and before."""

    def untrained() -> dict[str, float]:
        pretraining = Pretraining.of(setting.dataset, entry.recipe, setting.seed)
        model = pretraining.objective.exports(pretraining.learner())[MODEL].model
        return asdict(probe_score(encoder_of(model, setting.dataset.tokenizer()), question))

    name, test_count = question.name, int(question.is_test.sum())
    score = setting.once(entry, name, lambda: asdict(probe_score(load_encoder(run / MODEL), question)))
    before = setting.once(entry, f"{name} before training", untrained)
    return Probed(
        kind=question.kind,
        score=Figure(**score),
        untrained=Figure(**before),
        majority=majority_score(question),
        learnt=len(question.items) - test_count,
        tested=test_count,
    )


def figure_from_json(fields: dict[str, float | None] | None) -> Figure | None:
    """A figure as it comes back from JSON, where an interval that is not known is null."""
    if not fields:
        return None
    return Figure(**{name: float("nan") if value is None else value for name, value in fields.items()})
