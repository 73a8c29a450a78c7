"""Attention over what may be seen is attention under the dense mask, forward and backward."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from unmask.models import attention
from unmask.models.attention import Seen, SeenMask, attend

HEADS, WIDTH = 2, 8


@st.composite
def packed_rows(draw: st.DrawFn) -> Tensor:
    """Rows of documents of any lengths, some with padding at their end."""
    length = draw(st.integers(1, 150))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.sets(st.integers(1, length), max_size=6)))
        documents = torch.zeros(length, dtype=torch.long)
        for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, length], strict=True), start=1):
            documents[begin:end] = number
        if draw(st.booleans()):
            documents[draw(st.integers(1, length)) :] = 0
        rows.append(documents)
    return torch.stack(rows)


def states(documents: Tensor, seed: int = 0) -> list[Tensor]:
    """Queries, keys, values and a gradient, B×H×L×D, as a product makes them: heads beside each other."""
    drawn = torch.randn(4, *documents.shape, HEADS, WIDTH, generator=torch.Generator().manual_seed(seed))
    return [each.transpose(1, 2).clone().requires_grad_() for each in drawn]


def passes(mask: Tensor | Seen, inputs: list[Tensor], **options: float) -> list[Tensor]:
    """What attention gives, and the gradients of what it is given."""
    *states_, gradient = inputs
    if isinstance(mask, Seen):
        output = attend(mask, *states_, **options)
    else:
        output = F.scaled_dot_product_attention(*states_, attn_mask=mask, **options)
    return [output, *torch.autograd.grad(output, states_, gradient.detach())]


def check_equal(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


@given(packed_rows(), st.booleans(), st.floats(0.05, 0.5))
@settings(max_examples=60, deadline=None)
def test_attention_by_document_is_attention_under_the_dense_mask(documents: Tensor, causal: bool, scale: float) -> None:
    seen, inputs = Seen(documents, causal=causal), states(documents)
    check_equal(passes(seen, inputs, scale=scale), passes(seen.dense, inputs, scale=scale))


@given(packed_rows(), st.integers(0, 80), st.booleans())
@settings(max_examples=100, deadline=None)
def test_attention_by_windows_is_attention_under_the_dense_mask(documents: Tensor, window: int, causal: bool) -> None:
    seen, inputs = Seen(documents, window, causal), states(documents)
    check_equal(passes(seen, inputs), passes(seen.dense, inputs))


@given(packed_rows(), st.integers(0, 80) | st.none(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_in_bfloat16_it_is_what_rounding_leaves_of_it(documents: Tensor, window: int | None, causal: bool) -> None:
    seen, (*inputs, _) = Seen(documents, window, causal), states(documents)
    mask = SeenMask.of(seen)
    exact = attend(seen, *inputs).detach()
    made = attention.attention(*inputs, seen.dense if mask is None else mask, dtype=torch.bfloat16)
    made.float().sum().backward()
    torch.testing.assert_close(made.float(), exact, rtol=0, atol=0.02 * float(exact.abs().max()))
    assert all(each.grad is not None and each.grad.isfinite().all() for each in inputs)


def long_row() -> Tensor:
    """A row of four documents and padding."""
    return torch.repeat_interleave(torch.tensor([1, 2, 3, 4, 0]), torch.tensor([301, 64, 64, 560, 35]))[None]


def test_torch_s_attention_computes_a_mask_that_is_not_made_from_what_is_seen() -> None:
    documents = long_row()
    inputs = states(documents)
    for seen in (Seen(documents), Seen(documents, 4), Seen(documents, 64)):
        mask = SeenMask.of(seen)
        assert isinstance(mask, SeenMask) and mask.shape == seen.dense.shape and mask.dtype == torch.bool
        with torch._C.DisableTorchFunctionSubclass():
            assert mask.untyped_storage().nbytes() == 1
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
            ours = passes(mask, inputs)
        shapes = [shape for event in profiled.key_averages(group_by_input_shape=True) for shape in event.input_shapes]
        assert not any(shape[-2:] == [1024, 1024] for shape in shapes)
        check_equal(ours, passes(seen.dense, inputs))


def test_whatever_else_is_done_with_a_mask_is_done_with_the_dense_one() -> None:
    seen = Seen(long_row(), 4)
    mask = SeenMask.of(seen)
    assert isinstance(mask, SeenMask)
    assert torch.equal(~mask, ~seen.dense) and torch.equal(mask[:, :, 5:9], seen.dense[:, :, 5:9])
    assert torch.equal(torch.zeros(1024) + mask, seen.dense.float())


def test_short_rows_have_the_dense_mask_and_whole_rows_none() -> None:
    short = torch.tensor([[1, 1, 1, 2, 2, 0], [1, 1, 2, 3, 4, 4]])
    for seen in (Seen(short), Seen(short, 1), Seen(short, causal=True)):
        mask = SeenMask.of(seen)
        assert type(mask) is Tensor and torch.equal(mask, seen.dense)
    assert SeenMask.of(Seen(torch.ones(3, 700, dtype=torch.long))) is None
    assert SeenMask.of(Seen(torch.ones(3, 700, dtype=torch.long), causal=True)) is not None


def test_documents_of_one_length_that_follow_each_other_are_computed_at_once() -> None:
    rows = torch.ones(4, 256, dtype=torch.long)
    rows[1, 200:] = 2
    assert Seen(rows).runs == [(1, 256), (1, 200), (1, 56), (2, 256)]


def test_dropout_is_left_to_torch_which_drops_as_much() -> None:
    documents = torch.ones(1, 2048, dtype=torch.long)
    seen = Seen(documents, 3)
    query, key = (torch.zeros(1, HEADS, 2048, WIDTH) for _ in range(2))
    torch.manual_seed(0)
    output = attend(seen, query, key, torch.ones(1, HEADS, 2048, WIDTH), dropout_p=0.25)
    assert abs(output.mean().item() - 1) < 0.02  # each of seven weights is 0 in a quarter of the cases, or 4/3 as large
    assert output.std() > 0.1


def test_a_window_s_work_grows_with_the_length() -> None:
    sizes = [Seen(torch.ones(1, length, dtype=torch.long), 4).bias.numel() for length in (512, 8192)]
    assert sizes[1] == 16 * sizes[0]
    assert sizes[0] // 512 == attention.STRETCH + 8
