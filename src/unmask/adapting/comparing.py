"""A model before and after, on all held-out text: losses with intervals, bits per byte, tokens a word.

In: what each document costs before and after. Out: `TextChange`s. Differences are paired by document. A loss in nats a
token compares models with one vocabulary; bits per byte compare those with different ones: before is then the model
as it was given, in its own tokens.
"""

from __future__ import annotations

from math import log

from unmask.adapting.start import AdaptStart
from unmask.adapting.validation import Losses
from unmask.intervals import difference_figure
from unmask.pretraining.validation import DocumentLosses
from unmask.results import Figure, TextChange
from unmask.tokens.store.dataset import Dataset


def compare_texts(start: AdaptStart, given: Losses, begun: Losses, after: Losses) -> dict[str, TextChange]:
    """What changed on the domain and, where there is some, on general text."""
    domain, general = (start.domain, start.general) if given is begun else (start.data, start.replay)
    changes = {"domain": compare_text((given.domain, domain), begun.domain, (after.domain, start.domain), start.data)}
    if start.general is not None and start.replay is not None:
        assert given.general is not None and begun.general is not None and after.general is not None
        assert general is not None
        before, later = (given.general, general), (after.general, start.general)
        changes["general"] = compare_text(before, begun.general, later, start.replay)
    return changes


def compare_text(
    before: tuple[DocumentLosses, Dataset], begun: DocumentLosses, after: tuple[DocumentLosses, Dataset], text: Dataset
) -> TextChange:
    """One text before and after, each in its tokens; `text` has its words."""
    words = max(1, sum(len(each.split()) for each in text.texts("valid")))
    bits = [_in_bits(*side) for side in (before, after)]
    return TextChange(
        before=begun.figure,
        after=after[0].figure,
        change=after[0].above(begun),
        bits_before=bits[0].figure,
        bits_after=bits[1].figure,
        bits_change=_difference(bits[1], bits[0]),
        fertility_before=before[1].split("valid").tokens / words,
        fertility_after=after[1].split("valid").tokens / words,
    )


def _in_bits(losses: DocumentLosses, dataset: Dataset) -> DocumentLosses:
    """The same in bits a byte."""
    return DocumentLosses(losses.nats * dataset.tokens_per_byte / log(2), losses.predictions, losses.correct)


def _difference(first: DocumentLosses, second: DocumentLosses) -> Figure:
    """One mean minus another over the same documents, whose predictions may differ in number."""
    measured = (first.predictions > 0) | (second.predictions > 0)
    sides = ((each.nats[measured], each.predictions[measured]) for each in (first, second))
    return difference_figure(*sides)
