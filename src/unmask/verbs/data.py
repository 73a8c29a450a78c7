"""Raw text to a data directory, and what there is to find in one."""

from __future__ import annotations

from pathlib import Path

from unmask.errors import BadInput, Refused
from unmask.results import Collocated, Prepared, Verified
from unmask.verbs.arguments import Location, text_of


def prepare(
    *sources: Location,
    out: Location,
    field: str = "text",
    tokenizer: str = "wordpiece",
    vocab_size: int | None = None,
    cased: bool = True,
    valid: float = 0.01,
    min_characters: int = 20,
    entities: Location | None = None,
    phrases: Location | None = None,
    spacy: str | None = None,
    segmenter: str | None = None,
    languages: str | None = None,
    overwrite: bool = False,
) -> Prepared:
    """Make a data directory of raw text.

    Reads text (a paragraph per line, a blank line between documents), JSONL, CSV, parquet, Markdown and HTML,
    plain or compressed (.gz, .zst, .xz); cleans it, sets documents aside to measure on, trains a tokenizer
    and encodes. JSONL may mark entities and phrases: "spans": [[start, end, "entity"], …].

    Args:
        sources: Files, folders, globs, - for standard input, or builtin: the documentation on this machine.
        out: The data directory to write.
        field: The field of JSONL, CSV and parquet that holds the text.
        tokenizer: The kind to train (wordpiece, bpe or unigram), or a tokenizer directory to take as it is.
        vocab_size: How many tokens the trained vocabulary has; 16,384, or what the text allows, if not given.
        cased: Tell capitals from small letters, in the trained tokenizer.
        valid: The fraction of documents held out to measure on.
        min_characters: Documents shorter than this are left out.
        entities: A file with an entity a line, to be marked in the text for the policy entity.
        phrases: A file with a phrase a line, to be marked in the text for the policy phrase.
        spacy: A spaCy pipeline that marks entities, and noun chunks as phrases (pip install 'unmask[spacy]').
        segmenter: What cuts text into words, if not the tokenizer: module:function, such as jieba:cut.
        languages: Tell languages by file (en.txt, de.txt) or folder, for xlm-r; the tokenizer learns from all alike.
        overwrite: Replace what is already in the data directory.
    """
    from unmask.tokens.prepare import prepare as run

    if not sources:
        raise BadInput("nothing to read: name files, folders or globs, or - for standard input")
    return run(
        [str(source) for source in sources],
        Path(out),
        field=field,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        cased=cased,
        valid=valid,
        min_characters=min_characters,
        entities=text_of(entities),
        phrases=text_of(phrases),
        spacy=spacy,
        segmenter=segmenter,
        languages=languages,
        overwrite=overwrite,
    )


def verify(path: Location, /) -> Verified:
    """Check every file of a data directory against its manifest.

    A flipped byte, a truncated, missing or unexpected file is named, and the exit code says so.

    Args:
        path: The data directory.
    """
    from unmask.tokens.store.manifest import verify as run

    return run(Path(path))


def collocations(
    data: Location,
    /,
    *,
    out: Location | None = None,
    top: int = 20_000,
    longest: int = 5,
    least: int = 10,
    overwrite: bool = False,
) -> Collocated:
    """Find the word sequences of a data directory that belong together.

    Those that no split of theirs explains (PMI-masking), best first. The list is text, a phrase a line: strike out
    lines, add some, and give it to pretrain, audit or show with --phrases.

    Args:
        data: A data directory made by prepare.
        out: The list to write; without it the best are only shown.
        top: How many to keep.
        longest: How many words a collocation has at the most.
        least: Only what occurs more often than this.
        overwrite: Replace a list that is already there, edited or not.
    """
    from time import perf_counter

    from unmask.tokens.store.manifest import read_manifest

    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    if out is not None and Path(out).exists() and not overwrite:
        raise Refused(f"{out}: is already there; name another file, or replace it with --overwrite")
    from unmask.progress import task
    from unmask.tokens.spans.collocations import mine_collocations
    from unmask.tokens.spans.phrases import as_phrases, wordless_tokens, write_phrases
    from unmask.tokens.store.dataset import Dataset

    began = perf_counter()
    dataset = Dataset.open(data)
    stream, tokenizer = dataset.split("train"), dataset.tokenizer()
    with task("Collocations", total=2 * longest) as step:
        mined = mine_collocations(stream, wordless_tokens(tokenizer), longest=longest, least=least, top=top, step=step)
    phrases = as_phrases(mined, tokenizer)
    if out is not None:
        write_phrases(phrases, Path(out))
    return Collocated(
        data=Path(data),
        path=None if out is None else Path(out),
        phrases=tuple(phrases),
        seconds=perf_counter() - began,
    )
