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
    "test_ci.py": ".ci/run and make test, as to the browser",
    "test_layers.py": "who imports whom",
    "test_mirror.py": "where tests stand",
    "test_readme.py": "README.md, CONTRIBUTING.md and docs/",
    "test_surface.py": "what is public",
    "test_verbs.py": "all verbs, as library calls",
    "test_wheel.py": "the package, built and installed",
    "tokens/test_words.py": "the policy word, on real tokenizers",
    "web/test_pages.py": "the pages, in a browser",
    "web/test_hostile.py": "hostile requests, texts and runs",
    "training/test_faults.py": "what a run survives: docs/faults.md",
}


# Modules without tests of their name: who tests them. Add a test of the name rather than a line here, if one can fail.
ELSEWHERE = {
    "adapting/card.py": "adapting/test_adapt.py: the model says what it is",
    "adapting/comparing.py": "adapting/test_adapt.py: before and after",
    "adapting/extension.py": "adapting/test_warming.py: words of the domain",
    "adapting/likeness.py": "adapting/test_warming.py: an encoder tuned for sentences",
    "adapting/outcome.py": "adapting/test_adapt.py: what is kept and said",
    "adapting/request.py": "adapting/test_adapt.py: what goes on is what it was",
    "adapting/settings.py": "its examples, and adapting/test_adapt.py",
    "adapting/showing.py": "adapting/test_adapt.py: its report",
    "adapting/stages.py": "adapting/test_warming.py and test_fitting.py: stopped before it began; a task",
    "adapting/start.py": "adapting/test_adapt.py: what cannot be adapted",
    "adapting/validation.py": "adapting/test_adapt.py: both losses",
    "runs/adapted_report.py": "adapting/test_adapt.py: its report",
    "console/adapting.py": "adapting/test_adapt.py: its page",
    "verbs/adapting.py": "adapting/test_adapt.py",
    "__main__.py": "test_cli.py: the command line in a process of its own",
    "console/trial.py": "its examples, and corpus/rules/test_request.py: what is tried is shown",
    "console/vocabulary.py": "planning/test_vocabulary.py: its page",
    "console/fate.py": "tokens/store/test_fate.py: its page",
    "console/evaluating.py": "console/test_pages.py: runs, figures and what they mean",
    "console/exporting.py": "console/test_pages.py: files that were written",
    "console/journey.py": "demo/test_journey.py: what to do next",
    "console/preparing.py": "console/test_pages.py: data, and what is wrong with it",
    "console/layout.py": "console/: every page is drawn with it",
    "corpus/rules/ruling.py": "corpus/rules/test_apply.py: what is said of a document",
    "corpus/earlier.py": "tokens/test_adding.py: earlier documents stay, on their side",
    "corpus/engines/worker.py": "corpus/engines/test_processes.py: real processes, killed on the way",
    "corpus/near/candidates.py": "corpus/near/test_decide.py: shingles of staged documents",
    "corpus/read_part.py": "corpus/test_collect.py: parts of any size, by any number of processes",
    "corpus/read/http_message.py": "corpus/read/test_warc.py: pages in chunks, packed, or neither",
    "corpus/removed.py": "corpus/test_collect.py: what is left out has its place and its step",
    "corpus/staged.py": "corpus/test_collect.py: stretches of files, interrupted runs",
    "corpus/settings.py": "corpus/test_collect.py: settings that cannot be",
    "corruption/rows.py": "corruption/test_schedule.py: rows of a mixture are those of its policies",
    "corruption/settings.py": "corruption/test_policy.py: settings and what is wrong with them",
    "objectives/from_vector.py": "objectives/test_retromae.py and test_tsdae.py: both losses, worked out",
    "verbs/embedding.py": "verbs/test_searching.py: the journey from texts to what is found",
    "models/masked_lm.py": "models/test_load.py: what is loaded, and what is refused",
    "models/settings.py": "models/test_load.py and test_config.py: what would have code run",
    "errors.py": "test_cli.py: each kind has its line and its exit code",
    "evaluation/tuned/answers.py": "evaluation/tuned/test_comparison.py",
    "evaluation/tuned/baselines.py": "evaluation/tuned/test_classify.py",
    "evaluation/tuned/judge.py": "tasks/test_tune.py: what came of a tuning is kept",
    "inference/agree.py": "inference/test_fill.py: five hundred blanks in bounded work",
    "inference/blanks.py": "inference/test_fill.py: what is a blank",
    "inference/export/graph.py": "inference/export/test_export.py",
    "inference/export/parity.py": "inference/export/test_export.py: what is refused, and what was measured",
    "inference/export/readme.py": "inference/export/test_export.py: its code runs without torch",
    "inference/export/session.py": "inference/export/test_export.py",
    "inference/word_weights.py": "tasks/retrieve/test_sparse_learning.py: an index of weighted words",
    "inference/rerank.py": "tasks/retrieve/test_cross_learning.py: a search in the order of the reranker",
    "inference/propose.py": "inference/test_fill.py: tokens, words and targets with their probabilities",
    "models/families/architectures.py": "models/test_inputs.py: who keeps packed documents apart",
    "models/families/detection.py": "objectives/test_replaced.py",
    "models/families/encoders.py": "models/families/test_family.py: the published sizes",
    "models/families/sizes.py": "models/families/test_family.py",
    "models/layers.py": "training/machine/test_sharding.py: the layers are cut and everything else is whole",
    "models/locate.py": "models/test_load.py: directories, runs and what is neither",
    "models/sentence_transformers.py": "inference/export/test_export.py: it loads there",
    "network.py": "models/test_hub.py and corpus/read/test_remote.py: the hub although libraries are offline",
    "objectives/coupled.py": "training/test_two_passes.py",
    "objectives/text_vectors.py": "tasks/test_sentence_rows.py: the mean that embed takes",
    "objectives/text.py": "objectives/test_objective.py and pretraining/test_every_kind.py",
    "pretraining/settings.py": "pretraining/test_recipes.py",
    "tokens/collate.py": "objectives/ and models/test_inputs.py: what models make of batches",
    "tokens/store/sources.py": "tokens/test_adding.py: which files are new, and which have changed",
    "tokens/store/readme.py": "tokens/test_prepare.py: the README is right and its code runs",
    "training/worker.py": "training/test_loader.py: real processes, killed on the way",
    "runs/lineage.py": "evaluation/tuned/test_leaks.py: the text of every run before",
    "task_batches.py": "objectives/ and tasks/: what models make of batches, and their parts",
    "tasks/classify/batches.py": "tasks/test_order.py: batches are a function of their numbers",
    "tasks/classify/export.py": "tasks/classify/test_learning.py: it loads in stock transformers",
    "tasks/classify/validation.py": "tasks/classify/test_classifier.py: what is said is what was measured",
    "tasks/few/labelling_model.py": "tasks/few/test_pattern_model.py and test_vector_model.py",
    "tasks/few/pairing.py": "tasks/few/test_plan.py: three ways",
    "tasks/few/prompting.py": "tasks/few/test_plan.py: three ways",
    "tasks/answer/batches.py": "tasks/answer/test_rows.py: the places of an answer are marked in every window",
    "tasks/answer/export.py": "tasks/answer/test_learning.py: it loads in stock transformers",
    "tasks/answer/validation.py": "tasks/answer/test_answerer.py: what is said is what was measured",
    "tasks/tag/batches.py": "tasks/tag/test_learning.py: micro-batches change no loss",
    "tasks/tag/export.py": "tasks/tag/test_learning.py: it loads in stock transformers",
    "tasks/tag/validation.py": "tasks/tag/test_tagger.py: what is said is what was measured",
    "tasks/retrieve/cross_batches.py": "tasks/retrieve/test_cross_learning.py: micro-batches change no step",
    "tasks/retrieve/cross_retriever.py": "tasks/retrieve/test_cross_learning.py: scores are sentence-transformers'",
    "tasks/write_model.py": "tasks/classify/ and tasks/tag/test_learning.py: models load in stock transformers",
    "tasks/sentence_batches.py": "tasks/test_sentence_rows.py",
    "tasks/sentence_tuning.py": "tasks/similarity/test_learning.py: it loads in sentence-transformers",
    "tasks/sentence_vectors.py": "tasks/similarity/test_learning.py: the vectors of embed and predict",
    "tasks/similarity/batches.py": "tasks/similarity/test_learning.py: micro-batches change no step",
    "tasks/similarity/validation.py": "tasks/similarity/test_pair_scorer.py: what is said is what was measured",
    "tasks/retrieve/sparse_retriever.py": "tasks/retrieve/test_sparse_learning.py: weights, predict and index",
    "tasks/retrieve/retriever.py": "tasks/retrieve/test_learning.py: what predict says",
    "tasks/retrieve/validation.py": "tasks/retrieve/test_learning.py: what is measured on the way",
    "tasks/examples.py": "tasks/classify/test_labelled.py: files, lines and fields that cannot be used",
    "tasks/feed.py": "tasks/classify/test_learning.py: micro-batches change no loss",
    "tasks/request.py": "tasks/test_tune.py: what goes on is what it was",
    "tasks/settings.py": "its examples, and tasks/classify/test_learning.py",
    "tasks/start.py": "tasks/classify/test_learning.py: weights, heads, tuned again",
    "tasks/text_rows.py": "tasks/test_rows.py and tasks/test_order.py",
    "tasks/tuned_model.py": "tasks/classify/test_classifier.py: cards, and what is wrong with them",
    "tasks/tuning.py": "tasks/classify/test_learning.py: the job, as the loop runs it",
    "console/serving.py": "verbs/test_serving.py: what the command prints",
    "web/following.py": "web/test_pages.py and web/test_hostile.py: runs that live, vanish and lie",
    "web/tuned_runs.py": "web/test_pages.py and web/test_hostile.py",
    "web/answering.py": "web/test_api.py: every answer, and the limits",
    "web/limits.py": "web/test_api.py: limits are stated and held",
    "web/metrics.py": "web/test_api.py: batches are counted",
    "web/questions.py": "web/test_api.py: what cannot be answered",
    "web/server.py": "web/test_api.py and test_guard.py: a server on a real port",
    "verbs/arguments.py": "test_verbs.py and test_cli.py: what verbs take",
    "verbs/commands.py": "test_surface.py and test_cli.py",
    "verbs/data.py": "test_verbs.py and test_cli.py",
    "verbs/exporting.py": "inference/export/test_export.py",
    "verbs/environment.py": "planning/test_examination.py and verbs/test_shells.py",
    "verbs/hiding.py": "test_verbs.py and test_cli.py",
    "verbs/journey.py": "demo/test_journey.py",
    "verbs/example_lines.py": "tasks/tag/test_tagger.py and verbs/test_explaining.py: files of each kind",
    "verbs/predicting.py": "tasks/classify/test_classifier.py: what is said of files, lines and texts",
    "verbs/tuning.py": "tasks/test_tune.py and tasks/classify/test_classifier.py",
    "verbs/using.py": "test_verbs.py and test_cli.py",
}


def module_of(test: Path) -> Path:
    """The module that a test is named for."""
    place = test.relative_to(TESTS)
    return PACKAGE / place.parent / f"{place.stem.removeprefix('test_')}.py"


def test_every_test_has_its_module_or_says_what_it_tests() -> None:
    without = {str(test.relative_to(TESTS)) for test in TESTS.rglob("test_*.py") if not module_of(test).is_file()}
    assert without == OTHERS.keys()


def test_every_module_has_its_test_or_says_who_tests_it() -> None:
    tested = {module_of(test) for test in TESTS.rglob("test_*.py")}
    shapes = set((PACKAGE / "results").glob("*.py"))  # dataclasses: whoever makes one tests it
    modules = {module for module in PACKAGE.rglob("*.py") if module.name != "__init__.py"} - shapes
    assert {str(module.relative_to(PACKAGE)) for module in modules - tested} == ELSEWHERE.keys()
