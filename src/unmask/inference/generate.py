"""Text from a masked language model: from nothing, behind a prefix, or in the gaps of a text.

In: a loaded model, and what is asked for. Out: `Generated`, one for each text and sample. A model that was trained by
masked diffusion draws from what it learned that way; another masked language model was asked at training for a few
tokens among many shown ones, and is asked here for more than that, which its result says.

    [CLS] The river [MASK] [MASK] [MASK] [SEP]      a row: the prefix, what is to be written, the end of a document

`unmask.inference.samplers` says in which order the masks go; samples and texts are asked together. Special tokens are
never written, except the end where nothing has to follow, in the last block; what was given is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from unmask.errors import BadInput
from unmask.inference.ask import ask
from unmask.inference.blanks import WORD_BLANK, BlankText, read_blanks
from unmask.inference.encode import encode_rows
from unmask.inference.samplers import Draft, Order, RevealPlan, TokenChoice, write_draft
from unmask.inference.spelling import compose, spell_run, speller, vocabulary_spelling, writable_tokens
from unmask.models.load import LoadedModel
from unmask.records import Flags, Ids, Integers
from unmask.results import Generated, Revealed
from unmask.tokens.example import BLANK

Show = Callable[[list[str]], None]  # the drafts as they stand, what is not yet written as ·

LENGTH = 60  # tokens that are written where nothing else is asked for
DOT = " ·"  # a token that is not yet written
REMASK_TOP_P = 0.9  # with masking again (ReMDM)
NOT_DIFFUSION = (
    "no run of masked diffusion: it may have learned to restore only a few tokens among many, and writes accordingly"
)


@dataclass(frozen=True, kw_only=True)
class WritingSettings:
    """What is asked for, and how it is drawn."""

    prefix: str = ""
    length: int | None = None
    count: int = 1
    seed: int = 0
    steps: int | None = None
    temperature: float = 1.0
    top_p: float | None = None
    order: Order | None = None
    threshold: float | None = None
    remask: bool = False
    blocks: int | None = None
    trace: bool = False

    def check(self, texts: Sequence[str]) -> None:
        """Refuse what cannot be meant, before anything is loaded."""
        whole = {"length": self.length, "count": self.count, "steps": self.steps, "blocks": self.blocks}
        for name, value in whole.items():
            if value is not None and value < 1:
                raise BadInput(f"--{name} {value}: give at least 1")
        if not 0 <= self.temperature < float("inf"):
            raise BadInput(f"--temperature {self.temperature}: give 0 (the likeliest token always) or more")
        for name, share in {"top-p": self.top_p, "threshold": self.threshold}.items():
            if share is not None and not 0 < share <= 1:
                raise BadInput(f"--{name} {share}: give more than 0, and at most 1")
        if self.threshold is not None and self.order != "threshold":
            raise BadInput("--threshold goes with --order threshold")
        if self.order == "threshold" and self.steps is not None:
            raise BadInput("--steps: --order threshold takes as many as it needs; leave one of them out")
        if self.remask and self.order not in (None, "random"):
            raise BadInput(f"--remask goes with --order random, not with --order {self.order}")
        if texts and self.prefix:
            raise BadInput(f"--prefix and a text with gaps: give one of them (a prefix followed by {BLANK} is a text)")
        if BLANK in self.prefix:
            raise BadInput(f"--prefix: has a {BLANK}; give the text without --prefix to have its gaps filled")

    @property
    def before(self) -> str | None:
        """The prefix where it says how a token can follow; behind a letter it may go on with the word, or not."""
        return self.prefix if not self.prefix or self.prefix[-1].isspace() else None

    @property
    def choice(self) -> TokenChoice:
        """How a token is drawn."""
        usual = REMASK_TOP_P if self.remask else 1.0
        return TokenChoice(self.temperature, usual if self.top_p is None else self.top_p)

    def plan(self, order: Order) -> RevealPlan:
        """How tokens are revealed, in this order if no other is asked for; masking again needs the random one."""
        order = "random" if self.remask else self.order or order
        return RevealPlan(order, self.steps, self.threshold or 0.9, self.remask, self.choice)

    def draws(self, sample: int) -> np.random.Generator:
        """The random numbers of a sample: of the seed and its number, whatever else is written beside it."""
        return np.random.default_rng([self.seed & ((1 << 64) - 1), sample])


@dataclass(frozen=True)
class Prompt:
    """What is given, and where something is to be written."""

    between: tuple[str, ...]  # the text before, between and after the runs that are written
    ids: Ids  # L, with masks
    runs: tuple[Integers, ...]  # positions of each run
    before: dict[int, str]  # position: the text right before it, where that says what can stand there
    open: bool  # whether nothing has to follow the last run


def write_masked(
    lm: LoadedModel, texts: Sequence[str], settings: WritingSettings, *, diffusion: bool, show: Show | None = None
) -> Iterator[list[Generated] | BadInput]:
    """For each text with gaps its samples, or what is wrong with it; without texts, those of the prefix or of nothing.

    The surest first is for models that were not trained by diffusion (mask-predict, Ghazvininejad et al. 2019).
    """
    plan = settings.plan("random" if diffusion else "confidence")
    for prompt in _prompts(lm, texts, settings):
        if isinstance(prompt, BadInput):
            yield prompt
            continue
        try:
            drafts = [_begin_draft(lm, prompt, settings, sample) for sample in range(settings.count)]
        except BadInput as error:
            yield error
            continue
        _write_together(lm, drafts, plan, None if show is None else partial(_show_drafts, lm, prompt, show))
        yield [_as_result(lm, prompt, draft, settings, n, diffusion) for n, draft in enumerate(drafts)]


def _prompts(lm: LoadedModel, texts: Sequence[str], settings: WritingSettings) -> list[Prompt | BadInput]:
    if not texts:
        return [_behind_prefix(lm, settings)]
    if settings.length is not None:
        raise BadInput(f"--length: each {BLANK} of a text is one token here; write as many as are missing")
    return [found if isinstance(found, BadInput) else _with_gaps(lm, found) for found in read_blanks(lm, texts)]


def _behind_prefix(lm: LoadedModel, settings: WritingSettings) -> Prompt:
    """The prefix and behind it as many masks as are asked for."""
    (row,) = encode_rows(lm, [settings.prefix.rstrip()])  # a space at the end belongs to the word that follows
    given = row.ids[:-1]
    length = settings.length or LENGTH
    room = None if lm.length is None else lm.length - len(given) - 1
    if room is not None and settings.length is None:
        length = min(length, max(1, room))
    check_room(length, len(given) - 1, room)
    masks = np.full(length, lm.vocabulary.mask, np.int32)
    ids = np.r_[given, masks, row.ids[-1:]].astype(np.int32)
    first = len(given)
    before = {} if settings.before is None else {first: settings.before}
    return Prompt((settings.prefix, ""), ids, (np.arange(first, first + length),), before, open=True)


def check_room(length: int, given: int, room: int | None) -> None:
    """Refuse to write more than a row has room for."""
    if room is None or length <= room:
        return
    prefix = f" behind a prefix of {given:,}" if given else ""
    remedy = f"give --length {room} or less" if room > 0 else "give a shorter prefix"
    raise BadInput(f"--length {length}: this model has room for {max(0, room):,} tokens{prefix}; {remedy}")


def _with_gaps(lm: LoadedModel, text: BlankText) -> Prompt | BadInput:
    """Blanks that touch are one run, written and spelt together."""
    if any(blank.word for blank in text.blanks):
        return BadInput(f"{WORD_BLANK}: here each {BLANK} is one token; write as many as are missing, or use fill")
    if lm.room is not None and len(text.ids) > lm.room:
        return BadInput(f"{len(text.ids):,} tokens, but this model takes {lm.room:,}: shorten the text")
    runs: list[list[int]] = []
    between = [text.between[0]]
    for number, blank in enumerate(text.blanks):
        position = blank.place + 1  # behind the opening token
        if blank.before is None:
            runs[-1].append(position)
            continue
        runs.append([position])
        between += [text.between[number]] if number else []
    between.append(text.between[-1])
    before = {blank.place + 1: blank.before for blank in text.blanks if blank.before is not None}
    ids = np.r_[lm.vocabulary.start, text.ids, lm.vocabulary.end].astype(np.int32)
    return Prompt(tuple(between), ids, tuple(map(np.array, runs)), before, open=not between[-1].strip())


def _begin_draft(lm: LoadedModel, prompt: Prompt, settings: WritingSettings, sample: int) -> Draft:
    """A row to be written, in blocks from left to right."""
    positions = np.concatenate(prompt.runs)
    count = settings.blocks or 1
    if count > len(positions):
        raise BadInput(f"--blocks {count}: there are only {len(positions)} tokens to write")
    if settings.steps is not None and settings.steps < count:
        raise BadInput(f"--steps {settings.steps}: at least one for each of the {count} blocks")
    blocks = np.array_split(positions, count)
    last = prompt.runs[-1] if prompt.open else np.zeros(0, np.int64)
    may_end = np.intersect1d(last, blocks[-1])
    allowed = partial(_tokens_allowed, lm, prompt, may_end, writable_tokens(lm))
    return Draft(prompt.ids.copy(), lm.vocabulary.mask, blocks, allowed, settings.draws(sample))


def _tokens_allowed(lm: LoadedModel, prompt: Prompt, may_end: Integers, writable: Flags, positions: Integers) -> Flags:
    """P×V: what may be written at each position."""
    flags = np.tile(writable, (len(positions), 1))
    for row, position in enumerate(positions.tolist()):
        if (before := prompt.before.get(position)) is not None:
            flags[row] = writable_tokens(lm, before)
    flags[np.isin(positions, may_end), lm.vocabulary.end] = True
    return flags


def _write_together(
    lm: LoadedModel, drafts: Sequence[Draft], plan: RevealPlan, show: Callable[[Sequence[Draft]], None] | None
) -> None:
    """Take the steps of all drafts at once: one pass of the model for each step."""
    writers = [write_draft(draft, plan) for draft in drafts]
    questions = {number: next(writer) for number, writer in enumerate(writers)}
    while questions:
        asked, following = list(questions), {}
        for place, answer in ask(lm, list(questions.values()), title=None):
            number = asked[place]
            try:
                following[number] = writers[number].send(answer.double().cpu().numpy())
            except StopIteration:
                continue
        questions = dict(sorted(following.items()))
        if show:
            show(drafts)


def _show_drafts(lm: LoadedModel, prompt: Prompt, show: Show, drafts: Sequence[Draft]) -> None:
    """The drafts as texts."""
    spell = speller(lm)

    def token(draft: Draft, position: int) -> str:
        return DOT if draft.hidden[position] else spell(int(draft.ids[position]))

    show([
        compose(prompt.between, ["".join(token(draft, place) for place in run.tolist()) for run in prompt.runs])[0]
        for draft in drafts
    ])  # fmt: skip


def _as_result(
    lm: LoadedModel, prompt: Prompt, draft: Draft, settings: WritingSettings, sample: int, diffusion: bool
) -> Generated:
    """What was written, up to the end if the model wrote one."""
    assert not draft.hidden.any()  # every token is revealed by the last step
    positions = np.concatenate(prompt.runs)
    ends = np.flatnonzero(draft.ids[positions] == lm.vocabulary.end)
    ended = int(ends[0]) if len(ends) else None
    kept = set(positions[:ended].tolist())
    runs = [[int(draft.ids[place]) for place in run.tolist() if place in kept] for run in prompt.runs]
    text, places = compose(prompt.between, [spell_run(lm, run) for run in runs])
    place_of = {position: place for place, position in enumerate(positions.tolist())}
    trace = [
        Revealed(
            step=event.step,
            place=place_of[event.position],
            token=None if event.token is None else vocabulary_spelling(lm, [event.token])[0],
            confidence=event.confidence,
        )
        for event in draft.events
    ]
    return Generated(
        text=text,
        places=places,
        tokens=vocabulary_spelling(lm, [token for run in runs for token in run]),
        ended=ended,
        steps=draft.passes,
        method="diffusion" if diffusion else "masked",
        seed=settings.seed,
        sample=sample,
        trace=tuple(trace) if settings.trace else (),
        note="" if diffusion else NOT_DIFFUSION,
    )
