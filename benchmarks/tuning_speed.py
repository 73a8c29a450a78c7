"""How fast a classifier is tuned beside transformers' Trainer, in turns, on the same model and texts.

    python benchmarks/tuning_speed.py run train.jsonl
    python benchmarks/tuning_speed.py run train.jsonl --clock processor     # where the machine is never quiet

Both start from the same weights and take 32 texts a step; a turn is so many steps of each. Theirs is set up as someone
who knows it would: padding to the longest text of a batch, batches of like length, the faster of float32 and bfloat16.
Ours is `unmask tune classify` as it comes, in what `--precision auto` chooses, and in float32.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import tyro
from turns import THREADS, Clock, Spread, Turn, race, ratios

BATCH, RATE = 32, 3e-4
STEPS = 100_000  # of the schedule: more than any race takes


def ours(turn: Turn, *, run: Path, train: Path, steps: int, precision: str) -> None:
    """The steps of `unmask tune classify`."""
    from unmask.tasks.classify.labelled import read_labelled
    from unmask.tasks.classify.learning import classifying_of
    from unmask.tasks.settings import TuneSettings
    from unmask.training.machine.allocator import keep_large_blocks
    from unmask.training.machine.computing import Computing
    from unmask.training.session import Session
    from unmask.training.step import StepOptions, take_step

    keep_large_blocks()
    job = classifying_of(run, TuneSettings(lr=RATE), read_labelled(train), None).job()
    session = Session.begin(job, STEPS, Computing(device="cpu", precision=precision))
    options = StepOptions(precision=session.precision)
    for step in range(STEPS):
        if step % steps == 0:
            turn()
        take_step(session.learner, session.optimizer, session.source, step=step, options=options)


def theirs(turn: Turn, *, run: Path, train: Path, steps: int, bf16: bool) -> None:
    """The steps of Trainer."""
    from rival import AfterStep
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    from unmask.models.locate import model_directory
    from unmask.tasks.classify.labelled import read_labelled

    examples = read_labelled(train)
    place = {label: number for number, label in enumerate(examples.labels)}
    directory = str(model_directory(run))
    tokenizer = AutoTokenizer.from_pretrained(directory)
    rows = [
        {**tokenizer(example.text, truncation=True), "labels": place[example.labels[0]]}
        for example in examples.examples
    ]
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="trainer-"),
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        train_sampling_strategy="group_by_length",
        bf16=bf16,
        use_cpu=True,
        dataloader_pin_memory=False,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )

    def after_step(step: int) -> None:
        if step % steps == 0:
            turn()

    turn()
    Trainer(
        model=AutoModelForSequenceClassification.from_pretrained(directory, num_labels=len(place)),
        args=arguments,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[AfterStep(after_step)],
    ).train()


def main(run: Path, train: Path, /, steps: int = 10, rounds: int = 12, clock: Clock = "wall") -> None:
    """Race both sides, each in two precisions.

    Args:
        run: A run or a model directory that both start from.
        train: Labelled texts.
        steps: Steps in a turn.
        rounds: Turns of each.
        clock: Seconds of the wall, or those that the processor worked for it.
    """
    case = {"run": run, "train": train, "steps": steps}
    sides = {
        "unmask bfloat16": partial(ours, **case, precision="bfloat16"),
        "unmask float32": partial(ours, **case, precision="float32"),
        "Trainer bfloat16": partial(theirs, **case, bf16=True),
        "Trainer float32": partial(theirs, **case, bf16=False),
    }
    seconds = race(sides, rounds=rounds, warm=1, threads=THREADS[clock], clock=clock)
    spreads = {name: Spread.of([BATCH * steps / one for one in taken]) for name, taken in seconds.items()}
    for name, spread in spreads.items():
        print(f"{name}: {spread:.0f} texts a second")
    best = {
        side: max((n for n in spreads if n.startswith(side)), key=lambda n: spreads[n].median)
        for side in ("unmask", "Trainer")
    }
    print(
        f"{best['unmask']} is {ratios(seconds, best['Trainer'], best['unmask']):.2f} times as fast as {best['Trainer']}"
    )


if __name__ == "__main__":
    tyro.cli(main)
