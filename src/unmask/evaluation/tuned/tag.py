"""How well a tagger finds the entities of test texts, beside what a list of names comes to, with intervals.

In: a tuning that is finished, and test texts. Out: `JudgedTags`: figures, a table of the kinds of entities and the
surest errors. An entity is right where it begins, ends and is called as in the file:

    F1              of the entities that `predict` gives: of the likeliest well-formed tags
    strict          of each word's likeliest tag alone: an entity without a beginning is none (seqeval's strict mode)
    conlleval       the same, but what no entity goes on before begins one: what papers report

The gazetteer says of every stretch of words that is an entity in train what it most often is there, the longest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.evaluation.intervals import resampled_figure
from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.leaks import Leaks
from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.results import Figure, JudgedEntities, JudgedTagBaseline, JudgedTags, TagError
from unmask.tasks.tag.learning import TagTuning
from unmask.tasks.tag.schemes import WordSpan, lenient_spans, strict_spans
from unmask.tasks.tag.tagged import LabelledSpan, TaggedExamples, TaggedText
from unmask.tasks.tag.tagger import TaggedWords, Tagger
from unmask.tasks.tag.validation import in_characters
from unmask.tasks.tag.words import WordRows, count_misaligned, read_examples
from unmask.tasks.tune import TunedRun

ERRORS = 20  # the surest of them
CHUNK = 512  # texts that are asked about together

SpansOfTexts = Sequence[Sequence[LabelledSpan]]


def judge_tagger(tuned: TunedRun, tagger: Tagger, leaks: Leaks) -> JudgedTags:
    """Figures on the test texts of a tuning, beside the gazetteer's, and what leaked."""
    learnt: TagTuning = tuned.learnt
    asked = AskedTexts(tagger, tuned.test)
    counts = span_counts(asked.spans, asked.gold)
    write_answers(
        tuned.run.path,
        {
            "line": [each.line for each in asked.examples],
            "true": [named_spans(each.text, each.spans) for each in asked.examples],
            "said": [named_spans(each.text, said) for each, said in zip(asked.examples, asked.spans, strict=True)],
            "score": text_scores(counts).tolist(),
            "leaked": leaks.leaked.tolist(),
        },
    )
    return judge_tags(asked, learnt.train, tuned.test, leaks)


def tag_headline(tuned: TunedRun, tagger: Tagger) -> float:
    """The F1 of entities on test texts."""
    asked = AskedTexts(tagger, tuned.test)
    right, said, true = span_counts(asked.spans, asked.gold).sum(0).tolist()
    return float(2 * right / max(1.0, said + true))


def text_scores(counts: Reals) -> Reals:
    """N: the F1 of each text for itself; 1 where there is nothing and nothing is said."""
    total = counts[:, 1] + counts[:, 2]
    scores: Reals = np.where(total > 0, 2 * counts[:, 0] / np.maximum(total, 1), 1.0)
    return scores


def judge_tags(asked: AskedTexts, train: TaggedExamples, test: TaggedExamples, leaks: Leaks) -> JudgedTags:
    """Figures of what a tagger says of test texts, and those of the gazetteer on the same."""
    examples, gold, tagger = asked.examples, asked.gold, asked.tagger
    clusters, clean = text_clusters(examples), ~leaks.leaked
    listed = Gazetteer.of(read_examples(tagger.reader, train), train.examples).find_all(asked.words, examples)
    known = {each.text[span.start : span.end] for each in train.examples for span in each.spans}
    new = [[s for s in each.spans if each.text[s.start : s.end] not in known] for each in examples]
    counts = span_counts(asked.spans, gold)
    return JudgedTags(
        data=test.path,
        examples=len(examples),
        empty=test.empty,
        entities=test.entities,
        misaligned=count_misaligned(asked.words, examples),
        leaked=leaks.count,
        clean_f1=None if clean.all() else f1_figure(counts[clean], clusters[clean]),
        precision=_part(counts[:, 0], counts[:, 1]),
        recall=_part(counts[:, 0], counts[:, 2]),
        f1=f1_figure(counts, clusters),
        strict_f1=f1_figure(span_counts(asked.by_tags(strict_spans), gold), clusters),
        conlleval_f1=f1_figure(span_counts(asked.by_tags(lenient_spans), gold), clusters),
        unseen=sum(map(len, new)),
        unseen_recall=_part(*span_counts(asked.spans, new)[:, (0, 2)].T),
        baselines=(_judged_baseline("gazetteer", span_counts(listed, gold), clusters),),
        labels=tuple(judge_kinds(tagger.card.labels, asked.spans, gold)),
        errors=tuple(surest_tag_errors(asked, examples)),
    )


class AskedTexts:
    """Test texts and what the model says of them, by the function that `predict` is."""

    def __init__(self, tagger: Tagger, test: TaggedExamples) -> None:
        self.tagger, self.examples = tagger, test.examples
        self.gold = [each.spans for each in test.examples]
        self.words = read_examples(tagger.reader, test)
        self.answers: list[TaggedWords] = []
        with task("Judging on the test texts", total=len(test)) as step:
            for begin in range(0, len(test), CHUNK):
                chunk = test.examples[begin : begin + CHUNK]
                self.answers += tagger.tag(tagger.read([each.text for each in chunk], [each.words for each in chunk]))
                step(len(chunk))

    @cached_property
    def spans(self) -> list[list[LabelledSpan]]:
        """The entities of each text."""
        return [answer.spans for answer in self.answers]

    def by_tags(self, read: Callable[[Sequence[str]], list[WordSpan]]) -> list[list[LabelledSpan]]:
        """The entities of each text, from the likeliest tag of each word alone."""
        names = self.tagger.decoder.tags
        tags = [[names[number] for number in answer.probabilities.argmax(1)] for answer in self.answers]
        return [in_characters(self.words, number, read(each)) for number, each in enumerate(tags)]

    def sureness(self, number: int, span: LabelledSpan) -> float:
        """How likely the model finds an entity of the file; 0 of one that no words are."""
        here = self.words.words_of(number)
        judged = self.words.judged[here]
        begins, ends = (side[here][judged].tolist() for side in (self.words.begins, self.words.ends))
        if span.start not in begins or span.end not in ends:
            return 0.0
        there = WordSpan(begins.index(span.start), ends.index(span.end) + 1, span.label)
        return self.tagger.decoder.sureness(self.answers[number].probabilities, [there])[0]


def text_clusters(examples: Sequence[TaggedText]) -> Integers:
    """N: what was sampled as one: each text for itself, or all of a group."""
    names = [f"{each.line}" if each.group is None else f"group {each.group}" for each in examples]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def span_counts(said: SpansOfTexts, true: SpansOfTexts) -> Reals:
    """N 3: of each text how many entities are right, how many are said and how many there are."""
    rows = [(len({*one} & {*other}), len({*one}), len({*other})) for one, other in zip(said, true, strict=True)]
    return np.array(rows, np.float64).reshape(-1, 3)


def f1_figure(counts: Reals, clusters: Integers) -> Figure:
    """The F1 over all texts, with an interval from samples of the texts, or of their groups."""

    def f1(sums: Reals) -> Reals:
        scores: Reals = 2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1)
        return scores

    return resampled_figure(counts, clusters, f1)


def _part(right: Reals, total: Reals) -> float:
    return float(right.sum()) / max(1.0, float(total.sum()))


def _judged_baseline(name: str, counts: Reals, clusters: Integers) -> JudgedTagBaseline:
    return JudgedTagBaseline(
        name=name,
        precision=_part(counts[:, 0], counts[:, 1]),
        recall=_part(counts[:, 0], counts[:, 2]),
        f1=f1_figure(counts, clusters),
    )


def judge_kinds(labels: Sequence[str], said: SpansOfTexts, true: SpansOfTexts) -> list[JudgedEntities]:
    """Precision, recall and F1 of each kind of entity."""
    rows = []
    for label in labels:
        parts = ([[span for span in spans if span.label == label] for spans in each] for each in (said, true))
        right, found, there = span_counts(*parts).sum(0).tolist()
        rows.append(
            JudgedEntities(
                label=label,
                entities=int(there),
                precision=right / max(1, found),
                recall=right / max(1, there),
                f1=2 * right / max(1, found + there),
            )
        )
    return rows


def surest_tag_errors(asked: AskedTexts, examples: Sequence[TaggedText]) -> list[TagError]:
    """The twenty entities that it was surest of and wrong about, said or missed: some will be errors of the file."""
    errors = []
    for number, (example, answer) in enumerate(zip(examples, asked.answers, strict=True)):
        gold = {*example.spans}
        sure = dict(zip(answer.spans, answer.sureness, strict=True))
        wrong = [span for span in answer.spans if span not in gold]
        missed = [span for span in example.spans if not overlapping(span, answer.spans)]
        errors += [_tag_error(example, [span], overlapping(span, example.spans), sure[span]) for span in wrong]
        errors += [_tag_error(example, [], [span], 1 - asked.sureness(number, span)) for span in missed]
    return sorted(errors, key=lambda error: -error.probability)[:ERRORS]


def overlapping(span: LabelledSpan, others: Sequence[LabelledSpan]) -> list[LabelledSpan]:
    """Those of some spans that have a character of another."""
    return [other for other in others if other.start < span.end and span.start < other.end]


def _tag_error(
    example: TaggedText, said: Sequence[LabelledSpan], true: Sequence[LabelledSpan], share: float
) -> TagError:
    names = {side: named_spans(example.text, spans) for side, spans in (("said", said), ("true", true))}
    return TagError(line=example.line, text=example.text, probability=share, **names)


def named_spans(text: str, spans: Sequence[LabelledSpan]) -> tuple[str, ...]:
    """Entities as people read them."""
    return tuple(f"{span.label}: {text[span.start : span.end]}" for span in spans)


@dataclass(frozen=True)
class Gazetteer:
    """Names and what they most often are."""

    labels: dict[tuple[str, ...], str]  # by the words of a name
    longest: int  # of them, in words

    @classmethod
    def of(cls, words: WordRows, examples: Sequence[TaggedText]) -> Gazetteer:
        """Every entity of some texts, called what it most often is there."""
        counts: dict[tuple[str, ...], Counter[str]] = {}
        for number, example in enumerate(examples):
            begins, ends, names = _judged_words(words, number, example.text)
            for span in example.spans:
                first, last = np.searchsorted(ends, span.start, side="right"), np.searchsorted(begins, span.end)
                counts.setdefault(tuple(names[first:last]), Counter())[span.label] += 1
        labels = {name: min(each, key=lambda label: (-each[label], label)) for name, each in counts.items() if name}
        return cls(labels, max(map(len, labels), default=0))

    def find_all(self, words: WordRows, examples: Sequence[TaggedText]) -> list[list[LabelledSpan]]:
        """The names in texts, the longest at each place, from left to right."""
        found = []
        for number, example in enumerate(examples):
            *_, names = _judged_words(words, number, example.text)
            spans, place = [], 0
            while place < len(names):
                sizes = range(min(self.longest, len(names) - place), 0, -1)
                size = next((size for size in sizes if tuple(names[place : place + size]) in self.labels), 0)
                if size:
                    spans.append(WordSpan(place, place + size, self.labels[tuple(names[place : place + size])]))
                place += size or 1
            found.append(in_characters(words, number, spans))
        return found


def _judged_words(words: WordRows, number: int, text: str) -> tuple[Integers, Integers, list[str]]:
    """Where the judged words of a text begin and end, and the words."""
    here = words.words_of(number)
    judged = words.judged[here]
    begins, ends = words.begins[here][judged], words.ends[here][judged]
    return begins, ends, [text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
