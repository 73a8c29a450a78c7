"""Recipes and models side by side: recipes trained under the same budget on the same data, and all asked the same.

In: a data directory, recipes and a budget, and models that exist. Out: `Comparison`, and a directory with an ordinary
run for each recipe, `compare.json`, `README.md` and `compare.png`. What was found out is never found out again: killed,
it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from unmask.errors import BadInput, MissingOption
from unmask.evaluation import intrinsic
from unmask.evaluation.chart import draw_chart
from unmask.evaluation.comparison_tables import comparison_notes, comparison_tables
from unmask.evaluation.contenders import (
    Contender,
    contender_names,
    model_contender,
    recipe_contender,
    tokenizer_digest,
    trained_before,
    untrained_encoder,
    weights_digest,
)
from unmask.evaluation.document_costs import DocumentCosts
from unmask.evaluation.ledger import Ledger, open_ledger
from unmask.evaluation.likelihood import bits_per_byte
from unmask.evaluation.probes import majority_score, probe_score
from unmask.evaluation.questions import ProbeTask, labelled_texts, order_task, punctuation_task, tagged_words
from unmask.files import explain_disk_errors, sha256_of, write_json
from unmask.inference.vectors import load_encoder
from unmask.pretraining.pretrain import pretrain
from unmask.pretraining.settings import Recipe
from unmask.progress import say
from unmask.results import ComparedRun, Comparison, Figure, Probed, to_plain
from unmask.runs.directory import BEST, CHECKPOINTS
from unmask.tokens.held_out import HELD_OUT_LENGTH
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint
from unmask.training.budget import Budget
from unmask.training.interrupt import Interruption, interruptible
from unmask.training.machine.computing import Computing
from unmask.training.precision import AUTO
from unmask.training.session import Session

AGAIN = "the same command with --resume"
FLAGS = {"seed": "--seed", **{f"budget.{name}": f"--{name}" for name in ("minutes", "steps", "tokens", "flops")}}


@dataclass(frozen=True)
class Setting:
    """What all of them have in common."""

    dataset: Dataset
    out: Path
    length: int  # of the rows that tokens are hidden in
    tokenizer: str  # of those whose loss and accuracy compare
    questions: tuple[ProbeTask, ...]
    computing: Computing  # of those that are trained
    ledger: Ledger
    interruption: Interruption

    def once(self, contender: Contender, stage: str, find: Any) -> Any:
        """Find something out about one of them, if it is not known; then is a good moment to stop."""
        answer = self.ledger.once(f"{contender.name}: {stage}", find)
        if self.interruption.pending:
            raise self.interruption.error(
                f"stopped after {stage} of {contender.name}, saved in {self.out}; to go on: {AGAIN}"
            )
        return answer


def compare(
    data: Path,
    out: Path,
    recipes: Sequence[Recipe],
    budget: Budget,
    *,
    models: Sequence[Path] = (),
    flops: float | None = None,
    seed: int = 0,
    precision: str = AUTO,
    probe_texts: Path | None = None,
    probe_tags: Path | None = None,
    resume: bool = False,
) -> Comparison:
    """Train recipes under one budget, of time, tokens or floating-point work; ask them and existing models the same."""
    check_comparison(recipes, models, budget, flops)
    computing = Computing(precision=precision)  # a run keeps its own, so the ledger need not
    names = contender_names(models, taken=[recipe.name for recipe in recipes])
    dataset = Dataset.open(data)
    questions = probe_tasks(dataset, probe_texts, probe_tags)
    existing = [model_contender(path, name, dataset) for path, name in zip(models, names, strict=True)]
    trained = [recipe_contender(recipe, dataset, out, seed=seed, budget=budget, flops=flops) for recipe in recipes]
    contenders = [*existing, *trained]
    settings: dict[str, Any] = {
        "recipes": {recipe.name: asdict(recipe) for recipe in recipes},
        "models": {contender.name: weights_digest(contender) for contender in existing},
        "data": dataset.fingerprint,
        "budget": {**asdict(budget), "flops": flops},
        "seed": seed,
        "files": [sha256_of(file) for file in (probe_texts, probe_tags) if file is not None],
    }
    length = min([HELD_OUT_LENGTH, *(contender.length for contender in contenders if contender.length)])
    tokenizer = common_tokenizer(contenders, dataset)
    with open_ledger(out, settings, resume=resume, flags=FLAGS) as ledger, interruptible() as interruption:
        setting = Setting(dataset, out, length, tokenizer, questions, computing, ledger, interruption)
        comparison = Comparison(
            path=out,
            data=data,
            budget={name: value for name, value in settings["budget"].items() if value is not None},
            seed=seed,
            length=length,
            runs=beside_the_first([(contender, compared_run(contender, setting)) for contender in contenders], setting),
            plot=out / "compare.png",
        )
        comparison = replace(comparison, notes=tuple(comparison_notes(comparison)))
        write_json(out / "compare.json", to_plain(asdict(comparison)))
        with explain_disk_errors(out):
            comparison.plot.write_bytes(draw_chart(comparison))
            (out / "README.md").write_text(comparison_readme(comparison), encoding="utf-8")
    return comparison


def common_tokenizer(contenders: Sequence[Contender], dataset: Dataset) -> str:
    """Whose loss and accuracy are set side by side: those with the data's tokenizer, else with the first one's."""
    tokenizers = [contender.tokenizer for contender in contenders if contender.masked is not None]
    own = tokenizer_digest(dataset.tokenizer())
    return own if own in tokenizers or not tokenizers else tokenizers[0]


def comparison_readme(comparison: Comparison) -> str:
    """The tables, in Markdown."""
    equal = ", under the same budget" if all(run.trained_here for run in comparison.runs) else ", side by side"
    sections = [f"# {', '.join(run.name for run in comparison.runs)}{equal}"]
    sections.append(
        "What is defined for each of them, with 95 % intervals; one seed. `compare.json` has the same and more."
    )
    for heads, lines in comparison_tables(comparison):
        rule = ["---", *["---:"] * (len(heads) - 1)]
        sections.append("\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *lines)))
    sections += [f"- {note}" for note in comparison.notes]
    return "\n\n".join([*sections, f"![compare.png]({comparison.plot.name})"]) + "\n"


def check_comparison(recipes: Sequence[Recipe], models: Sequence[Path], budget: Budget, flops: float | None) -> None:
    """Refuse what cannot be meant."""
    names = [recipe.name for recipe in recipes]
    if not names and not models:
        raise BadInput("nothing to compare: name runs or model directories, or give --recipes bert,electra and so on")
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"--recipes: {twice[0]} is named twice")
    if not names and (budget.is_set or flops is not None):
        raise BadInput(
            "a budget is for training, and models that exist are not trained: leave it out, or give --recipes"
        )
    if names and budget.is_set == (flops is not None):
        kind = BadInput if budget.is_set else MissingOption
        raise kind("how long? give one of --minutes, --tokens or --flops")
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


def compared_run(contender: Contender, setting: Setting) -> ComparedRun:
    """One of them: trained if it has to be, measured and asked."""
    say(f"[bold cyan]{escape(contender.name)}[/]")
    if contender.budget is None:
        training = setting.once(contender, "history", lambda: trained_before(contender))
    else:
        training = setting.once(contender, "training", lambda: train(contender, setting))
    masked = None
    if contender.masked is not None:
        masked = setting.once(contender, "masks", lambda: mask_figures(contender, setting))
    text = setting.once(contender, "likelihood", lambda: likelihood(contender, training["steps"]))
    tokens, seconds = training["tokens"], training["seconds"]
    same_tokenizer = contender.tokenizer == setting.tokenizer
    by_token = masked if same_tokenizer else None
    fingerprint = contender.description.get("data")
    return ComparedRun(
        name=contender.name,
        recipe=contender.recipe,
        run=contender.path,
        trained_here=contender.budget is not None,
        same_data=contender.budget is not None or (fingerprint and fingerprint == setting.dataset.fingerprint),
        parameters=training["parameters"],
        steps=training["steps"],
        tokens=tokens,
        seconds=seconds,
        tokens_per_second=tokens / max(1e-9, seconds) if tokens and seconds else None,
        precision=training.get("precision") or contender.description.get("computing", {}).get("precision"),
        same_tokenizer=same_tokenizer or masked is None,
        masked_loss=figure_from_json(by_token and by_token["loss"]),
        masked_accuracy=figure_from_json(by_token and by_token["accuracy"]),
        hidden_bits_per_byte=figure_from_json(masked and masked["bits_per_byte"]),
        text_bits_per_byte=figure_from_json(text),
        text_bound=contender.bound,
        figures=training["figures"],
        probes={question.name: probe_result(question, contender, setting) for question in setting.questions},
    )


def beside_the_first(runs: Sequence[tuple[Contender, ComparedRun]], setting: Setting) -> tuple[ComparedRun, ...]:
    """Each with its masked loss beyond that of the first that has one: the masks are the same, so they are paired."""
    costs: dict[str, DocumentCosts] = {}
    for contender, run in runs:
        if run.masked_loss is not None:
            masked = setting.once(contender, "masks", lambda contender=contender: mask_figures(contender, setting))
            if "documents" not in masked:  # an earlier version has found it out
                return tuple(run for _, run in runs)
            costs[run.name] = DocumentCosts(*(np.array(masked["documents"][name]) for name in ("nats", "tokens")))
    first = next(iter(costs.values()), None)
    beyond = {name: cost.beyond(first) for name, cost in costs.items() if first is not None and cost is not first}
    return tuple(replace(run, beyond_first=beyond.get(run.name)) for _, run in runs)


def train(contender: Contender, setting: Setting) -> Any:
    """Train a recipe, or go on where it was stopped."""
    pretraining, budget = contender.pretraining, contender.budget
    assert pretraining is not None and budget is not None
    trained = pretrain(
        setting.dataset.path,
        contender.path,
        pretraining.recipe,
        budget,
        seed=pretraining.seed,
        resume=True,
        computing=setting.computing,
        again=AGAIN,
    )
    return to_plain(asdict(trained))


def mask_figures(contender: Contender, setting: Setting) -> dict[str, Any]:
    """What it makes of the fixed masks."""
    assert contender.masked is not None
    tokens: list[intrinsic.RestoredTokens] = []
    result = intrinsic.evaluate(contender.masked, setting.dataset.path, length=setting.length, on_tokens=tokens.append)
    costs = DocumentCosts.of(tokens[0])
    return {
        "loss": asdict(result.loss),
        "accuracy": asdict(result.top1),
        "bits_per_byte": asdict(result.bits_per_byte),
        "documents": {"nats": costs.nats.tolist(), "tokens": costs.tokens.tolist()},
    }


def likelihood(contender: Contender, steps: int | None) -> dict[str, float] | None:
    """What held-out text costs it, where its objective says so and it was trained on this data."""
    pretraining = contender.pretraining
    best = contender.description.get("keeps_best")
    moment = None if pretraining is None else checkpoint.newest(contender.path / (BEST if best else CHECKPOINTS))
    if pretraining is None or moment is None or steps is None:
        return None
    session = Session.begin(pretraining.job(), steps, fresh=False)
    session.restore_weights(moment)
    cost = bits_per_byte(session.learner, pretraining.validation(session.learner))
    return None if cost is None else asdict(cost)


def probe_result(question: ProbeTask, contender: Contender, setting: Setting) -> Probed:
    """What can be read off its vectors, after training and before."""
    name, test_count = question.name, int(question.is_test.sum())
    score = setting.once(contender, name, lambda: asdict(probe_score(load_encoder(contender.probed), question)))
    before = setting.once(
        contender, f"{name} before training", lambda: asdict(probe_score(untrained_encoder(contender), question))
    )
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
