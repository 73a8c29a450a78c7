"""A blank to try a model on, made of the user's own held-out text.

In: a data directory. Out: one short line with one `[MASK]` where a frequent word stood, for the commands that are
suggested after preparing and training. The same data gives the same line. No torch and no corpus engine is needed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from unmask.tokens.store.dataset import Dataset

BLANK = "[MASK]"  # understood by `unmask fill` for every model, whatever its own mask token is
NEUTRAL = f"A text with a {BLANK} in it."  # where the data has no such sentence
SAMPLE = 200_000  # characters of held-out text that are looked at
DOCUMENT = 4_000  # of each document
LONGEST = 72  # characters of a sentence: with its command it is about a line of a terminal
FEWEST = 4  # words in it
LONG = 4  # letters: shorter words are articles and the like, which are dull to guess
SENTENCE_END = re.compile(r"(?<=[.!?…。।؟])\s+|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
COMPLETE = tuple(".!?…।؟")
# what shells, markup or blanks are written with; letters, digits and other punctuation are left
UNSAFE = frozenset('"#%&()*/@[\\]_{}')


class Example(NamedTuple):
    """A sentence and one of its words; the better example is the larger one."""

    plain: bool  # no apostrophe, which a shell's quotes stumble over
    complete: bool  # ends as a sentence does
    letters: int  # of the word, up to what is long enough
    occurrences: int  # of the word in the training text
    sentence: str
    start: int
    end: int

    @property
    def text(self) -> str:
        """The sentence with the blank."""
        return self.sentence[: self.start] + BLANK + self.sentence[self.end :]


def example_blank(data: Path) -> str | None:
    """A sentence of the held-out text with one frequent whole word blanked; none where no sentence is fit for it.

    Unfit is what is too long or too short, has no spaces between its words, or has characters that a terminal or a
    shell would take for something else.
    """
    best = best_example(data)
    return None if best is None else best.text


def best_example(data: Path) -> Example | None:
    """The sentence that `example_blank` blanks a word of, and which word."""
    try:
        dataset = Dataset.open(data)
        texts = dataset.sample("valid", SAMPLE)
        return max(_examples(dataset, texts), key=lambda example: example[:4], default=None)
    except Exception:  # a suggestion is never worth a command: whoever needs the text itself says what is wrong
        return None


def _examples(dataset: Dataset, texts: Iterable[str]) -> Iterator[Example]:
    """The words that may be blanked: those that the tokenizer has whole, which one blank can be filled with."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(dataset.path / "tokenizer" / "tokenizer.json"))
    special = tokenizer.get_added_tokens_decoder()
    sentences = list(dict.fromkeys(chain.from_iterable(_fit_sentences(text[:DOCUMENT]) for text in texts)))
    for sentence, encoding in zip(sentences, tokenizer.encode_batch(sentences, add_special_tokens=False), strict=True):
        tokens = {
            _without_spaces(sentence, *offsets): token
            for token, offsets in zip(encoding.ids, encoding.offsets, strict=True)
            if token not in special
        }
        for word in list(re.finditer(r"\S+", sentence))[1:]:  # the first has a capital of its own
            letters = re.search(r"\w+", word[0])
            if letters is None or not letters[0].isalpha() or "'" in word[0] or "’" in word[0]:
                continue
            place = word.start() + letters.start(), word.start() + letters.end()
            if place in tokens:
                yield Example(
                    "'" not in sentence,
                    sentence.endswith(COMPLETE),
                    min(len(letters[0]), LONG),
                    int(dataset.counts[tokens[place]]),
                    sentence,
                    *place,
                )


def _fit_sentences(text: str) -> Iterator[str]:
    """The sentences of a text that can be shown and typed as they are."""
    for sentence in map(str.strip, SENTENCE_END.split(text)):
        words = sentence.split(" ")
        short = len(sentence) <= LONGEST and len(words) >= FEWEST
        if short and all(words) and sentence[0].isalnum() and all(map(_is_typable, sentence)):
            yield sentence


def _is_typable(character: str) -> bool:
    """A letter, a digit, a space or punctuation: nothing that a terminal, a shell or markup reads as a command.

    >>> [character for character in "a é 中 1 , ’ $ < ` \\x1b \\u202e [".split(" ") if _is_typable(character)]
    ['a', 'é', '中', '1', ',', '’']
    """
    return character == " " or (unicodedata.category(character)[0] in "LMNP" and character not in UNSAFE)


def _without_spaces(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Where a token stands, without the space that some tokenizers count to it."""
    token = sentence[start:end]
    return end - len(token.lstrip()), end - len(token) + len(token.rstrip())
