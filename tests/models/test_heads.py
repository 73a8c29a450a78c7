from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from unmask.errors import BadInput, Damaged
from unmask.models.families.family import build_model
from unmask.models.heads import BOUNDARY, SpanBoundaryHead, load_boundary_head, states_kept
from unmask.models.sparse import logits_at
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


def test_a_boundary_head_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    head = SpanBoundaryHead(width=16, vocabulary=31, places=9, spread=0.3)
    save_file(head.state_dict(), tmp_path / BOUNDARY)
    again = load_boundary_head(tmp_path)
    before, after, embeddings = torch.randn(5, 16), torch.randn(5, 16), torch.randn(31, 16)
    place = torch.tensor([0, 1, 8, 9, 400])
    assert torch.equal(head(before, after, place, embeddings), again(before, after, place, embeddings))
    assert not again.training


def test_what_is_no_boundary_head_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no boundary\.safetensors; the recipe spanbert makes one"):
        load_boundary_head(tmp_path)
    head = SpanBoundaryHead(width=16, vocabulary=31)
    save_file({**head.state_dict(), "narrow.weight": torch.zeros(3)}, tmp_path / BOUNDARY)
    with pytest.raises(Damaged, match=r"boundary\.safetensors: is not a boundary head \("):
        load_boundary_head(tmp_path)
    (tmp_path / BOUNDARY).write_bytes(b"nonsense")
    with pytest.raises(Damaged, match=r"boundary\.safetensors: is not a boundary head \("):
        load_boundary_head(tmp_path)


def test_the_states_that_are_kept_are_the_encoders_also_where_the_head_sees_some_of_them_only() -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=12, dropout=0.0, seed=0).eval()
    ids = torch.randint(5, 97, (2, 12), generator=torch.Generator().manual_seed(0))
    with states_kept(model) as states:
        logits_at(model, torch.tensor([3, 17]), input_ids=ids)
    (kept,) = states
    assert torch.equal(kept, model.base_model(input_ids=ids).last_hidden_state)
    logits_at(model, torch.tensor([3]), input_ids=ids)
    assert len(states) == 1  # nothing is kept once it is closed
