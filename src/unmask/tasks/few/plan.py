"""Few labels, three ways, several draws: what is to be learnt, in which directory, and what of it is done.

In: a request with `--few`. Out: a tuning for each draw and each method, run by the one loop in `draws/`:

    head         an ordinary classification head, as without --few
    pairs        the encoder learns from pairs of texts, then a logistic regression on its vectors (SetFit)
    patterns     the mask head fills the blanks of patterns with words that stand for labels (PET)

`few.json` keeps what was asked for.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, UnmaskError
from unmask.files import with_seal, write_json
from unmask.models.load import load_model
from unmask.progress import say
from unmask.runs.claim import LongWork, claim_directory, read_sealed, refuse_differences
from unmask.runs.directory import DESCRIPTION
from unmask.tasks.classify.labelled import LabelledExamples, check_labels, check_trainable, read_labelled
from unmask.tasks.classify.learning import Classifying
from unmask.tasks.few.draws import check_few, draw_few
from unmask.tasks.few.pairing import Pairing
from unmask.tasks.few.patterns import LabelPrompt, general_prompt, read_prompt
from unmask.tasks.few.prompting import Prompting
from unmask.tasks.request import TuneRequest, new_request
from unmask.tasks.settings import BATCH_SIZE
from unmask.tasks.tune import TunedRun, run_tuning
from unmask.training.machine.distributed import launched

FEW = LongWork("tuning on few labels", "few.json", ".trying")
DRAWS, FOLDER = 5, "draws"
HEAD, PAIRS, PATTERNS = "head", "pairs", "patterns"
LEAST_BATCH = 8  # examples in a step: a handful is to be seen in several steps
FLAGS = {"few": "--few", "draws": "--draws", "patterns": "--patterns"}


@dataclass(frozen=True, kw_only=True)
class FewPlan:
    """What is drawn."""

    few: int  # examples of each label
    draws: int = DRAWS

    def __post_init__(self) -> None:
        if self.draws < 2:
            raise BadInput(f"--draws {self.draws}: give 2 or more; one draw tells nothing of how far they differ")


@dataclass(frozen=True)
class FewLearning:
    """Labelled examples, of which a few are drawn, and the ways to learn them."""

    out: Path
    plan: FewPlan
    request: TuneRequest
    start: Path
    train: LabelledExamples
    dev: LabelledExamples | None
    test: LabelledExamples | None
    prompt: LabelPrompt | None  # none where the model has no mask head
    reason: str = ""  # why it has none

    @property
    def methods(self) -> tuple[str, ...]:
        """The ways that this model can go."""
        return (HEAD, PAIRS, *([] if self.prompt is None else [PATTERNS]))

    def tuning(self, method: str, draw: int) -> Classifying:
        """What a method learns from in a draw."""
        settings = self.request.settings
        train, dev = draw_few(self.train, self.dev, self.plan.few, settings.seed, draw)
        plain = Classifying(
            start=self.start,
            train=train,
            dev=dev,
            settings=replace(settings, seed=settings.seed + draw),
            given_dev=self.dev is not None,
            fold=f"draw {draw} of {self.plan.few} a label",
            known=self.train.labels,
        )
        if method == HEAD:
            return plain
        values = {each.name: getattr(plain, each.name) for each in fields(plain)}
        if method == PAIRS:
            return Pairing(**values)
        assert self.prompt is not None
        return Prompting(**values, prompt=self.prompt)

    def place(self, method: str, draw: int) -> Path:
        """Where the run of a draw is."""
        return self.out / FOLDER / f"{method}-{draw}"

    def run(self, method: str, draw: int) -> TunedRun:
        """Learn a draw, or go on with it."""
        path = self.place(method, draw)
        begun = (path / DESCRIPTION).exists()
        if not begun:
            shutil.rmtree(path, ignore_errors=True)  # of a draw that stopped before its first step
        say(f"draw {draw} of {self.plan.draws}, {method}")
        saving = replace(self.request.saving, report=False)
        request = replace(self.request, resume=begun, saving=saving)
        again = f"unmask tune classify --resume {self.out}"
        return run_tuning(path, self.tuning(method, draw), self.test, request, again=again)

    def tidy(self, method: str, draw: int) -> None:
        """Remove what only an unfinished run needs."""
        for name in ("checkpoints", "best"):
            shutil.rmtree(self.place(method, draw) / name, ignore_errors=True)


def is_few(out: Path) -> bool:
    """Whether few labels are learnt in a directory."""
    return (out / FEW.sign).is_file()


def read_few(out: Path) -> tuple[FewPlan, dict[str, Path], dict[str, Any]]:
    """What is learnt in a directory, where its files are, and the settings that were given."""
    content = read_sealed(out / FEW.sign)
    return (
        FewPlan(**content["plan"]),
        {name: Path(place) for name, place in content["places"].items()},
        content["given"],
    )


@contextmanager
def open_few(
    out: Path, plan: FewPlan, places: Mapping[str, Path], given: Mapping[str, Any], *, resume: bool
) -> Iterator[FewLearning]:
    """The directory of the draws for this command alone, and what is to be learnt there."""
    if launched()[0] > 1:
        raise BadInput("--few: its runs are short and not shared out; start it without torchrun")
    learning = _read_learning(out, plan, places, given)
    asked: dict[str, Any] = {
        "plan": {"few": plan.few, "draws": plan.draws},
        "places": {name: str(place.resolve()) for name, place in places.items()},
        "given": dict(given),
    }
    with claim_directory(out, FEW, resume=resume, doing="tuning") as begun:
        if begun:
            refuse_differences(out, read_sealed(out / FEW.sign)["plan"], asked["plan"], flags=FLAGS, work="the run")
        else:
            write_json(out / FEW.sign, with_seal(asked))
        _say_draws(learning)
        yield learning


def _read_learning(out: Path, plan: FewPlan, places: Mapping[str, Path], given: Mapping[str, Any]) -> FewLearning:
    """Read the examples and the patterns, and see whether the model has a mask head."""
    names = {name: given.get(name) for name in ("text", "pair", "label", "group")}
    train = read_labelled(places["train"], None, **names)
    check_trainable(train)
    others = {name: read_labelled(places[name], train.fields) for name in ("dev", "test") if name in places}
    for examples in others.values():
        check_labels(examples, train.labels, train.several)
    check_few(train, others.get("dev"), plan.few)
    batch_size = min(BATCH_SIZE, max(LEAST_BATCH, plan.few * len(train.labels) // 8))
    request = new_request(places, {"batch_size": batch_size, **given})
    if request.settings.lora is not None:
        raise BadInput("--few: a handful of examples is learnt with all weights; leave --lora out")
    prompt, reason = _find_prompt(places, train)
    return FewLearning(
        out, plan, request, places["model"], train, others.get("dev"), others.get("test"), prompt, reason
    )


def _find_prompt(places: Mapping[str, Path], train: LabelledExamples) -> tuple[LabelPrompt | None, str]:
    """The patterns, if the model can fill their blanks; else why it cannot."""
    try:
        lm = load_model(places["model"], device="cpu")
    except UnmaskError as error:
        return None, str(error)
    pair = train.fields.pair is not None
    if "patterns" in places:
        prompt = read_prompt(places["patterns"], train.labels, pair=pair)
    else:
        prompt = general_prompt(train.labels, pair=pair)
    prompt.pieces(lm.tokenizer)  # what is wrong with a word is told before anything is learnt
    return prompt, ""


def _say_draws(learning: FewLearning) -> None:
    plan, train = learning.plan, learning.train
    say(
        f"{train.path}: {plan.few} examples of each of {len(train.labels):,} labels to learn from and as many to "
        f"choose by, drawn {plan.draws} times; learnt as {', '.join(learning.methods)}"
    )
    if learning.reason:
        say(f"[yellow]no patterns, for the model has no mask head that fills them: {learning.reason}[/]")
