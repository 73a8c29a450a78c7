"""Every tenth is held out, in whole groups, and no label is lost by it."""

from __future__ import annotations

from unmask.tasks.splitting import every_tenth


def test_every_tenth_group_is_held_out_whole() -> None:
    groups = [f"document {n // 3}" for n in range(60)]
    held_out = every_tenth(groups)
    assert held_out == {15, 16, 17, 45, 46, 47}


def test_what_alone_has_a_label_stays_to_learn_from() -> None:
    labels = [["a"]] * 20
    labels[5] = ["a", "rare"]
    assert every_tenth([*range(20)], labels) == {15}


def test_of_few_groups_one_is_held_out_and_of_a_single_one_none() -> None:
    assert every_tenth(["a", "a", "b", "b", "c"]) == {2, 3} and every_tenth(["a", "a"]) == set()
