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

from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.leaks import Leaks, leaks_of_folds, some_are_clean
from unmask.evaluation.tuned.slicing import slice_columns
from unmask.intervals import resampled_figure
from unmask.progress import task
from unmask.records import Flags, Integers, Reals
from unmask.results import Figure, JudgedEntities, JudgedTagBaseline, JudgedTags, TagError
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
    answers = ask_texts(tuned, tagger, leaks)
    counts = span_counts(answers.said, answers.gold)
    write_answers(
        tuned.run.path,
        {
            "line": [each.line for each in answers.examples],
            "true": [named_spans(each.text, each.spans) for each in answers.examples],
            "said": [named_spans(each.text, said) for each, said in zip(answers.examples, answers.said, strict=True)],
            "score": text_scores(counts).tolist(),
            "leaked": leaks.leaked.tolist(),
            **slice_columns(
                tuned.test.path,
                [each.line for each in answers.examples],
                [each.text for each in answers.examples],
                used=tuned.test.fields,
            ),
        },
    )
    return judged_tags(tagger.card.labels, tuned.test, answers)


def judge_tag_folds(folds: Sequence[TunedRun]) -> JudgedTags:
    """Figures on all texts, each judged by a model that has not seen it."""
    taggers = [Tagger(each.run.path) for each in folds]
    parts = [ask_texts(*each) for each in zip(folds, taggers, leaks_of_folds(folds), strict=True)]
    return judged_tags(taggers[0].card.labels, folds[0].test, TagAnswers.joined(parts))


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


@dataclass(frozen=True)
class TagAnswers:
    """What a tagger and the gazetteer say of test texts."""

    examples: tuple[TaggedText, ...]
    said: list[list[LabelledSpan]]  # by `predict`
    strict: list[list[LabelledSpan]]  # by the likeliest tag of each word alone
    lenient: list[list[LabelledSpan]]  # the same, as conlleval reads them
    listed: list[list[LabelledSpan]]  # by the gazetteer
    new: list[list[LabelledSpan]]  # entities whose names were not learnt from
    errors: list[TagError]  # the surest
    misaligned: int  # entities that begin or end within a word
    leaked: Flags  # N: texts that were learnt from

    @property
    def gold(self) -> list[tuple[LabelledSpan, ...]]:
        """The entities of each text."""
        return [each.spans for each in self.examples]

    @classmethod
    def joined(cls, parts: Sequence[TagAnswers]) -> TagAnswers:
        """Those of several models, each about texts of its own."""
        lists = {
            name: [each for part in parts for each in getattr(part, name)]
            for name in ("said", "strict", "lenient", "listed", "new", "errors")
        }
        return cls(
            examples=tuple(each for part in parts for each in part.examples),
            misaligned=sum(part.misaligned for part in parts),
            leaked=np.concatenate([part.leaked for part in parts]),
            **lists,
        )


def ask_texts(tuned: TunedRun, tagger: Tagger, leaks: Leaks) -> TagAnswers:
    """Ask a tagger and the gazetteer about test texts."""
    train: TaggedExamples = tuned.learnt.train
    asked = AskedTexts(tagger, tuned.test)
    known = {each.text[span.start : span.end] for each in train.examples for span in each.spans}
    return TagAnswers(
        examples=asked.examples,
        said=asked.spans,
        strict=asked.by_tags(strict_spans),
        lenient=asked.by_tags(lenient_spans),
        listed=Gazetteer.of(read_examples(tagger.reader, train), train.examples).find_all(asked.words, asked.examples),
        new=[[s for s in each.spans if each.text[s.start : s.end] not in known] for each in asked.examples],
        errors=surest_tag_errors(asked, asked.examples),
        misaligned=count_misaligned(asked.words, asked.examples),
        leaked=leaks.leaked,
    )


def judged_tags(labels: Sequence[str], test: TaggedExamples, answers: TagAnswers) -> JudgedTags:
    """All figures of what was said."""
    gold, clusters, clean = answers.gold, text_clusters(answers.examples), ~answers.leaked
    counts = span_counts(answers.said, gold)
    return JudgedTags(
        data=test.path,
        examples=len(gold),
        empty=test.empty,
        entities=sum(map(len, gold)),
        misaligned=answers.misaligned,
        leaked=int(answers.leaked.sum()),
        clean_f1=f1_figure(counts[clean], clusters[clean]) if some_are_clean(answers.leaked) else None,
        precision=_part(counts[:, 0], counts[:, 1]),
        recall=_part(counts[:, 0], counts[:, 2]),
        f1=f1_figure(counts, clusters),
        strict_f1=f1_figure(span_counts(answers.strict, gold), clusters),
        conlleval_f1=f1_figure(span_counts(answers.lenient, gold), clusters),
        unseen=sum(map(len, answers.new)),
        unseen_recall=_part(*span_counts(answers.said, answers.new)[:, (0, 2)].T),
        baselines=(_judged_baseline("gazetteer", span_counts(answers.listed, gold), clusters),),
        labels=tuple(judge_kinds(labels, answers.said, gold)),
        errors=tuple(surest_of_both(answers.errors)),
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
    """The entities that it was surest of and wrong about, said or missed: some will be errors of the file."""
    errors = []
    for number, (example, answer) in enumerate(zip(examples, asked.answers, strict=True)):
        gold = {*example.spans}
        sure = dict(zip(answer.spans, answer.sureness, strict=True))
        wrong = [span for span in answer.spans if span not in gold]
        missed = [span for span in example.spans if not overlapping(span, answer.spans)]
        errors += [_tag_error(example, [span], overlapping(span, example.spans), sure[span]) for span in wrong]
        errors += [_tag_error(example, [], [span], 1 - asked.sureness(number, span)) for span in missed]
    return surest_of_both(errors)


def surest_of_both(errors: Sequence[TagError]) -> list[TagError]:
    """Twenty of all errors, ten of them said and ten missed where there are so many of each.

    A rare name is missed with more certainty than anything is said with.
    """
    ranked = sorted(errors, key=lambda error: -error.probability)
    sides = [[error for error in ranked if bool(error.said) == said] for said in (True, False)]
    half = ERRORS // 2
    kept = [error for side in sides for error in side[:half]]
    others = sorted((error for side in sides for error in side[half:]), key=lambda error: -error.probability)
    return sorted([*kept, *others[: ERRORS - len(kept)]], key=lambda error: -error.probability)


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
