"""Prepared text in the tokens of another tokenizer: what an extended vocabulary is trained on.

In: a data directory and a tokenizer. Out: a data directory of the same documents in the same order, in other tokens.
The documents themselves stay where they are, and so do marked spans, which are places among the old tokens.
"""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from unmask.files import SEAL, whole_directory
from unmask.progress import task
from unmask.tokens.encode_split import encode_split
from unmask.tokens.store.dataset import SPLITS, Dataset
from unmask.tokens.store.manifest import write_manifest
from unmask.tokens.store.shards import SHARD_TOKENS, write_array
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_of

OWN = ("kind", "format", "files", "spans", SEAL)  # of a manifest, what is another's


def reencode(dataset: Dataset, tokenizer: PreTrainedTokenizerFast, out: Path) -> Dataset:
    """Write the tokens of a data directory anew; `out` is there when all of it is done, and not before."""
    facts = {name: value for name, value in dataset.manifest.items() if name not in OWN}
    documents = sum(facts["counts"][split] for split in SPLITS)
    with whole_directory(out) as folder, task("Encoding", total=documents) as step:
        save_tokenizer(tokenizer, folder / "tokenizer")
        tokens: dict[str, int] = {}
        for split in SPLITS:
            shards, _ = encode_split(
                dataset.path / "documents" / split,
                folder / split,
                load_tokenizer(folder / "tokenizer"),
                shard_tokens=facts["settings"].get("shard_tokens", SHARD_TOKENS),
                finders={},
                segmenter=dataset.segmenter(),
                step=step,
                before=sum(tokens.values()),
            )
            tokens[split] = shards.tokens
            if split == "train":
                write_array(folder / split / "counts.npy", shards.counts)
        facts |= {"vocabulary": vocabulary_of(tokenizer).size, "tokens": tokens}
        write_manifest(folder, facts)
    return Dataset.open(out)
