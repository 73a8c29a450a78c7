"""How a tagger is measured while it trains and asked afterwards: the same logits, decoded by the same function.

In: a model and texts with their words. Out: logits of words, and figures on what is held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.special import log_softmax
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.objectives.tagging import word_logits
from unmask.records import Flags, Integers, Reals
from unmask.results import FigureTitle
from unmask.tasks.asked_once import AskedOnce
from unmask.tasks.tag.batches import tagged_batch
from unmask.tasks.tag.decoding import TagDecoder
from unmask.tasks.tag.schemes import WordSpan
from unmask.tasks.tag.tagged import LabelledSpan, TaggedText
from unmask.tasks.tag.words import WordRows
from unmask.tokens.bucket import batches_by_length
from unmask.training.machine.distributed import ALONE, World

TOKENS, ROWS = 8_192, 64  # in a forward pass at the most, padding among them, or one text
F1 = FigureTitle("f1", "Entity F1", better="more", percent=True)
LOSS = FigureTitle("loss", "Loss, nats a word")


@dataclass(frozen=True, eq=False)
class TaggedValidation:
    """Measures on tagged texts that are held out."""

    words: WordRows
    targets: Integers  # U
    examples: Sequence[TaggedText]
    decoder: TagDecoder
    asked: AskedOnce[Reals] = field(default_factory=AskedOnce, init=False)

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.words.rows.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """The F1 of entities and the loss on everything, or on an even sample of about so many tokens."""
        assert isinstance(learner, PreTrainedModel)
        every = 1 if limit is None else max(1, self.tokens // max(1, limit))
        sample = np.arange(0, len(self.examples), every)
        if limit is None and world.size == 1:
            logits, mine = self.logits(learner), np.ones(len(sample), np.bool_)
        else:
            logits, mine = tag_logits(learner, self.words, sample, world=world)
        right = said = true = loss = count = 0.0
        for number in sample[mine].tolist():
            here = self.words.words_of(number)
            logs = log_softmax(logits[here], axis=1)
            loss -= float(logs[np.arange(len(logs)), self.targets[here]].sum())
            count += len(logs)
            found = {*decoded_spans(self.decoder, self.words, number, np.exp(logs))}
            gold = {*self.examples[number].spans}
            right, said, true = right + len(found & gold), said + len(found), true + len(gold)
        right, said, true, loss, count = world.total(right, said, true, loss, count)
        return {"f1": 2 * right / max(1.0, said + true), "loss": loss / max(1.0, count)}

    def logits(self, learner: PreTrainedModel) -> Reals:
        """U C: those of all words, by this process alone."""
        return self.asked(learner, lambda: tag_logits(learner, self.words)[0])


@torch.no_grad()
def tag_logits(
    model: PreTrainedModel, words: WordRows, numbers: Integers | None = None, *, world: World = ALONE
) -> tuple[Reals, Flags]:
    """U C and N: the logits of the words of some texts, and which of these texts this process has computed."""
    numbers = np.arange(len(words.rows.tokens)) if numbers is None else numbers
    logits: Reals = np.zeros((len(words.owners), int(model.config.num_labels or 0)))
    mine: Flags = np.zeros(len(numbers), np.bool_)
    nothing = np.zeros(len(words.owners), np.int64)
    was_training = model.training
    model.eval()
    try:
        work = words.rows.work[numbers]
        for places, is_mine in world.padded_share(batches_by_length(work, tokens=TOKENS, rows=ROWS)):
            answers = word_logits(model, tagged_batch(words, nothing, numbers[places]))
            if is_mine:
                chosen = [np.arange(*words.bounds[number : number + 2]) for number in numbers[places].tolist()]
                logits[np.concatenate(chosen)] = answers.double().cpu().numpy()
                mine[places] = True
    finally:
        model.train(was_training)
    return logits, mine


def decoded_spans(decoder: TagDecoder, words: WordRows, number: int, probabilities: Reals) -> list[LabelledSpan]:
    """The entities of a text, in characters, from the probabilities of all its words' tags."""
    judged = words.judged[words.words_of(number)]
    return in_characters(words, number, decoder.decode(probabilities[judged]))


def in_characters(words: WordRows, number: int, spans: Sequence[WordSpan]) -> list[LabelledSpan]:
    """Spans of the judged words of a text as spans of its characters."""
    here = words.words_of(number)
    judged = words.judged[here]
    begins, ends = words.begins[here][judged].tolist(), words.ends[here][judged].tolist()
    return [LabelledSpan(begins[span.first], ends[span.last - 1], span.label) for span in spans]
