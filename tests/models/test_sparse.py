import torch
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.models.sparse import logits_at

IDS = torch.randint(5, 211, (3, 17), generator=torch.Generator().manual_seed(1))
SEEN = torch.ones_like(IDS)
SEEN[1, 12:] = 0
PREDICTED = torch.tensor([0, 3, 16, 17, 20, 28, 50])


def test_logits_at_predicted_positions_equal_the_full_computation(model: PreTrainedModel) -> None:
    inputs = {"input_ids": IDS, "attention_mask": SEEN}
    full = model(**inputs).logits.flatten(0, 1)[PREDICTED]
    torch.testing.assert_close(logits_at(model, PREDICTED, **inputs), full, rtol=0, atol=1e-5)


def test_gradients_through_predicted_positions_equal_the_full_computation(model: PreTrainedModel) -> None:
    targets = torch.arange(len(PREDICTED))
    gradients = []
    for logits in (
        model(input_ids=IDS).logits.flatten(0, 1)[PREDICTED],
        logits_at(model, PREDICTED, input_ids=IDS),
    ):
        model.zero_grad()
        F.cross_entropy(logits, targets).backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    for name, expected in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], expected, rtol=0, atol=1e-5)


def test_the_model_is_as_before_afterwards_even_when_it_fails(model: PreTrainedModel) -> None:
    before = model(input_ids=IDS).logits
    logits_at(model, PREDICTED, input_ids=IDS)
    try:
        logits_at(model, torch.tensor([10_000]), input_ids=IDS)
    except (IndexError, RuntimeError):
        pass
    else:
        raise AssertionError("a position outside the batch was accepted")
    assert torch.equal(model(input_ids=IDS).logits, before)


def test_nothing_predicted_gives_no_logits(model: PreTrainedModel) -> None:
    assert logits_at(model, torch.zeros(0, dtype=torch.long), input_ids=IDS).shape == (0, 211)
