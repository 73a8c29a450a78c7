"""An encoder whose vectors a logistic regression labels.

In: rows of tokens. Out: the mean over the tokens of the last layer, of length 1, and what the regression makes of it.
The encoder learns from pairs, the regression from the vectors of the examples, whenever the model is measured. To
everything else this is a classifier like any other.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import Module
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel

from unmask.errors import Damaged
from unmask.objectives.objective import device_of
from unmask.records import Reals
from unmask.task_batches import LabelledBatch
from unmask.tasks.classify.calibration import mean_loss
from unmask.tasks.classify.classifier import Classifier, classify_card
from unmask.tasks.classify.validation import ROWS, TOKENS, LabelledValidation
from unmask.tasks.few.labelling_model import LabellingModel, RowLogits
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuned_model import read_card
from unmask.tokens.bucket import batches_by_length
from unmask.training.machine.distributed import World

PAIRS = "pairs"  # the task of its card
HEAD = "head.safetensors"  # the regression, beside the encoder
STRENGTHS = (1.0, 10.0, 100.0)  # of the examples against small weights; dev chooses
ITERATIONS = 300


class VectorModel(LabellingModel):
    """An encoder, and a linear head on its vectors that no gradient reaches."""

    weight: Tensor
    bias: Tensor

    def __init__(self, inner: PreTrainedModel, labels: int) -> None:
        super().__init__(inner, labels)
        width = int(inner.config.get_text_config().hidden_size)
        self.register_buffer("weight", torch.zeros(labels, width, device=inner.device), persistent=False)
        self.register_buffer("bias", torch.zeros(labels, device=inner.device), persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **inputs: Any) -> RowLogits:
        """R C: what the head says of each row."""
        vectors = self.row_vectors(input_ids, attention_mask, **inputs)
        return RowLogits(F.linear(vectors, self.weight, self.bias))

    def row_vectors(self, input_ids: Tensor, attention_mask: Tensor, **inputs: Any) -> Tensor:
        """R D: the mean over the tokens of each row, of length 1."""
        encoder: Any = self.inner.get_encoder() if self.inner.config.is_encoder_decoder else self.inner
        states = encoder(input_ids=input_ids, attention_mask=attention_mask, **inputs).last_hidden_state.float()
        real = attention_mask.unsqueeze(-1).to(states.dtype)
        return F.normalize((states * real).sum(1) / real.sum(1), dim=-1)

    def vectors(self, batch: LabelledBatch) -> Tensor:
        """B D: the mean over the rows of each text, of length 1."""
        device = device_of(self)
        arrays = {"input_ids": batch.ids, "attention_mask": batch.real, "token_type_ids": batch.types}
        inputs = {name: torch.from_numpy(array).to(device) for name, array in arrays.items() if array is not None}
        by_row = self.row_vectors(**inputs)
        owners = torch.from_numpy(batch.owners).to(device)
        sums = by_row.new_zeros(len(batch.targets), by_row.shape[1]).index_add(0, owners, by_row)
        return F.normalize(sums, dim=-1)


@torch.no_grad()
def text_vectors_of(model: VectorModel, rows: TextRows) -> Reals:
    """N D: the vectors of texts."""
    vectors: Reals = np.zeros((len(rows.tokens), model.weight.shape[1]))
    was_training = model.training
    model.train(False)
    for places in batches_by_length(rows.work, tokens=TOKENS, rows=ROWS):
        found, owners = rows.rows_of(places)
        ids, real, types = rows.padded(found)
        targets = np.zeros((len(places), 1))
        batch = LabelledBatch(ids=ids, real=real, types=types, owners=owners, targets=targets)
        vectors[places] = model.vectors(batch).double().cpu().numpy()
    model.train(was_training)
    return vectors


@dataclass(frozen=True, eq=False)
class VectorValidation(LabelledValidation):
    """Measures on held-out texts what a regression on the vectors of the examples says."""

    train_rows: TextRows
    train_targets: Reals

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Fit the head to the examples, and measure on what is held out."""
        assert isinstance(learner, VectorModel)
        self.fit_head(learner)
        return super().measure(learner, limit, world)

    def fit_head(self, model: VectorModel) -> None:
        """The regression whose strength serves the held-out texts best."""
        learnt, held_out = (text_vectors_of(model, rows) for rows in (self.train_rows, self.rows))
        fits = [fit_regression(learnt, self.train_targets, strength) for strength in STRENGTHS]
        losses = [mean_loss(held_out @ weight.T + bias, self.targets, several=False) for weight, bias in fits]
        weight, bias = fits[int(np.argmin(losses))]
        model.weight.copy_(torch.from_numpy(weight))
        model.bias.copy_(torch.from_numpy(bias))


def fit_regression(vectors: Reals, targets: Reals, strength: float) -> tuple[Reals, Reals]:
    """C D weights and C biases of a logistic regression; of two labels the first has none."""
    regression = LogisticRegression(C=strength, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not settled after so many rounds: taken as it is
        regression.fit(vectors, targets.argmax(1))
    weight, bias = np.zeros((targets.shape[1], vectors.shape[1])), np.zeros(targets.shape[1])
    rows = regression.classes_[1:] if len(regression.classes_) == 2 else regression.classes_
    weight[rows], bias[rows] = regression.coef_, regression.intercept_
    return weight, bias


def save_head(model: VectorModel, directory: Path) -> None:
    """Put the regression beside the encoder."""
    save_file({"weight": model.weight.contiguous(), "bias": model.bias.contiguous()}, directory / HEAD)


class VectorClassifier(Classifier):
    """An encoder and a regression that label texts."""

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_card(path, PAIRS, classify_card)
        self.load_weights(AutoModel, device, precision)
        model = VectorModel(self.model, len(self.card.labels))
        try:
            for name, tensor in load_file(self.directory / HEAD).items():
                getattr(model, name).copy_(tensor)
        except (OSError, RuntimeError, AttributeError) as error:
            raise Damaged(f"{self.directory / HEAD}: cannot be read ({error}); tune again") from error
        self.model = model.train(False)
