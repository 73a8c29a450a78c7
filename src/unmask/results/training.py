"""What came of training, planned, running or finished."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unmask.results.corpus import Prepared
from unmask.results.evaluation import Evaluated
from unmask.results.figures import FigureTitle
from unmask.results.filling import Filled


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has come to its end."""

    path: Path
    model: Path
    recipe: str
    parameters: int
    steps: int
    tokens: int
    seconds: float
    loss: float  # on the fixed validation masks
    accuracy: float
    precision: str = "float32"  # that products were computed in
    figures: dict[str, float] = field(default_factory=dict)  # what the objective measured of itself on held-out text
    fills: bool = True  # whether the model is one that fills blanks
    next: tuple[str, ...] = ()  # commands to put it to use by
    weights_sha256: str


@dataclass(frozen=True)
class Validation:
    """What a run measured on what it holds out."""

    step: int
    figures: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """A run as it stands."""

    path: Path
    state: str  # running, finished, stopped, damaged, or foreign: of a version whose runs this one does not read
    recipe: str  # what is trained
    titles: tuple[FigureTitle, ...]  # of the figures that people look at; by the first a moment is the best
    step: int
    steps: int | None  # none before they are settled
    tokens: int  # seen
    figures: dict[str, float]  # of the last logged step
    tokens_per_second: float | None  # lately
    seconds: float  # spent on steps
    seconds_left: float | None  # none if it does not run
    best: Validation | None  # by the first of the figures
    last: Validation | None
    validations: tuple[Validation, ...]  # one series: always the same sample of what is held out
    final: Validation | None  # on everything that is held out, of the model that is exported; none before the end
    age: float  # seconds since something was logged
    problem: str = ""  # what is damaged
    stopped_in_order: bool = False  # it was asked to stop, and saved its last step
    next: tuple[str, ...] = ()  # commands that go on with it, follow it or put it to use


@dataclass(frozen=True, kw_only=True)
class RunList:
    """The runs below some folders, the last active first."""

    folders: tuple[Path, ...]
    runs: tuple[RunStatus, ...]


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """What would keep the hardware busy: a micro-batch that fits, a batch of them, rates and precision."""

    micro_batch: int  # blocks
    batch_size: int  # blocks in a step
    learning_rates: dict[str, float]  # by optimizer, raised with the root of the batch
    precision: str  # of products, the fastest there
    fills: int | None = None  # blocks at once from which a GPU computes for longer than it takes to launch its kernels


@dataclass(frozen=True, kw_only=True)
class ProductSpeed:
    """How fast this machine multiplies matrices, measured, and how long a step would take at that speed."""

    precision: str
    threads: int
    flops: float  # a second
    seconds_per_step: float | None = None  # reckoned, but for the first, which is as planned; none without data


@dataclass(frozen=True, kw_only=True)
class PlanVsRun:
    """A plan beside what a run really took."""

    run: Path
    steps: int  # that the run has taken
    planned: float  # seconds for so many steps
    took: float
    tokens_planned: int
    tokens: int
    hardware: str | None = None  # that the run was computed on; none where it does not say
    same_hardware: bool | None = None  # whether that is what was planned for; none where it is not known


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a training would take."""

    recipe: str
    vocabulary: int
    length: int  # of the blocks, in the beginning
    longest: int  # of the blocks, in the end: what the model takes
    blocks: str  # of a step, in words
    batch_size: int
    micro_batch: int
    hardware: str
    devices: int
    precision: str
    parameters: int
    by_optimizer: dict[str, int]  # parameters
    flops_per_token: float  # forward and backward
    flops_per_step: float  # the optimizer's among them
    memory: dict[str, int]  # bytes on each device, by part
    memory_there: int
    checkpoint: int  # bytes
    peak: float  # operations a second, of each device
    utilisation: float | None  # the part of it that steps come to, reckoned or measured; none if neither
    seconds_per_step: float | None
    steps: int | None  # none without a budget or data
    tokens: int | None
    passes: float | None  # over the data
    flops: float | None
    seconds: float | None  # validations among them
    suggested: Suggested
    launches: int | None = None  # kernels that each GPU is given in a step, an estimate; none for processors
    floor: float | None = None  # seconds of a step that this takes at the least, however little there is to compute
    products: tuple[ProductSpeed, ...] = ()  # of this machine: as planned, in the other precision, on other threads
    compared: PlanVsRun | None = None


@dataclass(frozen=True, kw_only=True)
class Demonstrated:
    """The whole journey: what was prepared, trained and measured, and the fills before and after."""

    prepared: Prepared
    trained: Trained
    evaluated: Evaluated
    before: tuple[Filled, ...]
    after: tuple[Filled, ...]
    shown: str  # the sentence in which a policy's hidden tokens were shown
