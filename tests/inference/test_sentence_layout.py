"""A directory that sentence-transformers wrote is taken as it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, Damaged
from unmask.inference.sentence_layout import chosen_pooling, is_tuned, read_layout

Make = Callable[..., Path]


def test_a_tuned_directory_has_its_own_pooling_normalisation_and_length(make_model: Make, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(str(make_model()), max_seq_length=40)
    theirs = SentenceTransformer(modules=[transformer, Pooling(32, "cls"), Normalize()], device="cpu")
    theirs.save(str(tmp_path / "tuned"))
    layout = read_layout(tmp_path / "tuned")
    assert layout is not None and (layout.pooling, layout.normalise, layout.beyond) == ("first", True, "")
    texts = ["The king sees the garden.", "Nobody"]
    model = unmask.load(tmp_path / "tuned", device="cpu")
    np.testing.assert_allclose(model.embed(texts), theirs.encode(texts, show_progress_bar=False), atol=1e-5)
    assert model.encoder.length == 40


@pytest.mark.parametrize(
    ("modules", "pooling", "named"),
    [
        ([("Transformer", ""), ("Pooling", "1_Pooling")], {"pooling_mode_max_tokens": True}, "the pooling max"),
        ([("Pooling", "1_Pooling"), ("Dense", "2_Dense")], {"pooling_mode_mean_tokens": True}, "the layer Dense"),
    ],
)
def test_what_is_not_computed_here_is_refused_unless_a_pooling_is_asked_for(
    tmp_path: Path, modules: list[tuple[str, str]], pooling: dict[str, bool], named: str
) -> None:
    listed = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in modules]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    with pytest.raises(BadInput, match=f"its vectors need {named}, which is not computed here"):
        chosen_pooling(tmp_path, None)
    assert chosen_pooling(tmp_path, "mean") == "mean"


def test_a_directory_that_nobody_tuned_has_no_layout_and_damage_is_named(make_model: Make, tmp_path: Path) -> None:
    assert read_layout(make_model()) is None and chosen_pooling(make_model(), None) == "mean"
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(Damaged, match=r"modules\.json: cannot be read as JSON"):
        read_layout(tmp_path)


def test_a_directory_that_was_exported_from_here_is_no_tuned_one(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    assert is_tuned(tmp_path)
    (tmp_path / "export.json").write_text("{}")
    assert not is_tuned(tmp_path)
