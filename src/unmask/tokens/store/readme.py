"""The README of a data directory: what a person who finds one has to know, in two screens."""

from __future__ import annotations

from typing import Any


def data_readme(facts: dict[str, Any]) -> str:
    """The explanation, with the figures of the manifest."""
    counts, tokens = facts["counts"], facts["tokens"]
    splits = "\n".join(f"| {split} | {counts[split]:,} | {tokens[split]:,} |" for split in tokens)
    marked = (SPAN_LINE if facts.get("spans") else "") + (LANGUAGE_LINE if facts["settings"].get("languages") else "")
    return TEXT.format(splits=splits, marked=marked, **facts)


LANGUAGE_LINE = "| `train/languages.npy` | the language of each document, a place in the manifest's list: int64 |\n"
SPAN_LINE = "| `train/spans.entity.npy` … | spans of a kind: int64, S × 2, where each begins and ends in the tokens |\n"


TEXT = """# A data directory of unmask

Text, cleaned and encoded for training a masked language model. Of {counts[read]:,} documents that were read these
are here, in tokens of a vocabulary of {vocabulary:,}:

| split | documents | tokens |
|---|---|---|
{splits}

`valid` is held out: nothing is trained on it, not even the tokenizer. Which side a document is on depends on its text
alone, so it stays there when documents are added.

## What is here

| path | what it is |
|---|---|
| `manifest.json` | what was read and left out, the settings, the size and SHA-256 of every file |
| `report.html` | the data for people: what was left out and why, lengths, sources, tokens, documents to read |
| `documents/train/`, `documents/valid/` | the clean `text` with its `source`, its `line` and its `number` of all read |
| `tokenizer/` | the tokenizer, for `AutoTokenizer.from_pretrained` of transformers 4.57 and 5 |
| `train/`, `valid/` | the same documents in the same order, as tokens |
| `train/counts.npy` | how often each token id occurs in `train` |
| `sources.json` | the files it was made of, with their sizes and dates, by which `--add` tells new ones |
{marked}| `quarantine.jsonl` | what could not be read: file, line and reason; absent when there was nothing |
| `removed.parquet` | what was left out: place, step, and what was kept instead; absent when there was nothing |
| `collocations.txt`, `entities.txt` | what belongs together, once a training has mined it: yours to edit |

The tokens are numpy arrays in shards. A document never crosses two shards, and has no special tokens around it.

    00000.tokens.npy   the token ids, uint16 (uint32 for a vocabulary over 65,536)
    00000.words.npy    one bit for each token, the first in the highest bit: does it start a word
    00000.ends.npy     int64, where each document ends: document i is tokens[ends[i - 1]:ends[i]]

## To use it

    unmask pretrain DIRECTORY --out run --minutes 10    # train on it
    unmask verify DIRECTORY                             # name every file that is not what it was

    from unmask.tokens.store.dataset import Dataset
    data = Dataset.open("DIRECTORY")
    stream = data.split("train")
    ids, word_starts = stream.read(0, int(stream.ends[0]))    # the first document
    print(data.tokenizer().decode(ids), next(data.texts("train")))

The same input and settings give this directory again, byte for byte. Do not edit it, but for the two lists:
make another.
"""
