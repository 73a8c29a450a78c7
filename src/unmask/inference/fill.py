"""Blanks to words: what each blank says on its own, and the text completed as they agree on it.

In: a loaded model and texts with blanks. Out: `Filled`, one for each text, in their order. A text that is longer than
the model takes is read in windows, each with its blanks in the middle. Blanks that stand together are filled together
(`unmask.inference.agree`); of several groups every second one sees what those around it were filled with, and blanks
that are farther apart than a window do not see each other: they are independent. Special tokens are never offered, nor
what cannot stand there (`unmask.tokens.tokenizer.boundaries`). Probabilities are the model's, over its whole
vocabulary, and not divided anew among what is offered: so those of different texts, of `--targets` and of transformers'
own pipeline compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import TypedDict, Unpack

from unmask.errors import BadInput
from unmask.inference.agree import Effort, agree, effort_for
from unmask.inference.blank_row import BlankRow, Pieces, blank_groups, make_row
from unmask.inference.blanks import BlankText, read_blanks
from unmask.inference.completion import Completed, candidate_label, complete_text
from unmask.inference.explain import explain_row
from unmask.inference.inquiry import Search, run_searches, side_by_side
from unmask.inference.joint import Agreed, JointAnswer
from unmask.inference.propose import Proposal, Proposer
from unmask.inference.spelling import speller
from unmask.inference.words import PIECES, parse_pieces, word_lengths
from unmask.models.load import LoadedModel
from unmask.quantities import quoted
from unmask.results import Agreement, Explained, Filled, Filling, Guess
from unmask.tokens.tokenizer.boundaries import token_boundaries
from unmask.tokens.windows import OnLong, read_windows

ON_THEIR_OWN = "too many blanks for all to agree: each of the {:,} is filled on its own"


class FillSettings(TypedDict, total=False):
    """How blanks are filled."""

    top: int  # candidates of each blank
    targets: Sequence[str]  # only these words
    on_long: OnLong  # what is done with a text that is longer than the model takes
    pieces: str  # how many tokens a word may have where it is asked for: 1-4
    explain: bool  # whether it is told which words of the context mattered


@dataclass(frozen=True)
class FillRequest:
    """The same, checked."""

    top: int
    targets: tuple[str, ...]
    on_long: OnLong
    pieces: range
    explain: bool

    @classmethod
    def of(cls, settings: FillSettings) -> FillRequest:
        """What is asked for; what cannot be meant is refused."""
        top = settings.get("top", 5)
        if top < 1:
            raise BadInput(f"--top {top}: ask for at least one candidate")
        least, most = parse_pieces(settings["pieces"]) if "pieces" in settings else PIECES
        targets, on_long = tuple(settings.get("targets", ())), settings.get("on_long", "windows")
        return cls(top, targets, on_long, range(least, most + 1), settings.get("explain", False))


def fill_blanks(lm: LoadedModel, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled]:
    """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked."""
    request, questions = FillRequest.of(settings), []
    for text, question in zip(texts, _read(lm, texts, request), strict=True):
        if isinstance(question, BadInput):
            raise BadInput(f"{quoted(text)}: {question}")
        questions.append(question)
    return _answer(lm, questions, request)


def fill_good(lm: LoadedModel, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled | BadInput]:
    """Fill the blanks of the texts that have some and fit; in the place of another, say what is wrong with it."""
    request = FillRequest.of(settings)
    questions = _read(lm, texts, request)
    answers = iter(_answer(lm, [question for question in questions if isinstance(question, BlankText)], request))
    return [question if isinstance(question, BadInput) else next(answers) for question in questions]


def _read(lm: LoadedModel, texts: Sequence[str], request: FillRequest) -> list[BlankText | BadInput]:
    """Texts with their blanks, and what is not to be read cut off."""
    questions = read_blanks(lm, texts, request.targets)
    for number, question in enumerate(questions):
        if isinstance(question, BlankText):
            try:
                questions[number] = _cut(question, lm.room, request.on_long)
            except BadInput as error:
                questions[number] = error
    return questions


def _cut(text: BlankText, room: int | None, on_long: OnLong) -> BlankText:
    reading = read_windows(len(text.ids), room, on_long)
    if not reading.cut:
        return text
    lost = [number for number, blank in enumerate(text.blanks, start=1) if blank.place >= reading.tokens_read]
    if lost:
        place = text.blanks[lost[0] - 1].place + 1
        raise BadInput(
            f"blank {lost[0]} is token {place:,}, beyond the {reading.tokens_read:,} that --on-long cut keeps; "
            "--on-long windows reads them all"
        )
    kept = reading.tokens_read
    assert text.word_starts is not None and text.offsets is not None
    return replace(
        text,
        ids=text.ids[:kept],
        word_starts=text.word_starts[:kept],
        offsets=text.offsets[:kept],
        cut=reading.cut,
    )


def _answer(lm: LoadedModel, texts: Sequence[BlankText], request: FillRequest) -> list[Filled]:
    """What the model says, the searches of many texts side by side."""
    plain = Proposer(lm, speller(lm), token_boundaries(lm.tokenizer), None, request.pieces)
    return run_searches(lm, [_fill_text(_with_lengths(plain, text), text, request) for text in texts], title="Filling")


def _with_lengths(proposer: Proposer, text: BlankText) -> Proposer:
    """The same where lengths compete: it knows how long words are."""
    competing = any(blank.word or any(len(each.pieces) > 1 for each in blank.choices) for blank in text.blanks)
    if not competing:
        return proposer
    assert text.word_starts is not None
    return replace(proposer, lengths=word_lengths(proposer.lm, text.ids, text.word_starts))


def _fill_text(proposer: Proposer, text: BlankText, request: FillRequest) -> Search[Filled]:
    """The search for one text: each blank on its own, then together, then why."""
    groups = blank_groups(text, proposer.lm.room)
    rows = [_row(proposer, text, group) for group in groups]
    effort = effort_for(text, rows) if len(text.blanks) > 1 else None
    most = max(request.top, effort.size if effort and any(len(group) == 2 for group in groups) else 1)
    alone = yield from side_by_side(
        [proposer.propose(row, row.hidden, blank, most) for row in rows for blank in range(len(row.blanks))]
    )
    answers, agreements = [proposals[0].pieces for proposals in alone], list[Agreement]()
    independent = _complete(proposer, text, answers)
    if effort is not None:
        agreements, answers = yield from _agree(proposer, text, rows, alone, effort, request.top, independent)
    completed = _complete(proposer, text, answers)
    explained = list[Explained]()
    if request.explain:
        explained = yield from side_by_side([explain_row(proposer, text, row, answers, completed) for row in rows])
    guesses = [
        tuple(_guess(proposer, text, independent, number, each) for each in proposals[: request.top])
        for number, proposals in enumerate(alone)
    ]
    filled = Filled(text.text, tuple(guesses), completed.text, completed.places, independent.text)
    return replace(
        filled,
        agreements=tuple(agreements),
        explained=tuple(explained),
        word_lengths=proposer.lengths.source if proposer.lengths else "",
        notes=(ON_THEIR_OWN.format(len(answers)),) if len(answers) > 1 and effort is None else (),
        tokens=len(text.ids) + text.cut,
        tokens_read=len({place for row in rows for place in range(*row.window)}),
        windows=len({row.window for row in rows}),
        cut=text.cut,
    )


def _agree(
    proposer: Proposer,
    text: BlankText,
    rows: Sequence[BlankRow],
    alone: Sequence[Sequence[Proposal]],
    effort: Effort,
    top: int,
    independent: Completed,
) -> Search[tuple[list[Agreement], list[Pieces]]]:
    """Every other group first, side by side; then those between, which see what stands around them."""
    settled: dict[int, Pieces] = {}
    agreements = list[Agreement]()
    for turn in (rows[::2], rows[1::2]):
        seen = [_row(proposer, text, row.numbers, settled) for row in turn]
        found = yield from side_by_side(
            [
                agree(proposer, row, [alone[number] for number in row.numbers], effort, top, asked_again=bool(settled))
                for row in seen
            ]
        )
        for row, (state, agreed) in zip(turn, found, strict=True):
            settled |= dict(zip(row.numbers, state, strict=True))
            if agreed is not None:
                agreements.append(_agreement(proposer, row, agreed, independent))
    agreements.sort(key=lambda agreement: agreement.blanks)
    return agreements, [settled[number] for number in range(len(text.blanks))]


def _row(
    proposer: Proposer, text: BlankText, group: Sequence[int], settled: Mapping[int, Pieces] | None = None
) -> BlankRow:
    """The row of a group; blanks of others that are settled are filled with their answers."""
    targets = (len(each.pieces) for blank in text.blanks for each in blank.choices)
    most = max(proposer.pieces[-1], *targets, 1)
    shown = {text.blanks[number].place: pieces for number, pieces in (settled or {}).items()}
    return make_row(proposer.lm, text, group, most_pieces=most, shown=shown)


def _complete(proposer: Proposer, text: BlankText, answers: Sequence[Pieces]) -> Completed:
    pairs = zip(text.blanks, answers, strict=True)
    return complete_text(text, [proposer.spelt(blank, pieces) for blank, pieces in pairs])


def _guess(proposer: Proposer, text: BlankText, completed: Completed, number: int, proposal: Proposal) -> Guess:
    spelt = proposer.spelt(text.blanks[number], proposal.pieces)
    label = candidate_label(spelt, completed.in_word[number])
    return Guess(label, exp(proposal.log_probability), len(proposal.pieces))


def _agreement(proposer: Proposer, row: BlankRow, agreed: Agreed, completed: Completed) -> Agreement:
    def filling(judged: JointAnswer) -> Filling:
        spelt = [proposer.spelt(blank, pieces) for blank, pieces in zip(row.blanks, judged.state, strict=True)]
        in_word = [completed.in_word[number] for number in row.numbers]
        words = tuple(candidate_label(*each) for each in zip(spelt, in_word, strict=True))
        return Filling(words, judged.log_probability, judged.spread, judged.probability)

    return Agreement(
        blanks=row.numbers,
        method=agreed.method,
        fillings=tuple(map(filling, agreed.judged)),
        independent=filling(agreed.independent),
        orders=agreed.orders,
        outside=agreed.outside,
    )
