"""Questions with their contexts as rows: the question whole in each, and a long context in windows that overlap.

In: questions and contexts. Out: `QuestionRows`: rows of ids, and which tokens of the context each row has.

    [CLS] question [SEP] window 1 of the context [SEP]    [CLS] question [SEP] window 2 [SEP]  …

Training, evaluation and use make them by this one function. No token of a context is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import BadInput
from unmask.records import Integers
from unmask.tasks.answer.questions import QuestionExample
from unmask.tasks.rows import RowReader
from unmask.tasks.text_rows import TextRows
from unmask.tokens.tokenizer.encode import EncodedText, encode
from unmask.tokens.windows import read_windows

AROUND = 16  # tokens of the context that a row has at the least


@dataclass(frozen=True, eq=False)
class QuestionRows:
    """Questions as rows, and where the tokens of their contexts are in them."""

    rows: TextRows
    begins: Integers  # R: the first token of the context that a row has
    counts: Integers  # R: how many it has
    columns: Integers  # R: where the first stands in the row
    offsets: tuple[Integers, ...]  # N times T 2: the first character of each token of the context, and the one after

    def tokens(self, number: int) -> int:
        """How many tokens the context of a question has."""
        return len(self.offsets[number])


def question_room(reader: RowReader) -> int:
    """The tokens that a question may have: all but a few that are left for the context."""
    room = reader.length - reader.frames[True].size
    return room - min(AROUND, room // 2)


def long_question(reader: RowReader, tokens: int) -> BadInput | None:
    """What is wrong with a question of so many tokens, if something is."""
    room = question_room(reader)
    if tokens <= room:
        return None
    return BadInput(f"the question has {tokens:,} tokens, and rows of {reader.length:,} have room for {room:,}")


def read_rows(reader: RowReader, questions: Sequence[str], contexts: Sequence[str]) -> QuestionRows:
    """The rows of questions about contexts; a question that is too long for a row is refused."""
    distinct = list(dict.fromkeys(contexts))
    encoded = dict(zip(distinct, encode(reader.tokenizer, distinct, offsets=True), strict=True))
    places = {text: _visible_offsets(text, each) for text, each in encoded.items()}
    frame = reader.frames[True]
    made, windows, columns = [], [], []
    for number, (question, context) in enumerate(zip(encode(reader.tokenizer, questions), contexts, strict=True)):
        if (wrong := long_question(reader, len(question.ids))) is not None:
            raise wrong
        ids = encoded[context].ids
        for window in read_windows(len(ids), reader.length - frame.size - len(question.ids)).windows:
            made.append((number, frame.row(question.ids, ids[window.begin : window.end])))
            windows.append((window.begin, window.end - window.begin))
            columns.append(len(frame.before.ids) + len(question.ids) + len(frame.between.ids))
    table = np.array(windows, np.int64).reshape(-1, 2)
    return QuestionRows(
        rows=reader.text_rows(made, [len(places[context]) for context in contexts]),
        begins=table[:, 0],
        counts=table[:, 1],
        columns=np.array(columns, np.int64),
        offsets=tuple(places[context] for context in contexts),
    )


def _visible_offsets(text: str, encoded: EncodedText) -> Integers:
    """T 2: where each token is, without the spaces around it."""
    assert encoded.offsets is not None
    trimmed = encoded.offsets.astype(np.int64)
    for place, (begin, end) in enumerate(trimmed.tolist()):
        inside = text[begin:end]
        if inside.strip():
            trimmed[place] = (end - len(inside.lstrip()), begin + len(inside.rstrip()))
    return trimmed


def answer_tokens(rows: QuestionRows, questions: Sequence[QuestionExample]) -> Integers:
    """N 2: the first and the last token of each question's first answer; -1 where it has none."""
    targets = np.full((len(questions), 2), -1, np.int64)
    for number, each in enumerate(questions):
        if not each.answers:
            continue
        text, start = each.answers[0]
        begins, ends = rows.offsets[number].T
        last = len(begins) - 1
        first = min(int(np.searchsorted(ends, start, side="right")), last)
        final = int(np.searchsorted(begins, start + len(text))) - 1
        targets[number] = first, min(max(first, final), last)
    return targets
