"""Why a model answers as it does: which words mattered, and what would change its mind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.errors import BadInput
from unmask.results import ExplainedLabel, Filled, Written
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import streamed, verb
from unmask.verbs.example_lines import example_source
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.inference.model import Model


@verb
@streamed
def explain(
    model: Location,
    /,
    *texts: str,
    label: str | None = None,
    words: int = 64,
    changes: int = 5,
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    revision: str | None = None,
) -> Iterator[ExplainedLabel | Filled | Written]:
    """Tell which words mattered for a label, and the smallest change that flips it.

    Each word of a text is replaced by what the mask head of the model that the classifier started from would say there,
    and the log-odds of the label are compared; where that model is gone, words are hidden, which is said. The smallest
    change of words that makes the classifier say something else is looked for, and verified. Long texts are read in
    windows. Of a masked language model it tells which words mattered for what blanks are filled with, as fill --explain
    does.

    Args:
        model: A run of tune classify, its model directory, or any masked language model.
        texts: Texts, a file of them (a text a line, .jsonl, .csv or .tsv), or - for standard input; of pairs two after
            each other.
        label: The label to explain; the likeliest if not given.
        words: How many words to replace; of a longer text those that matter most when they are hidden.
        changes: How many words may be changed for another answer; 0 looks for none.
        field: The field of JSON lines that holds the text; if not given the one that the model was tuned on.
        out: A file to write, a line of JSON for each text; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput("nothing to explain: give a text, a file of texts, or - for standard input")
    asked = model_to_ask(model, device, precision, revision)
    settings = {"model": asked.path, "precision": precision}
    if not asked.is_tuned:
        return _explain_blanks(asked, texts, field, path_of(out), settings)
    return _explain_labels(
        asked, texts, field, path_of(out), settings, {"label": label, "words": words, "changes": changes}
    )


def _explain_labels(
    asked: Model,
    texts: tuple[str, ...],
    field: str | None,
    out: Path | None,
    settings: dict[str, Any],
    chosen: dict[str, Any],
) -> Iterator[ExplainedLabel | Written]:
    classifier = asked.label_explainer.classifier
    source = example_source(classifier, texts, field, "explain")
    if source is None and classifier.card.pair_field is not None:
        if len(texts) % 2:
            raise BadInput(asked.tuned.wanted)
        for text, explained in zip(
            texts[::2], asked.explain_each(list(zip(texts[::2], texts[1::2], strict=True)), **chosen), strict=True
        ):
            if isinstance(explained, BadInput):
                raise BadInput(f"{text}: {explained}")
            yield explained
        return

    def answer(lines: list[Any]) -> Answers[ExplainedLabel]:
        for explained in asked.explain_each(lines, **chosen):
            yield explained if isinstance(explained, BadInput) else [explained]

    settings = {**settings, **chosen}
    yield from answer_texts(texts, answer, done="explained", out=out, settings=settings, source=source)


def _explain_blanks(
    asked: Model, texts: tuple[str, ...], field: str | None, out: Path | None, settings: dict[str, Any]
) -> Iterator[Filled | Written]:
    def answer(lines: list[str]) -> Answers[Filled]:
        for filled in asked.fill_each(lines, explain=True):
            yield filled if isinstance(filled, BadInput) else [filled]

    return answer_texts(texts, answer, done="explained", field=field, out=out, settings=settings)
