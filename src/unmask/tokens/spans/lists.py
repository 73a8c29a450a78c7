"""What is hidden whole where nobody marked it: lists mined from the training text, and kept with the data to be edited.

In: a data directory and the kinds of spans that a policy hides. Out: for each kind what marks it in blocks: the data's
own spans, a list that was given, or a list that is kept in the data directory and mined if it is not there yet.

    collocations.txt    word sequences that belong together: for the policies collocation and phrase
    entities.txt        sequences of capitalised words: for the policy entity

Mining is a function of the data, and a list appears under its name whole: of several processes that mine at once, each
has the same. Both lists are no part of the manifest, so a person may edit them; what they say is part of what a run is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from unmask.errors import BadInput
from unmask.files import json_digest, sync
from unmask.progress import task
from unmask.tokens.spans.collocations import mine_collocations
from unmask.tokens.spans.entities import mine_entities
from unmask.tokens.spans.lexicon import Lexicon
from unmask.tokens.spans.marked import Spans
from unmask.tokens.spans.phrases import (
    as_phrases,
    parse_phrases,
    phrase_lexicon,
    phrase_lines,
    read_content,
    wordless_tokens,
)
from unmask.tokens.store.manifest import COLLOCATIONS, ENTITIES

if TYPE_CHECKING:
    from unmask.corruption.schedule import MaskingSchedule
    from unmask.tokens.store.dataset import Dataset

PASSES = 10  # over the tokens, for collocations of up to five words
TOLD_EVERY = 256  # documents between two steps of the progress
COLLOCATION_KINDS, ENTITY_KIND = ("collocation", "phrase"), "entity"
ONE = {"collocations": "collocation", "entities": "entity"}
ENTITY_HEADER = (
    "# Sequences of capitalised words, most frequent first: count, entity. Strike out lines, or add your own.\n"
)


@dataclass(frozen=True)
class PhraseList:
    """A list of phrases that is kept with the data."""

    what: str  # collocations or entities
    data: Path
    path: Path
    phrases: tuple[str, ...]
    mined: bool  # just now
    kept: bool  # for the next time

    def __str__(self) -> str:
        """Where it comes from, in a line."""
        count = _count(len(self.phrases), self.what)
        if not self.mined:
            return f"{count} from {self.path}"
        how = "from capitalised words" if self.what == "entities" else "mined"
        if not self.kept:
            return f"{count} {how}, not kept: {self.data} cannot be written"
        return f"{count} {how}, kept in {self.path} to be edited"


@dataclass(frozen=True)
class Marking:
    """What marks the spans that a policy hides whole, by their kind."""

    spans: Mapping[str, Spans] = field(default_factory=dict)  # as the data marks them
    lexicons: Mapping[str, Lexicon] = field(default_factory=dict)  # of lists
    digest: str | None = None  # of what the lists say
    lines: tuple[str, ...] = ()  # where the lists come from


def marking_for(dataset: Dataset, masking: MaskingSchedule | None, split: str, phrases: Sequence[str] = ()) -> Marking:
    """What marks the spans that a schedule hides: given phrases for all kinds, or the data's spans, or its lists."""
    kinds = [] if masking is None else masking.span_kinds
    if phrases:
        lexicon = _lexicon(dataset, phrases) if kinds else Lexicon({})
        return Marking(lexicons=dict.fromkeys(kinds, lexicon), digest=json_digest(list(phrases)))
    marked = dataset.spans(split) if kinds else {}
    spans = {kind: marked[kind] for kind in kinds if kind in marked}
    phrases_by_kind, lines = listed_phrases(dataset, [kind for kind in kinds if kind not in spans])
    lexicons = {kind: _lexicon(dataset, kind_phrases) for kind, kind_phrases in phrases_by_kind.items()}
    return Marking(spans, lexicons, json_digest(phrases_by_kind) if phrases_by_kind else None, lines)


def _lexicon(dataset: Dataset, phrases: Sequence[str]) -> Lexicon:
    return phrase_lexicon(dataset.tokenizer(), phrases, dataset.segmenter())


def listed_phrases(dataset: Dataset, kinds: Iterable[str]) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """The phrases of each kind from the lists of a data directory, mined where there are none; and lines that say so.

    Where a script has no capitals, collocations stand for entities.
    """
    kinds = list(kinds)
    if not kinds:
        return {}, ()
    if unknown := [kind for kind in kinds if kind not in (*COLLOCATION_KINDS, ENTITY_KIND)]:
        raise BadInput(
            f"policy {unknown[0]!r} hides spans, and {dataset.path} has none of that kind: give --phrases, a file with "
            "a phrase a line, or mark them with unmask prepare"
        )
    collocations = phrase_list(dataset, "collocations")
    phrases = {kind: list(collocations.phrases) for kind in kinds if kind in COLLOCATION_KINDS}
    lines = []
    if phrases:
        lines = [str(collocations)]
        if not collocations.phrases:
            lines.append(f"[yellow]no words of {dataset.path} belong together often enough: single words are hidden[/]")
    if ENTITY_KIND in kinds:
        entities = phrase_list(dataset, "entities")
        caseless = [phrase for phrase in collocations.phrases if is_caseless(phrase)]
        phrases[ENTITY_KIND] = [*entities.phrases, *caseless] or list(collocations.phrases)
        lines += _entity_lines(entities, collocations, len(caseless))
    return phrases, tuple(lines)


def _entity_lines(entities: PhraseList, collocations: PhraseList, caseless: int) -> Iterator[str]:
    """Where entities come from."""
    if entities.phrases:
        yield str(entities)
    if caseless:
        yield f"{_count(caseless, 'collocations')} for entities, in a script without capitals"
    elif not entities.phrases and collocations.phrases:
        yield f"[yellow]no names told by capitals in {entities.data}: collocations stand for entities[/]"
    elif not entities.phrases:
        yield f"[yellow]no names told by capitals in {entities.data}: single words are hidden[/]"


def _count(number: int, what: str) -> str:
    """So many of a list.

    >>> _count(1, "entities"), _count(3412, "collocations")
    ('1 entity', '3,412 collocations')
    """
    return f"{number:,} {what if number != 1 else ONE[what]}"


def is_caseless(text: str) -> bool:
    """Whether a text is written in letters that are neither small nor capital.

    >>> [is_caseless(text) for text in ("東京 都", "New York", "19 20")]
    [True, False, False]
    """
    return text.lower() == text.upper() and any(map(str.isalpha, text))


def phrase_list(dataset: Dataset, what: str) -> PhraseList:
    """A list of the data directory, mined if it is not there."""
    name, mine = LISTS[what]
    path = dataset.path / name
    if path.exists():
        return PhraseList(what, dataset.path, path, tuple(parse_phrases(read_content(path), path)), False, True)
    content = mine(dataset).encode()
    kept = _keep(path, content)
    return PhraseList(what, dataset.path, path, tuple(parse_phrases(content, path)), True, kept)


def _collocations(dataset: Dataset) -> str:
    tokenizer = dataset.tokenizer()
    with task("Collocations", total=PASSES) as step:
        best = mine_collocations(dataset.split("train"), wordless_tokens(tokenizer), step=step).collocations
        step(note=f"{len(best):,}")
    return phrase_lines(as_phrases(best, tokenizer))


def _entities(dataset: Dataset) -> str:
    with task("Entities", total=dataset.manifest["counts"]["train"]) as step:

        def texts() -> Iterator[str]:
            for number, text in enumerate(dataset.texts("train"), start=1):
                yield text
                if number % TOLD_EVERY == 0:
                    step(TOLD_EVERY)

        entities = mine_entities(texts())
        step(note=f"{len(entities):,}")
    return ENTITY_HEADER + "".join(f"{entity.count}\t{entity.text}\n" for entity in entities)


LISTS: dict[str, tuple[str, Callable[[Dataset], str]]] = {
    "collocations": (COLLOCATIONS, _collocations),
    "entities": (ENTITIES, _entities),
}


def _keep(path: Path, content: bytes) -> bool:
    """Write a list in one piece, unless somebody else did; whether it could be written: training does not need it."""
    aside = path.with_name(f".{path.name}.{uuid4().hex}.writing")
    try:
        aside.write_bytes(content)
        sync(aside)
        if not path.exists():
            aside.replace(path)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            aside.unlink()
    return True
