"""The verbs: one function for each command, and the same function for a library call.

In: paths and plain settings. Out: the results of `unmask.results`. The signature is the command's help, and
what is heavy is imported inside the functions, so that asking for help loads no engine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from unmask.errors import BadInput, Refused
from unmask.results import (
    Audited,
    Collocated,
    Comparison,
    Demonstrated,
    Evaluated,
    Filled,
    Listed,
    Planned,
    Prepared,
    Shown,
    Trained,
    Verified,
    Watched,
)

Location = str | Path
LEAST_VOCABULARY = 16  # five special tokens, and something to say


def demo(*, out: Location = "demo", minutes: float = 2.5, seed: int = 0) -> Demonstrated:
    """Take the whole journey on text that is already on this machine.

    The interpreter's and the libraries' documentation is prepared, hidden, trained on and filled, with the story
    told on the way.

    Args:
        out: Where the data directory and the run are written; a demo that is there is replaced.
        minutes: How long to train.
        seed: Where the weights, the order of the blocks and the hidden positions come from.
    """
    from unmask.journey import demo as run

    return run(Path(out), minutes, seed)


def prepare(
    *sources: Location,
    out: Location,
    field: str = "text",
    tokenizer: str = "wordpiece",
    vocab_size: int | None = None,
    cased: bool = True,
    valid: float = 0.01,
    min_characters: int = 20,
    entities: Location | None = None,
    phrases: Location | None = None,
    spacy: str | None = None,
    segmenter: str | None = None,
    languages: str | None = None,
    overwrite: bool = False,
) -> Prepared:
    """Make a data directory of raw text.

    Reads text (a paragraph per line, a blank line between documents), JSONL, CSV, parquet, Markdown and HTML,
    plain or compressed (.gz, .zst, .xz); cleans it, sets documents aside to measure on, trains a tokenizer
    and encodes. JSONL may mark entities and phrases: "spans": [[start, end, "entity"], …].

    Args:
        sources: Files, folders, globs, - for standard input, or builtin: the documentation on this machine.
        out: The data directory to write.
        field: The field of JSONL, CSV and parquet that holds the text.
        tokenizer: The kind to train (wordpiece, bpe or unigram), or a tokenizer directory to take as it is.
        vocab_size: How many tokens the trained vocabulary has; 16,384, or what the text allows, if not given.
        cased: Tell capitals from small letters, in the trained tokenizer.
        valid: The fraction of documents held out to measure on.
        min_characters: Documents shorter than this are left out.
        entities: A file with an entity a line, to be marked in the text for the policy entity.
        phrases: A file with a phrase a line, to be marked in the text for the policy phrase.
        spacy: A spaCy pipeline that marks entities, and noun chunks as phrases (pip install 'unmask[spacy]').
        segmenter: What cuts text into words, if not the tokenizer: module:function, such as jieba:cut.
        languages: Tell languages by file (en.txt, de.txt) or folder, for xlm-r; the tokenizer learns from all alike.
        overwrite: Replace what is already in the data directory.
    """
    from unmask.tokens.dataset import prepare as run

    if not sources:
        raise BadInput("nothing to read: name files, folders or globs, or - for standard input")
    return run(
        [str(source) for source in sources],
        Path(out),
        field=field,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        cased=cased,
        valid=valid,
        min_characters=min_characters,
        entities=None if entities is None else str(entities),
        phrases=None if phrases is None else str(phrases),
        spacy=spacy,
        segmenter=segmenter,
        languages=languages,
        overwrite=overwrite,
    )


def verify(path: Location, /) -> Verified:
    """Check every file of a data directory against its manifest.

    A flipped byte, a truncated, missing or unexpected file is named, and the exit code says so.

    Args:
        path: The data directory.
    """
    from unmask.tokens.manifest import verify as run

    return run(Path(path))


def pretrain(
    data: Location,
    /,
    *,
    out: Location,
    recipe: str = "mini",
    minutes: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    objective: str | None = None,
    policy: str | None = None,
    rate: str | None = None,
    phrases: Location | None = None,
    static_masks: bool = False,
    length: int | None = None,
    rows: int | None = None,
    micro: int | None = None,
    seed: int = 0,
    resume: bool = False,
    save_seconds: float = 120.0,
    report: bool = True,
    tensorboard: bool = False,
    reproducible: bool = False,
    device: str = "auto",
    precision: str = "float32",
    checkpointing: bool = False,
    compile: bool = False,
    shard: bool = False,
    workers: int | None = None,
    skip_spikes: bool = False,
) -> Trained:
    """Train an encoder to restore hidden tokens.

    The budget is one of --minutes, --steps or --tokens. Ctrl-C saves and stops; --resume goes on. The run
    ends with a model directory that transformers loads.

    Args:
        data: A data directory made by prepare.
        out: The run directory to write.
        recipe: The model and how it is trained: tiny, mini, small or base, or electra-tiny and so on.
        minutes: The budget in minutes of training.
        steps: The budget in steps.
        tokens: The budget in tokens seen.
        objective: What is learnt, if not the recipe's own: "mlm 0.7, causal 0.3" or "causal until 0.25; mlm".
        policy: What is hidden: token, word, span, ngram, "span 0.7, token 0.3" or "token until 0.5; word".
        rate: How much is hidden: 0.15, or a schedule such as "linear 0.25 0.15".
        phrases: A file with a phrase a line for entity, phrase and collocation, instead of what the data marks.
        static_masks: Hide the same tokens in every epoch, instead of others each time.
        length: Tokens in a block.
        rows: Blocks in a step.
        micro: Blocks in a micro-batch: what is computed at once, and what processes share out.
        seed: Where the weights, the order of the blocks and the hidden positions come from.
        resume: Go on with the run that is already there.
        save_seconds: How often to save a checkpoint; it changes nothing of what is trained.
        report: Draw the run as plot.png and report.html in the run directory, now and then and in the end.
        tensorboard: Write events for TensorBoard too (pip install 'unmask[tensorboard]').
        reproducible: Add gradients in a fixed order: the same weights, to the bit, on any number of processes.
        device: Where to compute: auto, cpu, cuda or mps.
        precision: Of products: float32, bfloat16 or float16; weights stay float32.
        checkpointing: Compute each layer again in backward instead of keeping what happened in it: less memory.
        compile: Compile the layers with torch.compile; a minute or more at the start.
        shard: Cut the layers up among the processes, so that none holds them all (FSDP2).
        workers: Processes that prepare batches ahead; none by default on a CPU, two on a GPU. The same batches.
        skip_spikes: Leave out steps whose loss or gradient is far above the ones before; they are logged either way.
    """
    from unmask.recipes import recipe as named
    from unmask.training.budget import Budget
    from unmask.training.computing import Computing
    from unmask.training.pretrain import Saving
    from unmask.training.pretrain import pretrain as run

    budget = Budget(minutes=minutes, steps=steps, tokens=tokens)
    computing = Computing(device=device, precision=precision, checkpointing=checkpointing, compile=compile, shard=shard)
    listed = None if phrases is None else str(phrases)
    settings = {
        "objective": objective,
        "policy": policy,
        "rate": rate,
        "phrases": listed,
        "static_masks": static_masks,
        "skip_spikes": skip_spikes,
        "length": length,
        "rows": rows,
        "micro": micro,
    }
    chosen = named(recipe, **{name: value for name, value in settings.items() if value is not None})
    saving = Saving(seconds=save_seconds, report=report, tensorboard=tensorboard)
    return run(
        Path(data),
        Path(out),
        chosen,
        budget,
        seed=seed,
        resume=resume,
        saving=saving,
        reproducible=reproducible,
        computing=computing,
        workers=workers,
    )


def plan(
    *,
    recipe: str = "mini",
    data: Location | None = None,
    vocab_size: int | None = None,
    hardware: str | None = None,
    precision: str | None = None,
    utilisation: float = 0.4,
    minutes: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    length: int | None = None,
    rows: int | None = None,
    micro: int | None = None,
    compare: Location | None = None,
) -> Planned:
    """Say what a training would take, before it is begun.

    Parameters, operations, memory by part, time, and a batch that keeps the hardware busy. Without --hardware the time
    is measured on a few real steps on this machine. Without a budget it is for one pass over the data.

    Args:
        recipe: The model and how it is trained, as for pretrain.
        data: The data directory to train on.
        vocab_size: The size of the vocabulary, where there is no data yet.
        hardware: What to train on: 8xA100, RTX 4090, or its figures: 4x100TFLOPS/32GB; this machine if not given.
        precision: Of products on that hardware: bfloat16, float16 or float32; the fastest if not given.
        utilisation: The part of the hardware's published peak that is reckoned with.
        minutes: The budget in minutes of training.
        steps: The budget in steps.
        tokens: The budget in tokens seen.
        length: Tokens in a block.
        rows: Blocks in a step.
        micro: Blocks in a micro-batch.
        compare: A run, whose recipe is planned and compared with what it really took.
    """
    if data is None and (vocab_size is None or vocab_size < LEAST_VOCABULARY):
        raise BadInput(
            f"plan for what? give --data, or a --vocab-size of {LEAST_VOCABULARY} or more where there is none"
        )
    from unmask.recipes import recipe as named
    from unmask.tokens.dataset import Dataset
    from unmask.training import forecast
    from unmask.training.budget import Budget
    from unmask.training.estimate import Imagined
    from unmask.training.hardware import named as hardware_named

    budget = Budget(minutes=minutes, steps=steps, tokens=tokens)
    given = None if hardware is None else hardware_named(hardware, precision)
    text = Imagined(vocab_size or 0) if data is None else Dataset.open(data)
    changed = {"length": length, "rows": rows, "micro": micro}
    chosen = named(recipe, **{name: value for name, value in changed.items() if value is not None})
    if compare is not None:
        chosen, taken = forecast.recipe_of(Path(compare))
        budget = budget if budget.given else Budget(steps=taken)
    planned = forecast.plan(chosen, text, budget, given, utilisation=utilisation)
    return planned if compare is None else forecast.compare(planned, Path(compare))


def runs(*folders: Location) -> Listed:
    """List runs with their state and their held-out figures.

    A run is finished, running (a live process holds its lock), stopped, damaged, or foreign: made by a version whose
    runs this one does not read.

    Args:
        folders: Where to look, everything below included; this folder if none is named.
    """
    from unmask.training.follow import list_runs

    return list_runs(Path(folder) for folder in folders or (".",))


def watch(run: Location, /, *, once: bool = False, seconds: float = 1.0) -> Watched:
    """Follow a run until it ends or is stopped, and say which.

    A panel that moves on a terminal, a line for each new validation in a log; the run itself is not disturbed.

    Args:
        run: The run directory.
        once: Say where the run stands now, and leave.
        seconds: How long to wait between two looks.
    """
    from unmask.training.follow import watch as follow

    return follow(Path(run), once=once, seconds=seconds)


def evaluate(
    model: Location,
    data: Location,
    /,
    *,
    length: int = 128,
    seed: int = 0,
    rate: float = 0.15,
    limit: int | None = None,
) -> Evaluated:
    """Measure how well a model restores hidden tokens of held-out text.

    The hidden positions are fixed by the data, the tokenizer, the length, the rate and the seed, so that
    models compare on the same blanks; bits per byte compare models whose tokenizers differ.

    Args:
        model: A run, or any directory with a masked language model of transformers.
        data: A data directory made by prepare.
        length: Tokens in a row, the two that open and close it among them.
        seed: Which positions are hidden.
        rate: The fraction of tokens hidden.
        limit: Measure on an even sample of about so many tokens, instead of all that are held out.
    """
    from unmask.inference.locate import model_directory

    model_directory(Path(model))  # a wrong path is told before anything heavy is loaded
    from unmask.evaluation.intrinsic import evaluate as run

    return run(Path(model), Path(data), length=length, seed=seed, rate=rate, limit=limit)


def compare(
    *,
    recipes: str,
    data: Location,
    out: Location = "compare",
    minutes: float | None = None,
    tokens: int | None = None,
    flops: float | None = None,
    classify: Location | None = None,
    tag: Location | None = None,
    phrases: Location | None = None,
    length: int | None = None,
    rows: int | None = None,
    seed: int = 0,
    resume: bool = False,
) -> Comparison:
    """Train several recipes under the same budget, and measure and probe them alike.

    Masked loss and accuracy on the same masks, bits per byte of text, speed, and linear probes on frozen vectors, each
    with its 95 % interval; a run for each recipe, compare.json and compare.png. Ctrl-C saves; --resume goes on.

    Args:
        recipes: Recipes with commas between them: bert,electra,spanbert,causal, or bert-tiny,electra-tiny.
        data: A data directory made by prepare.
        out: The directory to write: a run for each recipe, compare.json, compare.png.
        minutes: The budget of each recipe in minutes of training.
        tokens: The budget of each in tokens seen.
        flops: The budget of each in floating-point operations, such as 1e15.
        classify: A JSONL file with a text and its label on each line, for a probe of your own.
        tag: A file with a token, a tab and its tag on each line, blank lines between sentences, for another.
        phrases: A file with a phrase a line, for recipes that hide phrases.
        length: Tokens in a block.
        rows: Blocks in a step.
        seed: Where the weights, the order of the blocks and the hidden positions come from.
        resume: Go on with the comparison that is already there.
    """
    from unmask.tokens.manifest import read

    read(Path(data))  # a wrong path is told before anything heavy is loaded
    from unmask.evaluation.compare import compare as run
    from unmask.recipes import recipe
    from unmask.training.budget import Budget

    listed = None if phrases is None else str(phrases)
    settings = {"phrases": listed, "length": length, "rows": rows}
    given = {name: value for name, value in settings.items() if value is not None}
    return run(
        Path(data),
        Path(out),
        [recipe(name.strip(), **given) for name in recipes.split(",") if name.strip()],
        Budget(minutes=minutes, tokens=tokens),
        flops=flops,
        classify=None if classify is None else Path(classify),
        tag=None if tag is None else Path(tag),
        seed=seed,
        resume=resume,
    )


def fill(model: Location, /, *texts: str, top: int = 5, targets: tuple[str, ...] = ()) -> list[Filled]:
    """Fill the blanks of texts, with probabilities.

    A blank is [MASK], or the model's own mask token. Several blanks are each filled on their own. The text is
    completed with the likeliest word of each.

    Args:
        model: A run, or any directory with a masked language model of transformers.
        texts: Texts with blanks, or - for standard input, one text a line.
        top: How many candidates for each blank.
        targets: Only these words, the likeliest first; they come after the texts.
    """
    from unmask.inference.locate import model_directory

    if not texts:
        raise BadInput('nothing to fill: give a text with a blank, such as "Paris is in [MASK]."')
    model_directory(Path(model))  # a wrong path is told before anything heavy is loaded
    from unmask.inference.fill import fill as run
    from unmask.inference.load import load

    loaded = load(Path(model))
    if texts != ("-",):
        return run(loaded, texts, top=top, targets=targets)
    lines = dict(_standard_input())
    return run(loaded, list(lines.values()), top=top, targets=targets, lines=list(lines))


def show(
    *texts: str,
    model: Location,
    policy: str = "token",
    all: bool = False,
    rate: str | None = None,
    phrases: Location | None = None,
    seed: int = 0,
) -> list[Shown]:
    """Show texts as a model will see them: what a policy hides, the original above.

    Hidden, random and kept tokens have a colour each, or signs where there is none; what is hidden together is
    underlined.

    Args:
        texts: Texts to hide in, or - for standard input, one text a line.
        model: What has the tokenizer: a run, a model, a tokenizer or a data directory.
        policy: What is hidden: token, word, span, ngram, sentinel and so on, or "span 0.7, token 0.3".
        all: Every policy on the same text; entity, phrase and collocation if there are phrases.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation.
        seed: Which positions are hidden.
    """
    from unmask.inference.locate import tokenizer_directory

    if not texts:
        raise BadInput('nothing to show: give a text, such as "The cat sat on the mat."')
    directory = tokenizer_directory(Path(model))  # a wrong path is told before anything heavy is loaded
    from unmask.inference.show import show as one
    from unmask.inference.show import show_all
    from unmask.tokens.phrases import read_list
    from unmask.tokens.tokenizer import load

    listed = read_list(phrases) if phrases is not None else ()
    tokenizer = load(directory)
    found: list[Shown] = []
    for text in (text for _, text in _standard_input()) if texts == ("-",) else texts:
        if all:
            found += show_all(tokenizer, text, rate=rate, seed=seed, phrases=listed)
        else:
            found.append(one(tokenizer, text, policy, rate=rate, seed=seed, phrases=listed))
    return found


def audit(
    data: Location,
    /,
    *,
    policy: str = "token",
    rate: str | None = None,
    length: int = 512,
    blocks: int = 2048,
    phrases: Location | None = None,
    seed: int = 0,
) -> Audited:
    """Measure what a policy really does on the blocks of a data directory.

    The realised rate and its spread, how hidden tokens are shown, the lengths of what is hidden together, whether a
    position is favoured, whether a special token was touched, and the speed.

    Args:
        data: A data directory made by prepare.
        policy: What is hidden: span, "span 0.7, token 0.3" and so on, as it is at the beginning of a training.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        length: Tokens in a block.
        blocks: How many blocks of the training text, at the most.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation; else as the data marks.
        seed: Which blocks, and which positions are hidden.
    """
    from unmask.tokens.manifest import read

    read(Path(data))  # a wrong path is told before anything heavy is loaded
    from unmask.tokens.examine import audit_data
    from unmask.tokens.phrases import read_list

    listed = read_list(phrases) if phrases is not None else ()
    return audit_data(data, policy, rate=rate, length=length, blocks=blocks, phrases=listed, seed=seed)


def collocations(
    data: Location,
    /,
    *,
    out: Location | None = None,
    top: int = 20_000,
    longest: int = 5,
    least: int = 10,
    overwrite: bool = False,
) -> Collocated:
    """Find the word sequences of a data directory that belong together.

    Those that no split of theirs explains (PMI-masking), best first. The list is text, a phrase a line: strike out
    lines, add some, and give it to pretrain, audit or show with --phrases.

    Args:
        data: A data directory made by prepare.
        out: The list to write; without it the best are only shown.
        top: How many to keep.
        longest: How many words a collocation has at the most.
        least: Only what occurs more often than this.
        overwrite: Replace a list that is already there, edited or not.
    """
    from time import perf_counter

    from unmask.tokens.manifest import read

    read(Path(data))  # a wrong path is told before anything heavy is loaded
    if out is not None and Path(out).exists() and not overwrite:
        raise Refused(f"{out}: is already there; name another file, or replace it with --overwrite")
    from unmask.tokens.examine import collocations as run
    from unmask.tokens.phrases import write_list

    began = perf_counter()
    found = run(data, longest=longest, least=least, top=top)
    if out is not None:
        write_list(found, Path(out))
    return Collocated(
        data=Path(data),
        path=None if out is None else Path(out),
        phrases=tuple(found),
        seconds=perf_counter() - began,
    )


def _standard_input() -> Iterator[tuple[int, str]]:
    """The lines of standard input that are not empty, with their numbers."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadInput(f"line {number}: not UTF-8 at byte {error.start + 1} of the line") from error
        if text:
            yield number, text
