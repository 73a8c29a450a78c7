import dataclasses
import shutil

import numpy as np
import pytest
from corruption_cases import MASK, VOCABULARY, batch
from scipy import stats

from unmask.corruption import policy, render, select, units
from unmask.corruption.policy import policy_named
from unmask.corruption.schedule import parse_schedule
from unmask.errors import BadInput
from unmask.evaluation.audit import audit, audit_data


def batches(count=8, rows=64, length=130, **shape):
    return (batch(rows=rows, length=length, first=n * rows, seed=n, **shape) for n in range(count))


def test_the_token_policy_is_what_it_says():
    found = audit(batches(), parse_schedule("token"), VOCABULARY)
    assert found.rows == 512 and found.tokens == 512 * 128
    assert found.asked == 0.15 and abs(found.rate - 0.15) < 0.001
    assert 0.148 <= found.rate_low <= found.rate <= found.rate_high <= 0.157  # 19 or 20 of 128
    assert found.lengths == {1: found.hidden}
    assert found.specials_hidden == found.specials_shown == found.silent == 0
    for kind, share in (("masked", 0.8), ("random", 0.1), ("kept", 0.1)):
        assert abs(found.split[kind] - share) < 0.02
    assert len(found.positions) == 21 and all(abs(share - 0.15) < 0.03 for share in found.positions)
    assert found.position_p > 0.001 and found.tokens_per_second > 0


@pytest.mark.parametrize("name", sorted(policy.POLICIES))
def test_every_policy_can_be_audited_and_touches_nothing_special(name):
    found = audit(batches(count=3, documents=2, unknown=0.05, padding=0.2), parse_schedule(name), VOCABULARY)
    assert found.hidden == sum(size * count for size, count in found.lengths.items())
    assert found.specials_hidden == found.specials_shown == found.silent == 0
    assert abs(found.rate - found.asked) < 0.02
    assert sum(found.split.values()) == pytest.approx(1)
    assert found.position_p > 0.0001


def test_where_no_position_is_favoured_p_values_are_uniform():
    values = [audit(batches(count=4), parse_schedule("span"), VOCABULARY, seed=seed).position_p for seed in range(60)]
    assert stats.kstest(values, "uniform").pvalue > 0.001


def test_a_policy_that_spares_the_end_of_the_row_is_found_out(monkeypatch):
    def first_half(each, rate, draws):
        return select.systematic_sample(each, rate, draws) & (each.numbers < 0.9 * each.counts[each.rows])

    spared = policy.Composition(units.tokens, first_half, render.replace)
    monkeypatch.setitem(policy.POLICIES, "spared", spared)
    found = audit(batches(), parse_schedule("spared"), VOCABULARY)
    assert found.position_p < 1e-6 and found.positions[-1] == 0


def test_specials_that_a_policy_hides_or_shows_are_counted(monkeypatch):
    def careless(blocks, vocabulary, draws):
        ids = np.where(blocks.ids == MASK, 9, np.where(vocabulary.is_special[blocks.ids], 9, blocks.ids))
        return units.tokens(dataclasses.replace(blocks, ids=ids), vocabulary, draws)

    composition = policy.Composition(careless, select.systematic_sample, render.replace)
    monkeypatch.setitem(policy.POLICIES, "careless", composition)
    assert audit(batches(), parse_schedule("careless", 0.5), VOCABULARY).specials_hidden > 0


def test_a_mixture_with_rates_of_its_own_has_no_asked_rate():
    assert audit(batches(count=1), parse_schedule("token"), VOCABULARY).position_p is None  # 64 rows are too few
    plan = parse_schedule("token, word")
    (stage,) = plan.stages
    both = dataclasses.replace(stage, members=(stage.members[0], policy_named("word", 0.3)))
    mixed = dataclasses.replace(plan, stages=(both,))
    assert audit(batches(), mixed, VOCABULARY).asked is None


def test_blocks_with_nothing_eligible_have_a_defined_result():
    found = audit(batches(count=1, unknown=1.0), parse_schedule("token"), VOCABULARY)
    assert found.hidden == found.tokens == 0 and found.rate == 0 and found.split == {} and found.silent == 0


def test_no_blocks_is_one_clear_line():
    with pytest.raises(BadInput, match="no blocks to audit"):
        audit([], parse_schedule("token"), VOCABULARY)


def test_what_is_hidden_everywhere_favours_no_position():
    assert audit(batches(), parse_schedule("token", 1.0), VOCABULARY).position_p == 1.0


@pytest.mark.parametrize("name", sorted(policy.POLICIES))
def test_every_policy_can_be_audited_on_a_data_directory(data, name):
    phrases = ["the king", "bread and butter"] if name in ("entity", "phrase", "collocation") else ()
    found = audit_data(data, name, length=64, blocks=150, phrases=phrases)
    assert found.hidden > 0 and found.specials_hidden == found.specials_shown == 0
    spread = {"diffusion": 0.02, "span": 0.02, "ngram": 0.01, "permutation": 0.01}  # of 150 rows of 62 tokens
    assert abs(found.rate - found.asked) < spread.get(name, 0.006)


def test_a_plan_and_a_rate_can_be_audited(data):
    found = audit_data(data, "span 0.7, token 0.3", rate=0.3, length=64, blocks=100)
    assert abs(found.rate - 0.3) < 0.006


def test_spans_that_nobody_marked_are_mined_and_audited(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    assert audit_data(folder, "collocation", length=64, blocks=150).lengths.get(3, 0) > 0
    assert (folder / "collocations.txt").exists()
    with pytest.raises(BadInput, match="policy 'verse' hides spans"):
        audit_data(folder, "entity kind=verse")
