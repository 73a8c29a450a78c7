"""Models that write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from unmask.errors import BadInput
from unmask.results import Generated, Written
from unmask.verbs.arguments import Location, given_settings, path_of
from unmask.verbs.commands import streamed, textless, verb
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask


@verb
@textless
@streamed
def generate(
    model: Location,
    /,
    *texts: str,
    prefix: str = "",
    length: int | None = None,
    count: int = 1,
    steps: int | None = None,
    temperature: float = 1.0,
    top_p: float | None = None,
    order: Literal["random", "confidence", "threshold"] | None = None,
    threshold: float | None = None,
    remask: bool = False,
    blocks: int | None = None,
    seed: int = 0,
    trace: bool = False,
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    revision: str | None = None,
) -> Iterator[Generated | Written]:
    """Write text: from nothing, behind a prefix, or in the gaps of texts.

    A run of the recipe diffusion reveals masked tokens step by step. Any other masked language model does the same, the
    surest first, and is said not to be trained for that. Causal runs and GPT-2 write from left to right, without gaps;
    T5 spells out gaps. Same seed, same text. A model directory outside of its run is taken for a masked language model;
    --order random then draws as from a diffusion model.

    Args:
        model: A run, any directory with a masked, causal or T5 model of transformers, or a name on the hub.
        texts: Texts with gaps, [MASK] for each token (for T5 of any length), a file of them, or - for standard input.
        prefix: What the text begins with.
        length: How many tokens to write (60); from left to right and in each gap of T5 (20) at the most so many.
        count: How many samples.
        steps: In how many steps; if not given, as many as there are tokens.
        temperature: Below 1 likelier tokens are preferred, 0 takes the likeliest always.
        top_p: Only the likeliest tokens that have so much of the probability: 0.9 with --remask, else 1.
        order: Tokens at random as in diffusion, the surest of each step, or all that reach --threshold.
        threshold: The confidence that is enough with --order threshold: 0.9.
        remask: Let written tokens be masked and written again (ReMDM); takes more steps than tokens to matter.
        blocks: Write in so many blocks from left to right; only in the last may the text end.
        seed: Where the random numbers come from.
        trace: Keep the order in which tokens were revealed, with their confidence, for --json.
        field: The field of JSON lines that holds the text; text if not given.
        out: A file to write, a line of JSON for each sample of a file of texts; the same command goes on where it was
            stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    asked = model_to_ask(model, device, precision, revision)
    from unmask.console.writing import writing_display

    settings = given_settings(
        prefix=prefix,
        length=length,
        count=count,
        steps=steps,
        temperature=temperature,
        top_p=top_p,
        order=order,
        threshold=threshold,
        remask=remask,
        blocks=blocks,
        seed=seed,
        trace=trace,
    )

    def answer(some: Sequence[str]) -> Answers[Generated]:
        for each in ([text] for text in some) if some else [()]:  # one by one, so that each is shown as it comes
            with writing_display() as show:
                (written,) = asked.generate_each(each, show=show, **settings)
            yield written

    if texts or out is not None:
        agreed = {"model": asked.path, "precision": precision} | settings
        yield from answer_texts(texts, answer, done="written", field=field, out=path_of(out), settings=agreed)
        return
    for written in answer(()):
        if isinstance(written, BadInput):
            raise written
        yield from written
