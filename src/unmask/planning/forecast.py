"""What a training would take: time, memory, operations, and what would keep the hardware busy.

In: a recipe, data or a vocabulary's size, hardware and a budget. Out: `Planned`. On named hardware the time follows
from published figures and a stated utilisation, or from the kernels that have to be launched where these take longer;
on this machine it is measured on a few real steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.planning.cost import Cost, ImaginedDataset, cost_of, kept_on_processor, without_marks
from unmask.planning.hardware import Hardware, this_machine, was_computed_on
from unmask.planning.launches import A_LAUNCH, A_STEP, CASTS
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.request import recorded_recipe
from unmask.pretraining.settings import PretrainSettings, Recipe
from unmask.results import Planned, PlanVsRun, ProductSpeed, Suggested
from unmask.runs.history import read_history, summarize_run
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget, seconds_a_step, seconds_a_validated_token
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing, Machine, device_for
from unmask.training.machine.distributed import ALONE
from unmask.training.machine.fastest import fastest_precision
from unmask.training.pacing import VALIDATIONS
from unmask.training.precision import AUTO
from unmask.training.session import USUAL_SAMPLE, Session

CALIBRATION = 5.0  # seconds
USUAL_STEPS = 1000  # of a run whose length is not known yet: enough for a schedule
BUSY = 16_384  # tokens a device takes at once before it computes at its full speed
ROOM = 0.9  # of a device's memory; the rest is the allocator's and the kernels'
HIGHEST = 4.0  # times the recipe's learning rates; nobody has seen the rule hold much further
LEAST_STEPS = 1000  # a larger batch that leaves fewer of them would cost more than it brings


@dataclass(frozen=True)
class Pace:
    """How fast it goes: seconds a step, and seconds for each token that is measured on."""

    a_step: float
    a_validated_token: float
    launches: int | None = None  # kernels of a step, where a GPU is given them
    floor: float | None = None  # seconds that they take at the least


def forecast(
    recipe: Recipe,
    data: Dataset,
    budget: Budget,
    hardware: Hardware | None = None,
    *,
    precision: str | None = None,
    utilisation: float = 0.4,
    seed: int = 0,
) -> Planned:
    """Reckon what a recipe takes on some data; without hardware on this machine, in what a run would take."""
    if not 0 < utilisation <= 1:
        raise BadInput(f"--utilisation {utilisation}: give a share of the peak, such as 0.4")
    settings, is_imagined = recipe.settings, isinstance(data, ImaginedDataset)
    pretraining = Pretraining.of(data, without_marks(recipe), seed)  # nothing is mined for a plan
    cost = cost_of(pretraining)
    on_this_machine = hardware is None
    computing = Computing(precision=precision or AUTO)
    if on_this_machine:
        here = fastest_precision(computing, device_for(computing.device))
        computing = replace(computing, precision=here)
    hardware = hardware or this_machine(computing.precision)
    pace = None
    if not on_this_machine:
        pace = published_pace(cost, hardware, utilisation, settings)
    elif not is_imagined:
        pace = measure_pace(pretraining, computing)
    if on_this_machine and hardware.precision != "float32":
        activations, logits = kept_on_processor(pretraining, computing)
        cost = replace(cost, activations=activations, logits=logits)
    batch = settings.tokens_a_step
    text = 0 if is_imagined else int(data.manifest["tokens"]["train"])
    steps = steps_of(budget, batch, text, pace)
    tokens = None if steps is None else steps * batch
    a_step = pace.a_step if pace else None
    return Planned(
        recipe=recipe.name,
        vocabulary=data.vocabulary.size,
        length=settings.lengths.first,
        longest=settings.lengths.longest,
        blocks=settings.lengths.describe(settings.batch_size),
        batch_size=settings.batch_size,
        micro_batch=min(settings.micro_batch, settings.batch_size),
        hardware=hardware.name,
        devices=hardware.devices,
        precision=hardware.precision,
        parameters=cost.parameters,
        by_optimizer=cost.by_optimizer,
        flops_per_token=(cost.forward + cost.backward) * cost.micro_batches / batch,
        flops_per_step=cost.a_step,
        memory=memory_of(cost, hardware),
        memory_there=hardware.memory,
        checkpoint=cost.checkpoint,
        peak=hardware.peak,
        utilisation=_utilisation(cost, hardware, a_step),
        seconds_per_step=a_step,
        steps=steps,
        tokens=tokens,
        passes=tokens / text if tokens and text else None,
        flops=None if steps is None else steps * cost.a_step,
        seconds=None if pace is None or steps is None else pace.a_step * steps + validation_seconds(pace, batch, steps),
        suggested=suggest_batch(
            cost,
            hardware,
            settings,
            tokens,
            fills=None if on_this_machine else rows_that_fill(cost, hardware, utilisation, settings),
        ),
        launches=pace.launches if pace else None,
        floor=pace.floor if pace else None,
        products=tuple(step_at(product, hardware, cost, a_step) for product in hardware.products),
    )


def published_pace(cost: Cost, hardware: Hardware, utilisation: float, settings: PretrainSettings) -> Pace:
    """The pace that published figures promise; processes share micro-batches, and each does the optimizer's work.

    While a GPU computes, the next kernels are launched: what takes longer decides, for the micro-batches and for the
    optimizer.
    """
    speed = hardware.peak * utilisation
    rounds = ceil(cost.micro_batches / hardware.devices)  # the slowest process decides
    a_launched, optimizing_launched = launch_seconds(cost, hardware)
    a_round = max((cost.forward + cost.backward) / speed, a_launched)
    a_step = rounds * a_round + max(cost.optimizing / speed, optimizing_launched) + A_STEP
    a_micro_batch = min(settings.micro_batch, settings.batch_size) * settings.lengths.first
    forward = max(cost.forward / speed, a_launched / 3)  # backward launches about twice as many
    return Pace(
        a_step,
        forward / a_micro_batch / hardware.devices,
        launches=round((rounds * a_launched + optimizing_launched) / A_LAUNCH),
        floor=rounds * a_launched + optimizing_launched + A_STEP,
    )


def launch_seconds(cost: Cost, hardware: Hardware) -> tuple[float, float]:
    """What launching the kernels of a micro-batch takes at the least, and those of the optimizer."""
    casts = 0 if hardware.precision == "float32" else CASTS * cost.matrices
    return (cost.launches + casts) * A_LAUNCH, cost.optimizer_launches * A_LAUNCH


def rows_that_fill(cost: Cost, hardware: Hardware, utilisation: float, settings: PretrainSettings) -> int:
    """Blocks at once for which a GPU computes as long as a step of them takes at the least."""
    a_row = (cost.forward + cost.backward) / min(settings.micro_batch, settings.batch_size)
    floor = sum(launch_seconds(cost, hardware)) + A_STEP
    return ceil(floor * hardware.peak * utilisation / a_row)


def step_at(product: ProductSpeed, here: Hardware, cost: Cost, a_step: float | None) -> ProductSpeed:
    """What a step would take if products were as fast as this one.

    Another precision changes the products, which take as much of a step as their operations say (Amdahl's law); other
    threads change all of it.
    """
    if a_step is None:
        return product
    share = min(1.0, cost.a_step / here.peak / a_step) if product.threads == here.products[0].threads else 1.0
    return replace(product, seconds_per_step=a_step * (1 - share + share * here.peak / product.flops))


def measure_pace(pretraining: Pretraining, computing: Computing) -> Pace:
    """The pace of real steps on this machine, with memory kept between them as a run keeps it."""
    keep_large_blocks()
    session = Session.begin(pretraining.job(), USUAL_STEPS, computing, fresh=False)
    return Pace(seconds_a_step(session, CALIBRATION, ALONE), seconds_a_validated_token(session, ALONE))


def steps_of(budget: Budget, batch: int, text: int, pace: Pace | None) -> int | None:
    """The steps that a budget buys; without one, a single pass over the text."""
    if budget.steps is not None:
        return budget.steps
    if budget.minutes is not None:
        if pace is None:
            raise BadInput("--minutes: how many steps that is needs --hardware, or --data to measure on")
        return max(1, int(budget.minutes * 60 / (pace.a_step + validation_seconds(pace, batch, 1, exact=False))))
    tokens = budget.tokens or text * (budget.epochs or 1)
    return max(1, round(tokens / batch)) if tokens else None


def validation_seconds(pace: Pace, batch: int, steps: int, *, exact: bool = True) -> float:
    """Seconds that the validations of a run take: each on a share of what is trained on, within bounds if `exact`."""
    tokens = USUAL_SAMPLE.tokens(batch * steps) if exact else USUAL_SAMPLE.share * batch * steps
    return VALIDATIONS * tokens * pace.a_validated_token


def memory_of(cost: Cost, hardware: Hardware) -> dict[str, int]:
    """Bytes on each device, by part: what layers keep on a GPU is half as large where products are."""
    divisor = 1 if hardware.processor or hardware.precision == "float32" else 2
    return {
        "weights": cost.weights,
        "gradients": cost.weights,
        **cost.state,
        "activations": cost.activations // divisor,
        "logits": cost.logits,
    }


def suggest_batch(
    cost: Cost,
    hardware: Hardware,
    settings: PretrainSettings,
    tokens: int | None,
    *,
    fills: int | None = None,
) -> Suggested:
    """A batch that fits and keeps every device busy, never smaller than the recipe's, its learning rates and precision.

    A GPU is busy with `fills` blocks at once; a processor with what the recipe has. A batch that is k times as large
    takes √k times the learning rate (Malladi et al. 2022, for Adam and its like).
    """
    memory, recipe_batch = memory_of(cost, hardware), settings.batch_size
    recipe_micro_batch = min(settings.micro_batch, recipe_batch)
    a_row = (memory["activations"] + memory["logits"]) / recipe_micro_batch
    fixed = sum(memory.values()) - memory["activations"] - memory["logits"]
    max_rows = max(1, int((ROOM * hardware.memory - fixed) / a_row))
    busy = max(
        ceil(BUSY / settings.lengths.first), ceil(recipe_batch / hardware.devices), 1 << ((fills or 1) - 1).bit_length()
    )
    target = recipe_micro_batch if hardware.processor else busy
    micro_batch = 2 ** int(min(max_rows, target)).bit_length() // 2  # a power of two, not above
    max_batch = max(recipe_batch, (tokens or inf) / LEAST_STEPS / settings.lengths.first)
    while micro_batch > 1 and micro_batch * hardware.devices > max_batch:
        micro_batch //= 2
    batch_size = max(recipe_batch, micro_batch * hardware.devices)
    factor = min(HIGHEST, sqrt(batch_size / recipe_batch))
    return Suggested(
        micro_batch=micro_batch,
        batch_size=batch_size,
        learning_rates={name: lr * factor for name, lr in settings.optimizing.learning_rates.items()},
        precision=hardware.precision,
        fills=fills,
    )


def _utilisation(cost: Cost, hardware: Hardware, a_step: float | None) -> float | None:
    """The part of each device's peak that steps come to."""
    if not a_step:
        return None
    rounds = ceil(cost.micro_batches / hardware.devices)
    return (rounds * (cost.forward + cost.backward) + cost.optimizing) / a_step / hardware.peak


def compare_with_run(plan: Planned, run: Path, hardware: Hardware | None = None) -> Planned:
    """The plan beside what a run of it really took, for as many steps as the run has taken, and on what."""
    history = read_history(run)
    status = summarize_run(history)
    if not status.step or plan.seconds_per_step is None:
        raise BadInput(f"{run}: there is nothing to compare; it needs logged steps, and the plan --hardware or --data")
    machine = machine_in(history.description)
    beside = PlanVsRun(
        run=run,
        steps=status.step,
        planned=plan.seconds_per_step * status.step,
        took=status.seconds,
        tokens_planned=plan.batch_size * plan.length * status.step,
        tokens=status.tokens,
        hardware=None if machine is None else str(machine),
        same_hardware=None if machine is None else was_computed_on(machine, hardware),
    )
    return replace(plan, compared=beside)


def machine_in(description: Mapping[str, Any]) -> Machine | None:
    """What a run says it was computed on, if it says so."""
    try:
        return Machine(**description["machine"])
    except (KeyError, TypeError):
        return None


def precision_of(run: Path) -> str:
    """What a run computes in."""
    return str(read_history(run).description.get("computing", {}).get("precision", "float32"))


def recipe_of(run: Path) -> tuple[Recipe, int | None]:
    """The recipe of a run, as its description has it, and its steps."""
    history = read_history(run)
    return recorded_recipe(run, history.description), history.steps
