"""Similarity as a job: a pretrained encoder, scored pairs, and vectors whose cosines follow the scores.

In: a model directory and scored pairs. Out: a run directory whose `model/` sentence-transformers loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.models.locate import model_directory
from unmask.objectives.objective import AnyObjective
from unmask.objectives.similarity import CoSENT, CosineRegression
from unmask.progress import say
from unmask.results import FigureTitle
from unmask.tasks.order import ExampleOrder
from unmask.tasks.request import TuneRequest
from unmask.tasks.sentence_tuning import SentenceTuning, export_sentence_model
from unmask.tasks.settings import TuneSettings
from unmask.tasks.similarity.batches import ScoredBatches
from unmask.tasks.similarity.pair_scorer import SimilarityCard, fitted_line
from unmask.tasks.similarity.scored import ScoredPairs, check_scores, hold_out_pairs, read_scored
from unmask.tasks.similarity.validation import PEARSON, SPEARMAN, ScoredValidation
from unmask.tasks.tuning import FLAGS
from unmask.training.job import FinishedRun

LOSSES = ("cosent", "cosine")
USES = (
    "unmask predict RUN PAIRS.jsonl",
    "unmask embed RUN EXAMPLE",
    "from sentence_transformers import SentenceTransformer\n\nSentenceTransformer(MODEL).encode([EXAMPLE])",
)


@dataclass(frozen=True)
class Comparing(SentenceTuning):
    """Scored pairs and the model that learns them: what the settings say, read once."""

    start: Path
    train: ScoredPairs
    dev: ScoredPairs
    settings: TuneSettings
    loss: str = "cosent"
    given_dev: bool = True  # else it is a part of the pairs
    fold: str | None = None  # which part of the examples it leaves out to be judged by, if one of several

    task = "similarity"
    flags: ClassVar[Mapping[str, str]] = {**FLAGS, "options.loss": "--loss", "train": "the scored pairs"}

    @cached_property
    def batches(self) -> ScoredBatches:
        """The pairs of every epoch."""
        rows = self.reader.read_sentences(self.train.texts)
        work = rows.work[: len(self.train)] + rows.work[len(self.train) :]
        order = ExampleOrder(work=work, batch_size=self.settings.batch_size, seed=self.settings.seed)
        return ScoredBatches(rows=rows, scores=self.train.scores, order=order)

    def texts_of(self, examples: ScoredPairs) -> list[str]:
        """Both texts of each pair, by which leaks are found."""
        return [f"{each.text}\n{each.pair}" for each in examples.examples]

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score that is learnt from."""
        return float(self.train.scores.min()), float(self.train.scores.max())

    @cached_property
    def objective(self) -> AnyObjective:
        """What is learnt."""
        return CoSENT() if self.loss == "cosent" else CosineRegression(*self.range)

    @cached_property
    def held_out(self) -> ScoredValidation:
        """What is measured on."""
        return ScoredValidation(self.reader, self.dev, self.reader.read_sentences(self.dev.texts))

    @property
    def card(self) -> SimilarityCard:
        """What asking the model takes, before cosines are given a meaning."""
        low, high = self.range
        fields = self.train.fields
        length = self.reader.length
        return SimilarityCard(
            task=self.task, low=low, high=high, text_field=fields.text, pair_field=fields.pair, length=length
        )

    def exporter(self) -> Callable[..., None]:
        """Writes the model, with the line from cosines to scores through what is held out."""
        held_out, tokenizer = self.held_out, self.reader.tokenizer
        return partial(export_pair_scorer, card=self.card, held_out=held_out, tokenizer=tokenizer, start=self.start)

    def hold_out(self, examples: ScoredPairs) -> tuple[ScoredPairs, ScoredPairs]:
        """Every tenth pair, or group of them."""
        return hold_out_pairs(examples, self.settings.seed)

    @property
    def recorded(self) -> dict[str, Any]:
        """Fields, the loss, and digests of the pairs."""
        return {
            "fields": self.train.fields._asdict(),
            "options": {"loss": self.loss},
            **self.digests,
            "fold": self.fold,
        }

    @property
    def figures(self) -> tuple[FigureTitle, ...]:
        """Spearman's correlation first: it asks for the order alone."""
        return SPEARMAN, PEARSON

    @property
    def uses(self) -> tuple[str, ...]:
        """Of a pair there is no example that fits a line."""
        return USES

    @property
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""
        return {
            "task": "how alike two texts are",
            "scores": "{:g} to {:g}".format(*self.range),
            "model": f"{self.start}, {self.settings.start}",
            "data": f"{self.train.path}: {len(self.train):,} pairs, {len(self.dev):,} held out",
        }

    @property
    def example(self) -> str:
        """A short text to try the model on."""
        return min((pair.text for pair in self.dev.examples), key=lambda text: abs(len(text) - 40))

    def say_what_is_learnt(self) -> None:
        """Which fields, the range of scores, what was left out, how much is held out."""
        train, dev, fields = self.train, self.dev, self.train.fields
        low, high = self.range
        texts = f"text {fields.text!r} with {fields.pair!r}, score {fields.label!r} from {low:g} to {high:g}"
        say(f"{train.path}: {texts}; {len(train):,} pairs to learn from")
        for pairs in (train, dev) if self.given_dev else (train,):
            if pairs.empty:
                say(f"[yellow]{pairs.path}: {pairs.empty:,} lines without text are left out[/]")
        if not self.given_dev:
            way = f", whole groups of {fields.group!r}" if fields.group else ""
            say(f"no --dev: {len(dev):,} of the pairs are held out, every tenth{way}")
        long = int((self.batches.rows.windows > 1).sum())
        if long:
            say(f"texts longer than {self.reader.length:,} tokens: {long:,}, read in windows, none is cut")


def open_comparing(request: TuneRequest) -> tuple[Comparing, ScoredPairs | None]:
    """What a request asks to be learnt, and the test pairs if there are some."""
    loss = request.options.get("loss") or "cosent"
    if loss not in LOSSES:
        raise BadInput(f"--loss {loss}: choose {' or '.join(LOSSES)}")
    if request.settings.sets is not None:
        raise BadInput("--sets: sets are of the labels of texts, and similarity has none; leave it out")
    train = read_scored(request.places["train"], None, **request.fields)
    check_scores(train)
    others = {
        name: read_scored(request.places[name], train.fields) for name in ("dev", "test") if name in request.places
    }
    for pairs in others.values():
        check_scores(pairs, fewest=2)
    comparing = comparing_of(request.places["model"], request.settings, train, others.get("dev"))
    return replace(comparing, loss=loss), others.get("test")


def comparing_of(path: Path, settings: TuneSettings, train: ScoredPairs, dev: ScoredPairs | None) -> Comparing:
    """What is to be learnt, with a part of the pairs held out where no others are given."""
    start = model_directory(path)
    if dev is not None:
        return Comparing(start, train, dev, settings)
    learnt, held_out = hold_out_pairs(train, settings.seed)
    if len(set(held_out.scores.tolist())) < 2 or len(set(learnt.scores.tolist())) < 2:
        raise BadInput(f"{train.path}: too few pairs to hold some out; give --dev")
    return Comparing(start, learnt, held_out, settings, given_dev=False)


def export_pair_scorer(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: SimilarityCard,
    held_out: ScoredValidation,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
) -> None:
    """Write the model with the line from cosines to scores that fits the held-out pairs."""
    assert isinstance(learner, PreTrainedModel)
    slope, intercept = fitted_line(held_out.cosines(learner), held_out.pairs.scores)
    card = replace(card, slope=slope, intercept=intercept)
    readme = pair_scorer_readme(card, start, finished_run)
    export_sentence_model(learner, finished_run.path / "model", card=card, tokenizer=tokenizer, readme=readme)


def pair_scorer_readme(card: SimilarityCard, start: Path, finished_run: FinishedRun) -> str:
    """What the model was made of, and how well it does on what was held out."""
    description, figures = finished_run.description, finished_run.figures
    return f"""---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [unmask, sentence-transformers, sentence-similarity]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to tell how alike texts are

Tuned by unmask {description["unmask"]} on pairs with scores from {card.low:g} to {card.high:g}.

| | |
|---|---|
| parameters | {finished_run.parameters:,} |
| steps | {finished_run.steps:,}, exported as of step {finished_run.step:,} |
| seed | {description["seed"]} |
| loss | {description["options"]["loss"]} |
| held-out rank correlation (Spearman) | {figures["spearman"]:.3f} |
| held-out correlation (Pearson) | {figures["pearson"]:.3f} |

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(".")
one, other = model.encode(["A man sleeps.", "Someone is asleep."])
print(one @ other)
```

sentence-transformers reads at most {card.length} tokens of a text; `unmask predict`, `unmask embed` and `unmask index`
read longer texts in windows. On held-out pairs a cosine c stood for a score of \
{card.intercept:.3f} + {card.slope:.3f} · c.
"""
