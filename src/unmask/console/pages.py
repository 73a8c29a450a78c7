"""Results for people: what the verbs give back, as tables of rich.

In: a result of `unmask.results`. Out: something a console prints, at 80 columns and without colour too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType

from unmask.console.adapting import draw_adapted
from unmask.console.answering import draw_answered
from unmask.console.evaluating import draw_comparison, draw_evaluated, draw_trained
from unmask.console.examination import Verbatim, draw_examination
from unmask.console.explaining import draw_explained_label
from unmask.console.exporting import draw_exported, draw_written
from unmask.console.fate import draw_fate
from unmask.console.few import draw_few_tuned
from unmask.console.filling import draw_filled
from unmask.console.hiding import draw_audit, draw_hardness, draw_legend, draw_shown
from unmask.console.journey import draw_demonstrated
from unmask.console.plan import draw_plan
from unmask.console.preparing import draw_collocated, draw_prepared, draw_verified
from unmask.console.retrieval import draw_expanded, draw_relevance, draw_tuned_retrieval
from unmask.console.runs import draw_run, draw_runs
from unmask.console.scoring import draw_probe, draw_rescored, draw_scored
from unmask.console.searching import draw_embedded, draw_indexed, draw_near, draw_searched, draw_vectors_written
from unmask.console.serving import draw_serving
from unmask.console.similarity import draw_similarity, draw_tuned_similarity
from unmask.console.tagging import draw_tagged
from unmask.console.trial import draw_tried
from unmask.console.tuning import draw_predicted, draw_tuned, draw_tuned_comparison
from unmask.console.vocabulary import draw_sweep
from unmask.console.writing import draw_generated
from unmask.results import (
    Adapted,
    Answered,
    Audited,
    Collocated,
    Comparison,
    CompletionScript,
    Demonstrated,
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


PAGES: dict[type, Callable[[Any], RenderableType]] = {  # in the order of a journey
    Demonstrated: draw_demonstrated,
    Prepared: draw_prepared,
    RulesTried: draw_tried,
    Verified: draw_verified,
    Fate: draw_fate,
    TokenizerSweep: draw_sweep,
    Collocated: draw_collocated,
    Hardness: draw_hardness,
    Planned: draw_plan,
    Trained: draw_trained,
    RunList: draw_runs,
    RunStatus: draw_run,
    Evaluated: draw_evaluated,
    Comparison: draw_comparison,
    Adapted: draw_adapted,
    Scored: draw_scored,
    Rescored: draw_rescored,
    ProbeResult: draw_probe,
    Embedded: draw_embedded,
    VectorsWritten: draw_vectors_written,
    Indexed: draw_indexed,
    NearTexts: draw_near,
    Generated: draw_generated,
    FewTuned: draw_few_tuned,
    TunedComparison: draw_tuned_comparison,
    Predicted: draw_predicted,
    Tagged: draw_tagged,
    Answered: draw_answered,
    Similarity: draw_similarity,
    Relevance: draw_relevance,
    Expanded: draw_expanded,
    Written: draw_written,
    Exported: draw_exported,
    Serving: draw_serving,
    Examined: draw_examination,
}
TUNED_PAGES = {"similarity": draw_tuned_similarity, "retrieve": draw_tuned_retrieval}  # of tasks with their own
for kind, draw in PAGES.items():
    draw_result.register(kind, draw)


@draw_result.register
def _(result: Shown) -> RenderableType:
    return Coloured(lambda width, colour: draw_shown(result, width=width, colour=colour))


@draw_result.register
def _(result: Audited) -> RenderableType:
    return Coloured(lambda width, colour: draw_audit(result, colour=colour))


@draw_result.register
def _(result: Filled) -> RenderableType:
    return Coloured(lambda width, colour: draw_filled(result, colour=colour))


@draw_result.register
def _(result: Searched) -> RenderableType:
    return Coloured(lambda width, colour: draw_searched(result, width=width, colour=colour))


@draw_result.register
def _(result: Tuned) -> RenderableType:
    return TUNED_PAGES.get(result.task, draw_tuned)(result)


@draw_result.register
def _(result: ExplainedLabel) -> RenderableType:
    return Coloured(lambda width, colour: draw_explained_label(result, colour=colour))


@draw_result.register
def _(result: CompletionScript) -> RenderableType:
    return Verbatim(result.script)
