"""Replaced-token detection: a small generator fills gaps, and the model finds what it filled in (Clark et al. 2020).

Needs hidden tokens, and takes them however they look: the generator guesses each, and what it draws stands there in
the end. Every real token teaches, not only those that were hidden.

    loss = L_MLM(generator) + 50 · L_RTD
    x̃_i = a draw from P_G(x_i | corrupted x) where i is hidden, x_i elsewhere
    L_RTD = −(1/n) Σ_i [x̃_i ≠ x_i] log D(x̃, i) + [x̃_i = x_i] log(1 − D(x̃, i)),   i over the n tokens, padding left out

A draw that happens to be right is an original token. No gradient passes through the draw. As in the authors' code,
[CLS] and [SEP] are judged too, and both parts share their embeddings: tokens, positions and the norm after them.

DeBERTaV3 (He et al. 2021) shares the token embeddings by halves: E_D = stop_gradient(E_G) + Δ. Telling tokens apart
pulls their vectors away from where restoring them wants them; here it moves Δ alone, which starts at 0.

Measures how much the generator restores, and accuracy, precision, recall and AUC of the detection. Exports the
discriminator as `model` and the generator, an ordinary masked language model, as `generator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import Embedding, Module
from torch.nn import functional as F
from transformers import DebertaV2ForTokenClassification, ElectraForPreTraining, PreTrainedModel

from unmask.errors import BadInput
from unmask.models.inputs import as_inputs
from unmask.objectives.mlm import masked_lm_loss, plainly_in_place
from unmask.objectives.objective import Outcome, device_of
from unmask.objectives.text import FILL_MASK, Build, Card, Export, TextObjective
from unmask.records import Batch, PolicyProperties, Reals

# who judges, and who fills the gaps for it
GENERATORS = {ElectraForPreTraining: "electra-generator", DebertaV2ForTokenClassification: "deberta-v3-generator"}
BINS, REACH = 1024, 16.0  # scores are counted between −16 and 16, in steps of 1/32
STRETCH = 128  # tokens that a draw first takes as one: about the root of a vocabulary

EXAMPLE = """\
from transformers import {loader}, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("."), {loader}.from_pretrained(".")
text = tokenizer("One word of this was banana.", return_tensors="pt")
print(model(**text).logits.sigmoid())  # of each token, how likely it is that another stood there"""
DETECTOR = Card(
    what="An encoder that tells which tokens of a text were replaced, to be fine-tuned",
    pipeline="feature-extraction",
    example=EXAMPLE.format(loader="AutoModelForPreTraining"),
)


class Pair(Module):
    """A generator, and the discriminator that is trained on what it makes."""

    def __init__(self, generator: PreTrainedModel, discriminator: PreTrainedModel) -> None:
        super().__init__()
        self.generator, self.discriminator = generator, discriminator


class ReplacedTokenDetection(TextObjective[Pair]):
    """Find the tokens that a generator replaced; embeddings are shared (ELECTRA)."""

    name = "replaced"
    also = ("rtd",)
    paper = "replaced token detection, RTD; ELECTRA, Clark et al. 2020"
    usual = "token mask=1 random=0"
    families = frozenset({"electra", "deberta-v3"})
    terms: ClassVar = {"mlm": 1.0, "detection": 50.0}
    tally_sizes: ClassVar = {"restored": 1, "replaced": BINS, "original": BINS}
    held_out = True
    card = DETECTOR

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whatever hides in place: the generator restores it."""
        return plainly_in_place(policy)

    def learner(self, build: Build) -> Pair:
        """The recipe's model, which judges, and a generator with the same embeddings: what either learns, both know."""
        pair = build_pair(build, self.name)
        pair.discriminator.base_model.embeddings = pair.generator.base_model.embeddings
        return pair

    def discriminator_inputs(self, pair: Pair, ids: Tensor) -> dict[str, Tensor]:
        """The tokens as the discriminator takes them."""
        return {"input_ids": ids}

    def counts(self, batch: Batch) -> dict[str, int]:
        """The hidden positions, and every real token."""
        return {"mlm": len(batch.targets), "detection": int((batch.documents > 0).sum())}

    def outcome(self, learner: Pair, batch: Batch) -> Outcome:
        """Cross-entropy of the generator at the hidden positions, and of the discriminator everywhere."""
        samples: list[Tensor] = []
        masked_loss = masked_lm_loss(
            learner.generator, batch, look=lambda probabilities: samples.append(sample_tokens(probabilities))
        )
        ids, labels = replace_tokens(batch, torch.cat(samples)[: len(batch.targets)])
        real = torch.from_numpy(batch.documents > 0).to(device_of(learner))
        inputs = as_inputs(learner.discriminator, batch)
        del inputs["input_ids"]
        output = learner.discriminator(**inputs, **self.discriminator_inputs(learner, ids))
        scores = output.logits.float().reshape(labels.shape)  # B L
        detection = F.binary_cross_entropy_with_logits(scores, labels.float(), weight=real.float(), reduction="sum")
        tallies = {
            "restored": masked_loss.correct,
            "replaced": score_histogram(scores[labels & real]),
            "original": score_histogram(scores[~labels & real]),
        }
        return Outcome({"mlm": masked_loss.loss, "detection": detection}, tallies)

    def figures(self, counts: Mapping[str, float], tallies: Mapping[str, Reals]) -> dict[str, float]:
        """How many the generator restored by its best guess, and how well they were told apart."""
        accuracy = tallies["restored"].item() / max(1.0, counts["mlm"])
        return {"generator_accuracy": accuracy, **detection_figures(tallies["replaced"], tallies["original"])}

    def masked_lm(self, learner: Pair) -> PreTrainedModel | None:
        """The generator."""
        return learner.generator

    def exports(self, learner: Pair) -> dict[str, Export]:
        """The discriminator, which is what one fine-tunes, and the generator."""
        return {"model": Export(learner.discriminator), "generator": Export(learner.generator, card=FILL_MASK)}


class DisentangledDetection(ReplacedTokenDetection):
    """The same with embeddings that are shared one way: E_D = stop_gradient(E_G) + Δ (DeBERTaV3).

    Transformers has no class with DeBERTaV3's detection head, and the released weights come without it. The
    discriminator is a token classifier with one label: stock, loaded offline, its head and all.
    """

    name = "replaced-disentangled"
    also = ("gdes",)
    paper = "gradient-disentangled embedding sharing, GDES; DeBERTaV3, He et al. 2021"
    card = replace(DETECTOR, example=EXAMPLE.format(loader="AutoModelForTokenClassification"))

    def learner(self, build: Build) -> Pair:
        """The recipe's model, whose own embeddings are Δ, and a generator for it."""
        pair = build_pair(build, self.name)
        with torch.no_grad():
            token_embeddings(pair.discriminator).weight.zero_()
        return pair

    def discriminator_inputs(self, pair: Pair, ids: Tensor) -> dict[str, Tensor]:
        """The generator's embeddings, which do not learn from it, and Δ, which does."""
        base, delta = token_embeddings(pair.generator)(ids), token_embeddings(pair.discriminator)(ids)
        return {"inputs_embeds": base.detach() + delta}

    def exports(self, learner: Pair) -> dict[str, Export]:
        """The discriminator with E_G + Δ as its embeddings: nothing of the training is needed to use it."""
        discriminator = deepcopy(learner.discriminator)
        with torch.no_grad():
            token_embeddings(discriminator).weight.add_(token_embeddings(learner.generator).weight)
        return {**super().exports(learner), "model": Export(discriminator)}


def build_pair(build: Build, objective: str) -> Pair:
    """The recipe's model with the generator that belongs to it, nothing shared yet."""
    discriminator = build()
    if type(discriminator) not in GENERATORS:
        kind = type(discriminator).__name__
        raise BadInput(f"the objective {objective} trains the families electra and deberta-v3, not a {kind}")
    return Pair(build(family=GENERATORS[type(discriminator)]), discriminator)


def token_embeddings(model: PreTrainedModel) -> Embedding:
    """The vectors of the tokens."""
    embeddings = model.get_input_embeddings()
    assert isinstance(embeddings, Embedding)
    return embeddings


def sample_tokens(probabilities: Tensor) -> Tensor:
    """One token, P, from each of P×V distributions, by a race: p over an exponential draw is greatest with chance p.

    A draw for every token of the vocabulary takes longer than the logits to compute. Drawing a stretch of the
    vocabulary by its summed probability first, then a token in it, is the same with 2√V draws.
    """
    size = probabilities.shape[1]
    even_size = size // STRETCH * STRETCH
    stretches = probabilities[:, :even_size].view(len(probabilities), even_size // STRETCH, STRETCH).sum(-1)
    begin = _winner(torch.cat((stretches, probabilities[:, even_size:].sum(-1, keepdim=True)), dim=1)) * STRETCH
    inside = begin + torch.arange(STRETCH, device=begin.device)
    chances = probabilities.gather(1, inside.clamp(max=size - 1)).masked_fill(inside >= size, 0.0)
    return (begin + _winner(chances)).squeeze(1)


def _winner(chances: Tensor) -> Tensor:
    """Where a row's race is won, P×1."""
    return (chances / torch.empty_like(chances).exponential_()).argmax(-1, keepdim=True)


def replace_tokens(batch: Batch, samples: Tensor) -> tuple[Tensor, Tensor]:
    """The rows with what was drawn, B L, and where that is not what stood there, B L.

    text     the  cat  sat       drawn  dog  sat
    filled   the  dog  sat
    labels    .    #    .
    """
    text = torch.from_numpy(batch.ids).to(samples.device).flatten()
    places = torch.from_numpy(batch.predicted).to(samples.device)
    text = text.index_put((places,), torch.from_numpy(batch.targets).to(samples.device))
    ids = text.index_put((places,), samples)
    return ids.view(batch.ids.shape), (ids != text).view(batch.ids.shape)


def score_histogram(scores: Tensor) -> Tensor:
    """How many scores lie in each bin: such counts add up over micro-batches and processes."""
    steps = (scores.detach().nan_to_num() + REACH) * (BINS / (2 * REACH))
    return torch.bincount(steps.clamp(0, BINS - 1).long(), minlength=BINS)


def detection_figures(replaced: Reals, original: Reals) -> dict[str, float]:
    """Accuracy, precision, recall and AUC, from the histograms of the scores; what is not defined is left out.

    A score of 0 or more says "replaced". The AUC is the share of (replaced, original) pairs in which the replaced
    token has the higher score; a pair in one bin counts half.
    """
    hits, false_alarms = replaced[BINS // 2 :].sum(), original[BINS // 2 :].sum()
    positives, negatives = replaced.sum(), original.sum()
    below = original.cumsum() - original / 2
    shares = {
        "accuracy": (hits + negatives - false_alarms, positives + negatives),
        "precision": (hits, hits + false_alarms),
        "recall": (hits, positives),
        "auc": (replaced @ below, positives * negatives),
    }
    return {
        f"detection_{name}": float(numerator / denominator)
        for name, (numerator, denominator) in shares.items()
        if denominator
    }
