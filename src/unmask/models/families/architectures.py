"""What the architectures of transformers can do with rows, by `model_type`: ours, and those that others bring.

In: a configuration's `model_type`. Out: facts that no configuration states, each proven by a test of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Architecture:
    """How an architecture sees the tokens of a row.

    Documents of one row are kept apart by a mask, where attention takes one of its own for each row and positions can
    start again in it; or by the inputs that its objective makes; or they cannot be.
    """

    apart: Literal["mask", "objective"] | None = None
    left_to_right: bool = False  # no token sees a later one, whatever the mask
    positions_after_padding: bool = False  # they are counted from the padding id + 1
    padding: int | None = None  # … which is this, whatever the vocabulary says
    adds_mask: bool = False  # attention adds the mask to its logits: flags would be ones and zeros

    @property
    def packs(self) -> bool:
        """Whether a row may hold several documents."""
        return self.apart is not None


MASKED = Architecture(apart="mask")
AFTER_PADDING = Architecture(apart="mask", positions_after_padding=True)
BY_OBJECTIVE = Architecture(apart="objective")  # positions are relative, so that a document may stand anywhere
ALONE = Architecture()

ARCHITECTURES = {
    "bert": MASKED,
    "modernbert": MASKED,
    "roberta": AFTER_PADDING,
    "xlm-roberta": AFTER_PADDING,
    "xlm-roberta-xl": AFTER_PADDING,
    "ernie": MASKED,
    "electra": MASKED,
    "gpt2": Architecture(apart="mask", left_to_right=True),
    "xlnet": BY_OBJECTIVE,
    "t5": BY_OBJECTIVE,
    "deberta-v2": ALONE,  # refuses a mask for each row
    "albert": MASKED,
    "distilbert": MASKED,
    "mpnet": Architecture(apart="mask", positions_after_padding=True, padding=1, adds_mask=True),
}


def architecture(model_type: str) -> Architecture:
    """What is known of an architecture; of one that nobody tested, nothing is taken for granted.

    >>> architecture("gpt2").left_to_right, architecture("made-yesterday").packs
    (True, False)
    """
    return ARCHITECTURES.get(model_type, ALONE)
