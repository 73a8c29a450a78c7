"""The code in docs/corruption.md runs, and the policy of one's own there has the laws of the others."""

import re
from pathlib import Path

import numpy as np
import pytest
from corruption_cases import VOCABULARY, batches, law, rates

from unmask.corruption import policy, units
from unmask.corruption.policy import policy_named

PAGE = Path(__file__).parents[2] / "docs" / "corruption.md"
PUBLISHED = dict(policy.POLICIES)


@pytest.fixture(scope="module")
def names():
    """Everything the page's code defines, run from the top; its policy is taken out again afterwards."""
    space = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), space)
    yield space
    policy.POLICIES.clear()
    policy.POLICIES.update(PUBLISHED)


def test_the_policy_of_the_page_hides_whole_sentences(names):
    rows, corrupted = names["blocks"], names["corrupted"]
    assert corrupted.hidden.any(axis=1).all()
    for row, hidden in zip(rows.ids, corrupted.hidden, strict=True):
        ends = np.flatnonzero(row == 17)
        sentences = np.split(hidden[1:-1], ends[:-1])
        assert all(len(set(part.tolist())) == 1 for part in sentences if len(part))


def test_the_worked_example_has_at_most_twenty_lines():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (block for block in blocks if "Composition" in block)
    assert len([line for line in example.splitlines() if line.strip()]) <= 20


@pytest.mark.usefixtures("names")
@law(rows=batches(longest=128), rate=rates)
def test_the_policy_of_the_page_has_the_laws(rows, rate):
    corrupted = policy.corrupt(rows, policy_named("sentence", rate, stop=17), VOCABULARY, seed=0)
    may = units.eligible(rows, VOCABULARY)
    assert policy.restore(corrupted).tobytes() == rows.ids.tobytes()
    assert not (corrupted.hidden & ~may).any()
    assert (corrupted.hidden.any(axis=1) == (may.any(axis=1) & (rate > 0))).all()


def test_the_page_has_every_policy():
    page = PAGE.read_text(encoding="utf-8")
    for name, how in PUBLISHED.items():
        assert f"`{name}`" in page
        assert all(f"`{setting}`" in page for setting in how.settings)


@pytest.mark.usefixtures("names")
def test_a_setting_without_a_usual_value_is_asked_for():
    from unmask.errors import BadInput

    with pytest.raises(BadInput, match="needs the setting 'stop'"):
        policy_named("sentence")
