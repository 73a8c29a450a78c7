"""Which words of a text mattered for its label: each is replaced by others that could stand there.

In: a classifier, the masked language model it started from, and a text or a pair. Out: `ExplainedLabel`. It is
occlusion with a language model (OLM, Harbecke & Alt 2020): the relevance of word i to the log-odds f of the label is

    f(text) − Σ_w p(w | text without i) f(text with w in the place of i)

over the likeliest replacements w, whose probabilities are divided anew among them. Where the start is gone, or has no
mask head, words are hidden by the mask or, where there is none, deleted: texts that no training has seen, and it is
said. Of a long text words are hidden first, all or stretches of them, and those that matter most are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.errors import BadInput, did_you_mean
from unmask.inference.flip import Candidates, find_flip
from unmask.inference.label_words import AskedLabel, LabelledSides, SideWord
from unmask.inference.replacements import Replacer, WordReplacement
from unmask.records import Reals
from unmask.results import ExplainedLabel, LabelWord
from unmask.tasks.classify.classifier import Classifier

REPLACEMENTS = 10  # tried in the place of a word
FEWEST = 3
WORK = 1 << 20  # tokens that the classifier is shown for one explanation, about
WORDS = 64  # that are replaced, unless said otherwise
SCREENED, STRETCH = 256, 8  # words that are hidden one by one; of more, stretches of so many are hidden first
CHANGES = 5  # words that may be changed for another answer, unless said otherwise


@dataclass(frozen=True)
class LabelSettings:
    """How a label is explained."""

    label: str | None = None  # the likeliest where none is named
    words: int = WORDS
    changes: int = CHANGES

    def __post_init__(self) -> None:
        if self.words < 1:
            raise BadInput(f"--words {self.words}: give 1 or more")
        if self.changes < 0:
            raise BadInput(f"--changes {self.changes}: give 0 (no flip is looked for) or more")


@dataclass(frozen=True)
class WordEffects:
    """What other words, or none, in the place of some did to the label."""

    relevance: Reals  # W, nats of log-odds
    drop: Reals  # W, of the probability
    candidates: Candidates  # by word, what may stand in its place, likeliest first
    covered: float = 0.0


@dataclass(frozen=True)
class LabelExplainer:
    """A classifier, and what tells which words could stand in a place."""

    classifier: Classifier
    replacer: Replacer | None
    reason: str = ""  # why there is none

    def explain(self, text: str, pair: str | None = None, settings: LabelSettings | None = None) -> ExplainedLabel:
        """Why a text has its label."""
        settings = settings or LabelSettings()
        self.classifier.check_pairs(None if pair is None else [pair])
        sides = LabelledSides.read(self.classifier, (text,) if pair is None else (text, pair))
        if not sides.words:
            raise BadInput("the text has no words")
        asked, (said,) = self._label(settings.label, sides), self.classifier.predict([text], pair and [pair])
        whole = asked.of_texts([sides.sides])
        words, left_out = self._chosen(asked, sides, settings.words)
        count = REPLACEMENTS
        if self.replacer is not None:
            count = max(FEWEST, min(REPLACEMENTS, WORK // (len(words) * sum(len(side.ids) for side in sides.encoded))))
        effects = self.effects(asked, sides, words, count)
        flip = None
        if settings.changes:
            flip = find_flip(asked, sides, effects.candidates, effects.relevance, settings.changes)
        return ExplainedLabel(
            text=text,
            pair=pair,
            label=self.classifier.card.labels[asked.label],
            probability=float(whole.probability[0]),
            labels=said.labels,
            words=tuple(
                LabelWord(
                    word=sides.spelling(word),
                    start=word.word.first,
                    end=word.word.last,
                    second=word.side == 1,
                    relevance=float(effects.relevance[number]),
                    drop=float(effects.drop[number]),
                )
                for number, word in enumerate(words)
            ),
            method=self.method,
            start=None if self.replacer is None else self.replacer.start,
            replacements=0 if self.replacer is None else count,
            covered=effects.covered,
            left_out=left_out,
            changes=settings.changes,
            flip=flip,
            tokens_read=said.tokens_read,
            windows=said.windows,
            notes=(self.reason,) if self.reason else (),
        )

    @property
    def method(self) -> str:
        """How a word is taken away."""
        if self.replacer is not None:
            return "replaced"
        return "deleted" if self.mask is None else "hidden"

    @property
    def mask(self) -> int | None:
        """The token that hides a piece, where there is one."""
        mask: int | None = self.classifier.reader.tokenizer.mask_token_id
        return mask

    def _label(self, name: str | None, sides: LabelledSides) -> AskedLabel:
        labels = self.classifier.card.labels
        if name is None:
            return AskedLabel(
                self.classifier, int(AskedLabel(self.classifier, 0).of_texts([sides.sides]).probabilities.argmax())
            )
        if name not in labels:
            remedy = did_you_mean(name, labels) or f"it knows {', '.join(labels[:10])}"
            raise BadInput(f"--label {name}: this model does not know it; {remedy}")
        return AskedLabel(self.classifier, labels.index(name))

    def _chosen(self, asked: AskedLabel, sides: LabelledSides, most: int) -> tuple[list[SideWord], int]:
        """The words that are told of, and how many others there are: of many those that matter most when hidden.

        Of very many, stretches are hidden first, and then the words of those that matter most.
        """
        words = sides.words
        runs = [[word] for word in words]
        if len(words) > SCREENED:
            stretches = [words[begin : begin + STRETCH] for begin in range(0, len(words), STRETCH)]
            kept = self._strongest(asked, sides, stretches, max(SCREENED, most) // STRETCH + 1)
            runs = [[word] for stretch in kept for word in stretch]
        if len(words) > most:
            runs = self._strongest(asked, sides, runs, most)
        return [word for run in runs for word in run], len(words) - len(runs)

    def _strongest(
        self, asked: AskedLabel, sides: LabelledSides, runs: Sequence[list[SideWord]], most: int
    ) -> list[list[SideWord]]:
        """Those of some runs of words that matter most when they are hidden, in the order of the text."""
        relevance = self._taken_away(asked, sides, runs).relevance
        kept = np.sort(np.argsort(-np.abs(relevance), kind="stable")[:most])
        return [runs[number] for number in kept.tolist()]

    def effects(self, asked: AskedLabel, sides: LabelledSides, words: Sequence[SideWord], count: int) -> WordEffects:
        """What so many other words in the place of each did to the label."""
        if self.replacer is None:
            return self._taken_away(asked, sides, [[word] for word in words])
        found: list[list[WordReplacement]] = []
        for side, text in enumerate(sides.encoded):
            found += self.replacer.replacements(text, [word.word for word in words if word.side == side], count)
        variants = [
            sides.rewritten({word: each.spelt}) for word, others in zip(words, found, strict=True) for each in others
        ]
        answers, whole = asked.of_texts(variants), asked.of_texts([sides.sides])
        weights = [np.array([each.weight for each in others]) for others in found]
        owners = np.repeat(np.arange(len(words)), [len(others) for others in found])
        shares = np.concatenate([each / each.sum() for each in weights])
        changed = np.bincount(owners, shares * answers.log_odds, len(words))
        probability = np.bincount(owners, shares * answers.probability, len(words))
        candidates = {
            word: [each.spelt for each in others if each.spelt.lower() != sides.spelling(word).lower()]
            for word, others in zip(words, found, strict=True)
        }
        return WordEffects(
            relevance=whole.log_odds[0] - changed,
            drop=whole.probability[0] - probability,
            candidates=candidates,
            covered=float(np.mean([each.sum() for each in weights])),
        )

    def _taken_away(self, asked: AskedLabel, sides: LabelledSides, runs: Sequence[list[SideWord]]) -> WordEffects:
        """What the label loses where each run of words is hidden by the mask or, where there is none, left out."""
        whole = asked.of_texts([sides.sides])
        if self.mask is None:
            answers = asked.of_texts([sides.rewritten(dict.fromkeys(run, "")) for run in runs])
        else:
            answers = asked.of_tokens([sides.hidden(run, self.mask) for run in runs])
        return WordEffects(
            relevance=whole.log_odds[0] - answers.log_odds,
            drop=whole.probability[0] - answers.probability,
            candidates={run[0]: [""] for run in runs},
        )
