"""A model of transformers to the shorter way through it (`unmask.models.modernbert_rows`), where there is one.

In: a model. Out: what reads rows with its weights, which are shared and not copied. Transformers' classes are private
and may change with any version: where a model is not as is written there, or a small one disagrees, there is none.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from transformers import PreTrainedModel
from transformers.models.modernbert.modeling_modernbert import ModernBertForMaskedLM, ModernBertModel

from unmask.models.modernbert_cpu import is_plain, layers_differ, small_model
from unmask.models.modernbert_rows import RowEncoder, RowPredictor
from unmask.models.modernbert_shape import ModernBertShape


def row_encoder(model: PreTrainedModel) -> RowEncoder | None:
    """The shorter way through a model, where there is one: ModernBERT in float32 on a CPU."""
    shape = _shape(model)
    return None if shape is None else RowEncoder(shape, model.state_dict())


def row_predictor(model: PreTrainedModel) -> RowPredictor | None:
    """The shorter way to a model's logits, where there is one."""
    if type(model) is not ModernBertForMaskedLM or (shape := _shape(model.model)) is None:
        return None
    return RowPredictor.of(shape, model.state_dict())


def _shape(model: PreTrainedModel) -> ModernBertShape | None:
    """That of a model which may be read by rows."""
    if type(model) is not ModernBertModel or model.device.type != "cpu" or model.dtype != torch.float32:
        return None
    fits = is_plain(model) and layers_differ(model) is None and _agrees()
    return ModernBertShape.of(model.config.to_dict()) if fits else None


@cache
def _agrees() -> bool:
    """Whether a small model has the same states both ways. Takes some hundredths of a second."""
    with torch.random.fork_rng(), torch.inference_mode(), torch.autocast("cpu", enabled=False):
        torch.manual_seed(0)
        model = small_model()
        rows = [np.array([5, 6, 7], np.int32), *(np.arange(1, 21, dtype=np.int32),) * 2]
        asked = [np.array([1]), np.array([0, 19]), np.array([7])]
        try:
            expected = [model(input_ids=torch.from_numpy(row).long()[None]).last_hidden_state[0] for row in rows]
            shape = ModernBertShape.of(model.config.to_dict())
            if shape is None:
                return False
            encoder = RowEncoder(shape, model.state_dict())
            both = encoder.states(rows), encoder.states(rows, asked)
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            return False
        whole = torch.cat(expected), torch.cat([each[places] for each, places in zip(expected, asked, strict=True)])
        return all(torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4) for ours, theirs in zip(both, whole, strict=True))
