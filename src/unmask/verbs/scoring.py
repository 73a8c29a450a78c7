"""What a model finds likely: texts scored, knowledge of language and of the world probed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from unmask.errors import BadInput
from unmask.results import Rescored, Scored, Written
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import streamed, verb
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask


@verb
@streamed
def score(
    model: Location,
    /,
    *texts: str,
    prefix: str = "",
    suffix: str = "",
    tokens: bool = False,
    stride: int | None = None,
    draws: int = 64,
    on_long: Literal["windows", "error", "cut"] = "windows",
    rescore: bool = False,
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
) -> Iterator[Scored | Rescored | Written]:
    """Say how likely a model finds texts, in nats.

    A masked language model gives the pseudo-log-likelihood, each token hidden with the later pieces of its word; a
    model that reads from left to right the likelihood; masked diffusion a bound on it. The result says which. Texts
    that are longer than the model takes are read in windows. Lines that cannot be scored are named at the end (exit
    code 3).

    Args:
        model: A run, or any directory with a masked or a left-to-right language model of transformers.
        texts: Texts, a file of them (a text a line, or .jsonl), or - for standard input.
        prefix: What stands before each text: in sight, not scored.
        suffix: What stands behind each text: in sight, not scored.
        tokens: Give the surprisal of each token, in bits.
        stride: Hide every so many-th word at once: fewer rows, and an approximation.
        draws: Of masked diffusion: rows with random masks that the bound is an average over.
        on_long: What to do with a text that is longer than the model takes: read it in windows, refuse it, or cut it.
        rescore: The file has lists of candidates, each with a score of its own: choose among them by both scores.
        field: The field of JSON lines that holds the text; text if not given.
        out: A file to write, a line of JSON for each text; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
    """
    if not texts:
        raise BadInput('nothing to score: give a text, such as "Paris is in France.", or a file of texts')
    asked = model_to_ask(model, device, precision)
    settings: dict[str, Any] = {"prefix": prefix, "suffix": suffix, "tokens": tokens, "stride": stride}
    settings |= {"draws": draws, "on_long": on_long}

    if rescore:
        if out is not None or len(texts) != 1 or not Path(texts[0]).is_file():
            raise BadInput("--rescore: give one file with a list of candidates a line, and no --out")
        from unmask.evaluation.rescore import rescore as run
        from unmask.inference.score import ScoreSettings

        return iter([run(asked.scorer, Path(texts[0]), ScoreSettings(**settings))])

    def answer(texts: list[str]) -> Answers[Scored]:
        for scored in asked.score_each(texts, **settings):
            yield scored if isinstance(scored, BadInput) else [scored]

    agreed = {"model": asked.path, "precision": precision} | settings
    return answer_texts(texts, answer, done="scored", field=field, out=path_of(out), settings=agreed)
