"""How a model writes text: what it was trained for, and what kind it is.

In: a model directory. Out: its method.

    diffusion   a masked language model of a run whose objective is diffusion
    masked      any other masked language model
    causal      a model that looks to the left alone: GPT-2, ours or not
    spans       an encoder-decoder that spells out what sentinels stand for: T5
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from unmask.errors import BadInput
from unmask.inference.score import trained_objective
from unmask.models.load_causal import is_causal_lm
from unmask.models.masked_lm import is_masked_lm
from unmask.models.settings import SPAN_MODELS, model_type

WritingMethod = Literal["diffusion", "masked", "causal", "spans"]


def method_of(directory: Path) -> WritingMethod:
    """How the model of a directory writes; that of a run by what it was trained for in the end."""
    kind = model_type(directory)
    try:
        masked = is_masked_lm(directory)
    except (ValueError, KeyError) as error:
        raise BadInput(
            f"{directory}: cannot load a model of type {kind!r}: its code is not part of transformers"
        ) from error
    if masked:
        objective = trained_objective(directory)
        if objective == "causal":
            raise BadInput(
                f"{directory}: {kind} was trained from left to right by a mask that transformers' own class does not "
                "put on, and cannot write; a run of the recipe causal can"
            )
        return "diffusion" if objective == "diffusion" else "masked"
    if kind in SPAN_MODELS:
        return "spans"
    if not is_causal_lm(directory):
        raise BadInput(f"{directory}: nothing here writes with {kind}; masked, causal and T5 models write")
    return "causal"
