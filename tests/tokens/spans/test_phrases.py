from __future__ import annotations

import numpy as np
import pytest

from unmask.errors import BadInput
from unmask.records import Blocks
from unmask.tokens.spans.collocations import mine_collocations
from unmask.tokens.spans.lexicon import mark_phrases
from unmask.tokens.spans.phrases import Phrase, as_phrases, phrase_lexicon, read_phrases, wordless_tokens, write_phrases
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.train import train_tokenizer

PLACES = ("New York", "Buenos Aires", "Hong Kong")
WORDS = (
    "the",
    "a",
    "river",
    "old",
    "house",
    "sees",
    "likes",
    "near",
    "green",
    "tall",
    "people",
    "walk",
    "books",
)


def texts(count=150):
    rng = np.random.default_rng(0)
    middle = (
        f"{' '.join(rng.choice(WORDS, 6))} {rng.choice(PLACES)} {' '.join(rng.choice(WORDS, 4))}" for _ in range(count)
    )
    return [f"{text}, yes." for text in middle]


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "unigram"])
def tokenizer(request):
    return train_tokenizer(texts(), request.param, {"wordpiece": 80, "bpe": 320, "unigram": 55}[request.param], True)


class Stream:
    def __init__(self, encoded):
        self.ids = np.concatenate([one.ids for one in encoded])
        self.starts = np.concatenate([one.word_starts for one in encoded])
        self.ends = np.cumsum([len(one.ids) for one in encoded])

    def read(self, start, stop):
        return self.ids[start:stop].copy(), self.starts[start:stop].copy()


def test_collocations_of_a_text_are_what_always_goes_together(tokenizer):
    mined = mine_collocations(Stream(encode(tokenizer, texts())), wordless_tokens(tokenizer)).collocations
    phrases = [phrase.text for phrase in as_phrases(mined, tokenizer)]
    assert set(phrases[:3]) == set(PLACES)
    assert not any("," in phrase or "." in phrase for phrase in phrases)


def test_a_phrase_of_a_list_is_found_in_blocks_of_every_tokenizer(tokenizer):
    text = "Hong Kong likes New York and New books"
    (encoded,) = encode(tokenizer, [text], offsets=True)
    ids = encoded.ids[None]
    blocks = Blocks(ids, encoded.word_starts[None], np.ones_like(ids), np.arange(1), 0)
    marked = mark_phrases(blocks, phrase_lexicon(tokenizer, PLACES), vocabulary_of(tokenizer), kind="phrase")
    marks = marked.spans["phrase"][0]
    covered = {
        text[encoded.offsets[marks == number][0][0] : encoded.offsets[marks == number][-1][1]].strip()
        for number in np.unique(marks[marks > 0])
    }
    assert covered == {"Hong Kong", "New York"}


def test_a_list_can_be_written_edited_and_read(tmp_path):
    path = tmp_path / "list.tsv"
    write_phrases([Phrase("Buenos Aires", 168, -0.02), Phrase("Hong Kong", 710, -0.17)], path)
    assert read_phrases(path) == ["Buenos Aires", "Hong Kong"]
    path.write_text(path.read_text().replace("Hong", "#Hong") + "New  York \n\n# no\n")
    assert read_phrases(path) == ["Buenos Aires", "#Hong Kong", "New York"]


def test_a_list_in_the_wrong_encoding_is_named_with_its_line(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("Paris\nMálaga\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"names\.txt, line 2: not UTF-8"):
        read_phrases(path)


def test_a_list_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(b"\xef\xbb\xbfNew York\r\nHong Kong\r\n")
    assert read_phrases(path) == ["New York", "Hong Kong"]


def test_a_missing_or_an_empty_list_is_one_clear_line(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_phrases(tmp_path / "nowhere")
    (tmp_path / "empty").write_text("# nothing\n\n")
    with pytest.raises(BadInput, match="holds no phrase"):
        read_phrases(tmp_path / "empty")
