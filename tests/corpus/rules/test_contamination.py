from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.rules.apply import rules_of
from unmask.corpus.rules.contamination import HeldOutItems, Item, held_out_items, items_digest, read_items
from unmask.corpus.rules.settings import choose_rules
from unmask.errors import BadInput
from unmask.words import spelt_words

few = st.lists(st.sampled_from("ab"), min_size=3, max_size=18).map(" ".join)
PASSAGE = " ".join(f"word{n}" for n in range(30))


def rows(words: list[str], size: int) -> set[str]:
    return {" ".join(words[n : n + size]) for n in range(len(words) - size + 1)}


@settings(deadline=None)
@given(st.lists(few, min_size=1, max_size=4), st.lists(st.sampled_from("abc"), max_size=60).map(" ".join))
def test_what_is_contained_and_what_is_touched_is_that_of_comparing_word_by_word(items: list[str], text: str) -> None:
    words = spelt_words(text)
    contained = touched = False
    for item in map(spelt_words, items):
        if len(item) >= 5:
            contained |= bool(rows(item, min(13, len(item))) & rows(words, min(13, len(item))))
            touched |= bool(rows(item, 8) & rows(words, 8))
    found = HeldOutItems([Item(f"items:{n}", item) for n, item in enumerate(items)]).look_in(text)
    assert (found is not None and found.contains is not None) == contained
    assert (found is not None and found.touches is not None) == touched


def test_the_item_is_named_with_the_words_that_are_there() -> None:
    items = HeldOutItems([Item("test.jsonl:1", "Short one."), Item("test.jsonl:2", PASSAGE)])
    there = items.look_in(f"Before. {PASSAGE.upper()[:80]}, after.")
    assert there is not None and there.contains is not None
    assert there.contains.startswith("test.jsonl:2: word0 word1 word2")
    assert items.too_short == 1


def test_eight_words_in_a_row_touch_and_twelve_do_not_contain() -> None:
    items = HeldOutItems([Item("a", PASSAGE)])
    twelve = items.look_in(" ".join(PASSAGE.split()[3:15]) + " and so on")
    assert twelve is not None and (twelve.contains, twelve.touches) == (None, "a")
    assert len(twelve.runs) == 5  # of eight words each
    assert items.look_in(" ".join(PASSAGE.split()[3:10])) is None


def test_where_there_are_no_spaces_twice_as_many_characters_count() -> None:
    text = "今天天气很好我们一起去公园散步吧然后再去吃饭喝茶聊天看书"
    items = HeldOutItems([Item("a", text), Item("b", "今天天气很")])
    assert items.too_short == 1
    whole, half = items.look_in(f"他说{text}"), items.look_in(f"他说{text[:20]}")
    assert whole is not None and whole.contains and half is not None and not half.contains


def test_items_are_the_strings_of_json_the_cells_of_tables_and_the_lines_of_text(tmp_path: Path) -> None:
    record = {"sentence_good": "The cat sleeps.", "n": 3, "options": ["a dog", {"x": "a bird"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n\n" + json.dumps("bare") + "\n")
    (tmp_path / "b.tsv").write_text("one\ttwo\nthree\t\n")
    (tmp_path / "c.txt").write_text("First line.\n\nSecond line.\n")
    (tmp_path / "d.json").write_text(json.dumps({"data": [{"question": "Who sleeps?"}, "she"]}, indent=2))
    names = [str(tmp_path / name) for name in ("a.jsonl", "b.tsv", "c.txt", "d.json")]
    assert [tuple(item) for item in read_items(names)] == [
        ("a.jsonl:1", "The cat sleeps."),
        ("a.jsonl:1", "a dog"),
        ("a.jsonl:1", "a bird"),
        ("a.jsonl:3", "bare"),
        ("b.tsv:1", "one"),
        ("b.tsv:1", "two"),
        ("b.tsv:2", "three"),
        ("c.txt:1", "First line.\n"),
        ("c.txt:3", "Second line.\n"),
        ("d.json:1", "Who sleeps?"),
        ("d.json:2", "she"),
    ]


def test_a_document_that_contains_an_item_is_dropped_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("The old cat sleeps on the warm mat.\n")
    chosen = choose_rules(decontaminate=(str(tmp_path / "test.txt"),))
    texts = ["He said: the old cat sleeps on the warm mat! And left.", "Another old cat sleeps here."]
    ruling, other = rules_of(chosen)(texts, [(), ()])
    assert ruling.dropped == "decontaminate"
    assert ruling.value == "test.txt:1: the old cat sleeps on the warm mat"
    assert other.dropped is None
    (tmp_path / "test.txt").write_text("Other items.\n")
    held_out_items.cache_clear()
    with pytest.raises(BadInput, match="changed while"):
        held_out_items(chosen.decontaminate, chosen.items_digest)


def test_nothing_to_look_for_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("{}\n")
    with pytest.raises(BadInput, match="no text in it"):
        read_items([str(tmp_path / "empty.jsonl")])
    assert len(items_digest([str(tmp_path / "empty.jsonl")])) == 64


def test_one_sentence_said_in_many_ways_is_looked_up_in_bounded_time() -> None:
    draw = random.Random(0)
    items = [Item(str(n), f"the same eight words begin each of these items {draw.random()}") for n in range(5_000)]
    found = HeldOutItems(items).look_in("the same eight words begin each of these " * 200)
    assert found is not None and found.contains is None and found.touches == "0"
