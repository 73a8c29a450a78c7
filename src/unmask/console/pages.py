"""Results for people: what the verbs give back, as tables of rich.

In: a result of `unmask.results`. Out: something a console prints, at 80 columns and without colour too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from itertools import islice
from math import isfinite, log
from pathlib import Path
from shlex import quote

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from unmask.console.adapting import draw_adapted
from unmask.console.answering import draw_answered
from unmask.console.documents import document_counts, first_names, office_hint, rule_rows
from unmask.console.examination import Verbatim, draw_examination
from unmask.console.explaining import draw_explained_label
from unmask.console.fate import draw_fate
from unmask.console.few import draw_few_tuned
from unmask.console.filling import draw_filled
from unmask.console.hiding import draw_audit, draw_hardness, draw_legend, draw_shown
from unmask.console.layout import draw_page, draw_table, fact_line, next_command, next_commands, title_line
from unmask.console.plan import draw_plan
from unmask.console.retrieval import draw_expanded, draw_relevance, draw_tuned_retrieval
from unmask.console.runs import draw_run, draw_runs
from unmask.console.scoring import draw_consistency, draw_probe, draw_rescored, draw_scored
from unmask.console.searching import draw_embedded, draw_indexed, draw_near, draw_searched, draw_vectors_written
from unmask.console.serving import draw_serving
from unmask.console.similarity import draw_similarity, draw_tuned_similarity
from unmask.console.tagging import draw_tagged
from unmask.console.trial import draw_tried
from unmask.console.tuning import draw_predicted, draw_tuned, draw_tuned_comparison
from unmask.console.vocabulary import draw_sweep
from unmask.console.writing import draw_generated
from unmask.evaluation.comparison_tables import comparison_tables
from unmask.files import free_place
from unmask.quantities import format_bytes, format_duration, spell_counts, with_interval
from unmask.results import (
    Adapted,
    Answered,
    Audited,
    Breakdown,
    Collocated,
    Comparison,
    CompletionScript,
    Demonstrated,
    Dependence,
    Embedded,
    Evaluated,
    Examined,
    Expanded,
    ExplainedLabel,
    Exported,
    Fate,
    FewTuned,
    Filled,
    Generated,
    Hardness,
    Indexed,
    NearTexts,
    Planned,
    Predicted,
    Prepared,
    ProbeResult,
    Relevance,
    Rescored,
    RulesTried,
    RunList,
    RunStatus,
    Scored,
    Searched,
    Serving,
    Shown,
    Similarity,
    Tagged,
    TokenizerSweep,
    Trained,
    Tuned,
    TunedComparison,
    VectorsWritten,
    Verified,
    Written,
)
from unmask.runs.commands import quoted_path, train_command

FEW_DOCUMENTS = 20  # documents, below which an interval that knows documents is not to be believed
MOST_GROUPS = 12  # languages or sources that are shown; JSON has all
BEST = 30  # collocations that are shown


def result_pages(result: object) -> Iterator[RenderableType]:
    """What a console prints for a result, or for several one after the other, as they come."""
    hides = False
    for item in result if isinstance(result, list | Iterator) else [result]:
        yield draw_result(item)
        hides |= isinstance(item, Shown)
    if hides:
        yield Coloured(lambda width, colour: draw_legend(colour=colour))


@dataclass(frozen=True)
class Coloured:
    """Text that is drawn another way where there is no colour."""

    draw: Callable[[int, bool], RenderableType]  # (width, colour)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw it for this console."""
        yield self.draw(options.max_width, console.color_system is not None and not console.no_color)


@singledispatch
def draw_result(result: object) -> RenderableType:
    """What a console prints for a result."""
    raise TypeError(f"nothing draws a {type(result).__name__}")


@draw_result.register
def _(result: Prepared) -> RenderableType:
    rows = [("files", f"{result.files:,}", format_bytes(result.bytes_read))]
    if len(result.formats) > 1:
        rows += [(f"files of {form}", f"{count:,}", "") for form, count in result.formats.items()]
    for encoding, count in result.encodings.items():
        rows.append((f"files in {encoding}", f"{count:,}", "the others are UTF-8" if count < result.files else ""))
    if result.passed_over:
        count = sum(result.passed_over.values())
        rows.append(("files passed over", f"{count:,}", spell_counts(result.passed_over)))
    if result.pages_without_text:
        rows.append(("pages without text", f"{result.pages_without_text:,}", "scanned, or blank"))
    rows += [(fate, f"{count:,}", "") for fate, count in document_counts(result)]
    rows += rule_rows(result)
    rows += [(f"tokens in {split}", f"{count:,}", "") for split, count in result.tokens.items()]
    for split, kinds in result.spans.items():
        rows += [(f"spans in {split}: {kind}", f"{count:,}", "") for kind, count in kinds.items()]
    if result.languages:
        rows.append(("languages", f"{len(result.languages):,}", first_names(result.languages)))
    rows.append(("vocabulary", f"{result.vocabulary:,}", result.tokenizer))
    return draw_page(
        title_line("Prepared", result.path, format_duration(result.seconds)),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *([_notice(hint)] if (hint := office_hint(result.passed_over)) else []),
        *_first_malformed(Path(result.path) / "quarantine.jsonl"),
        *([fact_line("near-duplicates", result.near_duplicates)] if result.near_duplicates else []),
        fact_line("fingerprint", result.fingerprint),
        *map(_notice, result.warnings),
        Group(*map(next_command, result.next)),
    )


def _notice(line: str) -> RenderableType:
    """Something to mind."""
    return Padding(Text(line, style="yellow"), (0, 2))


def _first_malformed(quarantine: Path) -> list[RenderableType]:
    """Why the first malformed line was left out: often the others were for the same reason."""
    if not quarantine.is_file():
        return []
    with quarantine.open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    place = f"{first['source']}:{first['line']}" if first["line"] else first["source"]
    return [_notice(f"first malformed  {place}: {first['reason']}")]


@draw_result.register
def _(result: Verified) -> RenderableType:
    verdict = f"{len(result.damage)} damaged" if result.damage else "nothing damaged"
    head = title_line("Verified", result.path, f"{result.files:,} files, {format_bytes(result.bytes)}: {verdict}")
    return draw_page(head, *(Text(f"  {line}", style="red") for line in result.damage))


@draw_result.register
def _(result: Fate) -> RenderableType:
    return draw_fate(result)


@draw_result.register
def _(result: Trained) -> RenderableType:
    rows = [
        ("recipe", result.recipe),
        ("parameters", f"{result.parameters:,}"),
        ("steps", f"{result.steps:,}"),
        ("tokens seen", f"{result.tokens:,}"),
        ("precision", result.precision),
        ("validation loss", f"{result.loss:.3f}"),
        *([("masked accuracy" if result.fills else "accuracy", f"{result.accuracy:.1%}")] * isfinite(result.accuracy)),
        *((name.replace("_", " "), f"{value:.3f}") for name, value in result.figures.items() if name != "accuracy"),
    ]
    return draw_page(
        title_line("Trained", result.model, f"{format_duration(result.seconds)} of steps"),
        draw_table(("", ""), rows, numbers=(1,)),
        fact_line("sha256", result.weights_sha256),
        *([next_commands(result.next)] if result.next else []),
    )


@draw_result.register
def _(result: Evaluated) -> RenderableType:
    rows = [
        ("loss, nats a token", *with_interval(result.loss, ".3f"), f"{result.unigram_loss:.3f}  unigram"),
        ("perplexity", *with_interval(result.perplexity, ",.1f"), ""),
        (
            "top-1 accuracy",
            *with_interval(result.top1, ".1%"),
            f"{result.most_frequent_top1:.1%}  most frequent token",
        ),
        ("top-5 accuracy", *with_interval(result.top5, ".1%"), ""),
        ("bits per byte", *with_interval(result.bits_per_byte, ".3f"), ""),
        ("context bits", *with_interval(result.context_bits, ".3f"), ""),
    ]
    if result.calibration is not None:
        sure = f"{result.calibration.confidence:.1%}  how sure it is"
        rows.append(("calibration error", *with_interval(result.calibration.error, ".1%"), sure))
    return draw_page(
        title_line("Evaluated", Path(result.model), f"on {result.positions:,} hidden tokens of {result.data}"),
        draw_table(("", "value", "95 % interval", "baseline"), rows, numbers=(1, 2)),
        _breakdowns("what the model saw there", result.by_kind),
        _breakdowns("how frequent the word is", result.by_frequency),
        *([_breakdowns("language", result.by_language)] if result.by_language else []),
        *([_breakdowns("source", result.by_source)] if result.by_source else []),
        *([] if result.consistency is None else [draw_consistency(result.consistency)]),
        *([] if result.dependence is None else [_dependence(result.dependence)]),
        Padding(Text(_context_bits_meaning(result)), (0, 1)),
        *_few_documents(result.documents),
    )


@draw_result.register
def _(result: Written) -> RenderableType:
    rows = [("lines", f"{result.lines:,}")]
    if result.continued_after:
        rows.append(("went on after line", f"{result.continued_after:,}"))
    if result.refused:
        rows.append(("refused, with their errors", f"{result.refused:,}"))
    return draw_page(title_line("Wrote", result.path, "a line of JSON each"), draw_table(("", ""), rows, numbers=(1,)))


@draw_result.register
def _(result: Exported) -> RenderableType:
    rows = [("output", result.output)]
    if result.texts:
        rows.append(("texts compared", f"{result.texts:,}"))
    if result.cosine is not None:
        rows.append(("mean cosine" if result.to == "int8" else "least cosine", f"{result.cosine:.6f}"))
    if result.same_fills is not None:
        rows.append(("best fills the same", f"{result.same_fills:.1%}"))
    if result.accuracy is not None:
        rows.append(("accuracy, before and after", " → ".join(f"{share:.1%}" for share in result.accuracy)))
    if result.speed is not None:
        rows.append(("times as fast as torch", f"{result.speed:.2f}"))
    head = title_line("Exported", result.path, f"{result.to}, {format_bytes(result.bytes)}")
    return draw_page(head, draw_table(("", ""), rows, numbers=(1,)), next_command(f"less {result.path}/README.md"))


@draw_result.register
def _(result: Filled) -> RenderableType:
    return Coloured(lambda width, colour: draw_filled(result, colour=colour))


@draw_result.register
def _(result: Shown) -> RenderableType:
    return Coloured(lambda width, colour: draw_shown(result, width=width, colour=colour))


@draw_result.register
def _(result: Audited) -> RenderableType:
    return Coloured(lambda width, colour: draw_audit(result, colour=colour))


@draw_result.register
def _(result: Collocated) -> RenderableType:
    best = result.phrases[:BEST]
    rows = [(phrase.text, f"{phrase.count:,}", f"{phrase.score:.2f}") for phrase in best]
    summary = f"{len(result.phrases):,} collocations, the best {len(best)} of them" if best else "no collocation"
    list_ = result.path or "phrases.txt"
    train = train_command(result.data, "--policy", "collocation", "--phrases", quoted_path(list_))
    mine = f"unmask collocations {quoted_path(result.data)} --out {quoted_path(list_)}"
    return draw_page(
        title_line("Found", result.path or result.data, f"{summary}; {format_duration(result.seconds)}"),
        *([draw_table(("", "count", "score"), rows, numbers=(1, 2))] if best else []),
        Padding(Text(_where_the_list_ends(result)), (0, 1)),
        next_command(train if result.path else mine),
    )


def _where_the_list_ends(result: Collocated) -> str:
    """At which score, and why there."""
    chance = f"words side by side by chance alone can reach {result.chance:.2f}"
    if result.above == result.chance:
        return f"stopped at score {result.above:.2f}, or before it by --top: {chance}; --above sets another"
    return f"stopped at score {result.above:.2f}, as asked, or before it by --top; {chance}"


draw_result.register(Adapted, draw_adapted)
draw_result.register(Hardness, draw_hardness)
draw_result.register(Planned, draw_plan)
draw_result.register(TokenizerSweep, draw_sweep)
draw_result.register(RulesTried, draw_tried)


@draw_result.register
def _(result: Comparison) -> RenderableType:
    budget = "".join(f"{value:,.10g} {name} each, " for name, value in result.budget.items())
    return draw_page(
        title_line("Compared", result.path, f"on {result.data}, {budget}seed {result.seed}"),
        *(draw_table(heads, rows, numbers=tuple(range(1, len(heads)))) for heads, rows in comparison_tables(result)),
        *(Padding(Text(note, style="yellow"), (0, 1)) for note in result.notes),
        Padding(Text(NOT_DEFINED), (0, 1)),
        fact_line("plot", str(result.plot)),
        *([next_command(f"unmask runs {result.path}")] if any(run.trained_here for run in result.runs) else []),
    )


NOT_DEFINED = (
    "– is not known or not defined: a model that restores no masks has no masked loss, and one that gives a text no "
    "probability no bits for it. One seed each: intervals know the text that was measured on, not another training."
)


draw_result.register(RunList, draw_runs)
draw_result.register(RunStatus, draw_run)
draw_result.register(Examined, draw_examination)
draw_result.register(Scored, draw_scored)
draw_result.register(Rescored, draw_rescored)
draw_result.register(ProbeResult, draw_probe)
draw_result.register(Embedded, draw_embedded)
draw_result.register(VectorsWritten, draw_vectors_written)
draw_result.register(Indexed, draw_indexed)
draw_result.register(NearTexts, draw_near)


@draw_result.register
def _(result: Searched) -> RenderableType:
    return Coloured(lambda width, colour: draw_searched(result, width=width, colour=colour))


draw_result.register(FewTuned, draw_few_tuned)
draw_result.register(TunedComparison, draw_tuned_comparison)
TUNED_PAGES = {"similarity": draw_tuned_similarity, "retrieve": draw_tuned_retrieval}  # of tasks with their own
draw_result.register(Predicted, draw_predicted)
draw_result.register(Tagged, draw_tagged)
draw_result.register(Answered, draw_answered)


@draw_result.register
def _(result: ExplainedLabel) -> RenderableType:
    return Coloured(lambda width, colour: draw_explained_label(result, colour=colour))


draw_result.register(Similarity, draw_similarity)
draw_result.register(Relevance, draw_relevance)
draw_result.register(Expanded, draw_expanded)


@draw_result.register
def _(result: Tuned) -> RenderableType:
    return TUNED_PAGES.get(result.task, draw_tuned)(result)


@draw_result.register
def _(result: Generated) -> RenderableType:
    return draw_generated(result)


@draw_result.register
def _(result: Serving) -> RenderableType:
    return draw_serving(result)


@draw_result.register
def _(result: CompletionScript) -> RenderableType:
    return Verbatim(result.script)


def _dependence(found: Dependence) -> RenderableType:
    """What knowing of each other brings to what is hidden."""
    rows = [
        ("each on its own", *with_interval(found.independent, ".3f")),
        ("one after another", *with_interval(found.dependent, ".3f")),
        ("what that brings", *with_interval(found.gain, ".3f")),
    ]
    return draw_table(("how hidden tokens are predicted", "loss", "95 % interval"), rows, numbers=(1, 2))


def _few_documents(count: int) -> list[RenderableType]:
    """A warning where intervals and entropies rest on too little text to be believed."""
    from unmask.tokens.advice import FEW

    if count >= FEW:
        return []
    line = f"Only {count} held-out documents: intervals are wide; prepare with more text or a larger --valid."
    if count < FEW_DOCUMENTS:
        line = f"Only {count} held-out documents: intervals are too narrow, context bits too low; hold out more text."
    return [Padding(Text(line, style="yellow"), (0, 1))]


def _context_bits_meaning(result: Evaluated) -> str:
    """What context bits say; a sample's own entropy is too low an estimate where it has few tokens."""
    bits, saved = result.context_bits.value, (result.unigram_loss - result.loss.value) / log(2)
    meaning = "Context bits are the unigram entropy of the hidden tokens minus the loss."
    if bits <= 0 < saved:
        return (
            f"{meaning} Of so few tokens that entropy comes out too low for them to say anything; beside the "
            f"frequencies of the training text (unigram) the model saves {saved:.2f} bits a token."
        )
    if bits <= 0:
        return f"{meaning} This model does no better than the frequencies of the tokens alone."
    return (
        f"{meaning} The context tells at least {bits:.2f} bits about a hidden token: a lower bound, "
        "for a better model would get more out of the same context."
    )


@draw_result.register
def _(result: Demonstrated) -> RenderableType:
    data, run = result.prepared.path, result.trained.path
    bert, my_data, my_run = (free_place(place) for place in (run.parent / "bert", Path("my_data"), Path("my_run")))
    return draw_page(
        next_command(f"unmask fill {run} {quote(result.after[-1].text)}"),
        next_command(f"unmask show {data} {quote(result.shown)}"),
        next_command(f"unmask evaluate {run} {data}"),
        next_command(train_command(data, "--recipe", "bert-tiny", out=bert, minutes=2)),
        next_command(f"unmask compare {run} {bert} --data {data}"),
        next_command(f"unmask prepare my_texts/ --out {my_data}"),
        next_command(train_command(my_data, out=my_run)),
    )


def _breakdowns(title: str, breakdowns: dict[str, Breakdown]) -> Table:
    rows = [
        (name, f"{breakdown.positions:,}", f"{breakdown.loss.value:.3f}", *with_interval(breakdown.top1, ".1%"))
        for name, breakdown in islice(breakdowns.items(), MOST_GROUPS)
    ]
    return draw_table((title, "hidden", "loss", "top-1", "95 % interval"), rows, numbers=(1, 2, 3, 4))
