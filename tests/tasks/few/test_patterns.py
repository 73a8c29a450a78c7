"""Patterns and words: labels are said by their names, or as a file says; what is wrong is told with its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.few.patterns import GENERAL, general_prompt, read_prompt
from unmask.tokens.tokenizer.load import load_tokenizer

LABELS = ("king", "garden")


def file(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_label_is_said_by_the_words_of_its_name() -> None:
    prompt = general_prompt(("very_good", "Bad"), pair=False)
    assert prompt.patterns == GENERAL and prompt.verbalisers == {"very_good": ("very good",), "Bad": ("bad",)}
    for labels, named in ((("0", "1"), "'0', '1'"), (("LABEL_0", "good"), "'LABEL_0'"), (("x", "good"), "'x'")):
        with pytest.raises(BadInput, match=rf"the labels {named} are no words .* --patterns FILE says"):
            general_prompt(labels, pair=False)
    assert all(pattern.count("{pair}") == 1 for pattern in general_prompt(LABELS, pair=True).patterns)


def test_a_file_gives_patterns_and_words_and_names_stand_for_the_rest(tmp_path: Path) -> None:
    path = file(tmp_path / "p.jsonl", {"pattern": "[MASK]: {text}"}, {"verbalisers": {"king": ["king", "captain"]}})
    prompt = read_prompt(path, LABELS, pair=False)
    assert prompt.patterns == ("[MASK]: {text}",)
    assert list(prompt.verbalisers.items()) == [("king", ("king", "captain")), ("garden", ("garden",))]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"pattern": "{text} is"}, r"needs \[MASK\] once"),
        ({"pattern": "[MASK] {pair} {text}"}, "these examples are single texts"),
        ({"pattern": 3}, "is no text"),
        ({"verbalisers": {"queen": "x"}}, "no label 'queen'"),
        ({"verbalisers": {"king": []}}, "neither a word nor a list"),
        ({"verbalisers": ["king"]}, "is no object"),
        ({"words": 1}, "has neither the field 'pattern'"),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_number(record: object, said: str, tmp_path: Path) -> None:
    path = file(tmp_path / "p.jsonl", {"pattern": "{text} [MASK]"}, record)
    with pytest.raises(BadInput, match=rf"p\.jsonl:2: .*{said}"):
        read_prompt(path, LABELS, pair=False)


def test_words_are_tokens_that_tell_labels_apart(make_model: Callable[..., Path], tmp_path: Path) -> None:
    for kind in ("wordpiece", "bpe"):
        tokenizer = load_tokenizer(make_model("bert", kind))
        pieces = general_prompt(LABELS, pair=False).pieces(tokenizer)
        assert [label for label, _ in pieces] == [0, 1]
        assert [tokenizer.decode(list(ids)).strip() for _, ids in pieces] == list(LABELS)
    tokenizer = load_tokenizer(make_model())
    path = file(tmp_path / "p.jsonl", {"verbalisers": {"king": "music", "garden": "music"}})
    with pytest.raises(BadInput, match="'music' stands for the labels 'king' and 'garden'"):
        read_prompt(path, LABELS, pair=False).pieces(tokenizer)
    path = file(tmp_path / "p.jsonl", {"verbalisers": {"king": "漢字"}})
    with pytest.raises(BadInput, match="which stands for the label 'king', is not in the vocabulary"):
        read_prompt(path, LABELS, pair=False).pieces(tokenizer)
    path = file(tmp_path / "p.jsonl", {"verbalisers": {"king": "king dog cat river sea moon music"}})
    with pytest.raises(BadInput, match=r"has \d+ tokens"):
        read_prompt(path, LABELS, pair=False).pieces(tokenizer)
