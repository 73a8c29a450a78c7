"""A name to a directory: models that others share on the hub, fetched once and then in its cache.

In: `org/name`, or `hf:name`. Out: the directory of its config, its tokenizer and its safetensors, as huggingface_hub
keeps it. Pickles and code are never asked for. Light: the client is loaded when there is something to look up.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged
from unmask.files import explain_disk_errors, nearest_path
from unmask.models.weights import INDEX, SINGLE, weight_files
from unmask.network import hub_allowed
from unmask.progress import Step, task

PREFIX = "hf:"
NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)
TOKENIZER = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model"),
)
SENTENCES = ("modules.json", "sentence_bert_config.json", "*_Pooling/config.json")  # how its vectors are made of tokens
FILES = ["config.json", *SENTENCES, SINGLE, INDEX, "model-*-of-*.safetensors", *TOKENIZER]


def hub_name(path: Path) -> str | None:
    """The name on the hub that a path which is not there stands for, if it is one.

    `hf:name` always is; `org/name` is where there is no folder `org`; a bare name is if the hub's cache has it.

    >>> hub_name(Path("answerdotai/ModernBERT-base")), hub_name(Path("hf:bert-base-uncased")), hub_name(Path("rum"))
    ('answerdotai/ModernBERT-base', 'bert-base-uncased', None)
    """
    text = str(path)
    if text.startswith(PREFIX):
        return text.removeprefix(PREFIX).strip("/")
    if NAME.fullmatch(text):
        return None if path.parent.exists() else text
    return text if re.fullmatch(r"\w[\w.-]*", text, re.ASCII) and _cache_of(text).is_dir() else None


def _cache_of(name: str) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def fetch_model(name: str, revision: str | None = None) -> Path:
    """The directory of a model on the hub: what is whole in the cache as it is, anything else from the network."""
    from huggingface_hub.errors import HFValidationError

    try:
        return _cached(name, revision) or _fetch(name, revision, FILES, _check_listing)
    except HFValidationError as error:
        raise BadInput(f"{PREFIX}{name}: no name on the hub; give {PREFIX}org/name") from error


def fetch_tokenizer(name: str, revision: str | None = None) -> Path:
    """The directory of the tokenizer of a model on the hub; weights are not fetched for it."""
    from huggingface_hub.errors import HFValidationError

    try:
        place = _snapshot(name, revision, [*TOKENIZER])
        has_tokenizer = place is not None and any((place / file).is_file() for file in TOKENIZER)
        if place is not None and has_tokenizer:
            return place
        return _fetch(name, revision, ["config.json", *TOKENIZER], _check_tokenizer)
    except HFValidationError as error:
        raise BadInput(f"{PREFIX}{name}: no name on the hub; give {PREFIX}org/name") from error


def _cached(name: str, revision: str | None) -> Path | None:
    """The snapshot in the cache, if nothing of it is missing."""
    place = _snapshot(name, revision, FILES)
    try:
        if place is None or not weight_files(place):  # another program may have fetched less
            return None
    except (BadInput, Damaged):
        return None
    whole = (place / "config.json").is_file() and any((place / file).is_file() for file in TOKENIZER)
    return place if whole else None


def _snapshot(name: str, revision: str | None, patterns: list[str]) -> Path | None:
    """What the cache has, whole or not."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def _fetch(name: str, revision: str | None, patterns: list[str], check: Callable[[str, list[str]], None]) -> Path:
    from huggingface_hub import HfApi, snapshot_download

    with _asking_the_hub(name, revision), task(f"Fetching {name}") as step, explain_disk_errors(_cache_of(name)):
        files = [file.rfilename for file in HfApi().model_info(name, revision=revision).siblings or ()]
        check(name, files)
        bars = _bars_to(step)
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, tqdm_class=bars))


def _check_tokenizer(name: str, files: list[str]) -> None:
    if not set(TOKENIZER) & set(files):
        raise BadInput(f"{name}: on the hub, but it has no tokenizer")


def _check_listing(name: str, files: list[str]) -> None:
    """Refuse, before anything is fetched, what could not be loaded then."""
    if "config.json" not in files:
        raise BadInput(f"{name}: on the hub, but no model of transformers: it has no config.json")
    if not {SINGLE, INDEX} & set(files):
        pickles = [file for file in files if re.fullmatch(r"pytorch_model.*\.bin|[^/]*\.(pt|pth|ckpt|pkl)", file)]
        if not pickles:
            raise BadInput(f"{name}: on the hub, but it has no weights in safetensors")
        raise BadInput(
            f"{name}: its weights are pickled ({pickles[0]}), which can run code, and are not fetched; "
            "give a --revision that has safetensors (the hub's own conversions are refs/pr/N)"
        )


@contextmanager
def _asking_the_hub(name: str, revision: str | None) -> Iterator[None]:
    """The network may be asked inside the block; what the hub refuses becomes one line."""
    from huggingface_hub import constants
    from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError is of the library below it
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    hub, nearest = constants.ENDPOINT, nearest_path(name)
    asked_back = f"; did you mean {nearest}?" if nearest else ""
    try:
        with hub_allowed():
            yield
    except GatedRepoError as error:
        remedy = f"accept its conditions at {hub}/{name}, then set HF_TOKEN or run `hf auth login`"
        raise BadInput(f"{name}: is gated; {remedy}") from error
    except RepositoryNotFoundError as error:
        private = "if it is private, set HF_TOKEN or run `hf auth login`"
        raise BadInput(f"{name}: not a directory here, and not on {hub}{asked_back or f'; {private}'}") from error
    except RevisionNotFoundError as error:
        raise BadInput(f"{name}: has no revision {revision} on {hub}; see {hub}/{name}/tree/main") from error
    except OfflineModeIsEnabled as error:
        where = "not a directory here, not in the hub's cache, and HF_HUB_OFFLINE is set"
        raise BadInput(f"{name}: {where}{asked_back or '; unset it to fetch'}") from error
    except HfHubHTTPError as error:
        raise BadInput(f"{name}: {hub} answers {error.response.status_code}; try again later") from error
    except (HTTPError, OSError) as error:
        if getattr(error, "errno", None):  # a disk's
            raise
        where = f"not a directory here, and {hub} cannot be reached: {_first_line(error)}"
        raise BadInput(f"{name}: {where}{asked_back}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _bars_to(step: Step) -> type[Any]:
    """The client's bars, drawn by nobody: what they count goes to our own."""
    from tqdm.std import tqdm

    done = 0.0

    class CountedBytes(tqdm):
        monitor_interval = 0  # no thread that looks after bars which nobody sees

        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings | {"file": io.StringIO()})

        def update(self, n: float | None = 1) -> None:
            """Bytes come by two bars, from the network and onto the disk: the fuller one counts."""
            nonlocal done
            self.n += n or 0
            if self.unit == "B" and self.n > done:
                step(self.n - done, total=self.total or None, note=f"{self.n / 1e6:,.0f} MB")
                done = self.n

    return CountedBytes
