"""Blanks to words: the likeliest tokens of each blank, and the text completed with the best.

In: a loaded model and texts with blanks. Out: `Filled`, one for each text, in their order. Each blank is
filled on its own, the others staying blank. Special tokens are never offered, nor what cannot stand there: after a
space nothing that goes on with a word, after a letter nothing that begins one (`unmask.tokens.tokenizer.boundaries`).
Probabilities are the model's, over its whole vocabulary, and not divided anew among what is offered: so those of
different texts, of `--targets` and of transformers' own pipeline compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unmask.errors import BadInput
from unmask.inference.ask import Question, ask
from unmask.inference.blanks import BlankText, read_blanks, speller
from unmask.models.load import LoadedModel
from unmask.records import Flags
from unmask.results import Filled, Guess
from unmask.tokens.tokenizer.boundaries import token_boundaries


@dataclass(frozen=True)
class Candidate:
    """A token that may fill a blank, as it reads in a text: with a space before it where it starts a word."""

    spelt: str
    probability: float


def fill_blanks(lm: LoadedModel, texts: Sequence[str], *, top: int = 5, targets: Sequence[str] = ()) -> list[Filled]:
    """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked."""
    _check_top(top)
    questions = []
    for text, question in zip(texts, read_blanks(lm, texts, targets), strict=True):
        if isinstance(question, BadInput):
            raise BadInput(f"{_quoted(text)}: {question}")
        questions.append(question)
    return _answer(lm, questions, top)


def fill_good(
    lm: LoadedModel, texts: Sequence[str], *, top: int = 5, targets: Sequence[str] = ()
) -> list[Filled | BadInput]:
    """Fill the blanks of the texts that have some and fit; in the place of another, say what is wrong with it."""
    _check_top(top)
    questions = read_blanks(lm, texts, targets)
    answers = iter(_answer(lm, [question for question in questions if isinstance(question, BlankText)], top))
    return [question if isinstance(question, BadInput) else next(answers) for question in questions]


def _check_top(top: int) -> None:
    if top < 1:
        raise BadInput(f"--top {top}: ask for at least one candidate")


def _answer(lm: LoadedModel, questions: Sequence[BlankText], top: int) -> list[Filled]:
    """What the model says, texts of like length asked together."""
    spell, boundaries = speller(lm), token_boundaries(lm.tokenizer)
    results: dict[int, Filled] = {}
    rows = [Question(np.array(question.ids, np.int32), np.array(question.blanks)) for question in questions]
    for number, log_probabilities in ask(lm, rows, title="Filling"):
        question, distributions = questions[number], _probabilities(lm, log_probabilities)
        if question.choices:
            pairs = zip(distributions, question.choices, strict=True)
            candidates = [_rank_choices(row, choice) for row, choice in pairs]
        else:
            contexts = zip(distributions, _before_blanks(question), strict=True)
            candidates = [_likeliest(row, boundaries.allowed(before), top, spell) for row, before in contexts]
        results[number] = complete_text(question, candidates)
    return [results[n] for n in range(len(questions))]


def complete_text(question: BlankText, blanks: Sequence[Sequence[Candidate]]) -> Filled:
    """Put the best candidate of each blank into the text as it was written.

    The [MASK] barks.     the text's own spacing stays              The dog barks.
    He was walk [MASK].   a token that continues a word joins it    He was walking.
    """
    text, places, guesses = question.between[0], [], []
    for candidates, after in zip(blanks, question.between[1:], strict=True):
        in_word = text.rstrip()[-1:].isalnum()
        guesses.append(
            tuple(Guess(_guess_label(candidate.spelt, in_word), candidate.probability) for candidate in candidates)
        )
        best = candidates[0].spelt
        text = text if best[0].isspace() else text.rstrip()
        places.append((len(text), len(text) + len(best.strip())))
        text += best.strip() + after
    return Filled(question.text, tuple(guesses), text, tuple(places))


def _guess_label(spelt: str, in_word: bool) -> str:
    """A candidate as a list shows it: ## before a token that continues a word, for every vocabulary."""
    return f"##{spelt}" if in_word and spelt[0].isalnum() else spelt.strip()


def _before_blanks(question: BlankText) -> list[str | None]:
    """The text right before each blank; none where another blank is."""
    first, *others = question.between[:-1]
    return [first.lstrip(), *(between or None for between in others)]


def _likeliest(row: Tensor, allowed: Flags, top: int, spell: Callable[[int], str]) -> list[Candidate]:
    """The likeliest tokens of those that can stand there; of two that read the same, with and without a space, one."""
    row[: len(allowed)][~torch.from_numpy(allowed)] = 0
    best = row.topk(min(2 * top, int((row > 0).sum())))
    candidates: dict[str, Candidate] = {}
    for token, probability in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        spelt = spell(token)
        candidates.setdefault(spelt.strip(), Candidate(spelt, probability))
    return list(candidates.values())[:top]


def _rank_choices(row: Tensor, choice: dict[int, str]) -> list[Candidate]:
    candidates = [Candidate(spelt, float(row[token])) for token, spelt in choice.items()]
    return sorted(candidates, key=lambda candidate: -candidate.probability)


def _probabilities(lm: LoadedModel, log_probabilities: Tensor) -> Tensor:
    """The probability of every token at every blank, P×V; special tokens have none."""
    probabilities = log_probabilities.exp()
    probabilities[:, list(lm.vocabulary.special)] = 0
    return probabilities.cpu()


def _quoted(text: str) -> str:
    return f"{text[:40]!r}…" if len(text) > 40 else repr(text)
