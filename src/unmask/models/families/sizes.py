"""Sizes of models: how deep and how wide, the same for every family."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Size:
    """Layers, width, attention heads, and how much a layer sees that looks around itself only (ModernBERT's)."""

    layers: int
    width: int
    heads: int
    window: int = 128  # tokens, half of them on each side

    @property
    def spread(self) -> float:
        """Standard deviation of fresh weights: 0.7 / √width, near BERT's 0.02 at its width of 768.

        0.02 at a width of 128 leaves attention so flat that it takes a third more steps to learn to look around.
        """
        return 0.7 / sqrt(self.width)


# Small models learn to look around sooner where half of their layers can do nothing else: at mini, 100 steps of 4,096
# tokens come to 6.67 nats with a window of 32 and to 6.46 with one of 8.
SIZES = {
    "tiny": Size(2, 128, 2, window=8),
    "mini": Size(4, 256, 4, window=8),
    "small": Size(6, 384, 6, window=8),
    "base": Size(12, 768, 12),
}
