"""What an adapted model makes of its domain, for people to look at: sentences filled, and the neighbours of its terms.

In: a model before and after. Out: the same blanks filled by both, and for terms of the domain the words whose vectors
are nearest to theirs in both. Terms are the words that the domain has much oftener than general text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.inference.fill import fill_blanks
from unmask.models.load import LoadedModel
from unmask.results import TermFill, TermNeighbours
from unmask.tokens.example import BLANK, SENTENCE_END
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.boundaries import token_boundaries
from unmask.tokens.tokenizer.encode import encode

SAMPLE = 1_000_000  # characters of each text that terms are found in
TERMS = 8
CANDIDATES = 400  # terms among which sentences are looked for
SHORTEST = 5  # letters of a term
SENTENCE = (30, 100)  # characters of a sentence that is shown
GUESSES = 3
NEIGHBOURS = 5
WORD = re.compile(r"[^\W\d_]+")


def find_terms(domain: Dataset, general: Dataset | None) -> list[str]:
    """Words that the domain has oftener than general text: by count × log of how many times as often."""
    counts = _word_counts(domain)
    others = Counter[str]() if general is None else _word_counts(general)
    total, total_others = max(1, counts.total()), max(1, others.total())

    def weight(word: str) -> float:
        return counts[word] * log(counts[word] / total * total_others / (others[word] + 1))

    return sorted((word for word in counts if counts[word] > 2), key=lambda word: (-weight(word), word))[:CANDIDATES]


def _word_counts(dataset: Dataset) -> Counter[str]:
    texts = dataset.sample("train", SAMPLE)
    return Counter(word for text in texts for word in WORD.findall(text) if len(word) >= SHORTEST and word.islower())


def blanked_sentences(domain: Dataset, terms: Sequence[str]) -> list[tuple[str, str]]:
    """Held-out sentences with one term each blanked, and the term; the terms in their order, no sentence twice."""
    shortest, longest = SENTENCE
    sentences = [
        sentence.strip()
        for text in domain.sample("valid", SAMPLE)
        for sentence in SENTENCE_END.split(text)
        if shortest <= len(sentence.strip()) <= longest and "[" not in sentence
    ]
    by_word: dict[str, list[str]] = {}
    for sentence in sentences:
        for word in set(WORD.findall(sentence)):
            by_word.setdefault(word, []).append(sentence)
    found: dict[str, str] = {}
    for term in terms:
        sentence = next((each for each in by_word.get(term, ()) if each not in found), None)
        if sentence is not None and len(found) < TERMS:
            found[sentence] = term
    return [(re.sub(rf"\b{term}\b", BLANK, sentence, count=1), term) for sentence, term in found.items()]


def show_fills(before: LoadedModel, after: LoadedModel, blanked: Sequence[tuple[str, str]]) -> list[TermFill]:
    """The best guesses of both for each blank."""
    texts = [text for text, _ in blanked]
    if not texts:
        return []
    guesses = [_guesses(lm, texts) for lm in (before, after)]
    return [
        TermFill(text=text, answer=answer, before=first, after=second)
        for (text, answer), first, second in zip(blanked, *guesses, strict=True)
    ]


def _guesses(lm: LoadedModel, texts: Sequence[str]) -> list[tuple[str, ...]]:
    filled = fill_blanks(lm, texts, top=GUESSES)
    return [tuple(guess.token.strip() for guess in each.blanks[0]) for each in filled]


def show_neighbours(before: LoadedModel, after: LoadedModel, terms: Sequence[str]) -> list[TermNeighbours]:
    """The words whose input vectors are nearest to a term's, in both."""
    nearest = [nearest_words(lm.model, lm.tokenizer, terms) for lm in (before, after)]
    return [
        TermNeighbours(term=term, before=first, after=second)
        for term, first, second in zip(terms, *nearest, strict=True)
    ]


def nearest_words(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, terms: Sequence[str]
) -> list[tuple[str, ...]]:
    """The whole words of the vocabulary that are nearest to each term: the mean over its pieces, by the cosine.

    Vectors of tokens crowd in a cone: their mean is taken away first.
    """
    table = model.get_input_embeddings().weight.detach().float().cpu().numpy()  # type: ignore[operator]
    numbers, words = _whole_words(tokenizer)
    centre = table[numbers].mean(0)
    candidates = _normalised(table[numbers] - centre)
    found = []
    for row in encode(tokenizer, [f"a {term}" for term in terms]):
        ids = row.ids[np.flatnonzero(row.word_starts)[-1] :]
        cosines = candidates @ _normalised(table[ids].mean(0) - centre)
        order = [place for place in np.argsort(-cosines, kind="stable") if numbers[place] not in ids]
        found.append(tuple(words[place] for place in order[:NEIGHBOURS]))
    return found


def _whole_words(tokenizer: PreTrainedTokenizerFast) -> tuple[NDArray[np.int64], list[str]]:
    """The tokens that are words by themselves, as far as the vocabulary says, and how they are spelt."""
    boundaries, backend = token_boundaries(tokenizer), tokenizer.backend_tokenizer
    whole = boundaries.starting if boundaries.starting.any() else ~boundaries.continuing
    spelt = ((number, backend.decode([number]).strip()) for number in np.flatnonzero(whole).tolist())
    pairs = [(number, word) for number, word in spelt if len(word) > 2 and word.isalpha()]
    return np.array([number for number, _ in pairs], dtype=np.int64), [word for _, word in pairs]


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)
