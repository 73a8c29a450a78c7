import dataclasses
import json

import pytest

from unmask.corruption.rate import Rate, parse_rate
from unmask.errors import BadInput


@pytest.mark.parametrize(
    "line, expected",
    [
        ("0.15", {0.0: 0.15, 0.5: 0.15, 1.0: 0.15}),
        ("constant 0.4", {0.0: 0.4, 1.0: 0.4}),
        ("linear 0.3 0.15", {0.0: 0.3, 0.5: 0.225, 1.0: 0.15}),
        ("cosine 0.3 0.1", {0.0: 0.3, 1 / 3: 0.25, 0.5: 0.2, 1.0: 0.1}),
        ("stepwise 0.3 0.15 0.05", {0.0: 0.3, 0.32: 0.3, 0.34: 0.15, 0.67: 0.05, 1.0: 0.05}),
        ("stepwise 0.3 0.15@0.6 0.05@0.9", {0.59: 0.3, 0.6: 0.15, 0.89: 0.15, 0.9: 0.05}),
    ],
)
def test_a_rate_over_training(line, expected):
    rate = parse_rate(line)
    assert {done: pytest.approx(rate.at(done)) for done in expected} == expected
    assert Rate(**json.loads(json.dumps(dataclasses.asdict(rate)))) == rate


def test_before_the_start_and_after_the_end_the_rate_stays():
    rate = parse_rate("linear 0.3 0.15")
    assert rate.at(-1) == 0.3 and rate.at(2) == pytest.approx(0.15)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "lots",
        "linear 0.3",
        "linear 0.3 0.2 0.1",
        "0.1 0.2",
        "stepwise",
        "1.2",
        "linear 0.3 -0.1",
        "wavy 0.1 0.2",
        "stepwise 0.3 0.2@0.5 0.1",
        "stepwise 0.3 0.2@0.9 0.1@0.5",
        "stepwise 0.3 0.2@1.5",
        "nan",
    ],
)
def test_a_rate_that_is_not_one_is_one_clear_line(line):
    with pytest.raises(BadInput) as error:
        parse_rate(line)
    assert "\n" not in str(error.value) and ("rate" in str(error.value) or "steps" in str(error.value))
