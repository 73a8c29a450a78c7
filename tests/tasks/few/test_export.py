"""What a few held-out texts may say of how sure a model is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmask.tasks.classify.calibration import label_sets, probabilities_of
from unmask.tasks.classify.classifier import ClassifyCard
from unmask.tasks.few.export import modest

CARD = ClassifyCard(
    task="patterns",
    text_field="text",
    pair_field=None,
    length=64,
    labels=("bad", "good"),
    several=False,
    thresholds=None,
    temperature=0.4,
    sets=0.75,
    least=0.99,
)
LOGITS = np.array([[2.0, 0.0], [0.5, 0.0], [0.0, 1.0], [0.4, 0.0], [0.0, 3.0]])
TARGETS = np.eye(2)[[0, 0, 1, 1, 1]]


def test_a_model_is_not_made_surer_and_its_sets_cover_what_they_should_at_the_new_temperature() -> None:
    card = modest(CARD, LOGITS, TARGETS)
    assert card.temperature == 1.0 and card.least is not None and CARD.least is not None
    probabilities = probabilities_of(LOGITS, several=False)
    covered, as_it_was = (
        (label_sets(probabilities, least) & (TARGETS > 0)).any(1) for least in (card.least, CARD.least)
    )
    assert covered.all() and not as_it_was.all()  # of five texts 0.75 takes all


def test_a_model_that_is_too_sure_keeps_its_temperature_and_sets() -> None:
    unsure = replace(CARD, temperature=1.7, least=0.3)
    assert modest(unsure, LOGITS, TARGETS) == unsure
