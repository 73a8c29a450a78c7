"""A trained model to one of a domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.files import check_writable
from unmask.results import Adapted
from unmask.verbs.arguments import Location, given_settings, run_of, text_of
from unmask.verbs.commands import verb


@verb
def adapt(
    model: Location | None = None,
    data: Location | None = None,
    /,
    *,
    out: Location | None = None,
    task_data: Location | None = None,
    task_epochs: float | None = None,
    replay: Location | None = None,
    replay_share: float | None = None,
    forget: float | None = None,
    extend: str | int | None = None,
    warm_steps: int | None = None,
    similarity: Location | None = None,
    whole_budget: bool = False,
    minutes: float | None = None,
    steps: int | None = None,
    tokens: int | None = None,
    epochs: float | None = None,
    objective: str | None = None,
    policy: str | None = None,
    rate: str | None = None,
    lr: float | None = None,
    length: int | None = None,
    batch_size: int | None = None,
    micro_batch: int | None = None,
    seed: int | None = None,
    resume: Location | bool = False,
    save_seconds: float | None = None,
    keep_moments: bool = False,
    reproducible: bool = False,
    device: str | None = None,
    precision: str | None = None,
    workers: int | None = None,
    revision: str | None = None,
) -> Adapted:
    """Move a masked model into a domain, within a budget of forgetting.

    Masked training goes on with the model's own tokenizer, to which --extend adds words of the domain; the general text
    of --replay is mixed in and measured beside the domain. The run ends before its budget does when the domain no
    longer gains or more than --forget is forgotten, by paired intervals. In the end mixtures of the weights before and
    after are measured on both, and the best in the domain that forgets no more than --forget is kept. Ctrl-C saves and
    stops; unmask adapt --resume RUN goes on.

    Args:
        model: A run, any masked language model of transformers, an encoder without a head, which gets one, or a name on
            the hub: org/name, or hf:name.
        data: The domain's data, made by prepare with --tokenizer MODEL.
        out: The run directory to write.
        task_data: Data of the unlabelled texts of the task that comes after: learnt after the domain, or alone.
        task_epochs: Passes over it, 10 if not given.
        replay: General data, to mix in and to measure what is forgotten on.
        replay_share: The share of general blocks, 0.05 if not given.
        forget: How many nats the loss on general text may rise by; not limited if not given.
        extend: Words of the domain that get a token of their own: how many, auto (as many as are worth it), or a file
            that lists them. The words are in RUN/extension/words.txt, to be edited and given back.
        warm_steps: Steps in which new words, and the new head of an encoder that has none, learn alone; 300 if not
            given.
        similarity: A file of pairs of texts with scores (JSONL, CSV or TSV), on which vectors of sentences are measured
            before and after.
        whole_budget: Take every step of the budget, whatever is measured on the way.
        minutes: The budget in minutes, of the whole run.
        steps: The budget in steps.
        tokens: The budget in tokens seen.
        epochs: The budget in passes over the domain, 1 if no other is given.
        objective: What is learnt: mlm, spans, retromae or tsdae (for retrieval), diffusion, replaced (of an ELECTRA,
            where it is the default), or several one after the other: causal until 0.2; mlm. If not given mlm.
        policy: What is hidden, as pretrain has it; if not given what the objective was published with, token for mlm.
        rate: How much is hidden, 0.15 if not given.
        lr: The learning rate at its height; if not given 1e-4 · (768 / width)², at most 1e-3.
        length: Tokens in a block, 128 if not given.
        batch_size: Blocks in a step, 32 if not given.
        micro_batch: Blocks that are computed at once, and that processes share out.
        seed: Where the order and the hidden positions come from; 0 if not given.
        resume: The run to go on with; what it was begun with need not be said again.
        save_seconds: How often to save a checkpoint, 120 if not given.
        keep_moments: Keep the weights of the start and of each tenth: the report and serve show what was filled when.
        reproducible: Add gradients in a fixed order: the same weights, to the bit, on any number of processes.
        device: Where to compute: auto (if not given), cpu, cuda or mps.
        precision: Of products: auto (if not given), float32, bfloat16 or float16.
        workers: Processes that prepare batches ahead; none by default on a CPU, two on a GPU.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    run, goes_on = run_of("adapt MODEL DATA", out, resume, ("run.json", "adapting.json"))
    check_writable(run)  # told before anything heavy is loaded
    named = given_settings(model=model, data=data, replay=replay, task=task_data)
    places = {name: Path(place) for name, place in named.items()}
    if not goes_on:
        for name, meaning in (("model", "which model to start from"), ("data", "which data to adapt it to")):
            if name not in places and not (name == "data" and task_data is not None):
                raise BadInput(f"{meaning}? unmask adapt MODEL DATA --out RUN")
    given = given_settings(
        task_epochs=task_epochs,
        replay_share=replay_share,
        forget=forget,
        extend=None if extend is None else str(extend),
        warm_steps=warm_steps,
        similarity=text_of(similarity),
        whole_budget=whole_budget or None,
        minutes=minutes,
        steps=steps,
        tokens=tokens,
        epochs=epochs,
        objective=objective,
        policy=policy,
        rate=rate,
        lr=lr,
        length=length,
        batch_size=batch_size,
        micro_batch=micro_batch,
        seed=seed,
        seconds=save_seconds,
        moments=keep_moments or None,
        reproducible=reproducible or None,
        device=device,
        precision=precision,
        workers=workers,
    )
    return _adapted(run, places, given, revision, goes_on=goes_on)


def _adapted(
    run: Path, places: dict[str, Path], given: dict[str, Any], revision: str | None, *, goes_on: bool
) -> Adapted:
    from unmask.adapting.request import adapt_request
    from unmask.adapting.stages import run_adaptation
    from unmask.models.locate import model_directory

    if "model" in places:
        places["model"] = model_directory(places["model"], revision)
    return run_adaptation(run, adapt_request(run if goes_on else None, places, given))
