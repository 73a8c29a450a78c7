"""What a tuned model says of new texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.errors import BadInput
from unmask.results import Prediction, Written
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import rowwise, streamed, verb
from unmask.verbs.example_lines import example_source
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.inference.model import Model


@verb
@rowwise
@streamed
def predict(
    model: Location,
    /,
    *texts: str,
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    revision: str | None = None,
) -> Iterator[Prediction | Written]:
    """Ask a tuned model: labels, entities, answers, how alike texts are.

    Pairs, and questions with their contexts, come as JSON lines with the two fields that the model was tuned on, or as
    two texts after each other. Texts that are longer than the model takes are read in windows. Lines that cannot be
    used are named at the end (exit code 3). What is said of a file is JSON lines where it goes to a file or a pipe.

    Args:
        model: A run of tune, its model directory, or where that is on the hub: org/name, or hf:name.
        texts: Texts, a file of them (a text a line, .jsonl, .csv or .tsv; for entities also .conll), or - for standard
            input.
        field: The field of JSON lines or of a table that holds the text; if not given the one it was tuned on. Of
            columns a number, 1 if not given.
        out: A file to write, a line of JSON for each text; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput("nothing to label: give a text, a file of texts, or - for standard input")
    asked = model_to_ask(model, device, precision, revision)
    return _labelled(asked, texts, field, path_of(out), precision)


def _labelled(
    asked: Model, texts: tuple[str, ...], field: str | None, out: Path | None, precision: str
) -> Iterator[Prediction | Written]:
    source = example_source(asked.tuned, texts, field, "predict")
    if source is None and asked.tuned.card.pair_field is not None:
        if len(texts) % 2:
            raise BadInput(asked.tuned.wanted)
        yield from asked.predict(*texts[::2], pairs=texts[1::2])
        return

    def answer(lines: list[Any]) -> Answers[Prediction]:
        for predicted in asked.predict_each(lines):
            yield predicted if isinstance(predicted, BadInput) else [predicted]

    settings = {"model": asked.path, "precision": precision}
    yield from answer_texts(texts, answer, done="labelled", out=out, settings=settings, source=source)
