"""A run to a directory for others: an ONNX graph, one in 8 bits, or a sentence-transformers model.

In: a run or a model directory, and texts to compare on. Out: a directory with the model, its tokenizer, a README whose
code runs it, and `export.json` with what was measured. It appears when its gate is passed, and not before.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
from transformers import AutoModel

from unmask.errors import BadInput, Refused
from unmask.files import check_writable, json_text, whole_directory
from unmask.inference.encode import encode_rows
from unmask.inference.export.graph import FillGraph, Pooling, VectorGraph, onnx_libraries, write_int8, write_onnx
from unmask.inference.export.parity import Parity, compare_fills, compare_vectors
from unmask.inference.export.readme import readme_of
from unmask.models.config import from_directory
from unmask.models.load import LoadedModel, load_model
from unmask.models.sentence_transformers import write_sentence_transformer
from unmask.progress import task
from unmask.records import Ids
from unmask.results import Exported
from unmask.tokens.tokenizer.load import save_tokenizer

Target = Literal["onnx", "int8", "sentence-transformers"]
Output = Literal["vectors", "fills"]
TEXTS = 200  # that both sides are compared on
SHORTEST = 3  # tokens of a text that something can be hidden in


def export_model(
    path: Path, out: Path, to: Target, texts: Sequence[str], *, output: Output = "vectors", pooling: Pooling = "mean"
) -> Exported:
    """Write what was asked for, and say how it compares with the model."""
    if out.exists():
        raise Refused(f"{out}: is there already; give another --out, or delete it")
    check_writable(out, beside=True)
    if to != "sentence-transformers":
        onnx_libraries()
    elif output != "vectors":
        raise BadInput("--output fills: sentence-transformers has vectors alone; leave --output out, or --to onnx")
    lm = load_model(path, device="cpu")
    with task("Exporting", total=3) as step, whole_directory(out) as folder:
        graph = _graph(lm, output, pooling)
        step(1, note="loaded")
        parity = None
        if to == "sentence-transformers":
            assert isinstance(graph, VectorGraph)
            write_sentence_transformer(graph.encoder, lm.tokenizer, folder, pooling, lm.length)
        else:
            rows = comparable_rows(lm, texts)
            file = folder / "model.onnx"
            write_onnx(graph, file)
            step(1, note="written")
            if to == "int8":
                exact = file.rename(folder / "exact.onnx")
                write_int8(exact, file)
                exact.unlink()
            parity = _compare(graph, file, rows, lm, int8=to == "int8")
            save_tokenizer(lm.tokenizer, folder)
            shutil.copy(lm.path / "config.json", folder)
        figures = {} if parity is None else asdict(parity)
        (folder / "export.json").write_text(
            json_text({"to": to, "output": output, "pooling": pooling} | figures), encoding="utf-8"
        )
        (folder / "README.md").write_text(readme_of(lm, to, output, out.name), encoding="utf-8")
        size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
        step(1, note="compared")
    return Exported(path=out, to=to, output=output, bytes=size, **figures)


def _graph(lm: LoadedModel, output: Output, pooling: Pooling) -> VectorGraph | FillGraph:
    """What is exported, in torch; vectors come from the encoder as transformers loads it, without any head."""
    if output == "fills":
        return FillGraph(lm.model).eval()
    encoder, _ = from_directory(AutoModel, lm.path)
    return VectorGraph(encoder.eval(), pooling).eval()


def comparable_rows(lm: LoadedModel, texts: Sequence[str]) -> list[Ids]:
    """Rows of the first texts that are long enough, as much of each as the model takes."""
    rows = [row.ids for row in encode_rows(lm, texts) if len(row.ids) >= SHORTEST + 2]
    if not rows:
        raise BadInput("there is no text to compare on: give --texts, a file with a text a line")
    if lm.length is not None:
        rows = [np.r_[row[: lm.length - 1], row[-1:]] if len(row) > lm.length else row for row in rows]
    return rows[:TEXTS]


def _compare(graph: VectorGraph | FillGraph, file: Path, rows: Sequence[Ids], lm: LoadedModel, *, int8: bool) -> Parity:
    if isinstance(graph, VectorGraph):
        return compare_vectors(graph, file, rows, lm.vocabulary.pad, int8=int8)
    return compare_fills(graph, file, rows, lm.vocabulary, int8=int8)
