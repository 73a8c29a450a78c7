from __future__ import annotations

import pytest

from unmask.corruption.policy import POLICIES
from unmask.errors import BadInput
from unmask.tokens.examine import audit_data, collocations


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_can_be_audited_on_a_data_directory(data, name):
    phrases = ["the king", "bread and butter"] if name in ("entity", "phrase", "collocation") else ()
    found = audit_data(data, name, length=64, blocks=150, phrases=phrases)
    assert found.hidden > 0 and found.specials_hidden == found.specials_shown == found.silent == 0
    assert abs(found.rate - found.asked) < 0.05


def test_a_plan_and_a_rate_can_be_audited(data):
    found = audit_data(data, "span 0.7, token 0.3", rate=0.3, length=64, blocks=100)
    assert abs(found.rate - 0.3) < 0.03


def test_spans_without_phrases_are_asked_for(data):
    with pytest.raises(BadInput, match="policy 'entity' hides spans"):
        audit_data(data, "entity")


def test_collocations_of_a_data_directory(data):
    found = collocations(data, least=3)
    texts = [phrase.text for phrase in found]
    assert "bread and butter" in texts and "capital of France" in " | ".join(texts)
