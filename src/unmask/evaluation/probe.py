"""What a model prefers: of two sentences the right one, of several words the one that belongs into a blank.

In: a scorer and items (`probe_items`). Out: a `ProbedItem` for each, and `ProbeResult`: accuracies by phenomenon, with
Wilson's 95 % intervals. Sentences are compared by their scores; fillers of a blank by the score of the filler alone,
all its pieces hidden and restored from left to right, given the text around it (a model that reads from left to right:
by the score of the whole text). A blank with an answer and no candidates is filled from the whole vocabulary. Equal
scores are a tie, which is no right answer.

Pairs may be scored by an approximation first, and exactly where that is not clear:

    a stride     several words hidden at once, where that takes at most half of the rows; clear beyond `margin` nats
    quick        products in bfloat16; clear beyond 0.02 nats a token, five times what scores are off by
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from unmask.errors import BadInput
from unmask.evaluation.probe_items import ProbeItem
from unmask.inference.ask import Question, ask
from unmask.inference.blanks import read_blanks
from unmask.inference.passages import Passage, passages_between
from unmask.inference.score import Scorer, ScoreSettings, TokenScores, score_passages
from unmask.intervals import wilson_figure
from unmask.models.load import LoadedModel
from unmask.results import ProbedItem, ProbedPhenomenon, ProbeResult
from unmask.tokens.example import BLANK
from unmask.tokens.windows import window_around
from unmask.training.machine.processor import half_precision_works, multiplies_bfloat16

AT_ONCE = 512  # items
TIE = 1e-6  # nats
MARGIN = 10.0  # nats between strided scores, beyond which a pair is taken as decided
QUICK_MARGIN = 0.02  # nats a token between scores in bfloat16

NO_SINGLE_TOKEN = {
    "likelihood": "a model that reads from left to right fills no blank",
    "spans": "T5 spells out blanks of any length, in which no single token has a rank",
}

Several = Sequence[Passage | BadInput]  # the choices of an item
Scores = list[float | BadInput]
PairsFirst = Callable[[Sequence[Several]], dict[int, Scores]]  # the pairs that it decides, by their places


def judge_items(
    scorer: Scorer,
    items: Iterable[ProbeItem],
    *,
    stride: int | None = None,
    margin: float = MARGIN,
    quick: bool = False,
) -> Iterator[ProbedItem]:
    """What the model prefers in each item, in their order."""
    first: PairsFirst | None = None if stride is None else partial(_strided_first, scorer, stride=stride, margin=margin)
    if quick and multiplies_bfloat16() and half_precision_works() and scorer.lm.rough is not None:
        first = partial(_quick_first, Scorer(scorer.lm.rough, scorer.method))
    remaining = iter(items)
    while group := list(islice(remaining, AT_ONCE)):
        judged: dict[int, ProbedItem] = {}
        for chosen, judge in (
            (_places(group, lambda item: len(item.choices) == 1), _judge_open),
            (_places(group, lambda item: len(item.choices) > 1 and not item.sentences), _judge_fillers),
        ):
            judged |= zip(chosen, judge(scorer, [group[place] for place in chosen]), strict=True)
        pairs = _places(group, lambda item: len(item.choices) > 1 and item.sentences)
        judged |= zip(pairs, _judge_pairs(scorer, [group[place] for place in pairs], first), strict=True)
        yield from (judged[place] for place in range(len(group)))


def _places(items: Sequence[ProbeItem], belongs: Callable[[ProbeItem], bool]) -> list[int]:
    return [place for place, item in enumerate(items) if belongs(item)]


def _judge_pairs(scorer: Scorer, items: Sequence[ProbeItem], first: PairsFirst | None) -> Iterator[ProbedItem]:
    """Sentences beside each other; by an approximation where one is asked for and clear."""
    passages = [passages_between(scorer.lm, [("", text, "") for text in item.choices]) for item in items]
    decided: dict[int, Scores] = {} if first is None else first(passages)
    undecided = [place for place in range(len(items)) if place not in decided]
    exact = dict(zip(undecided, _scores(scorer, [passages[place] for place in undecided]), strict=True))
    for place, item in enumerate(items):
        yield _judged(item, decided[place] if place in decided else exact[place], exact=place not in decided)


def _strided_first(scorer: Scorer, passages: Sequence[Several], *, stride: int, margin: float) -> dict[int, Scores]:
    """The scores of pairs that a stride decides, where it saves rows."""
    shorter = [place for place, pair in enumerate(passages) if _saves(pair, stride)]
    strided = zip(shorter, _scores(scorer, [passages[place] for place in shorter], stride), strict=True)
    return {place: scores for place, scores in strided if _apart(scores) > margin}


def _quick_first(rough: Scorer, passages: Sequence[Several]) -> dict[int, Scores]:
    """The scores of pairs that bfloat16 decides."""
    tokens = [max((len(each.ids) for each in pair if isinstance(each, Passage)), default=0) for pair in passages]
    scores = zip(_scores(rough, passages), tokens, strict=True)
    return {place: pair for place, (pair, count) in enumerate(scores) if _apart(pair) > QUICK_MARGIN * count}


def _saves(passages: Several, stride: int) -> bool:
    """Whether a stride takes at most half of the rows."""
    good = [passage for passage in passages if isinstance(passage, Passage)]
    exact = sum(len(passage.ids) for passage in good)
    pieces = [int(np.bincount(np.cumsum(passage.starts)).max()) for passage in good]
    return len(good) == len(passages) and 2 * stride * sum(pieces) <= exact


def _apart(scores: Scores) -> float:
    """Nats between the first and the best of the others; none where one has no score."""
    values = [score for score in scores if not isinstance(score, BadInput)]
    return abs(values[0] - max(values[1:])) if len(values) == len(scores) else 0.0


def _judge_fillers(scorer: Scorer, items: Sequence[ProbeItem]) -> Iterator[ProbedItem]:
    """Fillers of a blank, each by its own pieces given the text around them."""
    whole = scorer.method == "likelihood"
    passages: list[list[Passage | BadInput]] = []
    for item in items:
        parts = [(item.before, choice, item.after) for choice in item.choices]
        parts = [("", "".join(part), "") for part in parts] if whole else parts
        between = passages_between(scorer.lm, parts)
        passages.append(between if whole else [_as_one_word(passage) for passage in between])
    for item, scores in zip(items, _scores(scorer, passages), strict=True):
        yield _judged(item, scores)


def _as_one_word(passage: Passage | BadInput) -> Passage | BadInput:
    """A filler whose pieces are all hidden together, from the first that is asked for on."""
    if isinstance(passage, BadInput):
        return passage
    starts = passage.starts.copy()
    starts[passage.first : passage.last] = False
    starts[passage.first] = True
    return replace(passage, starts=starts)


def _scores(scorer: Scorer, passages: Sequence[Several], stride: int | None = None) -> Iterator[Scores]:
    """The scores of each item's choices."""
    flat = [passage for several in passages for passage in several]
    scores = score_passages(scorer.lm, scorer.method, flat, ScoreSettings(stride=stride))
    for several in passages:
        values = islice(scores, len(several))
        yield [each.total if isinstance(each, TokenScores) else each for each in values]


def _judged(item: ProbeItem, scores: Scores, *, exact: bool = True) -> ProbedItem:
    problems = [f"{choice!r}: {score}" for choice, score in zip(item.choices, scores, strict=True) if _is_bad(score)]
    if problems:
        return _unscorable(item, problems[0])
    values = [float(score) for score in scores if not isinstance(score, BadInput)]
    tie = abs(values[0] - max(values[1:])) <= TIE
    return ProbedItem(
        phenomenon=item.phenomenon,
        text=_text(item),
        answer=item.choices[0],
        choice=item.choices[int(np.argmax(values))],
        scores=dict(zip(item.choices, values, strict=True)),
        right=not tie and values[0] > max(values[1:]),
        tie=tie,
        exact=exact,
    )


def _is_bad(score: float | BadInput) -> bool:
    return isinstance(score, BadInput)


def _unscorable(item: ProbeItem, reason: str) -> ProbedItem:
    return ProbedItem(phenomenon=item.phenomenon, text=_text(item), answer=item.choices[0], problem=reason)


def _text(item: ProbeItem) -> str | None:
    return None if item.sentences else f"{item.before}{BLANK}{item.after}"


def _judge_open(scorer: Scorer, items: Sequence[ProbeItem]) -> Iterator[ProbedItem]:
    """Blanks that any token of the vocabulary may fill: where the answer ranks."""
    if scorer.method in NO_SINGLE_TOKEN:
        reason = f"{NO_SINGLE_TOKEN[scorer.method]}; give candidates"
        yield from (_unscorable(item, reason) for item in items)
        return
    lm = scorer.lm
    judged: dict[int, ProbedItem] = {}
    asked: dict[int, tuple[Question, int]] = {}
    for place, item in enumerate(items):
        try:
            asked[place] = _open_question(lm, item)
        except BadInput as error:
            judged[place] = _unscorable(item, str(error))
    places = list(asked)
    for number, log_probabilities in ask(lm, [question for question, _ in asked.values()], title="Probing"):
        place = places[number]
        judged[place] = _ranked(lm, items[place], asked[place][1], log_probabilities[0].cpu().numpy())
    yield from (judged[place] for place in range(len(items)))


def _open_question(lm: LoadedModel, item: ProbeItem) -> tuple[Question, int]:
    """A blank as the model is asked for it, and the token that answers it."""
    (text,) = read_blanks(lm, [_text(item) or ""], [item.choices[0]])
    if isinstance(text, BadInput):
        raise text
    blank = text.blanks[0]
    answer = blank.choices[0].pieces
    if len(answer) > 1:
        raise BadInput(
            f"the answer {item.choices[0]!r} is {len(answer)} tokens here, which have no rank; give candidates"
        )
    begin, end = window_around(blank.place, blank.place + 1, len(text.ids), lm.room)
    row = np.r_[lm.vocabulary.start, text.ids[begin:end], lm.vocabulary.end].astype(np.int32)
    return Question(row, np.array([blank.place - begin + 1])), int(answer[0])


def _ranked(lm: LoadedModel, item: ProbeItem, token: int, values: np.ndarray) -> ProbedItem:
    """An answer among all ordinary tokens."""
    values = np.where(lm.vocabulary.is_special[: len(values)], -np.inf, values)
    better = int((values > values[token]).sum())
    best = int(values.argmax())
    spelt = lm.tokenizer.backend_tokenizer.decode([best]).strip()
    equal = int((values == values[token]).sum()) > 1
    return ProbedItem(
        phenomenon=item.phenomenon,
        text=_text(item),
        answer=item.choices[0],
        choice=item.choices[0] if best == token else spelt,
        scores={item.choices[0]: float(values[token])},
        right=better == 0 and not equal,
        tie=better == 0 and equal,
        rank=better + 1,
    )


def summarize_items(model: Path, items: Path, method: str, judged: Sequence[ProbedItem]) -> ProbeResult:
    """Accuracies, by phenomenon and of all; what could not be scored is counted and left out of them."""
    by_phenomenon: dict[str, list[ProbedItem]] = {}
    for item in judged:
        by_phenomenon.setdefault(item.phenomenon, []).append(item)
    phenomena = {name: _phenomenon(members) for name, members in by_phenomenon.items()}
    accuracies = [each.accuracy.value for each in phenomena.values() if each.items > each.unscorable]
    return ProbeResult(
        model=model,
        items=items,
        method=method,
        overall=_phenomenon(judged),
        mean=float(np.mean(accuracies)) if accuracies else None,
        phenomena=phenomena,
        exact=sum(item.exact for item in judged if not item.problem),
    )


def _phenomenon(items: Sequence[ProbedItem]) -> ProbedPhenomenon:
    scored = [item for item in items if not item.problem]
    return ProbedPhenomenon(
        items=len(items),
        accuracy=wilson_figure(sum(bool(item.right) for item in scored), len(scored)),
        chance=float(np.mean([0 if item.rank else 1 / len(item.scores) for item in scored])) if scored else 0.0,
        ties=sum(item.tie for item in scored),
        unscorable=len(items) - len(scored),
    )
