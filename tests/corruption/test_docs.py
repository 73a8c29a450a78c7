"""The code in docs/corruption.md runs; its policy of one's own has the laws of the others and does all that they do."""

import json
import re
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from corruption_cases import VOCABULARY, batches, law, rates

import unmask
from unmask.corruption import policy, units
from unmask.corruption.policy import policy_named
from unmask.corruption.schedule import parse_schedule
from unmask.errors import BadInput
from unmask.tokens.store.dataset import Dataset

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


def test_the_page_has_every_policy():
    page = PAGE.read_text(encoding="utf-8")
    assert policy.PAPERS.keys() == PUBLISHED.keys()
    assert all(f"| `{name}` | {paper} |" in page for name, paper in policy.PAPERS.items())
    for name, how in PUBLISHED.items():
        assert f"`{name}`" in page
        assert all(f"`{setting}`" in page for setting in how.settings)


@pytest.mark.usefixtures("names")
def test_a_setting_without_a_usual_value_is_asked_for():
    with pytest.raises(BadInput, match="needs the setting 'stop'"):
        policy_named("sentence")


@pytest.mark.usefixtures("names")
def test_the_policy_of_the_page_is_written_as_it_was_read():
    plan = parse_schedule("sentence stop=17 0.7, token 0.3")
    assert plan.policies[0] == policy_named("sentence", stop=17)
    assert str(plan) == "sentence stop=17 0.7, token 0.3"
    assert parse_schedule("sentence stop=soon").policies[0].settings["stop"] == "soon"
    with pytest.raises(BadInput, match="needs the setting 'stop'"):
        parse_schedule("sentence")


@pytest.mark.usefixtures("names")
def test_the_policy_of_the_page_is_shown_audited_and_collated(data):
    tokenizer = Dataset.open(data).tokenizer()
    stop = tokenizer.convert_tokens_to_ids(".")
    policy = f"sentence stop={stop}"
    (shown,) = unmask.show(data, "The king sees the sea. My sister paints.", policy=policy, rate=0.5)
    assert 0 < shown.hidden < shown.tokens
    audited = unmask.audit(data, policy=policy, length=64, blocks=64)
    assert audited.hidden and not audited.specials_hidden
    rows = tokenizer(["The king sees the sea. My sister paints."] * 3)["input_ids"]
    batch = unmask.Collator(tokenizer, policy, rate=0.5)(rows)
    assert (batch["labels"] >= 0).any(dim=1).all()


@pytest.mark.usefixtures("names")
def test_the_policy_of_the_page_is_trained_with(data, tmp_path):
    run = tmp_path / "run"
    unmask.pretrain(
        data,
        out=run,
        recipe="bert-tiny",
        steps=3,
        policy="sentence stop=17",
        rate="0.5",
        length=32,
        batch_size=4,
        micro_batch=4,
        report=False,
    )
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) == 3 and all(isfinite(loss) and loss > 0 for loss in losses)
    with pytest.raises(BadInput, match="the objective diffusion learns from what diffusion hide"):
        unmask.pretrain(data, out=tmp_path / "other", steps=3, objective="diffusion", policy="sentence stop=17")
    with pytest.raises(BadInput, match=r"the objective mlm learns from what .*phrase, sentence, span"):
        unmask.pretrain(data, out=tmp_path / "other", steps=3, policy="sentinel")
