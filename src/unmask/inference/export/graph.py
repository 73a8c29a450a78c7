"""A model as one ONNX graph: vectors with pooling inside, or fills where they are asked for.

In: a loaded model. Out: `model.onnx`, whose inputs may have any number of rows and any length that the model takes.

    vectors   input_ids B L, attention_mask B L                   ─▶ vectors B D, of length 1
    fills     input_ids B L, attention_mask B L, positions B P    ─▶ logits B P V, at the positions alone
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from unmask.errors import BadInput
from unmask.models.sparse import logits_at

Pooling = Literal["mean", "first"]
OPSET = 18
LONE = 1e-12  # what a vector of no length is divided by


class VectorGraph(nn.Module):
    """From tokens to one vector for each row, of length 1."""

    inputs = ("input_ids", "attention_mask")
    output = "vectors"

    def __init__(self, encoder: PreTrainedModel, pooling: Pooling) -> None:
        super().__init__()
        self.encoder, self.pooling = encoder, pooling

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """B L twice to B D."""
        states: Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        if self.pooling == "first":
            vectors = states[:, 0]
        else:
            real = attention_mask[:, :, None].to(states.dtype)
            vectors = (states * real).sum(1) / real.sum(1).clamp(min=1)
        normalised: Tensor = vectors / vectors.norm(dim=-1, keepdim=True).clamp(min=LONE)
        return normalised


class FillGraph(nn.Module):
    """From tokens and positions to the logits at those positions."""

    inputs = ("input_ids", "attention_mask", "positions")
    output = "logits"

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, positions: Tensor) -> Tensor:
        """B L, B L and B P to B P V; the head sees the positions alone."""
        rows, length = input_ids.shape
        begins = torch.arange(rows, device=input_ids.device)[:, None] * length
        flat = (begins + positions).flatten()
        logits = logits_at(self.model, flat, input_ids=input_ids, attention_mask=attention_mask)
        return logits.view(*positions.shape, -1)


Graph = VectorGraph | FillGraph


def write_onnx(graph: Graph, file: Path) -> None:
    """Write a graph with everything it needs in one file."""
    onnx_libraries()
    example = {
        "input_ids": torch.full((2, 8), 5),
        "attention_mask": torch.tensor([[1] * 8, [1] * 6 + [0] * 2]),
        "positions": torch.tensor([[1, 3, 4], [2, 4, 5]]),
    }
    rows, length, asked = (torch.export.Dim(name) for name in ("rows", "length", "asked"))
    axes: dict[str, dict[int, Any]] = {
        "input_ids": {0: rows, 1: length},
        "attention_mask": {0: rows, 1: length},
        "positions": {0: rows, 1: asked},
    }
    with _quietly(), torch.no_grad():
        program = torch.onnx.export(
            graph.eval(),
            kwargs={name: example[name] for name in graph.inputs},
            dynamic_shapes={name: axes[name] for name in graph.inputs},
            input_names=graph.inputs,
            output_names=[graph.output],
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
        assert program is not None  # dynamo gives one
        program.save(str(file), external_data=False)


def write_int8(onnx: Path, file: Path) -> None:
    """Write a graph whose products are of 8-bit integers: weights once, what they meet on the fly."""
    onnx_libraries()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _quietly():
        quantize_dynamic(
            onnx, file, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul", "Gemm"]
        )


def onnx_libraries() -> None:
    """Say what is missing, before anything is done, where the extra is not installed."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise BadInput(f"--to onnx needs {error.name}: pip install 'unmask[onnx]'") from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what torch and onnxruntime tell of their work."""
    loud = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(loud)
