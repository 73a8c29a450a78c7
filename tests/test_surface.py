"""The public surface: an explicit list, so that nothing becomes public, or ceases to be, by accident."""

import subprocess
import sys
from pathlib import Path

import unmask
from unmask.cli import COMMANDS

VERBS = [
    "demo",
    "prepare",
    "verify",
    "why",
    "tokenizer",
    "show",
    "audit",
    "collocations",
    "plan",
    "pretrain",
    "runs",
    "watch",
    "adapt",
    "evaluate",
    "compare",
    "fill",
    "score",
    "probe",
    "embed",
    "index",
    "search",
    "near",
    "generate",
    "tune",
    "predict",
    "explain",
    "export",
    "serve",
    "doctor",
    "completion",
]
RESULTS = {
    "Adapted",
    "Mixture",
    "NewWords",
    "TextChange",
    "TermFill",
    "TermNeighbours",
    "Likeness",
    "Demonstrated",
    "Prepared",
    "Verified",
    "Fate",
    "KeptDocument",
    "RemovedDocument",
    "UnreadLine",
    "TokenizerSweep",
    "VocabularySize",
    "LanguageTokens",
    "RulesTried",
    "RuleTrial",
    "RuleExample",
    "TrainedSample",
    "Decontaminated",
    "Trained",
    "Evaluated",
    "Filled",
    "Guess",
    "Filling",
    "Agreement",
    "Explained",
    "WordRelevance",
    "Figure",
    "FigureTitle",
    "Breakdown",
    "Dependence",
    "Rolled",
    "ContextLine",
    "NearContexts",
    "Serving",
    "Shown",
    "ShownToken",
    "Audited",
    "Hardness",
    "PolicyHardness",
    "Collocated",
    "Phrase",
    "RunList",
    "RunStatus",
    "Validation",
    "Planned",
    "Suggested",
    "PlanVsRun",
    "ProductSpeed",
    "Comparison",
    "ComparedRun",
    "Probed",
    "Examined",
    "LibraryStatus",
    "ExtraStatus",
    "GpuStatus",
    "CompletionScript",
    "Written",
    "Scored",
    "TokenSurprisal",
    "Rescored",
    "ProbeResult",
    "ProbedItem",
    "ProbedPhenomenon",
    "Calibration",
    "ReliabilityBin",
    "Consistency",
    "Embedded",
    "VectorsWritten",
    "Indexed",
    "Hit",
    "Searched",
    "NearPair",
    "NearTexts",
    "Overlap",
    "SeedSpread",
    "TunedTrial",
    "TunedComparison",
    "TunedContender",
    "TunedDifference",
    "SeedDifference",
    "Exported",
    "Generated",
    "Revealed",
    "Predicted",
    "Judged",
    "JudgedLabel",
    "JudgedBaseline",
    "Confusion",
    "SureError",
    "Tuned",
    "FewTuned",
    "FewMethod",
    "FewDraw",
    "ExplainedLabel",
    "LabelWord",
    "Flip",
    "WordChange",
    "Tagged",
    "Entity",
    "JudgedTags",
    "JudgedEntities",
    "JudgedTagBaseline",
    "TagError",
    "Answered",
    "AnswerError",
    "JudgedAnswers",
    "JudgedAnswerBaseline",
    "Similarity",
    "SimilarityBaseline",
    "JudgedSimilarity",
    "PairError",
    "JudgedRetrieval",
    "QueryError",
    "Relevance",
    "RetrievalWay",
    "Expanded",
    "WordWeight",
}
ERRORS = {
    "UnmaskError",
    "BadInput",
    "Damaged",
    "Refused",
    "Diverged",
    "NoSpace",
    "Lost",
    "TooManyLosses",
    "Interrupted",
    "Terminated",
}


HEAVY = {"Collator", "Model", "load", "load_boundary_head"}


def test_the_public_names_are_the_verbs_the_results_the_errors_and_what_is_loaded_when_asked_for() -> None:
    assert set(unmask.__all__) == {*VERBS} | RESULTS | ERRORS | HEAVY | {"__version__"}
    assert all(hasattr(unmask, name) for name in unmask.__all__)


def test_no_other_public_name_but_the_modules_is_in_the_package() -> None:
    modules = {name for name, value in vars(unmask).items() if type(value).__name__ == "module"}
    public = {name for name in vars(unmask) if not name.startswith("_")}
    assert public - modules <= set(unmask.__all__)


def test_the_commands_stand_in_the_order_of_a_journey() -> None:
    assert [*COMMANDS] == [*VERBS]


IMPORT_ALL = """
import pkgutil, unmask
verbs = {name: getattr(unmask, name) for name in unmask.verbs.__all__}
for module in pkgutil.iter_modules(unmask.__path__, "unmask."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
print(*[name for name, verb in verbs.items() if getattr(unmask, name) is not verb])
"""


def test_importing_a_folder_with_the_name_of_a_verb_does_not_hide_the_verb() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


NO_ENGINES = """
[mypy]
mypy_path = {source}
ignore_missing_imports = True
follow_imports = skip
[mypy-unmask,unmask.verbs,unmask.verbs.*,unmask.results,unmask.results.*,unmask.errors]
follow_imports = silent
"""


def test_editors_and_type_checkers_see_the_signature_of_every_public_name(tmp_path: Path) -> None:
    names = sorted({*VERBS, *RESULTS, *ERRORS})
    lines = ["import unmask", *(f"reveal_type(unmask.{name})" for name in names), "unmask.nothing"]
    (tmp_path / "asks.py").write_text("\n".join(lines), encoding="utf-8")
    settings = NO_ENGINES.format(source=Path(unmask.__file__).parent.parent)
    (tmp_path / "mypy.ini").write_text(settings, encoding="utf-8")
    line = [sys.executable, "-m", "mypy", "--config-file=mypy.ini", "--cache-dir=cache", "asks.py"]
    said = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False).stdout.splitlines()
    assert [part for part in said if 'note: Revealed type is "def (' not in part] == [
        f'asks.py:{len(lines)}: error: Module has no attribute "nothing"  [attr-defined]',
        "Found 1 error in 1 file (checked 1 source file)",
    ]
    assert len(said) == len(names) + 2


def test_what_is_loaded_when_it_is_asked_for_is_listed_too() -> None:
    assert {"Collator", "load", "Model", "fill", "BadInput", "Figure"} <= {*dir(unmask)}
