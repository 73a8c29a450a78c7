from pathlib import Path

import unmask

VERBS = {"demo", "prepare", "verify", "show", "audit", "collocations", "plan", "pretrain", "runs", "watch"}
VERBS |= {"evaluate", "compare", "fill"}
RESULTS = {
    "Demonstrated",
    "Prepared",
    "Verified",
    "Trained",
    "Evaluated",
    "Filled",
    "Guess",
    "Figure",
    "Band",
    "Shown",
    "Piece",
    "Audited",
    "Collocated",
    "Phrase",
    "Listed",
    "Watched",
    "Validation",
    "Planned",
    "Suggested",
    "Took",
    "Comparison",
    "Contender",
    "Probed",
}
ERRORS = {
    "UnmaskError",
    "BadInput",
    "Damaged",
    "Refused",
    "Diverged",
    "NoSpace",
    "Interrupted",
    "Terminated",
}


def test_the_public_names_are_the_verbs_the_results_the_errors_the_collator_and_the_head() -> None:
    assert set(unmask.__all__) == VERBS | RESULTS | ERRORS | {"Collator", "load_boundary_head", "__version__"}
    assert all(hasattr(unmask, name) for name in unmask.__all__)


def test_no_other_public_name_but_the_modules_is_in_the_package() -> None:
    modules = {name for name, value in vars(unmask).items() if type(value).__name__ == "module"}
    public = {name for name in vars(unmask) if not name.startswith("_")}
    assert public - modules <= set(unmask.__all__)


def test_no_module_has_the_name_of_a_verb_for_importing_it_would_hide_the_verb() -> None:
    package = Path(unmask.__file__).parent
    assert not {path.stem for path in package.iterdir()} & VERBS
