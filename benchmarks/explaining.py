"""Whose words matter: the ranking of `unmask explain` beside those of deletion, masks and integrated gradients.

    python benchmarks/explaining.py tuned texts.jsonl
    python benchmarks/explaining.py tuned texts.jsonl --texts 200

Every way ranks the words of each text by what they did for its label. Comprehensiveness is what the label's probability
loses when the first words of the ranking are taken away (more is better), sufficiency what it loses when only they stay
(less is better), both on average over a tenth, a fifth and half of the words (DeYoung et al. 2020). Words are taken
away in two ways: deleted, which makes texts that nobody writes and favours rankings made so, and replaced by the
likeliest other word of the masked language model that the classifier started from. Intervals are over texts, paired. A
random ranking is the floor. Integrated gradients are captum's (`pip install captum`), from the mask as the empty text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import tyro

import unmask
from unmask.inference.explain_label import REPLACEMENTS, LabelExplainer
from unmask.inference.label_words import AskedLabel, LabelledSides, SideWord

SHARES = (0.1, 0.2, 0.5)
STEPS = 32  # of the path of integrated gradients
SAMPLES = 2_000  # of texts, for intervals

OURS = "replaced (unmask)"
MEASURES = ("comprehensiveness", "sufficiency")


def integrated_gradients(asked: AskedLabel, sides: LabelledSides, words: Sequence[SideWord]) -> np.ndarray:
    """W: what each word adds to the label's logit on the way from masks to the text."""
    from captum.attr import LayerIntegratedGradients

    classifier = asked.classifier
    rows = classifier.reader.read_ids([sides.encoded[0].ids])
    ids, real, types = (None if array is None else torch.from_numpy(array) for array in rows.padded(np.arange(1)))
    begin = len(classifier.reader.frames[False].before.ids)
    empty = ids.clone()
    empty[0, begin : begin + len(sides.encoded[0].ids)] = classifier.reader.vocabulary.mask

    def logits(ids: torch.Tensor) -> torch.Tensor:
        others = {} if types is None else {"token_type_ids": types.expand(len(ids), -1)}
        return classifier.model(input_ids=ids, attention_mask=real.expand(len(ids), -1), **others).logits

    gradients = LayerIntegratedGradients(logits, classifier.model.get_input_embeddings())
    added = gradients.attribute(ids, empty, target=asked.label, n_steps=STEPS, internal_batch_size=16)
    by_token = added.sum(-1)[0].detach().numpy()
    return np.array([by_token[begin + word.word.begin : begin + word.word.end].sum() for word in words])


def rankings(
    explainer: LabelExplainer, asked: AskedLabel, sides: LabelledSides, draws: np.random.Generator
) -> tuple[dict[str, np.ndarray], dict[SideWord, str]]:
    """How much each word matters, by the way of finding out; and the likeliest other word in the place of each."""
    words, hiding = sides.words, LabelExplainer(explainer.classifier, None)
    replaced = explainer.effects(asked, sides, words, REPLACEMENTS)
    ways = {
        OURS: replaced.relevance,
        "hidden by the mask": hiding.effects(asked, sides, words, 0).relevance,
        "deleted": -asked.of_texts([sides.rewritten({word: ""}) for word in words]).log_odds,
        "integrated gradients": integrated_gradients(asked, sides, words),
        "random": draws.random(len(words)),
    }
    return ways, {word: next(iter(replaced.candidates[word]), "") for word in words}


def measure(
    asked: AskedLabel, sides: LabelledSides, order: np.ndarray, others: dict[SideWord, str]
) -> tuple[float, float]:
    """Comprehensiveness and sufficiency of one ranking of the words of one text; `others` is what takes their place."""
    words, variants = sides.words, []
    for share in SHARES:
        count = max(1, round(share * len(words)))
        first, rest = ([words[number] for number in part] for part in (order[:count], order[count:]))
        variants += [sides.rewritten({word: others[word] for word in part}) for part in (first, rest)]
    whole, *after = asked.of_texts([sides.sides, *variants]).probability.tolist()
    return whole - float(np.mean(after[::2])), whole - float(np.mean(after[1::2]))


def compare(tuned: Path, texts: Sequence[str], seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """By way of ranking and by measure, a figure for each text."""
    explainer = unmask.load(tuned).label_explainer
    if explainer.replacer is None:
        raise SystemExit(f"the rankings need the start of {tuned}: {explainer.reason}")
    classifier, draws = explainer.classifier, np.random.default_rng(seed)
    found: dict[str, dict[str, list[float]]] = {}
    for text in texts:
        sides = LabelledSides.read(classifier, (text,))
        if len(sides.words) < 3 or classifier.read([text]).windows[0] > 1:
            continue
        label = int(AskedLabel(classifier, 0).of_texts([(text,)]).probabilities.argmax())
        asked = AskedLabel(classifier, label)
        ways, likeliest = rankings(explainer, asked, sides, draws)
        for way, relevance in ways.items():
            order = np.argsort(-relevance, kind="stable")
            for name, others in (("deleted", dict.fromkeys(sides.words, "")), ("replaced", likeliest)):
                measures = zip(MEASURES, measure(asked, sides, order, others), strict=True)
                for kind, value in measures:
                    found.setdefault(way, {}).setdefault(f"{kind}, words {name}", []).append(value)
    return {way: {name: np.array(values) for name, values in measures.items()} for way, measures in found.items()}


def interval(values: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of a mean, from samples of the texts."""
    draws = np.random.default_rng(seed).integers(len(values), size=(SAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(1), (0.025, 0.975))
    return float(low), float(high)


def main(tuned: Path, examples: Path, /, texts: int = 100, seed: int = 0) -> None:
    """Compare rankings of words on labelled texts.

    Args:
        tuned: A run of tune classify whose start is where it was.
        examples: JSON lines with the field that the model was tuned on.
        texts: How many of them, evenly spread.
        seed: What the random ranking is drawn from.
    """
    field = unmask.load(tuned).tuned.card.text_field
    lines = [json.loads(line)[field] for line in examples.read_text(encoding="utf-8").splitlines() if line.strip()]
    every = max(1, len(lines) // texts)
    found = compare(tuned, lines[::every][:texts], seed)
    for name, ours in found[OURS].items():
        print(f"{name} ({len(ours)} texts)")
        for way, measures in found.items():
            line = f"  {way:22} {measures[name].mean():+.3f}"
            if way != OURS:
                low, high = interval(ours - measures[name])
                line += f"   ours minus it {(ours - measures[name]).mean():+.3f} ({low:+.3f} – {high:+.3f})"
            print(line, flush=True)


if __name__ == "__main__":
    tyro.cli(main)
