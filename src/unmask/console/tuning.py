"""Tuned models and what they say, for people in a terminal.

In: results. Out: pages at 80 columns, without colour too.
"""

from __future__ import annotations

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.answering import answer_sections
from unmask.console.layout import draw_page, draw_table, fact_line, next_commands, title_line
from unmask.console.tagging import tag_sections
from unmask.quantities import format_bar, format_duration, format_probability, with_interval
from unmask.results import (
    Figure,
    Judged,
    JudgedAnswers,
    JudgedTags,
    Overlap,
    Predicted,
    Tuned,
    TunedComparison,
    TunedDifference,
)

LABELS = 12  # that are shown, the worst of them where there are more
BY_FOLDS = "Each example is judged by a model that has not seen it; the one that is kept learnt from all but its dev."
MISTAKES = 5  # confusions that are shown
SHOWN = 5  # probabilities of a text
DEV_FIGURES = {  # of each task: the figure, and its name
    "classify": ("accuracy", "accuracy"),
    "tag": ("f1", "F1 of entities"),
    "answer": ("f1", "F1 of words"),
}
EXAMPLES = {"train": "the examples learnt from", "dev": "dev, which chose the moment"}
NO_SHARES = ("Spearman", "nDCG@10")  # figures that people do not give in percent
FEW = 100  # test texts, below which one more or less moves a figure by a point


def draw_tuned(result: Tuned) -> RenderableType:
    """A tuned model: what it learnt from, how well it does, beside what, and where it errs."""
    moment = "the last" if result.step == result.steps else "the best on dev"
    name, title = DEV_FIGURES[result.task]
    what = f"texts with {len(result.labels):,} labels" if result.labels else "questions"
    rows = [
        ("learnt from", f"{result.train:,}", what),
        ("held out (dev)", f"{result.dev:,}", f"{title} {result.figures[name]:.1%}"),
        ("step", f"{result.step:,}", f"of {result.steps:,}, {moment}; lr {result.lr:.1e}, {result.precision}"),
    ]
    if result.temperature is not None:
        rows.append(("temperature", f"{result.temperature:.2f}", "chosen on dev" + "; and thresholds" * result.several))
    return draw_page(
        title_line("Tuned", result.model, f"to {result.task}; {format_duration(result.seconds)} of steps"),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *untrained_note(result),
        *trial_sections(result),
        *_judged_sections(result),
        *leak_notes(result),
        fact_line("sha256", result.weights_sha256),
        next_commands(result.next),
    )


def untrained_note(result: Tuned) -> list[RenderableType]:
    """Said where no moment was better on dev than the beginning."""
    if result.step or not result.steps:
        return []
    line = "No moment did better on dev than the beginning, so that is kept: this model has learnt nothing here."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _judged_sections(result: Tuned) -> list[RenderableType]:
    """What is known of it beyond dev: by test, by folds, or nothing."""
    sections: list[RenderableType] = []
    for judged, by_folds in ((result.test, False), (result.folds, True)):
        if isinstance(judged, JudgedTags):
            sections += tag_sections(judged, "entities, by folds" if by_folds else "test entities")
        if isinstance(judged, JudgedAnswers):
            sections += answer_sections(judged, "questions, by folds" if by_folds else "test questions")
        if isinstance(judged, Judged):
            sections += _test_sections(judged, "texts, by folds" if by_folds else "test texts")
        if judged is not None and by_folds:
            sections.append(Padding(Text(BY_FOLDS), (0, 1)))
    if sections:
        return sections
    line = "No --test: what was chosen on dev looks better there than it is. Hold texts out that nothing is chosen on."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def trial_sections(result: Tuned, form: str = ".1%") -> list[RenderableType]:
    """The trials beside each other, and how far the figure hangs on the seed."""
    if not result.trials:
        return []
    tested = any(each.test is not None for each in result.trials)
    rows = [
        (
            each.name,
            f"{each.lr:.1e}",
            f"{each.seed}",
            format(each.dev, form),
            *(["" if each.test is None else format(each.test, form)] if tested else []),
        )
        for each in result.trials
    ]
    heads = ("trial", "lr", "seed", "dev", *(["test"] if tested else []))
    sections: list[RenderableType] = [draw_table(heads, rows, numbers=(*range(1, len(heads)),))]
    if (spread := result.spread) is not None:
        mean, deviation, least, most = (
            format(value, form) for value in (spread.mean, spread.deviation, spread.least, spread.most)
        )
        line = f"Over {spread.seeds} seeds {mean} ± {deviation} on test, from {least} to {most}."
        sections.append(Padding(Text(line), (0, 1)))
    return sections


def _test_sections(test: Judged, what: str) -> list[RenderableType]:
    """The figures of test, the labels and the mistakes."""
    ways = [("this model", test.accuracy, test.macro_f1), *((b.name, b.accuracy, b.macro_f1) for b in test.baselines)]
    rows = [(name, *with_interval(accuracy, ".1%"), *with_interval(macro, ".1%")) for name, accuracy, macro in ways]
    heads = (f"on {test.examples:,} {what}", "accuracy", "95 % interval", "macro F1", "95 % interval")
    worst = sorted(test.labels, key=lambda label: label.f1)[:LABELS]
    shown = [label for label in test.labels if label in worst]
    labels = [
        (label.label, f"{label.examples:,}", f"{label.precision:.1%}", f"{label.recall:.1%}", f"{label.f1:.1%}")
        for label in shown
    ]
    title = "label" if len(shown) == len(test.labels) else f"worst of {len(test.labels)} labels"
    sections: list[RenderableType] = [
        draw_table(heads, rows, numbers=(1, 2, 3, 4)),
        draw_table((title, "texts", "precision", "recall", "F1"), labels, numbers=(1, 2, 3, 4)),
    ]
    mistakes = [each for each in test.confusions if each.true != each.said][:MISTAKES]
    if mistakes and len(test.labels) > 2:
        table = [(each.true, each.said, f"{each.count:,}") for each in mistakes]
        sections.append(draw_table(("most often", "taken for", "times"), table, numbers=(2,)))
    return [*sections, *_notes(test, what)]


def _notes(test: Judged, what: str) -> list[RenderableType]:
    """What to mind of the figures."""
    lines = []
    if test.calibration_error is not None:
        lines.append(f"How sure it is and how often it is right differ by {test.calibration_error:.1%} on average.")
    if test.set_coverage is not None and test.set_size is not None:
        value, spread = with_interval(test.set_coverage, ".1%")
        lines.append(
            f"Sets have the true label in them for {value} ({spread}) of the texts, {test.set_size:.2f} labels each."
        )
    if test.doubtful:
        lines.append("Some test texts look like another label than theirs: read the doubtful ones in tuned.json.")
    if test.empty:
        lines.append(f"{test.empty:,} test lines without text are left out.")
    if test.examples < FEW:
        lines.append(f"Only {test.examples:,} {what}: each of them moves the figures by more than a point.")
    if test.errors:
        lines.append(
            f"The surest errors ({len(test.errors)}) are in tuned.json, to be read: some may be errors of the labels."
        )
    return [Padding(Text(" ".join(lines)), (0, 1))] if lines else []


def leak_notes(result: Tuned) -> list[RenderableType]:
    """What dev and test share with what was learnt from, and how often this test set has been looked at."""
    lines = [line for overlap in result.overlaps if (line := _overlap_line(overlap))]
    judged = result.test or result.folds
    if isinstance(judged, Judged | JudgedTags | JudgedAnswers):
        lines += without_leaks(judged.leaked, judged.examples, judged.headline_name, judged.clean_headline, ".1%")
    if result.measured_before:
        times = "model has" if result.measured_before == 1 else "models have"
        lines.append(
            f"{result.measured_before:,} other {times} been measured on this test set: what is chosen by it looks "
            "better than it is."
        )
    return [Padding(Text(line), (0, 1)) for line in lines]


def without_leaks(leaked: int, examples: int, name: str, clean: Figure | None, form: str) -> list[str]:
    """The headline without what leaked, if anything did."""
    if not leaked:
        return []
    if clean is None:
        return [f"{leaked:,} of {examples:,} leaked: too few are left for {name} without them."]
    value, spread = with_interval(clean, form)
    return [f"Without what leaked ({leaked:,}), {name} is {value} ({spread})."]


def _overlap_line(overlap: Overlap) -> str | None:
    where = f"{overlap.path}" if overlap.path is not None else EXAMPLES[overlap.source]
    if not overlap.known:
        if overlap.part == "dev":
            return None  # said once, of test
        return f"What {where} was trained on is not known here: leaks from there cannot be seen."
    parts = (
        (overlap.exact, "word for word"),
        (overlap.near, "nearly"),
        (overlap.runs, "by half of their runs of eight words or more"),
    )
    said = ", ".join(f"{count:,} {way}" for count, way in parts if count)
    return f"Already in {where}, of {overlap.texts:,} {overlap.part} texts: {said}." if said else None


def draw_predicted(result: Predicted) -> RenderableType:
    """A text and its likeliest labels."""
    said = ", ".join(result.labels) or "none of the labels"
    head = Text.assemble(
        (said, "bold green"), "  ", result.text if len(result.text) <= 200 else f"{result.text[:200]}…"
    )
    if result.pair is not None:
        head.append(f"  |  {result.pair[:200]}")
    ranked = sorted(result.probabilities.items(), key=lambda item: -item[1])[:SHOWN]
    rows = [(label, format_probability(share), format_bar(share)) for label, share in ranked]
    if result.label_set is not None:
        head.append(f"  (not ruled out: {', '.join(result.label_set)})")
    reading = f"{result.tokens_read:,} tokens in {result.windows:,} windows"
    return draw_page(
        head, draw_table(("", "", ""), rows, numbers=(1,)), *([Text(f"  {reading}")] * (result.windows > 1))
    )


def draw_tuned_comparison(result: TunedComparison) -> RenderableType:
    """Tuned runs beside each other, and how each differs from the first."""
    form = ".3f" if result.measure in NO_SHARES else ".1%"
    runs = [(str(each.path), *with_interval(each.score, form), f"{each.parameters:,}") for each in result.contenders]
    rows = []
    for each in result.differences:
        gap, spread = with_interval(each.difference, f"+{form}")
        rows.append((str(each.run), gap, spread, f"{each.only_this:,} : {each.only_other:,}", f"{each.p:.2g}"))
    narrower = [each.narrower for each in result.differences if each.narrower is not None]
    note = "The same examples for all: intervals of differences are paired"
    note += f", {_narrower(min(narrower))} of two samples." if narrower else "."
    first = result.contenders[0].path
    notes = [note, *(_over_seeds(each, form) for each in result.differences)]
    return draw_page(
        title_line("Compared", result.data, f"{result.task}; {result.examples:,} test examples"),
        draw_table(("run", result.measure, "95 % interval", "parameters"), runs, numbers=(1, 2, 3)),
        draw_table((f"against {first}", "difference", "95 % interval", "better on", "p"), rows, numbers=(1, 2, 3, 4)),
        *(Padding(Text(line), (0, 1)) for line in notes if line),
    )


def _narrower(times: float) -> str:
    """How much paired intervals gain."""
    return f"{times:.1f} times as narrow as" if times > 1 else "no narrower than"


def _over_seeds(difference: TunedDifference, form: str) -> str:
    """The same difference seed by seed, where both ways were tuned with several."""
    if (seeds := difference.over_seeds) is None:
        return ""
    gap, spread = with_interval(seeds.difference, f"+{form}")
    line = f"{difference.run} over {len(seeds.seeds)} seeds that both share: {gap} ({spread})"
    if seeds.narrower is None:
        return f"{line}."
    return f"{line}, an interval {_narrower(seeds.narrower)} with seeds of their own."
