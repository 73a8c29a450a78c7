import numpy as np
import pytest
import torch

from unmask.models.families.family import build_model
from unmask.objectives import vocabulary as vocabularies
from unmask.objectives.mlm import masked_lm_loss
from unmask.records import Batch, Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
RNG = np.random.default_rng(0)


def batch(rows: int, predicted: list[int]) -> Batch:
    ids = RNG.integers(5, 97, (rows, 12))
    return Batch(
        ids,
        np.tile(np.arange(12), (rows, 1)),
        np.ones((rows, 12), dtype=np.int64),
        np.array(predicted, dtype=np.int64),
        RNG.integers(5, 97, len(predicted)),
        np.arange(rows),
    )


def test_the_loss_is_the_summed_cross_entropy_at_the_hidden_positions_only() -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=12, dropout=0.0, seed=0).eval()
    some = batch(2, [1, 5, 13, 20])
    labels = torch.full((24,), -100)
    labels[some.predicted] = torch.from_numpy(some.targets)
    reference = model(input_ids=torch.from_numpy(some.ids), labels=labels.view(2, 12))
    outcome = masked_lm_loss(model, some)
    torch.testing.assert_close(outcome.loss / 4, reference.loss)
    best = reference.logits.flatten(0, 1).argmax(-1)[some.predicted]
    assert int(outcome.correct) == int((best == torch.from_numpy(some.targets)).sum())


def test_nothing_hidden_is_a_loss_of_zero_and_not_of_nan() -> None:
    model = build_model("modernbert", "tiny", VOCABULARY, length=12, dropout=0.0, seed=0)
    outcome = masked_lm_loss(model, batch(2, []))
    outcome.loss.backward()
    assert outcome.loss.item() == 0.0 and outcome.predicted == 0


def test_the_number_of_positions_is_rounded_so_that_shapes_are_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shapes: list[int] = []

    def states_at(model: object, predicted: torch.Tensor, **inputs: object) -> torch.Tensor:
        shapes.append(len(predicted))
        return real(model, predicted, **inputs)  # type: ignore[arg-type]

    real = vocabularies.states_at
    monkeypatch.setattr(vocabularies, "states_at", states_at)
    model = build_model("bert", "tiny", VOCABULARY, length=12, dropout=0.0, seed=0)
    for count in (1, 5, 64, 65):
        assert masked_lm_loss(model, batch(12, list(range(count)))).predicted == count
    assert shapes == [64, 64, 64, 128]
