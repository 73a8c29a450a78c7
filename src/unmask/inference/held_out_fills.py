"""Held-out sentences with every word blanked in turn, at each moment that a run has kept: `fills.json` of a run.

In: a run with its model, and the data that it was trained on. Out: what `unmask fill` says in the place of each word,
moment by moment, for the report. It takes a small share of what the training took: the last moment comes first, then
the others from all over the run, as long as there is time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape

from unmask.errors import BadInput
from unmask.files import write_text
from unmask.inference.contexts import evenly, word_spans
from unmask.inference.fill import fill_blanks
from unmask.inference.moments import MomentModels
from unmask.progress import say, task
from unmask.runs.directory import MOMENTS as KEPT
from unmask.runs.fills_report import FILLS
from unmask.runs.moments import Moment
from unmask.tokens.example import BLANK, COMPLETE, SENTENCE_END
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode

SENTENCES = 20
MOMENTS = 11  # the start and ten tenths
GUESSES = 5
SAMPLE = 400_000  # characters of held-out text that sentences are looked for in
LENGTH = (24, 220)  # characters of a sentence
WORDS, LONG = (5, 14), 30  # in it, and at the most where there are no shorter ones
LONGEST = 24  # characters of a candidate that is shown
SHARE, SECONDS = 0.02, (2.0, 60.0)  # of the training that it may take, but so many seconds at the least and the most
ASKED = 20.0  # at the least, where moments were asked for

Guesses = list[tuple[str, float]]  # of a blank, best first


@dataclass(frozen=True)
class HeldOutSentence:
    """A sentence, and where its words start and end."""

    text: str
    words: tuple[tuple[int, int], ...]

    @property
    def blanked(self) -> list[str]:
        """The sentence once for each word, with that blank."""
        return [self.text[:start] + BLANK + self.text[end:] for start, end in self.words]


def write_fills(run: Path, data: Dataset, trained_seconds: float) -> None:
    """Write `fills.json` of a run, where its model fills blanks and its data has sentences; or say why not."""
    try:
        _write(run, data, trained_seconds)
    except Exception as error:  # a page is never worth a run
        say(f"[yellow]not in the report:[/] {escape(f'{type(error).__name__}: {error}')}")


def _write(run: Path, data: Dataset, trained_seconds: float) -> None:
    fewest, most = SECONDS
    fewest = ASKED if (run / KEPT).is_dir() else fewest
    deadline = time.monotonic() + min(most, max(fewest, SHARE * trained_seconds))
    try:
        models = MomentModels.open(run, most=MOMENTS)
    except BadInput:
        return  # it is for something else
    sentences = held_out_sentences(data)
    if sentences:
        with task("Filling held-out sentences", total=len(models.moments)) as step:
            fills = _filled(models, sentences, deadline, step)
        write_text(run / FILLS, json.dumps(fills, ensure_ascii=False, separators=(",", ":")) + "\n")


def held_out_sentences(data: Dataset) -> list[HeldOutSentence]:
    """Sentences from all over the held-out text, of a few words each where there are such: the same each time."""
    fewest, most = LENGTH
    texts = [
        each
        for document in data.sample("valid", SAMPLE)
        for each in map(str.strip, SENTENCE_END.split(document))
        if fewest <= len(each) <= most and each.endswith(COMPLETE) and each.isprintable() and "[" not in each
    ]
    texts = list(dict.fromkeys(texts))
    chosen = texts[:: max(1, len(texts) // (8 * SENTENCES))]  # those with too many words are left out of these
    rows = encode(data.tokenizer(), chosen, offsets=True)
    found = [HeldOutSentence(text, tuple(word_spans(text, row))) for text, row in zip(chosen, rows, strict=True)]
    short = [each for each in found if WORDS[0] <= len(each.words) <= WORDS[1]]
    return evenly(short or [each for each in found if WORDS[0] <= len(each.words) <= LONG], SENTENCES)


def _filled(models: MomentModels, sentences: Sequence[HeldOutSentence], deadline: float, step: Any) -> dict[str, Any]:
    """What is filled at each moment there is time for; of a slow model fewer sentences too."""
    *earlier, last = models.moments
    found: dict[int, tuple[Moment, list[list[Guesses]]]] = {}
    begun, at_last = time.monotonic(), list[list[Guesses]]()
    model = models.at(last)
    for sentence in sentences:
        at_last.append(_fill_words(model, [sentence])[0])
        if time.monotonic() > deadline:
            break
    taken = time.monotonic() - begun
    sentences = sentences[: len(at_last)]
    found[last.step] = last, at_last
    step(1)
    for moment in spread(earlier):
        if time.monotonic() + taken > deadline:
            break
        found[moment.step] = moment, _fill_words(models.at(moment), sentences)
        step(1)
    moments = [found[number] for number in sorted(found)]
    return {
        "kept": len(models.moments),
        "moments": [{"step": moment.step, "names": moment.names} for moment, _ in moments],
        "sentences": [
            asdict(sentence) | {"fills": [guesses[number] for _, guesses in moments]}
            for number, sentence in enumerate(sentences)
        ],
    }


def spread(moments: Sequence[Moment]) -> list[Moment]:
    """Moments so that wherever one stops they are from all over: the first, the middle, the quarters, and so on.

    >>> [moment.step for moment in spread([Moment(step, Path()) for step in range(5)])]
    [0, 2, 1, 3, 4]
    """
    order, halves = list[int](), 1
    while len(order) < len(moments):
        places = (len(moments) * part // halves for part in range(halves))
        order += [place for place in dict.fromkeys(places) if place not in order]
        halves *= 2
    return [moments[place] for place in order]


def _fill_words(model: Any, sentences: Sequence[HeldOutSentence]) -> list[list[Guesses]]:
    """For each sentence, for each word, what the model says in its place."""
    texts = [text for sentence in sentences for text in sentence.blanked]
    answers = iter(fill_blanks(model, texts, top=GUESSES))
    return [
        [
            [(guess.token[:LONGEST], round(guess.probability, 4)) for guess in next(answers).blanks[0]]
            for _ in sentence.words
        ]
        for sentence in sentences
    ]
