"""The layers of a model: its repeated parts, which are compiled, cut up or computed again one at a time."""

from __future__ import annotations

from torch.nn import Module, ModuleList


def layers_of(learner: Module) -> list[Module]:
    """The numbered parts of every encoder and decoder in a learner; what is numbered inside them stays with them."""
    layers: list[Module] = []
    for child in learner.children():
        layers += list(child) if isinstance(child, ModuleList) else layers_of(child)
    return layers
