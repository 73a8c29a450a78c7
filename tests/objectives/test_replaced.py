"""Replaced-token detection against independent references, and what its two parts learn from each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn import metrics
from torch import Tensor
from transformers import AutoModelForMaskedLM
from transformers.utils import logging

from unmask.errors import BadInput
from unmask.models.families.family import build_model
from unmask.objectives.curriculum import objective_named
from unmask.objectives.replaced import (
    BINS,
    DisentangledDetection,
    Pair,
    ReplacedTokenDetection,
    detection_figures,
    replace_tokens,
    sample_tokens,
    score_histogram,
    token_embeddings,
)
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.records import Batch, Vocabulary
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session
from unmask.training.step import take_step

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
GUESS = 7

#  text    [CLS]   7   20   30   7  [SEP]      [CLS]  40   50  [SEP]
#  seen    [CLS]   M   20    M   7  [SEP]      [CLS]   M   50  [SEP] [PAD] [PAD]
#  filled  [CLS]   7   20    7   7  [SEP]      [CLS]   7   50  [SEP] [PAD] [PAD]   by a generator that always says 7
SEEN = np.array([[2, 4, 20, 4, 7, 3], [2, 4, 50, 3, 0, 0]])
FILLED = torch.tensor([[2, 7, 20, 7, 7, 3], [2, 7, 50, 3, 0, 0]])
LABELS = torch.tensor([[0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0]])
REAL = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
BATCH = Batch(
    ids=SEEN,
    positions=np.tile(np.arange(6), (2, 1)),
    documents=REAL.numpy(),
    predicted=np.array([1, 3, 7]),
    targets=np.array([7, 30, 40]),
    numbers=np.arange(2),
)


def pair(objective: ReplacedTokenDetection, family: str = "electra") -> Pair:
    def made(**changes: str) -> torch.nn.Module:
        return build_model(
            **{"family": family, "size": "tiny", **changes}, vocabulary=VOCABULARY, length=6, dropout=0.0, seed=0
        )

    return objective.learner(made)  # type: ignore[arg-type]


def certain(learner: Pair) -> Pair:
    """The same with a generator that always says 7."""
    with torch.no_grad():
        learner.generator.get_output_embeddings().bias[GUESS] = 200.0
    return learner


def test_what_is_drawn_stands_in_the_gaps_and_a_right_guess_is_no_replacement() -> None:
    filled, labels = replace_tokens(BATCH, torch.tensor([GUESS, GUESS, GUESS]))
    assert torch.equal(filled, FILLED)
    assert torch.equal(labels.long(), LABELS)


@pytest.mark.parametrize(
    ("objective", "family"),
    [
        (ReplacedTokenDetection(), "electra"),
        (ReplacedTokenDetection(), "deberta-v3"),
        (DisentangledDetection(), "deberta-v3"),
    ],
)
def test_the_loss_is_that_of_a_batch_worked_out_by_hand(objective: ReplacedTokenDetection, family: str) -> None:
    learner = certain(pair(objective, family)).eval()
    outcome = objective.outcome(learner, BATCH)

    seen = {"input_ids": torch.from_numpy(SEEN), "attention_mask": REAL}
    probabilities = learner.generator(**seen).logits.log_softmax(-1)
    generated = -(probabilities[0, 1, 7] + probabilities[0, 3, 30] + probabilities[1, 1, 40])
    torch.testing.assert_close(outcome.losses["mlm"], generated)

    stock = objective.exports(learner)["model"].model.eval()
    scores = stock(input_ids=FILLED, attention_mask=REAL).logits.reshape(2, 6)
    detection = 0.0
    for score, label, real in zip(scores.flatten().tolist(), LABELS.flatten(), REAL.flatten(), strict=True):
        if real:
            chance = 1 / (1 + math.exp(-score))
            detection -= math.log(chance if label else 1 - chance)
    assert outcome.losses["detection"].item() == pytest.approx(detection, rel=1e-4)
    assert objective.counts(BATCH) == {"mlm": 3, "detection": 10}
    assert objective.terms == {"mlm": 1.0, "detection": 50.0}

    assert outcome.tallies["restored"].item() == 1
    assert outcome.tallies["replaced"].sum() == 2 and outcome.tallies["original"].sum() == 8


def test_the_loss_of_electra_is_the_one_transformers_computes() -> None:
    learner = certain(pair(ReplacedTokenDetection())).eval()
    reference = learner.discriminator(input_ids=FILLED, attention_mask=REAL, labels=LABELS)
    outcome = ReplacedTokenDetection().outcome(learner, BATCH)
    torch.testing.assert_close(outcome.losses["detection"] / 10, reference.loss)


@pytest.mark.parametrize("size", [100, 256, 300])  # less than a stretch, whole ones, and some left over
def test_draws_follow_the_distribution(size: int) -> None:
    torch.manual_seed(0)
    logits = torch.randn(size) * 1.5
    logits[5] = -torch.inf
    drawn = torch.cat([sample_tokens(logits.softmax(-1).expand(2_000, -1)) for _ in range(20)])
    counts = drawn.bincount(minlength=size).double()
    assert len(counts) == size and counts[5] == 0
    expected = logits.double().softmax(-1) * len(drawn)
    likely = expected > 5
    observed = np.append(counts[likely], counts[~likely].sum())
    assert chisquare(observed, np.append(expected[likely], expected[~likely].sum())).pvalue > 0.01


def gradients(objective: ReplacedTokenDetection, family: str, term: str) -> tuple[Pair, dict[str, Tensor]]:
    """The gradients of one term of the loss, by the name of the weight; those that are zero are left out."""
    learner = pair(objective, family)
    objective.outcome(learner, BATCH).losses[term].backward()
    got = {name: weight.grad for name, weight in learner.named_parameters() if weight.grad is not None}
    return learner, {name: gradient for name, gradient in got.items() if gradient.any()}


def test_no_gradient_passes_through_the_draw() -> None:
    _, got = gradients(DisentangledDetection(), "deberta-v3", "detection")
    assert not [name for name in got if name.startswith("generator.")]
    learner, got = gradients(ReplacedTokenDetection(), "electra", "detection")
    own = {id(weight) for weight in learner.discriminator.parameters()}
    reached = {name for name, weight in learner.named_parameters() if id(weight) in own and name in got}
    assert got.keys() == reached and any(name.startswith("generator.") for name in reached)  # what they share


def test_detection_moves_shared_embeddings_under_plain_tying_and_not_under_disentangled_sharing() -> None:
    shared = "generator.deberta.embeddings.word_embeddings.weight"
    delta = "discriminator.deberta.embeddings.word_embeddings.weight"
    _, tied = gradients(ReplacedTokenDetection(), "deberta-v3", "detection")
    assert shared in tied and delta not in tied
    _, apart = gradients(DisentangledDetection(), "deberta-v3", "detection")
    assert shared not in apart and delta in apart
    _, restoring = gradients(DisentangledDetection(), "deberta-v3", "mlm")
    assert shared in restoring and not [name for name in restoring if name.startswith("discriminator.")]


def test_disentangled_embeddings_start_as_the_generators_and_are_exported_as_their_sum() -> None:
    objective = DisentangledDetection()
    learner = pair(objective, "deberta-v3").eval()
    exported = objective.exports(learner)["model"].model
    assert torch.equal(token_embeddings(exported).weight, token_embeddings(learner.generator).weight)
    with torch.no_grad():
        token_embeddings(learner.discriminator).weight.normal_(std=0.1)
    exported = objective.exports(learner)["model"].model.eval()
    assert torch.equal(
        token_embeddings(exported).weight,
        token_embeddings(learner.generator).weight + token_embeddings(learner.discriminator).weight,
    )
    trained = learner.discriminator(**objective.discriminator_inputs(learner, FILLED), attention_mask=REAL).logits
    assert torch.equal(exported(input_ids=FILLED, attention_mask=REAL).logits, trained)


def test_what_is_shared_is_one_weight() -> None:
    names = [
        name
        for name, _ in pair(ReplacedTokenDetection()).named_parameters()
        if "word_embeddings" in name or "lm_head.w" in name
    ]
    assert names == ["generator.electra.embeddings.word_embeddings.weight"]
    learner = pair(ReplacedTokenDetection())
    assert learner.discriminator.base_model.embeddings is learner.generator.base_model.embeddings
    disentangled = [
        name for name, _ in pair(DisentangledDetection(), "deberta-v3").named_parameters() if "word_emb" in name
    ]
    assert len(disentangled) == 2


@given(
    replaced=st.lists(st.integers(-600, 600), min_size=1, max_size=40),
    original=st.lists(st.integers(-600, 600), min_size=1, max_size=40),
)
def test_figures_from_histograms_are_those_of_scikit_learn(replaced: list[int], original: list[int]) -> None:
    scores = np.array(replaced + original) / 32  # at the bins' own resolution, and beyond their reach
    labels = np.repeat([1, 0], [len(replaced), len(original)])
    cut = np.clip(scores, -16, 16 - 1 / 32)
    ours = detection_figures(
        *(score_histogram(torch.from_numpy(scores[labels == label])).double().numpy() for label in (1, 0))
    )
    says = scores >= 0
    assert ours["detection_auc"] == pytest.approx(metrics.roc_auc_score(labels, cut))
    assert ours["detection_accuracy"] == pytest.approx(metrics.accuracy_score(labels, says))
    assert ours["detection_recall"] == pytest.approx(metrics.recall_score(labels, says))
    if says.any():
        assert ours["detection_precision"] == pytest.approx(metrics.precision_score(labels, says))
    else:
        assert "detection_precision" not in ours


def test_figures_of_fine_scores_are_those_of_scikit_learn_to_three_digits_and_add_up_over_parts() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(20_000) < 0.1
    scores = torch.from_numpy(rng.normal(labels * 1.5 - 3, 1.0))
    parts = [slice(0, 7_000), slice(7_000, None)]
    counted = [
        torch.stack([score_histogram(scores[part][torch.from_numpy(labels[part] == is_so)]) for part in parts]).sum(0)
        for is_so in (True, False)
    ]
    ours = detection_figures(*(part.double().numpy() for part in counted))
    assert ours["detection_auc"] == pytest.approx(metrics.roc_auc_score(labels, scores), abs=5e-4)
    assert ours["detection_precision"] == pytest.approx(metrics.precision_score(labels, scores >= 0))


def test_scores_that_are_not_finite_are_counted_somewhere() -> None:
    assert score_histogram(torch.tensor([math.nan, math.inf, -math.inf, 1e30])).sum() == 4
    assert len(score_histogram(torch.zeros(0))) == BINS


def test_nothing_hidden_and_nothing_replaced_is_no_division_by_zero() -> None:
    nothing = replace(BATCH, predicted=np.zeros(0, dtype=np.int64), targets=np.zeros(0, dtype=np.int64))
    objective = ReplacedTokenDetection()
    outcome = objective.outcome(pair(objective), nothing)
    assert outcome.losses["mlm"].item() == 0.0 and outcome.losses["detection"].isfinite()
    tallies = {name: tally.double().numpy() for name, tally in outcome.tallies.items()}
    figures = objective.figures(objective.counts(nothing), tallies)
    assert figures.keys() - {"detection_precision"} == {"generator_accuracy", "detection_accuracy"}
    assert figures["generator_accuracy"] == 0.0 and 0 <= figures["detection_accuracy"] <= 1


def test_a_family_without_a_discriminator_is_one_clear_line() -> None:
    with pytest.raises(BadInput, match="trains the families electra and deberta-v3, not a BertForMaskedLM"):
        pair(ReplacedTokenDetection(), "bert")


@pytest.mark.parametrize(
    ("kind", "objective", "line"),
    [
        ("bert", "replaced", "--recipe bert: the objective replaced does not train it; it trains electra, deberta-v3"),
        ("electra", "mlm", "--recipe electra: the objective mlm does not train it; it trains .*bert"),
        ("electra", "replaced 0.5, mlm 0.5", "replaced and mlm do not train the same model"),
        ("deberta-v3", "replaced until 0.5; replaced-disentangled", "do not train the same model"),
    ],
)
def test_an_objective_that_does_not_fit_is_one_clear_line(kind: str, objective: str, line: str) -> None:
    with pytest.raises(BadInput, match=line):
        recipe_named(kind, objective=objective)


@pytest.mark.parametrize(
    ("objective", "family"), [(ReplacedTokenDetection(), "electra"), (DisentangledDetection(), "deberta-v3")]
)
def test_both_parts_load_offline_in_their_stock_classes_with_the_same_weights(
    objective: ReplacedTokenDetection, family: str, tmp_path: Path
) -> None:
    logging.disable_progress_bar()
    exports = objective.exports(pair(objective, family))
    assert list(exports) == ["model", "generator"]
    for name, export in exports.items():
        export.model.save_pretrained(tmp_path / name)
        loaded, told = type(export.model).from_pretrained(
            tmp_path / name, local_files_only=True, output_loading_info=True
        )
        assert not any(told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
        for there, here in zip(loaded.state_dict().values(), export.model.state_dict().values(), strict=True):
            assert torch.equal(there, here)
    AutoModelForMaskedLM.from_pretrained(tmp_path / "generator", local_files_only=True)


def test_a_policy_that_fills_no_gaps_in_place_is_one_clear_line(data: Path) -> None:
    plan = recipe_named("electra-tiny", policy="sentinel")
    with pytest.raises(BadInput, match=r"--policy sentinel: the objective replaced learns from what .* word hide"):
        Pretraining.of(Dataset.open(data), plan)


@pytest.fixture
def sessions(data: Path) -> Callable[..., Session]:
    def begin(kind: str, **changes: object) -> Session:
        plan = recipe_named(f"{kind}-tiny", length=32, batch_size=4, micro_batch=2, **changes)
        return Session.begin(Pretraining.of(Dataset.open(data), plan).job(), 10)

    return begin


def test_gaps_of_every_look_are_filled_so_that_no_mask_reaches_the_discriminator(
    data: Path, sessions: Callable[..., Session]
) -> None:
    session = sessions("electra", policy="word", rate="0.3")
    mask, learner = Dataset.open(data).vocabulary.mask, session.learner
    with torch.no_grad():
        learner.generator.get_output_embeddings().bias[mask] = -1e4  # type: ignore[union-attr, index, operator]
    seen: list[Tensor] = []
    learner.discriminator.register_forward_pre_hook(  # type: ignore[union-attr]
        lambda _module, _args, given: seen.append(given["input_ids"]), with_kwargs=True
    )
    stepped = take_step(learner, session.optimizer, session.source, step=0)
    assert stepped.applied and len(seen) == 2
    assert not any((ids == mask).any() for ids in seen)
    assert {"mlm_loss", "detection_loss", "generator_accuracy", "detection_auc"} <= stepped.figures.keys()


def test_the_generator_is_what_the_fixed_masks_measure(data: Path, sessions: Callable[..., Session]) -> None:
    session = sessions("electra")
    assert objective_named("replaced").masked_lm(session.learner) is session.learner.generator  # type: ignore[union-attr]
    figures = session.measure(512, ALONE)
    assert abs(figures["loss"] - math.log(Dataset.open(data).vocabulary.size)) < 1
    assert 0.3 < figures["detection_auc"] < 0.7
