"""The words of a domain put into a model's tokenizer, and both texts written in the new tokens.

In: a tokenizer, the data of the domain and general data. Out: `extension/` in the run directory, whole or not there:

    extension.json   what it was made of, how many words there are, and what they save
    words.txt        the words, to be read, edited and given back by --extend
    tokenizer/       the tokenizer with them
    domain/ general/ both texts in its tokens
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.files import sha256_of, whole_directory, with_seal, write_json
from unmask.progress import say, task
from unmask.runs.claim import read_sealed
from unmask.runs.commands import quoted_path
from unmask.tasks.start import weights_digest
from unmask.tokens.reencode import reencode
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.extend import check_extensible, extend_tokenizer
from unmask.tokens.tokenizer.load import load_tokenizer, vocabulary_size
from unmask.tokens.tokenizer.wanted import NewWord, WordCounts, choose_words, count_words, read_words, write_words
from unmask.training.machine.distributed import launched

FOLDER, FILE, WORDS = "extension", "extension.json", "words.txt"
AUTO = "auto"


@dataclass(frozen=True)
class Extension:
    """A vocabulary that was extended."""

    path: Path
    facts: Mapping[str, Any]

    @property
    def first(self) -> int:
        """The id of the first new word."""
        return int(self.facts["first"])

    @property
    def pieces(self) -> list[list[int]]:
        """The old tokens of each new word."""
        return list(self.facts["pieces"])

    @property
    def words(self) -> int:
        """How many there are."""
        return len(self.pieces)

    @property
    def saved(self) -> float:
        """The share of the tokens of held-out domain text that the words save."""
        before, after = self.facts["tokens"]["before"], self.facts["tokens"]["after"]
        return float(1 - after / max(1, before))

    @property
    def domain(self) -> Dataset:
        """The domain in the new tokens."""
        return Dataset.open(self.path / "domain")

    @property
    def general(self) -> Dataset | None:
        """General text in the new tokens, where there is some."""
        return Dataset.open(self.path / "general") if (self.path / "general").is_dir() else None


def read_extension(run: Path) -> Extension | None:
    """The extension of a run, if it has one."""
    path = run / FOLDER
    return Extension(path, read_sealed(path / FILE)) if (path / FILE).is_file() else None


def extension_of(run: Path, start: Path, domain: Dataset, general: Dataset | None, extend: str) -> Extension:
    """The extension of a run: the one that is there, if it is of the same model, data and words; else a new one."""
    inputs = {
        "extend": extend,
        "list": sha256_of(Path(extend)) if _is_list(extend) and Path(extend).is_file() else None,
        "model": weights_digest(start),
        "data": domain.fingerprint,
        "replay": None if general is None else general.fingerprint,
    }
    before = read_extension(run)
    if before is not None and all(before.facts["inputs"][name] == inputs[name] for name in inputs if inputs[name]):
        return before
    size, rank = launched()
    while rank and size > 1:  # the first process makes it
        time.sleep(0.2)
        made = read_extension(run)
        if made is not None and made.facts["inputs"] == inputs:
            return made
    return _extend(run / FOLDER, start, domain, general, inputs)


def _extend(path: Path, start: Path, domain: Dataset, general: Dataset | None, inputs: Mapping[str, Any]) -> Extension:
    tokenizer = load_tokenizer(start)
    check_extensible(tokenizer)
    extend = str(inputs["extend"])
    with task("Counting words") as step:
        counts = count_words(tokenizer, domain.texts("train"))
        step(1, note=f"{len(counts.everywhere):,} different ones")
    weighed = domain.manifest["tokens"]["train"] // 2
    words = _words(extend, tokenizer, counts, weighed)
    if not words:
        raise BadInput(f"--extend {extend}: no word of the domain is worth a token of its own; leave --extend out")
    with whole_directory(path) as folder:
        extended = extend_tokenizer(tokenizer, [new.unit for new in words], folder / "tokenizer")
        write_words(folder / WORDS, words)
        new_domain = reencode(domain, extended, folder / "domain")
        if general is not None:
            reencode(general, extended, folder / "general")
        facts = {
            "inputs": dict(inputs),
            "first": vocabulary_size(tokenizer),
            "pieces": [[tokenizer.convert_tokens_to_ids(piece) for piece in new.pieces] for new in words],
            "tokens": {"before": domain.manifest["tokens"]["valid"], "after": new_domain.manifest["tokens"]["valid"]},
        }
        write_json(folder / FILE, with_seal(facts))
    extension = Extension(path, facts)
    saved = f"save {extension.saved:.1%} of its tokens"
    say(f"{extension.words:,} words of the domain get a token each and {saved}: {path / WORDS}")
    return extension


def check_tokenizer(directory: Path, dataset: Dataset) -> None:
    """Refuse data that is encoded in other tokens than the model reads."""
    own, other = load_tokenizer(directory), dataset.tokenizer()
    if own.get_vocab() != other.get_vocab():
        command = f"unmask prepare TEXT --out DATA --tokenizer {quoted_path(directory)}"
        raise BadInput(f"{dataset.path}: is in other tokens than {directory} reads; `{command}` prepares it right")


def _words(extend: str, tokenizer: Any, counts: WordCounts, tokens: int) -> list[NewWord]:
    if _is_list(extend):
        if not Path(extend).is_file():
            raise BadInput(f"--extend {extend}: is neither a number of words, nor auto, nor a file that lists them")
        return read_words(Path(extend), tokenizer, counts)
    wanted = None if extend == AUTO else int(extend)
    return choose_words(tokenizer, counts, wanted, tokens)


def _is_list(extend: str) -> bool:
    return extend != AUTO and not extend.isdecimal()
