"""What a text costs is the sum of what its tokens cost; a model that gives no probability has no cost."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest
import torch

from unmask.evaluation.likelihood import bits_per_byte
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session


@pytest.fixture(scope="module")
def work(data: Path):
    return lambda kind: Session.begin(Pretraining.of(Dataset.open(data), recipe(f"{kind}-tiny", length=64), 0).job(), 4)


def test_left_to_right_it_is_the_sum_over_every_token_of_every_piece_alone(work) -> None:
    causal = work("causal")
    dataset, model = causal.dataset, causal.learner.eval()
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
    found = bits_per_byte(causal)
    assert found is not None and found.value == pytest.approx(nats / log(2) / size, rel=1e-5)
    assert found.low < found.value < found.high


def test_of_diffusion_it_is_the_bound_that_the_run_itself_measures_but_for_chance(work) -> None:
    diffusion = work("diffusion")
    found = bits_per_byte(diffusion)
    _, figures = diffusion.measure(None, ALONE)
    assert found is not None and found.value == pytest.approx(figures["bits_per_byte"], rel=0.05)


@pytest.mark.parametrize("kind", ["bert", "electra"])
def test_what_only_restores_or_detects_gives_a_text_no_probability(kind: str, work) -> None:
    assert bits_per_byte(work(kind)) is None
