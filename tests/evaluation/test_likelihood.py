"""What a text costs is the sum of what its tokens cost; a model that gives no probability has no cost."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path

import pytest
import torch

from unmask.evaluation.likelihood import bits_per_byte
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.validation import MaskedValidation
from unmask.results import Figure
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session


@pytest.fixture(scope="module")
def session(data: Path) -> Callable[[str], Session]:
    def begin(kind: str) -> Session:
        return Session.begin(Pretraining.of(Dataset.open(data), recipe_named(f"{kind}-tiny", length=64)).job(), 4)

    return begin


def cost_of(session: Session) -> Figure | None:
    assert isinstance(session.validation, MaskedValidation)
    return bits_per_byte(session.learner, session.validation)


def test_left_to_right_it_is_the_sum_over_every_token_of_every_piece_alone(
    session: Callable[[str], Session], data: Path
) -> None:
    causal, dataset = session("causal"), Dataset.open(data)
    model = causal.learner.eval()
    tokens, nats = dataset.split("valid"), 0.0
    begin = 0
    for end in tokens.ends:
        ids = tokens.read(begin, int(end))[0]
        for first in range(0, len(ids), 62):
            row = torch.tensor([[dataset.vocabulary.start, *ids[first : first + 62].tolist()]])
            with torch.no_grad():
                told = model(input_ids=row).logits[0, :-1].log_softmax(-1)
            nats -= told.gather(1, row[0, 1:, None]).double().sum().item()
        begin = int(end)
    size = sum(len(text.encode()) for text in dataset.texts("valid"))
    found = cost_of(causal)
    assert found is not None and found.value == pytest.approx(nats / log(2) / size, rel=1e-5)
    assert found.low < found.value < found.high


def test_of_diffusion_it_is_the_bound_that_the_run_itself_measures_but_for_chance(
    session: Callable[[str], Session],
) -> None:
    diffusion = session("diffusion")
    found = cost_of(diffusion)
    figures = diffusion.measure(None, ALONE)
    assert found is not None and found.value == pytest.approx(figures["bits_per_byte"], rel=0.05)


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_what_only_restores_or_detects_gives_a_text_no_probability(
    kind: str, session: Callable[[str], Session]
) -> None:
    assert cost_of(session(kind)) is None
