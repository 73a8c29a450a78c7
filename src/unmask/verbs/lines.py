"""Texts of a command, and what comes of them: given as words, in a file, or on standard input.

In: what was given, and a function from texts to their results or to what is wrong with them. Out: the results of the
good texts as soon as they are made, in their order, and in the end one error that names every bad line. With a file to
write they go there, a line of JSON each, and the same command goes on where it was stopped.

    unmask score run "A text." "Another."     words
    unmask score run texts.txt                a text a line
    unmask score run texts.jsonl              a line of JSON each, its field `text`, or the one of --field
    … | unmask score run -                    a text a line, or JSON where --field is given
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import BufferedReader
from itertools import groupby
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from unmask.errors import BadInput, BadLines, Interrupted, Refused
from unmask.files import check_writable, nearest_path, write_json
from unmask.progress import task
from unmask.quantities import quoted
from unmask.results import Written, to_plain

Result = TypeVar("Result")
Answers = Iterable[Sequence[Result] | BadInput]  # for each text its results, or what is wrong with it
Answer = Callable[[list[Any]], Answers[Result]]  # of texts or, where a pair is asked for, of pairs

CHUNK = 1 << 16  # bytes read at a time, at the most: less where a pipe has no more to give yet
FILE_CHUNK = 1 << 19  # of a file: enough rows to put those of like length together
HEAD = 8_000  # bytes by which a binary file is told
SHOWN = 20  # stretches of line numbers that are named for one reason
JSON_LINES = (".jsonl", ".ndjson", ".json")
TEXT_FIELD = "text"
FILE_NAME = re.compile(r"\S+\.(?:txt|jsonl|ndjson|json|csv|tsv|md|conll|parquet)(?:\.gz)?")  # rather than a text


@dataclass(frozen=True)
class LineSource:
    """Where texts are read from."""

    path: Path | None  # None is standard input
    field: str | None  # of JSON lines; None is a text a line
    pair: str | None = None  # the field of a second text, where texts come two by two
    words: bool = False  # whether the field may hold a list of words instead of a text

    @classmethod
    def of(cls, path: Path | None, field: str | None = None, pair: str | None = None) -> LineSource:
        """A file, by its suffix, or standard input."""
        suffixes = [] if path is None else [suffix for suffix in path.suffixes if suffix != ".gz"]
        is_json = bool(suffixes) and suffixes[-1] in JSON_LINES
        return cls(path, TEXT_FIELD if field is None and is_json else field, pair)

    def chunks(self) -> Iterator[list[tuple[int, bytes]]]:
        """Lines with their numbers, so many as are worth answering together."""
        if self.path is None:
            yield from _available_lines(cast(BufferedReader, sys.stdin.buffer).read1, CHUNK)
            return
        total = None if self.path.suffix == ".gz" else self.path.stat().st_size
        with task("Reading", total=total) as step, _open_binary(self.path) as file:
            for nth, lines in enumerate(_available_lines(file.read, FILE_CHUNK)):
                if nth == 0 and _is_binary(b"\n".join(line for _, line in lines[:HEAD])[:HEAD]):
                    raise BadInput(f"{self.path}: is no text in UTF-8: it begins as binary files do")
                yield lines
                step(sum(len(line) + 1 for _, line in lines))

    def text_of(self, line: bytes) -> str | tuple[str, str] | list[str] | BadInput:
        """The text of a line, or the pair of texts, or the words, or what is wrong with it."""
        try:
            text = line.decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            return BadInput(f"not UTF-8 at byte {error.start + 1} of the line")
        if self.field is None or not text:
            return text
        try:
            record = json.loads(text)
        except ValueError:
            return BadInput("not JSON")
        if not isinstance(record, dict):
            return BadInput("not a JSON object")
        value = record.get(self.field)
        if self.words and isinstance(value, list) and all(isinstance(word, str) for word in value):
            return value
        for name in (self.field, self.pair):
            if name is not None and not isinstance(record.get(name), str):
                reason = f"the field {name!r} is no text" if name in record else f"no field {name!r}"
                return BadInput(f"{reason} (--field names another)" if name == self.field else reason)
            if name is not None and not record[name].strip():
                return BadInput(f"the field {name!r} is empty")
        text = str(record[self.field])
        return text if self.pair is None else (text, str(record[self.pair]))


@dataclass
class Refusals:
    """The lines that could not be used, by reason."""

    done: str  # what was not done with them: filled, scored
    path: Path | None = None  # of the file; None is standard input
    total: int = 0
    reasons: dict[str, list[int]] = field(default_factory=dict)

    def refuse(self, number: int, reason: BadInput) -> None:
        """Keep a line in mind."""
        self.reasons.setdefault(str(reason), []).append(number)

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(map(len, self.reasons.values()))

    def check(self) -> None:
        """One error for all of them, if there are any."""
        if self.reasons:
            in_order = sorted(self.reasons.items(), key=lambda item: item[1])
            where = "" if self.path is None else f"{self.path}: "
            named = [f"{where}{spell_lines(numbers)}: {reason}" for reason, numbers in in_order]
            raise BadLines([*named, f"{self.count:,} of {self.total:,} lines could not be {self.done}"])


def answer_texts(
    texts: Sequence[str],
    answer: Answer[Result],
    *,
    done: str,
    field: str | None = None,
    pair: str | None = None,
    out: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    source: LineSource | None = None,
) -> Iterator[Result | Written]:
    """The results of texts that are given, of a file's lines or of standard input's, as they come.

    With `out` they are written there and only what was written is given back; `settings` is what a command that goes on
    must agree with. A `source` stands for the texts, where its lines are not read as those of other files are.
    """
    source = source or source_of(texts, field, pair)
    if out is not None:
        if source is None or source.path is None:
            raise BadInput(f"--out {out}: results are kept for a file of texts; give one")
        yield _write_answers(source, answer, out, done=done, settings=dict(settings or {}))
        return
    if source is not None:
        yield from answer_lines(answer, done=done, source=source)
        return
    for text, results in zip(texts, answer(list(texts)), strict=True):
        if isinstance(results, BadInput):
            raise BadInput(f"{quoted(text)}: {results}")
        yield from results


def source_of(texts: Sequence[str], field: str | None = None, pair: str | None = None) -> LineSource | None:
    """The file or the standard input that stands for texts; None where they are the texts themselves."""
    if tuple(texts) == ("-",):
        return LineSource.of(None, field, pair)
    files = [text for text in texts if _is_file(text)]
    if not files:
        if len(texts) == 1 and FILE_NAME.fullmatch(texts[0]):
            near = nearest_path(texts[0])
            meant = "" if near is None else f", did you mean {near}?"
            raise BadInput(
                f"{texts[0]}: no file of that name is here{meant}; if it is a text, give it on standard input"
            )
        return None
    if len(texts) > 1:
        raise BadInput(f"{files[0]}: is a file, and there is more than it; give one file, or texts")
    return LineSource.of(Path(files[0]), field, pair)


def names_source(texts: Sequence[str]) -> bool:
    """Whether a file or the standard input stands for texts."""
    return any(text == "-" or _is_file(text) for text in texts)


def _is_file(text: str) -> bool:
    return os.path.isfile(text)  # noqa: PTH113  Path.is_file raises for a long text


def answer_lines(answer: Answer[Result], done: str, source: LineSource | None = None) -> Iterator[Result]:
    """The results of lines as they come; at the end the bad lines, which were not `done`."""
    refusals = Refusals(done, None if source is None else source.path)
    for _, results in _answered(answer, source or LineSource(None, None), refusals):
        if not isinstance(results, BadInput):
            yield from results
    refusals.check()
    if not refusals.total:
        where = "standard input" if source is None or source.path is None else str(source.path)
        raise BadInput(f"{where}: has no text in it, so nothing was {done}; give a text, or a text a line")


def _answered(
    answer: Answer[Result], source: LineSource, refusals: Refusals, after: int = 0
) -> Iterator[tuple[int, Sequence[Result] | BadInput]]:
    """Every line behind one, with its number, and its results or what is wrong with it; empty lines are nothing."""
    for lines in source.chunks():
        texts = {number: source.text_of(line) for number, line in lines if number > after}
        texts = {number: text for number, text in texts.items() if text}
        refusals.total += len(texts)
        good = [text for text in texts.values() if not isinstance(text, BadInput)]
        answers = iter(answer(good) if good else ())
        for number, text in texts.items():
            results = text if isinstance(text, BadInput) else next(answers)
            if isinstance(results, BadInput):
                refusals.refuse(number, results)
            yield number, results


def _write_answers(
    source: LineSource, answer: Answer[Any], out: Path, *, done: str, settings: dict[str, Any]
) -> Written:
    """A line of JSON for each result in `out`; what is there from a command that was stopped stays and is gone on from.

    A line that could not be used is there with its `error`. Which command it was is kept beside the file until it is
    whole.
    """
    assert source.path is not None
    check_writable(out, beside=True)
    stat = source.path.stat()
    agreed = to_plain({"source": source.path.resolve(), "bytes": stat.st_size, "changed": stat.st_mtime_ns} | settings)
    after = _lines_kept(out, agreed)
    refusals = Refusals(done)
    written = 0
    try:
        with out.open("ab") as file:
            for number, results in _answered(answer, source, refusals, after):
                if isinstance(results, BadInput):
                    rows = [{"line": number, "error": str(results)}]
                else:
                    rows = [{"line": number} | to_plain(asdict(result)) for result in results]
                file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
                written += len(rows)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; {written:,} lines are in {out}, the same command goes on") from None
    _state_of(out).unlink()
    return Written(path=out, lines=refusals.total, refused=refusals.count, continued_after=after)


def _state_of(out: Path) -> Path:
    """Where it is kept which command writes a file."""
    return out.with_name(f"{out.name}.unfinished")


def _lines_kept(out: Path, agreed: dict[str, Any]) -> int:
    """The number of the last line whose results are surely in the file whole; what comes behind them is cut off."""
    state = _state_of(out)
    if not out.exists() or not out.stat().st_size:
        write_json(state, agreed)
        return 0
    if not state.exists():
        raise Refused(f"{out}: is there already and whole; give another --out, or delete it")
    kept = json.loads(state.read_text(encoding="utf-8"))
    if differing := sorted(name for name in {*kept, *agreed} if kept.get(name) != agreed.get(name)):
        raise Refused(f"{out}: was begun with another {', '.join(differing)}; give another --out, or delete it")
    previous = number = begin = place = 0
    with out.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n") and (this := int(json.loads(line)["line"])) != number:
                previous, number, begin = number, this, place
            place += len(line)
        file.truncate(begin)  # a line may have several results: those of the last are made again
    return previous


def _is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is no text: a zero byte alone may stray into one, and so may another encoding.

    >>> [_is_binary(head) for head in (b"a\\0b", b"caf\\xe9", b"caf\\xe9\\0\\1\\2", "é\\0é".encode()[:-1])]
    [False, False, True, False]
    """
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return b"\0" in head and error.start < len(head) - 3  # the last letter may be cut
    return False


def _open_binary(path: Path) -> IO[bytes]:
    """A file to read, packed or not."""
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def _available_lines(read: Callable[[int], bytes], size: int) -> Iterator[list[tuple[int, bytes]]]:
    """The lines that can be had without waiting for more, with their numbers: what is typed is answered at once."""
    number, beginning = 0, [b""]
    while chunk := read(size):
        first, *others = chunk.split(b"\n")
        beginning.append(first)
        if not others:
            continue
        lines = [b"".join(beginning), *others[:-1]]
        beginning = [others[-1]]
        yield list(enumerate(lines, start=number + 1))
        number += len(lines)
    if any(beginning):
        yield [(number + 1, b"".join(beginning))]


def spell_lines(numbers: Sequence[int]) -> str:
    """Line numbers as people write them.

    >>> spell_lines([7]), spell_lines([2, 4, 5, 6, 9])
    ('line 7', 'lines 2, 4–6, 9')
    """
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    spelt = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:SHOWN]]
    others = sum(map(len, runs[SHOWN:]))
    return f"line{'s' * (len(numbers) > 1)} {', '.join(spelt)}" + (f" and {others:,} more" if others else "")
