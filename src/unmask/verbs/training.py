"""A data directory to a model: planned, trained, listed and watched."""

from __future__ import annotations

from pathlib import Path

from unmask.errors import BadInput, MissingOption
from unmask.files import check_writable
from unmask.results import Planned, RunList, RunStatus, Trained
from unmask.verbs.arguments import Location, given_settings
from unmask.verbs.commands import verb

DESCRIPTION = "run.json"  # of a run directory, by which one is known
LEAST_VOCABULARY = 16  # five special tokens, and something to say


@verb
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
    epochs: float | None = None,
    length: str | int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    compare: Location | None = None,
) -> Planned:
    """Say what a training would take, before it is begun.

    Parameters, operations, memory by part, time, and a batch that keeps the hardware busy: a step takes as long as it
    computes, or as it takes to launch its kernels. Without --hardware the time is measured on a few real steps on this
    machine, and what another precision or other threads would save here. Without a budget it is for one pass.

    Args:
        recipe: The model and how it is trained, as for pretrain.
        data: The data directory to train on.
        vocab_size: The size of the vocabulary, where there is no data yet.
        hardware: What to train on: 8xA100, RTX 4090, or its figures: 4x100TFLOPS/32GB; this machine if not given.
        precision: Of products: bfloat16, float16 or float32; if not given, the fastest there, as pretrain takes it.
        utilisation: The part of the hardware's published peak that is reckoned with.
        minutes: The budget in minutes, of the whole run.
        steps: The budget in steps.
        tokens: The budget in tokens seen.
        epochs: The budget in passes over the data.
        length: Tokens in a block: 128, or longer ones in the end, "128 until 0.9; 1024", as small and base have them.
        batch_size: Blocks in a step; of the first length, where others follow, in fewer blocks and as many tokens.
        micro_batch: Blocks in a micro-batch.
        compare: A run, whose recipe is planned and compared with what it really took.
    """
    if data is None and (vocab_size is None or vocab_size < LEAST_VOCABULARY):
        kind = MissingOption if vocab_size is None else BadInput
        raise kind(f"plan for what? give --data, or a --vocab-size of {LEAST_VOCABULARY} or more where there is none")
    from unmask.planning import forecast
    from unmask.planning.cost import ImaginedDataset
    from unmask.planning.hardware import hardware_named
    from unmask.pretraining.recipes import recipe_named
    from unmask.tokens.store.dataset import Dataset
    from unmask.training.budget import Budget

    budget = Budget(minutes=minutes, steps=steps, tokens=tokens, epochs=epochs)
    target = None if hardware is None else hardware_named(hardware, precision)
    text = ImaginedDataset.of(vocab_size or 0) if data is None else Dataset.open(data)
    full_recipe = recipe_named(recipe, **given_settings(length=length, batch_size=batch_size, micro_batch=micro_batch))
    if compare is not None:
        full_recipe, run_steps = forecast.recipe_of(Path(compare))
        budget = budget if budget.is_set else Budget(steps=run_steps)
        precision = precision or forecast.precision_of(Path(compare))
    result = forecast.forecast(full_recipe, text, budget, target, precision=precision, utilisation=utilisation)
    return result if compare is None else forecast.compare_with_run(result, Path(compare), target)


@verb
def pretrain(
    data: Location | None = None,
    /,
    *,
    out: Location | None = None,
    recipe: str | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    epochs: float | None = None,
    objective: str | None = None,
    policy: str | None = None,
    rate: str | None = None,
    phrases: Location | None = None,
    static_masks: bool = False,
    init: str | None = None,
    length: str | int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    seed: int | None = None,
    resume: Location | bool = False,
    save_seconds: float | None = None,
    keep_best: bool = False,
    keep_stable: bool = False,
    keep_moments: bool = False,
    report: bool = True,
    tensorboard: bool = False,
    reproducible: bool = False,
    device: str | None = None,
    precision: str | None = None,
    recompute: bool = False,
    compile: bool = False,
    shard: bool = False,
    workers: int | None = None,
    skip_spikes: bool = False,
) -> Trained:
    """Train an encoder to restore hidden tokens.

    The budget is one of --minutes, --steps, --tokens or --epochs. Ctrl-C saves and stops; unmask pretrain --resume RUN
    goes on as what the run is. The run ends with a model directory that transformers loads.

    Args:
        data: A data directory made by prepare; of a run that goes on, where its data is now, if it has moved.
        out: The run directory to write.
        recipe: The model and how it is trained: a size (tiny, mini, small, base), a kind or both (electra-tiny); mini
            if not given. Kinds: modernbert, bert, bert-wwm (whole-word masking), roberta, ernie, xlm-r, xlm-r-xl,
            pmi (PMI-masking), spanbert (SBO), deberta, electra (RTD), deberta-v3 (RTD, GDES), xlnet (PLM), mpnet
            (masked and permuted), t5 (span corruption), diffusion (MDLM), causal (CLM, GPT-2), causal-then-mlm.
        minutes: The budget in minutes, of the whole run.
        steps: The budget in steps.
        tokens: The budget in tokens seen.
        epochs: The budget in passes over the data.
        objective: What is learnt, if not the recipe's own: mlm, spans (SBO), retromae, tsdae, replaced (RTD),
            replaced-disentangled (GDES), permuted (PLM), masked-permuted (MPNet), seq2seq (span-corruption), diffusion
            (MDLM), causal (CLM), each by either name; "mlm 0.7, causal 0.3" mixes them, "causal until 0.25; mlm" lets
            one follow the other.
        policy: What is hidden: token (BERT's 80/10/10), word (whole-word masking), span (SpanBERT), ngram (DeBERTa),
            entity and phrase (ERNIE), collocation (PMI-masking), sentinel (T5's span corruption), permutation (XLNet's
            PLM), masked-permutation (MPNet), diffusion (MDLM, LLaDA); "span 0.7, token 0.3" mixes them, "token until
            0.5; word" lets one follow.
        rate: How much is hidden: 0.15, or a schedule such as "linear 0.3 0.15".
        phrases: A file with a phrase a line for entity, phrase and collocation, instead of what the data marks, or what
            is mined from it where it marks nothing.
        static_masks: Hide the same tokens in every epoch, instead of others each time.
        init: What a fresh model knows beforehand: informed (if not given: how frequent tokens are, which are alike by
            what stands beside them, and heads that look at neighbours), vectors, neighbours or frequencies (one of
            these, and frequencies), or random (nothing, as published).
        length: Tokens in a block: 128, or longer ones in the end, "128 until 0.9; 1024", as small and base have them.
        batch_size: Blocks in a step; of the first length, where others follow, in fewer blocks and as many tokens.
        micro_batch: Blocks in a micro-batch: what is computed at once, and what processes share out; if not given the
            recipe's, or fewer so that each process has its share.
        seed: Where the weights, the order of the blocks and the hidden positions come from; 0 if not given.
        resume: The run to go on with; what it was begun with need not be said again. Without a name it is --out, and
            where nothing is there the run begins.
        save_seconds: How often to save a checkpoint, 120 if not given; it changes nothing of what is trained.
        keep_best: Keep the moment of the lowest held-out loss beside the newest, and export that one.
        keep_stable: Keep the moment before the learning rate falls: adapt goes on from it.
        keep_moments: Keep the weights of the start and of each tenth: the report and serve show what was filled when.
        report: Draw the run as plot.png and report.html in the run directory, now and then and in the end.
        tensorboard: Write events for TensorBoard too (pip install 'unmask[tensorboard]').
        reproducible: Add gradients in a fixed order: the same weights, to the bit, on any number of processes.
        device: Where to compute: auto (if not given), cpu, cuda or mps.
        precision: Of products: float32, bfloat16 or float16; auto (if not given) is bfloat16 where that is faster and
            ends at the same loss, else float32, as with --reproducible; a run keeps its own. Weights stay float32.
        recompute: Compute each layer again in backward instead of keeping what happened in it: less memory.
        compile: Compile the layers with torch.compile; a minute or more at the start.
        shard: Cut the layers up among the processes, so that none holds them all (FSDP2).
        workers: Processes that prepare batches ahead; none by default on a CPU, two on a GPU. The same batches.
        skip_spikes: Leave out steps whose loss or gradient is far above the ones before; they are logged either way.
    """
    place, run, goes_on = _data_and_run(data, out, resume)
    check_writable(run)  # told before anything heavy is loaded
    from unmask.inference.held_out_fills import write_fills
    from unmask.pretraining.pretrain import pretrain as train
    from unmask.pretraining.request import new_request, resumed_request

    given = given_settings(
        recipe=recipe,
        minutes=minutes,
        steps=steps,
        tokens=tokens,
        epochs=epochs,
        objective=objective,
        policy=policy,
        rate=rate,
        phrases=None if phrases is None else str(Path(phrases).resolve()),
        static_masks=static_masks or None,
        init=init,
        length=length,
        batch_size=batch_size,
        micro_batch=micro_batch,
        seed=seed,
        seconds=save_seconds,
        best=keep_best or None,
        stable=keep_stable or None,
        moments=keep_moments or None,
        report=None if report else False,
        tensorboard=tensorboard or None,
        reproducible=reproducible or None,
        device=device,
        precision=precision,
        recompute=recompute or None,
        compile=compile or None,
        shard=shard or None,
        workers=workers,
        skip_spikes=skip_spikes or None,
    )
    if goes_on:
        request = resumed_request(run, place, given)
    elif place is not None:
        request = new_request(place, given)
    else:
        raise BadInput("train on what? name a data directory: unmask pretrain DATA --out RUN --minutes 10")
    return train(
        request.data,
        run,
        request.recipe,
        request.budget,
        seed=request.seed,
        resume=resume is not False,
        saving=request.saving,
        reproducible=request.reproducible,
        computing=request.computing,
        workers=request.workers,
        tell=write_fills,
    )


def _data_and_run(
    data: Location | None, out: Location | None, resume: Location | bool
) -> tuple[Path | None, Path, bool]:
    """The data if it was named, the run directory, and whether a run is to go on that is there."""
    if not isinstance(resume, bool) and out is not None and Path(out) != Path(resume):
        if data is not None:
            raise BadInput(f"--resume {resume} and --out {out}: name the run once")
        data, resume = resume, True  # pretrain --resume data --out run: a flag without a name, and the data after it
    place = None if data is None else Path(data)
    if not isinstance(resume, bool):
        return place, Path(resume), True
    if out is None:
        raise BadInput("train where? --out RUN names the directory of a new run, --resume RUN a run that goes on")
    return place, Path(out), resume and (Path(out) / DESCRIPTION).exists()


@verb
def runs(*folders: Location) -> RunList:
    """List runs with their state and their held-out figures.

    A run is finished, running (a live process holds its lock), stopped, damaged, or foreign: made by a version whose
    runs this one does not read.

    Args:
        folders: Where to look, everything below included; this folder if none is named.
    """
    from unmask.runs.watch import list_runs

    return list_runs(Path(folder) for folder in folders or (".",))


@verb
def watch(run: Location, /, *, once: bool = False, seconds: float = 1.0) -> RunStatus:
    """Follow a run until it ends or is stopped, and say which.

    A panel that moves on a terminal, a line for each new validation in a log; the run itself is not disturbed.

    Args:
        run: The run directory.
        once: Say where the run stands now, and leave.
        seconds: How long to wait between two looks.
    """
    from unmask.console.live import live_display
    from unmask.runs.watch import watch_run

    return watch_run(Path(run), once=once, seconds=seconds, display=live_display)
