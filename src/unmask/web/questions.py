"""What may be asked over HTTP, and what is answered: the shapes that OpenAPI describes.

In: JSON. Out: questions whose every field is checked; the answers are the results of the verbs, under the same names
and with the same digits as `--json` prints them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from unmask.results import (
    Embedded,
    ExplainedLabel,
    Filled,
    Generated,
    Hit,
    NearContexts,
    Prediction,
    Rolled,
    Scored,
    Shown,
)

MOST_TEXTS = 64
MOST_WRITTEN = 256  # tokens
LONGEST = 100_000  # characters of a text; tokens are counted besides

Id = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,60}$", description="what GET /api/places calls it")]
Text = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[str, Field(max_length=200)]
Seed = Annotated[int, Field(ge=0, lt=1 << 53)]
OnLong = Literal["windows", "error", "cut"]


class PlaceQuestion(BaseModel):
    """What every question has."""

    model_config = ConfigDict(extra="forbid")

    model: Id


class FillQuestion(PlaceQuestion):
    """Fill the blanks of texts: [MASK], or [MASK:word] for a word of one or several tokens."""

    texts: Texts
    top: Annotated[int, Field(ge=1, le=50)] = 5
    targets: Annotated[list[Word], Field(max_length=100)] = []
    pieces: Annotated[str, Field(pattern=r"^[1-9](-[1-9])?$")] = "1-4"
    explain: bool = False
    on_long: OnLong = "windows"


class MomentsQuestion(PlaceQuestion):
    """Fill the blanks of a text by a run's model at each moment that the run has kept."""

    text: Text
    top: Annotated[int, Field(ge=1, le=20)] = 5


class ContextsQuestion(PlaceQuestion):
    """Where a corpus uses words as this text uses one of its words."""

    corpus: Id
    before: Annotated[str, Field(max_length=LONGEST)] = ""
    word: Word
    after: Annotated[str, Field(max_length=LONGEST)] = ""
    top: Annotated[int, Field(ge=1, le=50)] = 8


class ScoreQuestion(PlaceQuestion):
    """Say how likely texts are."""

    texts: Texts
    prefix: Annotated[str, Field(max_length=10_000)] = ""
    suffix: Annotated[str, Field(max_length=10_000)] = ""
    tokens: bool = False
    stride: Annotated[int, Field(ge=1, le=64)] | None = None
    draws: Annotated[int, Field(ge=1, le=128)] = 64
    on_long: OnLong = "windows"


class EmbedQuestion(PlaceQuestion):
    """Turn texts into vectors."""

    texts: Texts
    pooling: Annotated[str, Field(pattern=r"^(mean|first|last[1-9][0-9]?)$")] | None = None
    normalise: bool = False
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = None
    on_long: OnLong = "windows"


class PredictQuestion(PlaceQuestion):
    """Ask a tuned model about texts, or about pairs of them."""

    texts: Texts
    pairs: Texts | None = None


class ExplainQuestion(PlaceQuestion):
    """Ask a classifier which words of a text mattered for its label."""

    text: Text
    pair: Text | None = None
    label: Word | None = None
    changes: Annotated[int, Field(ge=0, le=5)] = 0


class SearchQuestion(BaseModel):
    """Find passages of an index."""

    model_config = ConfigDict(extra="forbid")

    index: Id
    queries: Texts
    by: Literal["bm25", "dense", "sparse", "fused"] | None = None
    top: Annotated[int, Field(ge=1, le=100)] = 10
    exact: bool = False


class HidingQuestion(PlaceQuestion):
    """What hiding needs; phrases are what entity, phrase and collocation hide whole."""

    text: Text
    phrases: Annotated[list[Word], Field(max_length=1_000)] = []
    phrases_of: Annotated[Id | None, Field(description="a data directory whose lists are taken")] = None


class ShowQuestion(HidingQuestion):
    """Show a text as a model will see it under a policy, or under all."""

    policy: Line = "token"
    all: bool = False
    rate: Line | None = None
    seed: Seed = 0
    epoch: Annotated[int, Field(ge=0, lt=1 << 31)] = 0


class RollQuestion(HidingQuestion):
    """Hide in a text many times over, and count what is hidden how often."""

    policy: Line = "token"
    rate: Line | None = None
    seed: Seed = 0
    rolls: Annotated[int, Field(ge=1, le=1_000)] = 200


class GrowQuestion(PlaceQuestion):
    """Have a model write, and tell in which order."""

    text: Annotated[str, Field(max_length=LONGEST, description="with gaps, or empty")] = ""
    prefix: Annotated[str, Field(max_length=10_000)] = ""
    length: Annotated[int, Field(ge=1, le=MOST_WRITTEN)] | None = None
    steps: Annotated[int, Field(ge=1, le=MOST_WRITTEN)] | None = None
    temperature: Annotated[float, Field(ge=0, le=10)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    order: Literal["random", "confidence"] | None = None
    remask: bool = False
    seed: Seed = 0


class TextProblem(BaseModel):
    """What is wrong with a text, in the place of its answer."""

    error: str


class Refusal(BaseModel):
    """Why something is not answered, in one line."""

    error: str


class FillAnswers(BaseModel):
    """For each text its blanks filled."""

    answers: list[Filled | TextProblem]


class MomentFill(BaseModel):
    """What a model filled in after so many steps."""

    step: int
    names: list[str]  # what is special about the moment
    filled: Filled | TextProblem


class MomentAnswers(BaseModel):
    """For each moment that a run has kept, oldest first, the text filled."""

    answers: list[MomentFill]


class ContextsAnswers(BaseModel):
    """The nearest contexts."""

    answers: list[NearContexts]


class ScoreAnswers(BaseModel):
    """For each text how likely it is."""

    answers: list[Scored | TextProblem]


class EmbedAnswers(BaseModel):
    """For each text its vector."""

    answers: list[Embedded | TextProblem]


class PredictAnswers(BaseModel):
    """For each text what the tuned model says."""

    answers: list[Prediction | TextProblem]


class ExplainAnswers(BaseModel):
    """Which words mattered."""

    answers: list[ExplainedLabel | TextProblem]


class FoundPassages(BaseModel):
    """The best passages for a query."""

    query: str
    index: Id
    by: str
    tuned: bool
    hits: list[Hit]
    reranked: None = None  # by no other model here


class SearchAnswers(BaseModel):
    """For each query its passages."""

    answers: list[FoundPassages]


class ShowAnswers(BaseModel):
    """The text under each policy that was asked for."""

    answers: list[Shown]


class RollAnswers(BaseModel):
    """What was hidden how often."""

    answers: list[Rolled]


class GrowAnswers(BaseModel):
    """What was written."""

    answers: list[Generated | TextProblem]


class ServedPlace(BaseModel):
    """Something that is served."""

    id: str
    name: str
    abilities: list[str]
    state: Literal["there", "vanished"]
    phrases: bool = False  # of a data directory: whether it has lists of what is hidden whole
    fills: bool = False  # whether it is a run whose checkpoints fill blanks
    moments: int = 0  # how many of those it has kept
    task: str | None = None  # of a tuned model
    pair: bool = False  # whether it takes pairs of texts
    explains: bool = False  # whether it can be told which words mattered for its labels
    encoder: str | None = None  # of an index: the id of its model, where that is served
    head: str | None = None  # of an index: dense or sparse


class PlaceList(BaseModel):
    """Everything that is served."""

    places: list[ServedPlace]


class PolicyFacts(BaseModel):
    """A policy that hides."""

    name: str
    paper: str
    rate: float
    needs_phrases: bool


class PolicyList(BaseModel):
    """Every policy."""

    policies: list[PolicyFacts]


class QueueState(BaseModel):
    """How much there is to do."""

    unfinished: int
    capacity: int


class Health(BaseModel):
    """That it lives, and what it lets through."""

    status: Literal["ok", "busy"]
    version: str
    places: int
    queue: QueueState
    limits: dict[str, float]
