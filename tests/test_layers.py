"""Imports go down the layers only, so that the tree reads as the workflow."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unmask

ROOT = Path(unmask.__file__).parent
LAYERS = [
    {"records", "results", "errors"},
    {
        *("progress", "files", "randomness", "quantities", "stages", "words", "task_batches", "network", "intervals"),
        "system_memory",
    },
    {"runs"},
    {"corpus", "corruption"},
    {"tokens"},
    {"models"},
    {"objectives"},
    {"training"},
    {"pretraining", "tasks"},
    {"planning"},
    {"inference"},
    {"evaluation"},
    {"adapting"},
    {"console"},
    {"web"},
    {"demo"},
    {"verbs"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
# The bottom may use numpy and the standard library, so that anybody can take corruption as it is.
LIGHT = {"corruption": {"numpy"}, "records": {"numpy"}, "results": set(), "errors": set(), "stages": set()}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")  # which imports on demand


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "unmask":
                yield from (f"unmask.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path: Path) -> None:
    layer = layer_of(path)
    assert layer in HEIGHT, f"{layer} has no place in the layers: give it one here"
    for name in imported(path):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package != "unmask" or other in (layer, "__version__", ""):
            continue
        assert other in HEIGHT, f"{path}: {name} has no place in the layers"
        assert HEIGHT[other] < HEIGHT[layer], f"{layer} must not import {other}"


BOTTOM = [path for path in MODULES if layer_of(path) in LIGHT]


def test_every_layer_at_the_bottom_has_modules() -> None:
    assert {layer_of(path) for path in BOTTOM} == LIGHT.keys()


@pytest.mark.parametrize("path", BOTTOM, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_bottom_needs_numpy_alone(path: Path) -> None:
    layer = layer_of(path)
    others = {name.partition(".")[0] for name in imported(path)} - set(sys.stdlib_module_names) - {"unmask"}
    assert others <= LIGHT[layer]
    if layer == "corruption":
        ours = {name.split(".")[1] for name in imported(path) if name.startswith("unmask.")}
        assert ours <= {"corruption", "records", "errors", "randomness", "stages"}


def test_objectives_never_import_corruption() -> None:
    objectives = [path for path in MODULES if layer_of(path) == "objectives"]
    assert len(objectives) > 8
    for path in objectives:
        assert not any(name.startswith("unmask.corruption") for name in imported(path))


def test_training_knows_no_data() -> None:
    for path in (ROOT / "training").rglob("*.py"):
        rooms = {name.split(".")[1] for name in imported(path) if name.startswith("unmask.")}
        assert not rooms & {"corpus", "tokens", "corruption", "pretraining"}, path


def loaded_by(modules: list[str], watched: str) -> list[str]:
    """Which of the watched packages a new process has after it has imported these modules."""
    ask = f"import sys, {', '.join(modules)}; print(*(name for name in {watched.split()} if name in sys.modules))"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return answer.stdout.split()


def test_reading_a_run_takes_no_torch_and_no_training() -> None:
    modules = [f"unmask.runs.{path.stem}" for path in (ROOT / "runs").glob("*.py") if path.stem != "__init__"]
    assert len(modules) > 5
    assert loaded_by(modules, "torch transformers unmask.training unmask.models") == []


def test_a_process_that_prepares_batches_takes_no_torch() -> None:
    modules = ["unmask.training.worker", "unmask.pretraining.batches", "unmask.tasks.classify.batches"]
    modules += ["unmask.tasks.similarity.batches", "unmask.tasks.retrieve.batches"]
    assert loaded_by(modules, "torch transformers tokenizers ray pyarrow") == []


def test_training_loads_no_corpus_engine() -> None:
    assert loaded_by(["unmask.pretraining.pretrain"], "ray lxml pyarrow matplotlib unmask.corpus") == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "torch transformers tokenizers ray pyarrow numpy rich tyro"
    assert loaded_by(["unmask", "unmask.cli"], heavy) == []
