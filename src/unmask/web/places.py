"""What is served: runs, models, tokenizers, data and indexes, each by a short id that stands for its path.

In: the paths of the command. Out: `Place`s. Whoever asks over HTTP names an id; a path never comes in that way, and
none goes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unmask.errors import BadInput
from unmask.files import missing_path, path_kind
from unmask.models.hub import hub_name
from unmask.models.locate import TASK, TOKENIZERS, model_directory
from unmask.runs.directory import DESCRIPTION, LOCK, METRICS, MODEL, SHAPE
from unmask.runs.history import find_runs
from unmask.tokens.store.manifest import COLLOCATIONS, ENTITIES
from unmask.web.untrusted import own_file, own_json

Ability = Literal["hide", "fill", "score", "embed", "predict", "search", "grow", "corpus", "run"]
INDEX = "index.json"
CONFIG = "config.json"
DOCUMENTS = ("manifest.json", "documents")  # of a data directory
SIGNS = (DESCRIPTION, METRICS, LOCK, CONFIG, INDEX, *TOKENIZERS)  # files that a place is known by
MASKED, CAUSAL, SPANS = "ForMaskedLM", ("LMHeadModel", "ForCausalLM"), ("T5", "MT5", "UMT5", "LongT5")
LONGEST = 40  # letters of an id


@dataclass(frozen=True)
class Place:
    """A folder that is served."""

    id: str
    path: Path

    @property
    def name(self) -> str:
        """What people call it."""
        return named_folder(self.path).name or str(self.path)

    @property
    def is_there(self) -> bool:
        """Whether it has not vanished since."""
        return self.path.is_dir()

    @property
    def is_run(self) -> bool:
        """Whether something is or was trained in it."""
        return any((self.path / name).exists() for name in (DESCRIPTION, METRICS, LOCK))

    @property
    def model(self) -> Path | None:
        """Where its model is, if it has one."""
        return next((folder for folder in (self.path, self.path / MODEL) if (folder / CONFIG).is_file()), None)

    @property
    def tokenizer(self) -> Path | None:
        """Where its tokenizer is, if it has one."""
        folders = (self.path, self.path / MODEL, self.path / "tokenizer", self.path / SHAPE)
        return next((each for each in folders if any((each / name).is_file() for name in TOKENIZERS)), None)

    @property
    def has_shape(self) -> bool:
        """Whether checkpoints of it can be asked: it is said what the model is like that they are of."""
        return self.model is not None or own_file(self.path / SHAPE, CONFIG) is not None

    @property
    def has_lists(self) -> bool:
        """Whether it is a data directory with lists of what is hidden whole."""
        names = (DOCUMENTS[0], COLLOCATIONS, ENTITIES)
        return all(own_file(self.path, name) is not None for name in names)

    @property
    def abilities(self) -> tuple[Ability, ...]:
        """What can be asked of it."""
        return tuple(self._abilities())

    def _abilities(self) -> Iterator[Ability]:
        if self.tokenizer is not None:
            yield "hide"
        if self.model is not None:
            yield from _model_abilities(self.model)
        if (self.path / INDEX).is_file():
            yield "search"
        if (self.path / INDEX).is_file() or all((self.path / name).exists() for name in DOCUMENTS):
            yield "corpus"
        if self.is_run:
            yield "run"


def _model_abilities(model: Path) -> Iterator[Ability]:
    """What a model can do, by what its directory says of itself."""
    settings = own_json(model, CONFIG)
    classes = settings.get("architectures") if isinstance(settings, dict) else None
    names = [name for name in classes if isinstance(name, str)] if isinstance(classes, list) else []
    spells = any(name.startswith(SPANS) and not name.endswith("EncoderModel") for name in names)
    masked = any(name.endswith(MASKED) for name in names)
    if (model / TASK).is_file():
        yield "predict"
    elif masked or spells:
        yield "fill"
    if masked or spells or any(name.endswith(CAUSAL) for name in names):
        yield "score"
        if not (model / TASK).is_file():
            yield "grow"
    yield "embed"


def named_folder(path: Path) -> Path:
    """The folder whose name people know: of `run/model` the run."""
    path = path.resolve()
    return path.parent if path.name == MODEL and (path.parent / DESCRIPTION).is_file() else path


def gather_places(paths: Iterable[Path]) -> tuple[Place, ...]:
    """What is to be served: each path, or the runs below it; the runs below this folder where nothing is named."""
    paths = list(paths)
    folders = list(dict.fromkeys(each.resolve() for path in paths or [Path()] for each in _folders(path)))
    ids: dict[str, Path] = {}
    for folder in folders:
        ids[_free_id(named_folder(folder).name, ids)] = folder
    return tuple(Place(id, folder) for id, folder in ids.items())


def _folders(path: Path) -> list[Path]:
    if not path.exists():
        if hub_name(path) is not None:
            return [model_directory(path)]
        raise missing_path(path, "give runs, models, tokenizers, data directories or indexes")
    if not path.is_dir():
        raise BadInput(f"{path}: is a file; give runs, models, tokenizers, data directories or indexes")
    folders = (path, path / MODEL, path / "tokenizer")
    if any((folder / sign).exists() for folder in folders for sign in SIGNS):
        return [path]
    if runs := list(find_runs([path])):
        return runs
    raise BadInput(
        f"{path}: has nothing to serve, it is {path_kind(path)} without runs below it; name a run, a model, a "
        "tokenizer, a data directory or an index"
    )


def _free_id(name: str, taken: Iterable[str]) -> str:
    """A short name for addresses, of its own.

    >>> _free_id("My Run (2)", []), _free_id("run", ["run", "run-2"]), _free_id("中文", [])
    ('my-run-2', 'run-3', 'place')
    """
    id = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-") or "place"
    number, free = 1, id
    while free in taken:
        number += 1
        free = f"{id}-{number}"
    return free


class UnknownPlace(BadInput):
    """No place has this id."""


class Served:
    """The places, by their ids."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = {place.id: place for place in places}
        self.abilities = {place.id: place.abilities for place in self.places.values()}  # as they were at the start

    def __getitem__(self, id: str) -> Place:
        """The place of an id."""
        if id not in self.places:
            raise UnknownPlace(f"nothing is served as {id!r}; GET /api/places lists what is")
        return self.places[id]

    def able(self, id: str, ability: Ability) -> Place:
        """The place of an id, which must be able to do something."""
        place = self[id]
        if not place.is_there:
            raise BadInput(f"{place.id}: has vanished since it was served")
        if ability not in place.abilities:
            if ability == "corpus":
                raise BadInput(f"{place.id}: is no corpus; name a data directory or an index")
            raise BadInput(f"{place.id}: cannot {ability}; it can {', '.join(place.abilities) or 'nothing yet'}")
        return place

    def of_path(self, path: Path) -> Place | None:
        """The place that stands at a path, or whose model does, if it is served."""
        wanted = path.resolve()
        places = (each for each in self.places.values() if each.model is not None)
        return next((each for each in places if wanted in (each.path.resolve(), each.model.resolve())), None)  # type: ignore[union-attr]
