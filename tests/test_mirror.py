"""Tests stand where their modules stand, so that whoever changes one finds the other."""

from pathlib import Path

import unmask

TESTS, PACKAGE = Path(__file__).parent, Path(unmask.__file__).parent
# Tests of something else than one module: what it is. Add a line here rather than a module for the name's sake.
OTHERS = {
    "corruption/test_docs.py": "the code of docs/corruption.md",
    "corruption/test_order_and_time.py": "permutation and diffusion: what they need beside the ids",
    "corruption/test_spans.py": "units of several words, by three policies",
    "pretraining/test_every_kind.py": "every recipe: its golden losses, stopped and resumed, exported",
    "test_benchmarks.py": "the scripts in benchmarks/",
    "test_layers.py": "who imports whom",
    "test_mirror.py": "where tests stand",
    "test_readme.py": "README.md, CONTRIBUTING.md and docs/",
    "test_surface.py": "what is public",
    "test_verbs.py": "all verbs, as library calls",
    "test_wheel.py": "the package, built and installed",
    "tokens/test_words.py": "the policy word, on real tokenizers",
    "training/test_faults.py": "what a run survives: docs/faults.md",
}


def module_of(test: Path) -> Path:
    """The module that a test is named for."""
    place = test.relative_to(TESTS)
    return PACKAGE / place.parent / f"{place.stem.removeprefix('test_')}.py"


def test_every_test_has_its_module_or_says_what_it_tests() -> None:
    without = {str(test.relative_to(TESTS)) for test in TESTS.rglob("test_*.py") if not module_of(test).is_file()}
    assert without == OTHERS.keys()
