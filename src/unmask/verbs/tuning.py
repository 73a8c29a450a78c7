"""Labelled examples to a model that has learnt their task: tuned and judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.errors import BadInput
from unmask.files import check_writable, missing_path
from unmask.results import FewTuned, Tuned
from unmask.verbs.arguments import Location, given_settings, run_of
from unmask.verbs.commands import verb

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.tasks.trials import TrialPlan

DESCRIPTIONS = ("run.json", "trials.json", "few.json")  # of a run directory, by which one is known
OPTIONS = {
    "similarity": ("loss",),
    "retrieve": ("head", "hard", "dimensions", "sparsity"),
}  # that one task has and others have not


@verb
def tune(
    task: Literal["classify", "tag", "answer", "similarity", "retrieve"],
    model: Location | None = None,
    train: Location | None = None,
    /,
    *,
    out: Location | None = None,
    dev: Location | None = None,
    test: Location | None = None,
    text_field: str | None = None,
    pair_field: str | None = None,
    label_field: str | None = None,
    group_field: str | None = None,
    start: Literal["pretrained", "scratch"] | None = None,
    lr: str | float | None = None,
    seeds: int | None = None,
    folds: int | None = None,
    few: int | None = None,
    draws: int | None = None,
    patterns: Location | None = None,
    epochs: float | None = None,
    minutes: float | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    length: int | None = None,
    layer_decay: float | None = None,
    lora: int | None = None,
    sets: float | None = None,
    loss: Literal["cosent", "cosine"] | None = None,
    head: Literal["dense", "sparse", "cross"] | None = None,
    hard: int | None = None,
    dimensions: str | None = None,
    sparsity: float | None = None,
    seed: int | None = None,
    resume: Location | bool = False,
    save_seconds: float | None = None,
    reproducible: bool = False,
    device: str | None = None,
    precision: str | None = None,
    workers: int | None = None,
    revision: str | None = None,
) -> Tuned | FewTuned:
    """Tune a model to a task on labelled examples, and judge it.

    classify: one label for each text or pair of texts or, where labels are lists, any number; examples are JSONL, CSV
    or TSV. tag: entities in texts; examples are columns (CoNLL: IOB1, IOB2, IOBES or BILOU) or JSONL. answer: the
    stretch of a text that answers a question, or none; examples are SQuAD 1.1 or 2.0. similarity: how alike two texts
    are; examples are scored pairs. retrieve: which documents answer a query; a folder as BEIR has it, or pairs of query
    and passage. The moment that does best on --dev is kept, and what is to be calibrated is there; --test is looked at
    once, beside baselines, with intervals. Long texts are read in windows. Ctrl-C saves and stops; unmask tune TASK
    --resume RUN goes on. The model loads in transformers or sentence-transformers, and unmask predict asks it.

    Args:
        task: What is learnt: classify, tag, answer, similarity or retrieve.
        model: A run, any directory with an encoder of transformers, or a name on the hub: org/name, or hf:name.
        train: The examples to learn from; of retrieve also a folder with corpus.jsonl, queries.jsonl and qrels/.
        out: The run directory to write.
        dev: Examples that choose the best moment; without them a tenth of train is held out.
        test: Examples that nothing is chosen on.
        text_field: The field that holds the text; if not given its name tells. Of columns a number, 1 if not given.
        pair_field: The field that holds the second text of a pair.
        label_field: The field that holds the label, the list of labels, the tags, the spans or the score of a pair. Of
            columns a number.
        group_field: A field whose groups are held out whole, such as an author or a document.
        start: What to start from: pretrained (if not given), or scratch, the same architecture with fresh weights.
        lr: The learning rate at its height, 3e-5 · (768 / width)³ and at most 1e-3 if not given; or several, as
            1e-4,3e-4, of which dev chooses.
        seeds: How many seeds to try; test figures are given with their mean and spread, and dev chooses the model.
        folds: Judge every example by a model that has not seen it, each leaving out one of so many parts; 5 if not
            given where there are fewer than 500 examples and neither dev nor test, 0 for none. Of retrieve each query,
            3 if not given where there is no training split.
        few: Learn from so many examples of each label, drawn several times: by a head, by pairs and by patterns.
        draws: How often they are drawn, 5 if not given.
        patterns: JSON lines with a pattern, as {"pattern": "{text} It was [MASK]."}, or with words for labels, as
            {"verbalisers": {"positive": ["great"]}}; if not given general patterns and the labels' own names.
        epochs: Passes over the examples; if not given about 500 steps, 3 passes at the least and 50 at the most.
        minutes: The budget in minutes, instead of passes.
        batch_size: Examples in a step, 32 if not given.
        micro_batch: Examples that are computed at once, and that processes share out.
        length: Tokens in a row; if not given what the model takes, at most 512. Longer texts have several rows.
        layer_decay: How many times the rate of the layer above a layer learns at, 0.9 if not given; 1 for the same.
        lora: Learn matrices of this rank beside those of the model, which stay as they are (LoRA); 8 is usual.
        sets: Give each text a set of labels too that has the true one in it for this share of unseen texts, as 0.9.
        loss: Of similarity: cosent, which orders pairs (if not given), or cosine, which makes the cosine the score.
        head: Of retrieve: dense, a vector for each text (if not given); sparse, words weighted by the masked-LM
            head; or cross, which reads query and document together and reranks what a search finds.
        hard: Of retrieve: hard negatives of each answer, by words and by the model before, 1 if not given; of cross 7.
        dimensions: Of retrieve: numbers that vectors may be cut to, such as 256,128,64.
        sparsity: Of retrieve --head sparse: times the published weights of what makes words rare, 1 if not given.
        seed: Where the head, the order and what is held out come from; 0 if not given.
        resume: The run to go on with; what it was begun with need not be said again.
        save_seconds: How often to save a checkpoint, 120 if not given.
        reproducible: Add gradients in a fixed order: the same weights, to the bit, on any number of processes.
        device: Where to compute: auto (if not given), cpu, cuda or mps.
        precision: Of products: auto (if not given), float32, bfloat16 or float16.
        workers: Processes that prepare batches ahead; none by default on a CPU, two on a GPU.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    run, goes_on = run_of(f"tune {task} MODEL TRAIN", out, resume, DESCRIPTIONS)
    check_writable(run)  # told before anything heavy is loaded
    named = given_settings(model=model, train=train, dev=dev, test=test, patterns=patterns)
    places = {name: Path(place) for name, place in named.items()}
    if "model" in places:
        places["model"] = _start_directory(places["model"], revision)
    if not goes_on:
        _check_places(task, places)
    rates = _rates_of(lr)
    options = {"loss": loss, "head": head, "hard": hard, "dimensions": _sizes(dimensions), "sparsity": sparsity}
    _check_options(task, options)
    given = given_settings(
        text=text_field,
        pair=pair_field,
        label=label_field,
        group=group_field,
        start=start,
        lr=rates[0] if len(rates) == 1 else None,
        epochs=epochs,
        minutes=minutes,
        batch_size=batch_size,
        micro_batch=micro_batch,
        length=length,
        layer_decay=layer_decay,
        lora=lora,
        sets=sets,
        options=given_settings(**options) or None,
        seed=seed,
        seconds=save_seconds,
        reproducible=reproducible or None,
        device=device,
        precision=precision,
        workers=workers,
    )
    from unmask.evaluation.tuned.judge import judge_trials, judge_tuning
    from unmask.tasks.few.plan import is_few
    from unmask.tasks.request import new_request, resumed_tuning
    from unmask.tasks.trials import is_several, read_plan, try_several
    from unmask.tasks.tune import tune_task

    if few is not None or (goes_on and is_few(run)):
        _check_few(task, few, several=len(rates) > 1 or seeds is not None or bool(folds))
        return _tune_few(run, few, draws, places, given, goes_on=goes_on)
    if draws is not None or patterns is not None:
        raise BadInput("--draws and --patterns are for a few examples: give --few 16 with them, or leave them out")
    if goes_on and is_several(run):  # what was given to begin with is kept there
        plan, recorded, settings = read_plan(run)
        if plan.task != task:
            raise BadInput(f"{run}: is a tuning to {plan.task}; unmask tune {plan.task} --resume {run} goes on with it")
        asked = given_settings(lrs=tuple(rates) if len(rates) > 1 else None, seeds=seeds, folds=folds)
        plan = replace(plan, **asked)  # must be what it was, or is refused
        return judge_trials(try_several(run, plan, {**recorded, **places}, {**settings, **given}, resume=True))
    if goes_on:
        return judge_tuning(tune_task(run, task, resumed_tuning(run, task, places, given)))
    plan = _plan_of(task, places, rates, seeds, folds)
    if plan.is_one_run:
        return judge_tuning(tune_task(run, task, new_request(places, given)))
    return judge_trials(try_several(run, plan, places, given, resume=False))


def _check_few(task: str, few: int | None, *, several: bool) -> None:
    """Refuse what does not go with few examples."""
    if task != "classify":
        raise BadInput(f"--few {few}: few examples are learnt by classify, not by {task}")
    if several:
        raise BadInput("--few: draws take the place of several rates, seeds and folds; leave those out")


def _tune_few(
    run: Path, few: int | None, draws: int | None, places: dict[str, Path], given: dict[str, Any], *, goes_on: bool
) -> FewTuned:
    """Begin to learn few labels, or go on as it was begun."""
    from unmask.evaluation.tuned.few import tune_few
    from unmask.tasks.few.plan import FewPlan, is_few, read_few

    asked = given_settings(few=few, draws=draws)
    if not (goes_on and is_few(run)):
        return tune_few(run, FewPlan(**asked), places, given, resume=False)
    plan, recorded, settings = read_few(run)
    return tune_few(run, replace(plan, **asked), {**recorded, **places}, {**settings, **given}, resume=True)


def _rates_of(lr: str | float | None) -> list[float]:
    """The learning rates that are asked for."""
    try:
        return [] if lr is None else [float(rate) for rate in str(lr).split(",")]
    except ValueError:
        raise BadInput(f"--lr {lr}: give a number, as 1e-4, or several with commas between them") from None


def _plan_of(task: str, places: dict[str, Path], rates: list[float], seeds: int | None, folds: int | None) -> TrialPlan:
    """What is tried; where examples are few and nobody gave others to judge by, folds are."""
    from unmask.tasks.trials import FEW, FOLDS, planned
    from unmask.tasks.tune import TASKS

    count = TASKS[task].count  # 0 where it is not known yet
    if folds is None and not {"dev", "test"} & places.keys() and 0 < count(places["train"]) < FEW:
        folds = FOLDS
    elif folds and 0 < (examples := count(places["train"])) < 2 * folds:
        raise BadInput(f"--folds {folds}: {examples:,} examples are too few; give fewer folds")
    if folds is None and not {"dev", "test"} & places.keys():
        folds = TASKS[task].folds(places["train"])
    return planned(task, rates, seeds, folds)


def _start_directory(model: Path, revision: str | None) -> Path:
    """Where the model is; a wrong path is told before anything heavy is loaded."""
    from unmask.models.locate import model_directory

    return model_directory(model, revision)


def _sizes(dimensions: str | None) -> tuple[int, ...] | None:
    """Numbers with commas between.

    >>> _sizes("256, 64")
    (256, 64)
    """
    if dimensions is None:
        return None
    try:
        return tuple(int(size) for size in dimensions.split(","))
    except ValueError:
        raise BadInput(f"--dimensions {dimensions}: give numbers with commas between, such as 256,128,64") from None


def _check_options(task: str, options: dict[str, Any]) -> None:
    """Refuse a setting that another task has."""
    for name, value in options.items():
        if value is not None and name not in OPTIONS.get(task, ()):
            owner = next(owner for owner, names in OPTIONS.items() if name in names)
            raise BadInput(f"--{name}: is a setting of tune {owner}, not of {task}; leave it out")


def _check_places(task: str, places: dict[str, Path]) -> None:
    """Refuse to begin without a model and examples."""
    for name, meaning in (("model", "which model to start from"), ("train", "which examples to learn from")):
        if name not in places:
            raise BadInput(f"{meaning}? unmask tune {task} MODEL TRAIN --out RUN")
    for name in ("train", "dev", "test") if task != "retrieve" else ("train",):  # which says what a folder has itself
        if name in places and not places[name].exists():
            raise missing_path(places[name], "give a file with examples")
