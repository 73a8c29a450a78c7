"""Finding entities as a job: a pretrained encoder, texts whose entities are marked, and a head that tags words.

In: a model directory and tagged texts. Out: a run directory whose `model/` transformers loads, calibrated on what was
held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from transformers import MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING, AutoModelForTokenClassification, PreTrainedConfig

from unmask.errors import BadInput
from unmask.models.locate import TASK, model_directory
from unmask.objectives.tagging import Tagging
from unmask.progress import say
from unmask.results import FigureTitle
from unmask.tasks.order import ExampleOrder
from unmask.tasks.request import TuneRequest
from unmask.tasks.settings import TuneSettings
from unmask.tasks.splitting import every_tenth, parted
from unmask.tasks.start import HeadKind, start_config
from unmask.tasks.tag.batches import TaggedBatches
from unmask.tasks.tag.decoding import TagDecoder
from unmask.tasks.tag.export import export_tagger
from unmask.tasks.tag.tagged import TaggedExamples, check_known_labels, check_taggable, read_tagged
from unmask.tasks.tag.tagger import TagCard, tagged_labels
from unmask.tasks.tag.validation import F1, LOSS, TaggedValidation
from unmask.tasks.tag.words import count_misaligned, read_examples, targets_for
from unmask.tasks.tuning import Tuning

USES = (
    "unmask predict RUN EXAMPLE",
    "from transformers import pipeline\n\n"
    "pipeline('token-classification', model=MODEL, aggregation_strategy='first')(EXAMPLE)",
)
TEXT_FIELD = "text"  # of the JSON lines that a model is asked about, where it learnt from columns


@dataclass(frozen=True)
class TagTuning(Tuning):
    """Tagged texts and the model that learns them: what the settings say, read once."""

    start: Path
    train: TaggedExamples
    dev: TaggedExamples
    settings: TuneSettings
    given_dev: bool = True  # else it is a part of the examples
    fold: str | None = None  # which part of the examples it leaves out to be judged by, if one of several
    known: tuple[str, ...] = ()  # the labels, where these examples may lack some

    task = "tag"
    head = HeadKind(AutoModelForTokenClassification, MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING, "tagger")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The kinds of entities."""
        return self.known or self.train.labels

    @cached_property
    def decoder(self) -> TagDecoder:
        """The tags of these labels."""
        return TagDecoder(self.labels)

    @property
    def same_labels(self) -> bool:
        """Whether the model it starts from knows these very labels."""
        return tagged_labels(self.start) == self.labels

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come."""
        config = start_config(self.start, self.head)
        tags = self.decoder.tags
        config.num_labels = len(tags)
        config.id2label = dict(enumerate(tags))
        config.label2id = {tag: number for number, tag in enumerate(tags)}
        config.problem_type = None
        return config

    @cached_property
    def batches(self) -> TaggedBatches:
        """The examples of every epoch."""
        words = read_examples(self.reader, self.train)
        targets = targets_for(words, self.train.examples, self.labels)
        order = ExampleOrder(work=words.rows.work, batch_size=self.settings.batch_size, seed=self.settings.seed)
        return TaggedBatches(words=words, targets=targets, order=order)

    @property
    def objective(self) -> Tagging:
        """What is learnt."""
        return Tagging()

    @cached_property
    def held_out(self) -> TaggedValidation:
        """What is measured on."""
        words = read_examples(self.reader, self.dev)
        targets = targets_for(words, self.dev.examples, self.labels)
        return TaggedValidation(words, targets, self.dev.examples, self.decoder)

    @property
    def figures(self) -> tuple[FigureTitle, ...]:
        """The F1 of entities first."""
        return (F1, LOSS)

    @property
    def card(self) -> TagCard:
        """What asking the model takes, before it is calibrated."""
        is_columns = self.train.scheme is not None and self.train.fields.text.isdecimal()
        return TagCard(
            task=self.task,
            labels=self.labels,
            text_field=TEXT_FIELD if is_columns else self.train.fields.text,
            pair_field=None,
            length=self.reader.length,
        )

    def exporter(self) -> Callable[..., None]:
        """Writes the model, calibrated on what is held out."""
        held_out, tokenizer = self.held_out, self.reader.tokenizer
        return partial(export_tagger, card=self.card, held_out=held_out, tokenizer=tokenizer, start=self.start)

    def hold_out(self, examples: TaggedExamples) -> tuple[TaggedExamples, TaggedExamples]:
        """Every tenth text, or group of them."""
        return hold_out_texts(examples)

    def on_fold(self, train: TaggedExamples, dev: TaggedExamples, fold: str) -> Tuning:
        """The same tuning on other texts, which may lack a label."""
        return replace(self, train=train, dev=dev, fold=fold, known=self.labels)

    @property
    def recorded(self) -> dict[str, Any]:
        """Fields, labels and digests of the examples."""
        return {
            "fields": {**self.train.fields._asdict(), "pair": None},
            "labels": list(self.labels),
            **self.digests,
            "fold": self.fold,
        }

    @property
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""
        return {
            "task": "entities in texts",
            "labels": f"{len(self.labels):,}",
            "model": f"{self.start}, {self.settings.start}",
            "data": f"{self.train.path}: {len(self.train):,} texts, {len(self.dev):,} held out",
        }

    @property
    def uses(self) -> tuple[str, ...]:
        """Ways to ask it."""
        return USES

    @property
    def example(self) -> str:
        """A short text to try the model on, with an entity in it if there is one."""
        texts = [each for each in self.dev.examples if each.spans] or self.dev.examples
        return min((each.text for each in texts), key=lambda text: abs(len(text) - 60))

    def say_what_is_learnt(self) -> None:
        """Which scheme, how many entities, what was repaired or left out, how much is held out."""
        train, dev = self.train, self.dev
        count = f"{len(train):,} texts to learn from, with {train.entities:,} entities of {len(self.labels):,} kinds"
        say(f"{train.path}: {_written_as(train)}; {count}")
        for examples in (train, dev) if self.given_dev else (train,):
            if examples is dev:
                say(f"{dev.path}: {_written_as(dev)}; {len(dev):,} texts with {dev.entities:,} entities")
            for line in _flaws(examples):
                say(f"[yellow]{examples.path}: {line}[/]")
        if not self.given_dev:
            way = f"whole groups of {train.fields.group!r}" if train.fields.group else "every tenth"
            say(f"no --dev: {len(dev):,} of the texts are held out, {way}")
        words = self.batches.words
        if misaligned := count_misaligned(words, train.examples):
            say(f"[yellow]{train.path}: {misaligned:,} entities begin or end within a word: learnt as whole words[/]")
        if long := int((words.rows.windows > 1).sum()):
            say(f"texts longer than {self.reader.length:,} tokens: {long:,}, read in windows, none is cut")
        if (self.start / TASK).is_file():
            head = "goes on" if self.same_labels else "is drawn anew for other labels"
            say(f"{self.start} is tuned already: its head {head}")


def _written_as(examples: TaggedExamples) -> str:
    """How a file marks entities."""
    fields = examples.fields
    if examples.scheme is None:
        return f"text {fields.text!r}, spans {fields.label!r}"
    kind = "column" if fields.text.isdecimal() else "field"
    words = fields.text if kind == "column" else repr(fields.text)
    tags = fields.label if kind == "column" else repr(fields.label)
    return f"words in {kind} {words}, tags in {kind} {tags} ({examples.scheme.name})"


def _flaws(examples: TaggedExamples) -> list[str]:
    """What was repaired, and what was left out."""
    lines = []
    if examples.scheme is not None and examples.scheme.repaired:
        name, count = examples.scheme.name, examples.scheme.repaired
        lines.append(f"{count:,} entities are not as {name} has them; they are read as conlleval reads them")
    if examples.empty:
        lines.append(f"{examples.empty:,} texts without a word are left out")
    return lines


def open_tagging(request: TuneRequest) -> tuple[TagTuning, TaggedExamples | None]:
    """What a request asks to be learnt, and the test texts if there are some."""
    if request.settings.sets is not None:
        raise BadInput("--sets: sets are of the labels of texts, and tag has none; leave it out")
    train = read_tagged(request.places["train"], **request.fields)
    check_taggable(train)
    others = {}
    for name in ("dev", "test"):
        if name in request.places:
            others[name] = read_tagged(request.places[name], **_fields_of(request.places[name], train, request))
            check_known_labels(others[name], train.labels)
    return tagging_of(request.places["model"], request.settings, train, others.get("dev")), others.get("test")


def _fields_of(path: Path, train: TaggedExamples, request: TuneRequest) -> dict[str, str | None]:
    """The fields that are asked for of a file of the same kind as train; of another kind its names tell."""
    same_kind = path.suffixes == train.path.suffixes
    return {**request.fields, "group": None} if same_kind else {}


def tagging_of(path: Path, settings: TuneSettings, train: TaggedExamples, dev: TaggedExamples | None) -> TagTuning:
    """What is to be learnt, with a part of the texts held out where no others are given."""
    start = model_directory(path)
    if dev is not None:
        return TagTuning(start, train, dev, settings)
    learnt, held_out = hold_out_texts(train)
    return TagTuning(start, learnt, held_out, settings, given_dev=False)


def hold_out_texts(train: TaggedExamples) -> tuple[TaggedExamples, TaggedExamples]:
    """The texts to learn from, and every tenth, held out; what has all examples of a label stays to learn from."""
    groups = [place if each.group is None else each.group for place, each in enumerate(train.examples)]
    chosen = every_tenth(groups, [{span.label for span in each.spans} for each in train.examples])
    if not chosen:
        kept = "texts" if all(each.group is None for each in train.examples) else "groups"
        raise BadInput(f"{train.path}: too few {kept} to hold some out; give --dev")
    learnt, held_out = parted(train, chosen)
    return learnt, held_out
