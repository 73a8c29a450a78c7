"""Raw text to a data directory, and whether one is still what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from unmask.errors import BadInput
from unmask.results import Fate, Prepared, RulesTried, TokenizerSweep, Verified
from unmask.verbs.arguments import Location, text_of
from unmask.verbs.commands import verb


@verb
def prepare(
    *sources: Location,
    out: Location,
    field: str = "text",
    encoding: str = "utf-8",
    html: Literal["whole", "main"] = "whole",
    tokenizer: str = "wordpiece",
    vocab_size: int | None = None,
    cased: bool = True,
    valid: float = 0.01,
    min_characters: int = 20,
    near_duplicates: float | None = None,
    leaks: bool = False,
    max_losses: float = 0.01,
    entities: Location | None = None,
    phrases: Location | None = None,
    spacy: str | None = None,
    segmenter: str | None = None,
    languages: str | None = None,
    mix: str | None = None,
    filters: str = "none",
    language: str | None = None,
    mask_personal: bool = False,
    like: Location | None = None,
    decontaminate: tuple[str, ...] = (),
    repair: bool = True,
    try_: bool = False,
    train: str | None = None,
    add: bool = False,
    overwrite: bool = False,
    processes: int | None = None,
    engine: Literal["local", "ray"] = "local",
    ray_address: str | None = None,
) -> Prepared | RulesTried:
    """Make a data directory of raw text.

    Reads text (a paragraph per line, a blank line between documents), JSONL, CSV, parquet, Markdown and HTML, and with
    pip install 'unmask[office]' PDF and docx, plain, compressed (.gz, .zst, .xz, .bz2), in tar or in WARC and WET;
    cleans it, sets documents aside to measure on, trains a tokenizer and encodes. JSONL may mark entities and phrases:
    "spans": [[start, end, "entity"]]. Interrupted, the same command goes on with what was not read yet.

    Args:
        sources: Files, folders, globs, here or in stores (s3://, gs://, hf://datasets/), - for standard input, or
            builtin: the documentation on this machine.
        out: The data directory to write.
        field: The field of JSONL, CSV and parquet that holds the text.
        encoding: How to read text, JSONL, CSV, Markdown and HTML that is not UTF-8: latin-1, utf-16 and so on.
        html: What is read of HTML pages: all prose, or the main text alone (pip install 'unmask[html]').
        tokenizer: The kind to train (wordpiece, bpe or unigram), or one to take as it is: a
            tokenizer directory, or a run, a model or data that has one.
        vocab_size: How many tokens the trained vocabulary has; 16,384, or what the text allows, if not given.
        cased: Tell capitals from small letters, in the trained tokenizer.
        valid: The fraction of documents held out to measure on.
        min_characters: Documents shorter than this are left out.
        near_duplicates: Leave documents out that are as similar as this to one that is kept, such as 0.8.
        leaks: Measure how much of the held-out text stands in the training text, before and after duplicates are left
            out; it takes another pass over the text.
        max_losses: The share of documents that may be unreadable (ten may in any case); above it the exit code is 9.
        entities: A file with an entity a line, to be marked in the text for the policy entity.
        phrases: A file with a phrase a line, to be marked in the text for the policy phrase.
        spacy: A spaCy pipeline that marks entities, and noun chunks as phrases (pip install 'unmask[spacy]').
        segmenter: What cuts text into words, if not the tokenizer: module:function, such as jieba:cut.
        languages: Tell languages by file (en.txt, de.txt) or folder, for xlm-r; the tokenizer learns from all alike.
        mix: Proportions in which sources are trained on, by the names of files or folders: wiki=2,law=1.
        filters: Rules that drop documents and lines: web (gopher, c4 and fineweb), dclm, boilerplate or names of rules,
            with commas between; -NAME takes one out: web,-c4-curly-brackets. docs/corpus.md has the table.
        language: Keep the documents in these languages, en or en,de; any keeps all, and which it is with each.
        mask_personal: Put name@example.com for emails and 192.0.2.1 for public addresses.
        like: Good text of your own, from which the limits of the filters are taken: 99 of 100 of it stay by each.
        decontaminate: Files of what is to be measured on; documents that contain an item are left out.
        repair: Put text right that was decoded wrongly, such as "itâ€™s".
        try_: Write nothing, and say what each rule would do to a sample, with examples; all of them, if none is named.
        train: With --try: train a tiny model too, 60s or 5m, on the sample without rules, and for as many steps with
            all of them and with each that drops most, and say the bits per byte of each on held-out text.
        add: Add what is new among the sources to the data directory: its settings and tokenizer stay, and so do its
            documents, each on its side of the split.
        overwrite: Replace what is already in the data directory.
        processes: How many processes read; as many as there are cores, if not given. The result is the same.
        engine: Who reads: processes of this machine, or a Ray cluster (pip install 'unmask[ray]') to the same bytes.
        ray_address: The cluster: auto, or host:port; a Ray of this machine's own, if not given.
    """
    from unmask.corpus.engines.engine import Engine
    from unmask.corpus.rules.request import RuleRequest, try_request
    from unmask.tokens.adding import add_files
    from unmask.tokens.prepare import prepare as run

    if not sources:
        raise BadInput("nothing to read: name files, folders or globs, or - for standard input")
    names = [str(source) for source in sources]
    request = RuleRequest(
        filters=filters,
        language=language,
        mask_personal=mask_personal,
        like=text_of(like),
        decontaminate=decontaminate,
        repair=repair,
    )
    if train is not None:
        if not try_:
            raise BadInput(f"--train {train}: is for --try; unmask pretrain trains on what was prepared")
        from unmask.evaluation.rule_race import race_rules
        from unmask.evaluation.vocabulary_race import parse_seconds

        return race_rules(names, request, parse_seconds(train), field=field, encoding=encoding, html=html)
    if try_:
        return try_request(names, request, field=field, encoding=encoding, html=html)
    if add and overwrite:
        raise BadInput("--add and --overwrite: the one keeps what is there, the other does not; give one of them")
    more: dict[str, Any] = {} if add else {"overwrite": overwrite}
    return (add_files if add else run)(
        names,
        Path(out),
        field=field,
        encoding=encoding,
        html=None if html == "whole" else html,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        cased=cased,
        valid=valid,
        min_characters=min_characters,
        near_duplicates=near_duplicates,
        leaks=leaks or None,
        max_losses=max_losses,
        entities=text_of(entities),
        phrases=text_of(phrases),
        spacy=spacy,
        segmenter=segmenter,
        languages=languages,
        mix=mix,
        asked_rules=request,
        engine=Engine(kind=engine, processes=processes, ray_address=ray_address),
        **more,
    )


@verb
def verify(path: Location, /) -> Verified:
    """Check every file of a data directory against its manifest.

    A flipped byte, a truncated, missing or unexpected file is named, and the exit code says so.

    Args:
        path: The data directory; or a vectors directory, or a search index.
    """
    from unmask.files import path_kind

    if Path(path).is_dir() and path_kind(Path(path)) in ("a vectors directory", "a search index"):
        from unmask.inference.vector_store import verify_vectors

        return verify_vectors(Path(path))
    from unmask.tokens.store.manifest import verify as run

    return run(Path(path))


@verb
def why(data: Location, document: str, /) -> Fate:
    """Say why a document is not in the data.

    Which step left it out, by which rule and what it measured, which document was kept instead, and how both begin.
    What could not be read at all is told too, and what was kept is said to be.

    Args:
        data: A data directory.
        document: The number of a document among all that were read, or its place, SOURCE:LINE.
    """
    from unmask.tokens.store.fate import fate_of

    return fate_of(Path(data), document)


@verb
def tokenizer(
    data: Location,
    /,
    *,
    sweep: str = "4k,8k,16k,32k",
    kind: str | None = None,
    cased: bool = True,
    recipe: str = "mini",
    train: str | None = None,
) -> TokenizerSweep:
    """Say how large a vocabulary should be, by tokens and cost per byte.

    A tokenizer of each size is trained on the training text (a sample of 32 Mi characters from all over it: twice as
    many gave 0.1 % fewer tokens) and measured on the documents held out: tokens per byte and per character, by language
    where prepare was asked to tell it, the worst first, and the operations that a byte of text takes in training.

    Args:
        data: The data directory.
        sweep: The sizes, with commas between; 16k is 16,384.
        kind: The kind of tokenizer: wordpiece, bpe or unigram; the data's own if not given.
        cased: Tell capitals from small letters.
        recipe: The model whose cost is counted, as for pretrain.
        train: Train this model too, 60s or 5m for the first size and as much work for each, and say its bits per byte.
    """
    from unmask.tokens.store.manifest import read_manifest

    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    from unmask.planning.vocabulary import sweep_sizes, sweep_vocabularies
    from unmask.tokens.store.dataset import Dataset

    dataset, sizes = Dataset.open(Path(data)), sweep_sizes(sweep)
    if train is None:
        return sweep_vocabularies(dataset, sizes, kind=kind, cased=cased, recipe=recipe)
    from unmask.evaluation.vocabulary_race import parse_seconds, race_sizes

    return race_sizes(dataset, sizes, parse_seconds(train), kind=kind, cased=cased, recipe=recipe)
