"""Models for others: ONNX, 8 bits, sentence-transformers."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Literal

from unmask.errors import BadInput
from unmask.results import Exported
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import verb
from unmask.verbs.lines import LineSource

MOST = 2_000  # texts that are looked at for those to compare on


@verb
def export(
    model: Location,
    /,
    *,
    to: Literal["onnx", "int8", "sentence-transformers"],
    out: Location,
    output: Literal["vectors", "fills"] = "vectors",
    pooling: Literal["mean", "first"] = "mean",
    texts: Location | None = None,
) -> Exported:
    """Write a model as ONNX, in 8 bits, or for sentence-transformers.

    The model of a run, RUN/model, is already a directory that transformers loads; this is for where there is no torch.
    A graph of ONNX has pooling and normalisation inside (vectors), or takes the positions to fill (fills). It is
    compared with the model on 200 real texts, and written only if it says the same: every cosine at least 0.9999,
    99.5 % of the best fills equal; in 8 bits a mean cosine of 0.97, or at most a hundredth of the accuracy lost. ONNX
    needs pip install 'unmask[onnx]'.

    Args:
        model: A run, any directory with a masked language model of transformers, or a name on the hub: org/name, or
            hf:name.
        to: What to write: onnx, int8 or sentence-transformers.
        out: The directory to write.
        output: What the graph gives: vectors of texts, or fills, the logits at asked positions.
        pooling: How tokens become one vector: their mean, or the first.
        texts: Texts to compare on, one a line or .jsonl; else the held-out text of the run's data.
    """
    from unmask.models.locate import model_directory

    model_directory(Path(model))  # a wrong path is told before anything heavy is loaded
    from unmask.inference.export.export import export_model

    given = [] if to == "sentence-transformers" else _texts_to_compare_on(Path(model), path_of(texts))
    return export_model(Path(model), Path(out), to, given, output=output, pooling=pooling)


def _texts_to_compare_on(model: Path, texts: Path | None) -> list[str]:
    """Texts of the file that was given, or those held out of the data that a run was trained on."""
    if texts is not None:
        source = LineSource.of(texts)
        lines = (source.text_of(line) for chunk in source.chunks() for _, line in chunk)
        return list(islice((text for text in lines if isinstance(text, str) and text), MOST))
    from unmask.runs.directory import read_description
    from unmask.tokens.store.dataset import Dataset

    place = read_description(model).get("places", {}).get("data") if (model / "run.json").exists() else None
    if place is None or not Path(place).exists():
        why = "is no run" if place is None else f"was trained on {place}, which is no longer there"
        raise BadInput(f"{model}: {why}; give --texts, a file with a text a line, to compare on")
    return list(islice(Dataset.open(Path(place)).texts("valid"), MOST))
