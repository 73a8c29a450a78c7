"""What keeps figures from being compared is said beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unmask.evaluation.comparison_tables import comparison_notes, comparison_tables
from unmask.results import ComparedRun, Comparison

BERT = ComparedRun(
    name="bert",
    recipe="bert",
    run=Path("bert"),
    parameters=7_000_000,
    steps=100,
    tokens=400_000,
    seconds=246.0,
    tokens_per_second=1626.0,
    masked_loss=None,
    masked_accuracy=None,
    hidden_bits_per_byte=None,
    text_bits_per_byte=None,
    text_bound=False,
    figures={},
    probes={},
)


def compared(*runs: ComparedRun, **budget: float) -> Comparison:
    return Comparison(
        path=Path("c"), data=Path("d"), budget=budget, seed=0, length=128, runs=runs, plot=Path("c/compare.png")
    )


def test_minutes_that_were_not_equal_are_told_and_equal_ones_are_not() -> None:
    slow, near = replace(BERT, name="electra", seconds=300.0), replace(BERT, name="electra", seconds=256.0)
    assert list(comparison_notes(compared(BERT, slow, minutes=4))) == ["budgets differ: bert 4.1 min, electra 5.0 min"]
    assert not list(comparison_notes(compared(BERT, near, minutes=4)))
    assert not list(comparison_notes(compared(BERT, slow, tokens=400_000)))  # nobody promised equal minutes


def test_runs_that_exist_are_told_with_their_own_budgets() -> None:
    run = replace(BERT, name="run-a", trained_here=False)
    longer = replace(run, name="run-b", tokens=900_000, seconds=600.0)
    unknown = replace(run, name="other", tokens=None, seconds=None, steps=None, tokens_per_second=None, same_data=None)
    assert not list(comparison_notes(compared(run, BERT, tokens=400_000)))
    (line,) = comparison_notes(compared(run, longer))
    assert line == "budgets differ: run-a 400.0 k tokens in 4.1 min, run-b 900.0 k tokens in 10.0 min"
    lines = list(comparison_notes(compared(run, unknown)))
    assert lines[0].endswith("other not known") and lines[1].startswith("other: on what it was trained is not known")
    heads, rows = next(comparison_tables(compared(run, unknown)))
    assert heads[0] == "" and rows[1] == ("other", "7.0 M", "–", "–", "–", "–")


def test_another_tokenizer_and_other_data_are_told_by_name() -> None:
    other = replace(BERT, name="b", same_tokenizer=False, same_data=False)
    lines = list(comparison_notes(compared(BERT, other, tokens=400_000)))
    assert lines[0].startswith("b: another tokenizer") and lines[1].startswith("b: trained on other data")
    bits = ("whatever the tokenizer", "hidden, bits a byte")
    assert bits in [heads for heads, _ in comparison_tables(compared(BERT, other))]
    assert bits not in [heads for heads, _ in comparison_tables(compared(BERT))]
