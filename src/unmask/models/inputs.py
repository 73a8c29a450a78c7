"""A batch as a model takes it, so that packed documents do not see each other.

In: a `Batch` of arrays. Out: the keyword arguments of a transformers encoder.

Encoders ignore packed positions when they build their masks: editing the second document of a block changes the
logits of the first, silently. A block-diagonal mask, L×L for each row, keeps documents apart; where every row holds
one document an ordinary padding mask does the same for less. On a CPU neither is made where attention over what may be
seen (`models.attention`) takes less time.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from unmask.models.attention import Seen, SeenMask
from unmask.models.families.architectures import architecture
from unmask.models.layers import layers_of
from unmask.records import Batch


def as_inputs(model: PreTrainedModel, batch: Batch, *, causal: bool = False) -> dict[str, Any]:
    """The model's keyword arguments for a batch; `causal` hides from each token what comes after it.

    A block-diagonal mask for a row that holds documents 1 1 2 0 (0 is padding, which sees only itself), and the same
    from left to right:

        1  # # . .      # . . .
        1  # # . .      # # . .
        2  . . # .      . . # .
        0  . . . #      . . . #
    """
    can = architecture(model.config.model_type)
    causal = causal or can.left_to_right
    ids, documents = torch.from_numpy(batch.ids), torch.from_numpy(batch.documents)
    device = model.device
    single = int(documents.max()) <= 1
    if single and (not causal or can.left_to_right) and not _has_windows(model, documents):
        real = documents > 0
        return {"input_ids": ids.to(device), "attention_mask": None if real.all() else real.long().to(device)}
    if can.apart != "mask":
        cannot = "look to the left alone" if single else "keep packed documents apart"
        raise ValueError(f"{model.config.model_type} cannot {cannot}")
    positions = torch.from_numpy(batch.positions)
    if can.padding is not None:
        positions = learned_positions(ids, positions, can.padding)
    elif can.positions_after_padding:
        positions = positions + model.config.pad_token_id + 1
    return {
        "input_ids": ids.to(device),
        "position_ids": positions.to(device),
        "attention_mask": _masks(model, documents.to(device), causal),
    }


def learned_positions(ids: Tensor, positions: Tensor, padding: int) -> Tensor:
    """B L: positions in each document as a model counts them that takes an id for padding which is none here.

    They begin after that id, and whatever bears it has no place of its own: it is at the padding's, and not counted.

    >>> learned_positions(torch.tensor([[2, 9, 1, 8, 2, 7]]), torch.tensor([[0, 1, 2, 3, 0, 1]]), padding=1)
    tensor([[2, 3, 1, 4, 2, 3]])
    """
    skipped = (ids == padding).long()
    before = skipped.cumsum(1) - skipped
    begins = torch.arange(ids.shape[1], device=ids.device) - positions
    return torch.where(skipped > 0, padding, positions + padding + 1 - (before - before.gather(1, begins)))


def additive_mask(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the logits of attention: nothing where something is seen, and the lowest number elsewhere."""
    mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)


def _masks(model: PreTrainedModel, documents: Tensor, causal: bool) -> Tensor | dict[str, Tensor | None] | None:
    """The mask itself, or one for each kind of layer where some see only a window; none where everything is seen."""
    takes_parts, adds_mask = _takes_parts(model), architecture(model.config.model_type).adds_mask

    def mask(window: int | None) -> Tensor | None:
        seen = Seen(documents, window, causal)
        if adds_mask:
            return additive_mask(seen.dense, model.dtype)
        return SeenMask.of(seen) if takes_parts else seen.dense

    window = getattr(model.config, "sliding_window", None)
    return mask(None) if window is None else {"full_attention": mask(None), "sliding_attention": mask(window)}


def _has_windows(model: PreTrainedModel, documents: Tensor) -> bool:
    """Whether some layers see only a window of rows so long that the rest of them is better not looked at."""
    window = getattr(model.config, "sliding_window", None)
    can = architecture(model.config.model_type)
    return window is not None and can.apart == "mask" and _takes_parts(model) and Seen(documents, window).pays


def _takes_parts(model: PreTrainedModel) -> bool:
    """Whether attention may be computed in parts: on a CPU, and not compiled, which would be done for each packing."""
    return model.device.type == "cpu" and not any(layer._compiled_call_impl for layer in layers_of(model))
