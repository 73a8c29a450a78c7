"""What a model finds likely: texts scored, knowledge of language and of the world probed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from unmask.errors import BadInput
from unmask.results import ProbedItem, ProbeResult, Rescored, Scored, Written
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import streamed, verb
from unmask.verbs.lines import Answers, LineSource, answer_lines, answer_texts
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
    revision: str | None = None,
) -> Iterator[Scored | Rescored | Written]:
    """Say how likely a model finds texts, in nats.

    A masked language model gives the pseudo-log-likelihood, each token hidden with the later pieces of its word; a
    model that reads from left to right the likelihood; masked diffusion a bound on it; T5 the pseudo-log-likelihood of
    words that its decoder spells out. The result says which. Texts that are longer than the model takes are read in
    windows. Lines that cannot be scored are named at the end (exit code 3).

    Args:
        model: A run, any directory with a masked, a left-to-right or a T5 model of transformers, or a name on the hub:
            org/name, or hf:name.
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
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput('nothing to score: give a text, such as "Paris is in France.", or a file of texts')
    asked = model_to_ask(model, device, precision, revision)
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


@verb
def probe(
    model: Location,
    items: Location | None = None,
    /,
    *,
    by: str | None = None,
    stride: int | None = None,
    margin: float = 10.0,
    quick: bool = False,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    revision: str | None = None,
) -> ProbeResult:
    """Probe what a model knows of language and of the world, by items with a right answer.

    Minimal pairs (BLiMP's fields, or two columns with a tab between), blanks with an answer and candidates (LAMA's
    fields, or a text with [MASK], its answer and its candidates), two fillers for a blank. Without a file: a set of 271
    items over twelve phenomena of English. Accuracies by phenomenon have 95 % intervals; ties are not right, and what
    cannot be scored is counted.

    Args:
        model: A run, any directory with a masked, a left-to-right or a T5 model of transformers, or a name on the hub:
            org/name, or hf:name.
        items: A file with an item a line: .jsonl, or columns with a tab between.
        by: The field that items are counted by; else phenomenon, linguistics_term, UID, template or predicate_id.
        stride: Score long pairs by hiding every so many-th word first, and exactly where that is not clear.
        margin: Nats between two such scores beyond which a pair is clear.
        quick: Score pairs in bfloat16 first, and in float32 where that is not clear: on a CPU that multiplies
            bfloat16, as `unmask doctor` says, about 1.6 times as fast, with the same accuracies.
        out: A file to write, a line of JSON for each item; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    from unmask.evaluation.probe_items import BUILT_IN, check_items, read_item

    if quick and (stride is not None or precision != "float32"):
        raise BadInput("--quick: scores in bfloat16 first; leave out --stride and --precision, or leave out --quick")
    path = BUILT_IN if items is None else Path(items)
    check_items(path, by)
    asked = model_to_ask(model, device, precision, revision)
    from unmask.evaluation.probe import judge_items, summarize_items

    def answer(lines: list[str]) -> Answers[ProbedItem]:
        items = (read_item(line, by) for line in lines)
        for judged in judge_items(asked.scorer, items, stride=stride, margin=margin, quick=quick):
            yield [judged]

    source = LineSource(path, None)
    if out is None:
        judged = list(answer_lines(answer, done="probed", source=source))
    else:
        settings = {
            "model": asked.path,
            "by": by,
            "stride": stride,
            "margin": margin,
            "quick": quick,
            "precision": precision,
        }
        list(answer_texts((), answer, done="probed", out=Path(out), settings=settings, source=source))
        judged = read_judged(Path(out))
    return replace(summarize_items(Path(model), path, asked.scorer.method, judged), out=path_of(out))


def read_judged(path: Path) -> list[ProbedItem]:
    """The items of a file that was written, some of them perhaps by a command that was stopped."""
    with path.open(encoding="utf-8") as file:
        rows = map(json.loads, file)
        return [ProbedItem(**{name: value for name, value in row.items() if name != "line"}) for row in rows]
