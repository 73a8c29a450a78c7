"""Blanks to words: the likeliest tokens of each blank, and the text completed with the best.

In: a loaded model and texts with blanks. Out: `Filled`, one for each text, in their order. Each blank is
filled on its own, the others staying blank. Probabilities are the model's, over its whole vocabulary; special
tokens are never offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from unmask.errors import BadInput, Damaged
from unmask.inference.encode import Row, encode_rows
from unmask.models.load import LoadedModel
from unmask.models.sparse import logits_at
from unmask.progress import task
from unmask.results import Filled, Guess
from unmask.tokens.bucket import batches_by_length
from unmask.tokens.example import BLANK

BATCH = 8_192  # tokens in a forward pass, padding among them
ROWS = 128  # and rows, for each blank has a probability for every token of the vocabulary
MISSPELT = re.compile(r"[\[<({]+\s*mask\s*[\])>}]+", re.IGNORECASE)
OTHERWISE = re.compile(r"_{2,}|[\[<({]+\s*blank\s*[\])>}]+", re.IGNORECASE)  # blanks elsewhere, or just text


@dataclass(frozen=True)
class BlankText:
    """A text with blanks, as people and as the model see it."""

    text: str
    between: tuple[str, ...]  # what stands before, between and after the blanks
    ids: list[int]
    blanks: list[int]  # positions in ids


@dataclass(frozen=True)
class Candidate:
    """A token that may fill a blank, as it reads in a text: with a space before it where it starts a word."""

    spelt: str
    probability: float


def fill_blanks(
    lm: LoadedModel,
    texts: Sequence[str],
    *,
    top: int = 5,
    targets: Sequence[str] = (),
    lines: Sequence[int] = (),
) -> list[Filled]:
    """Fill the blanks of texts; `lines` are the numbers that errors name, where texts are lines of a file."""
    if top < 1:
        raise BadInput(f"--top {top}: ask for at least one candidate")
    questions = read_questions(lm, texts, [f"line {line}" for line in lines] or list(map(_quoted, texts)))
    choices = [target_choices(lm, question, targets) for question in questions] if targets else []
    spell = speller(lm)
    results: dict[int, Filled] = {}
    with task("Filling", total=len(questions)) as step, torch.inference_mode():
        lengths = [len(question.ids) for question in questions]
        for batch in batches_by_length(lengths, tokens=BATCH, rows=ROWS):
            rows = iter(_probabilities(lm, [questions[n] for n in batch]))
            for n in batch.tolist():
                distributions = [next(rows) for _ in questions[n].blanks]
                if targets:
                    candidates = [
                        _rank_choices(row, choice) for row, choice in zip(distributions, choices[n], strict=True)
                    ]
                else:
                    candidates = [_likeliest(row, top, spell) for row in distributions]
                results[n] = complete_text(questions[n], candidates)
            step(len(batch))
    return [results[n] for n in range(len(questions))]


def read_questions(lm: LoadedModel, texts: Sequence[str], places: Sequence[str]) -> list[BlankText]:
    """Find the blanks of texts, or say in one line which text cannot be asked, and why."""
    mask = lm.tokenizer.mask_token
    contexts = [_between_blanks(text, place, mask) for text, place in zip(texts, places, strict=True)]
    questions = []
    rows = encode_rows(lm, [mask.join(context) for context in contexts], blanks=True)
    for text, place, context, (ids, _) in zip(texts, places, contexts, rows, strict=True):
        if lm.length is not None and len(ids) > lm.length:
            raise BadInput(f"{place}: {len(ids):,} tokens, but this model takes {lm.length:,}: shorten the text")
        blanks = np.flatnonzero(ids == lm.vocabulary.mask).tolist()
        questions.append(BlankText(text, context, ids.tolist(), blanks))
    return questions


def _between_blanks(text: str, place: str, mask: str) -> tuple[str, ...]:
    blank = BLANK if mask == BLANK else f"{BLANK} or {mask}"
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadInput(f"{place}: the text is not valid Unicode: give it as UTF-8")
    between = tuple(re.split(f"{re.escape(BLANK)}|{re.escape(mask)}", text))
    wrong = MISSPELT.search(" ".join(between))
    if wrong is None and len(between) == 1:
        wrong = OTHERWISE.search(text)
    if wrong is not None:
        raise BadInput(f"{place}: {wrong[0]} is not a blank here: write {blank}")
    if len(between) == 1:
        raise BadInput(f"{place}: there is no blank to fill: write {blank} where a word is missing")
    return between


def target_choices(lm: LoadedModel, question: BlankText, targets: Sequence[str]) -> list[dict[int, str]]:
    """For each blank the tokens of the target words, and how they read in the text."""
    mask, by_blank = lm.tokenizer.mask_token, []
    for blank in range(1, len(question.between)):
        before, after = mask.join(question.between[:blank]), mask.join(question.between[blank:])
        texts = [f"{before}{target}{after}" for target in targets]
        tokens: dict[int, str] = {}
        for target, row in zip(targets, encode_rows(lm, texts, blanks=True), strict=True):
            tokens.update(_target_token(lm, target, row, len(before)))
        by_blank.append(tokens)
    return by_blank


def _target_token(lm: LoadedModel, target: str, row: Row, start: int) -> dict[int, str]:
    """The one token that is the target where it stands in the text, or that the vocabulary spells so.

    "cat" at the start and " cat" in the middle of a text are different tokens of a byte-level vocabulary, so
    the word is looked at in its place. A word of several tokens has no probability that compares with those
    of one.
    """
    end, vocabulary = start + len(target), lm.vocabulary
    covering = (row.offsets[:, 0] < end) & (row.offsets[:, 1] > start)
    ids = row.ids[covering].tolist()
    if not target.strip() or BLANK in target or lm.tokenizer.mask_token in target:
        raise BadInput(f"the target {target!r} is not a word: give the texts before --targets")
    if len(ids) == 1 and row.offsets[covering][0, 1] == end and not vocabulary.is_special[ids[0]]:
        return {ids[0]: f" {target}"}
    token = lm.tokenizer.get_vocab().get(target)
    if token is not None and not vocabulary.is_special[token]:
        return {token: speller(lm)(token)}
    pieces = lm.tokenizer.convert_ids_to_tokens(ids)
    if lm.tokenizer.unk_token in pieces:
        raise BadInput(f"the target {target!r} is not in this vocabulary")
    raise BadInput(f"the target {target!r} is {len(pieces)} tokens here ({' '.join(pieces)}), but a blank holds one")


def speller(lm: LoadedModel) -> Callable[[int], str]:
    """How a token reads inside a text: with a space before it where it starts a word.

    WordPiece, byte-level BPE and Unigram mark the starts of words in three ways; what their decoders write
    after another word is the same for all.
    """
    tokenizer = lm.tokenizer

    def decode(*tokens: int) -> str:
        return tokenizer.backend_tokenizer.decode(list(tokens), skip_special_tokens=False)

    anchor = next(token for token in lm.vocabulary.ordinary.tolist() if decode(token).strip().isalpha())
    before = decode(anchor)

    @cache
    def spell(token: int) -> str:
        after = decode(anchor, token).removeprefix(before)
        if after.strip().isprintable() and after.strip() and "\ufffd" not in after:
            return after
        # a part of a character, or one that a terminal would obey: the vocabulary's own spelling
        return " " + ascii(tokenizer.convert_ids_to_tokens(token))[1:-1]

    return spell


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


def _likeliest(row: Tensor, top: int, spell: Callable[[int], str]) -> list[Candidate]:
    best = row.topk(min(top, int((row > 0).sum())))
    return [Candidate(spell(token), p) for token, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def _rank_choices(row: Tensor, choice: dict[int, str]) -> list[Candidate]:
    candidates = [Candidate(spelt, float(row[token])) for token, spelt in choice.items()]
    return sorted(candidates, key=lambda candidate: -candidate.probability)


def _probabilities(lm: LoadedModel, questions: Sequence[BlankText]) -> Tensor:
    """The probability of every token at every blank of the questions, P×V; special tokens have none."""
    width = max(len(question.ids) for question in questions)
    ids = np.full((len(questions), width), lm.vocabulary.pad)
    attention = np.zeros_like(ids)
    for row, question in enumerate(questions):
        ids[row, : len(question.ids)] = question.ids
        attention[row, : len(question.ids)] = 1
    predicted = [row * width + blank for row, question in enumerate(questions) for blank in question.blanks]
    device = lm.model.device
    inputs = {
        "input_ids": torch.from_numpy(ids).to(device),
        "attention_mask": torch.from_numpy(attention).to(device),
    }
    logits = logits_at(lm.model, torch.tensor(predicted, device=device), **inputs)
    probabilities = logits.float().softmax(-1)
    if not probabilities.isfinite().all():
        raise Damaged(f"{lm.path}: the model gives numbers that are not finite; its weights are damaged")
    probabilities[:, list(lm.vocabulary.special)] = 0
    probabilities[:, lm.vocabulary.size :] = 0  # rows that only round the matrix up
    return probabilities.cpu()


def _quoted(text: str) -> str:
    return f"{text[:40]!r}…" if len(text) > 40 else repr(text)
