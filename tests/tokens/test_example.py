"""A blank of the user's own text: whole, frequent, safe to type; none where there is nothing to take."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import unmask
from unmask.tokens.example import BLANK, LONGEST, example_blank
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer

KINDS = ("wordpiece", "bpe", "unigram")


@pytest.fixture(scope="module", params=KINDS)
def prepared(request: pytest.FixtureRequest, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("example") / "data"
    unmask.prepare(corpus, out=out, tokenizer=request.param, valid=0.1)
    return out


def test_the_example_is_a_held_out_sentence_with_one_whole_word_of_the_tokenizer_blanked(prepared: Path) -> None:
    text = example_blank(prepared)
    assert text is not None and text.count(BLANK) == 1 and len(text) <= LONGEST + len(BLANK)
    assert text == example_blank(prepared)
    sentence = re.escape(text).replace(re.escape(BLANK), "(.+?)")
    found = re.search(sentence, "\n".join(Dataset.open(prepared).texts("valid")))
    assert found is not None and found[1].isalpha()
    assert len(load_tokenizer(prepared / "tokenizer").encode(f" {found[1]}", add_special_tokens=False)) == 1


def test_the_blanked_word_is_long_before_it_is_frequent_and_frequent_before_it_is_first(tmp_path: Path) -> None:
    line = "Nobody saw the garden where people were, and people were glad."
    (tmp_path / "text.txt").write_text("\n\n".join(f"{line} Chapter {number}." for number in range(40)))
    data = unmask.prepare(tmp_path / "text.txt", out=tmp_path / "data", valid=0.3).path
    assert example_blank(data) == line.replace("people", BLANK, 1)


@pytest.mark.parametrize(
    "document",
    [
        "東京は日本の首都であり世界最大級の都市圏を形成している。番号{}",
        "word{}",
        "a\x1b[31mred\x07 text with \x1b]0;title\x07 codes in it {}",
        "rm -rf $HOME; echo `id` > file | cat <b>{}</b> [MASK] [MASK]",
        "an awfully long line " * 20 + "{}",
    ],
    ids=["no spaces", "one word", "control characters", "markup", "too long"],
)
def test_data_without_a_fit_sentence_gives_none(tmp_path: Path, document: str) -> None:
    documents = "\n\n".join(document.format(number) for number in range(60))
    (tmp_path / "text.txt").write_text(documents, encoding="utf-8")
    data = unmask.prepare(tmp_path / "text.txt", out=tmp_path / "data", valid=0.3, min_characters=1).path
    assert example_blank(data) is None


def test_a_directory_that_cannot_be_read_gives_none(tmp_path: Path) -> None:
    assert example_blank(tmp_path / "nowhere") is None


def test_an_apostrophe_is_avoided_where_it_can_be(tmp_path: Path) -> None:
    lines = ["It isn't known where people live today.", "We know where people live today."]
    (tmp_path / "text.txt").write_text("\n\n".join(f"{line} Chapter {n}." for n in range(30) for line in lines))
    data = unmask.prepare(tmp_path / "text.txt", out=tmp_path / "data", valid=0.3).path
    text = example_blank(data)
    assert text is not None and text.startswith("We know") and shlex.quote(text) == f"'{text}'"


def test_making_an_example_loads_neither_torch_nor_a_corpus_engine(data: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from unmask.tokens.example import example_blank\n"
        "assert example_blank(Path(sys.argv[1])); print({'torch', 'ray', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(data)], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr
