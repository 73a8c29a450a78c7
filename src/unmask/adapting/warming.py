"""What is new in a model learns alone first, while everything else stays as it is, to the bit.

In: a model with rows for new words, or with a head that it did not have. Out: the same model, those rows and that head
trained for some hundred steps on the text that the model is going to be adapted to. A run of its own, inside the other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from torch.nn import Module
from transformers import PreTrainedModel

from unmask.adapting.adapt import FLAGS, KIND, Adapting
from unmask.adapting.validation import LOSS, AdaptValidation
from unmask.models.new_rows import train_only
from unmask.objectives.curriculum import Curriculum, parse_curriculum
from unmask.objectives.text import Export
from unmask.pretraining.card import export_model
from unmask.progress import say
from unmask.tasks.start import weights_digest
from unmask.training.job import FinishedRun, Job, ValidationSample
from unmask.training.optimizer import Optimizing
from unmask.training.timetable import Timetable

FOLDER = "warming"
LR = 1e-3  # of what is new
SAMPLE = 8_192  # tokens of a validation on the way
CARD = "# Not adapted yet\n\nA model whose new words, or whose new head, learnt alone: an adaptation began so.\n"


@dataclass(frozen=True)
class Warming(Adapting):
    """New rows and a new head before the adaptation itself."""

    @property
    def curriculum(self) -> Curriculum:
        """Masked tokens, whatever comes after."""
        return parse_curriculum("mlm")

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The model, of which only what is new can move."""
        model, extension = self.start.masked_lm(self.seed), self.start.extension
        train_only(model, self.start.lacking, None if extension is None else extension.first)
        model.train()
        return model

    def validation(self, learner: Module) -> AdaptValidation:
        """How it is measured: on the domain, for its whole budget."""
        return AdaptValidation(self.held_out.domain, None)

    def say_what_is_learnt(self) -> None:
        """A line before the training."""
        extension = self.start.extension
        new = [
            *(["the head that it lacked"] if self.start.lacking else []),
            *([] if extension is None else [f"its {extension.words:,} new words"]),
        ]
        say(f"{self.start.model}: first {' and '.join(new)} alone, {self.settings.warm_steps:,} steps")

    def job(self) -> Job:
        """The job that the loop runs."""
        feed = self.feed(Timetable(1))
        extension = self.start.extension
        return Job(
            kind=KIND,
            name="warm",
            seed=self.seed,
            settings={
                "adapting": {**asdict(self.settings), "length": self.length},
                "model": weights_digest(self.start.model),
                "data": self.start.domain.fingerprint,
                "words": None if extension is None else extension.words,
            },
            figures=(LOSS,),
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=self.export,
            optimizing=Optimizing(
                muon_lr=0.0, adamw_lr=LR, betas=(0.9, 0.98), weight_decay=0.0, warmup=0.05, decay=0.5
            ),  # old rows stay as they are where nothing decays
            tokens_a_step=self.settings.batch_size * self.length,
            steps_an_epoch=self.preparer.domain.per_epoch / self.settings.batch_size,
            micro_batches=feed.micro_batches,
            sample=ValidationSample(0.0, SAMPLE, SAMPLE),
            flags=FLAGS,
        )

    def export(self, learner: Module, finished_run: FinishedRun) -> None:
        """Write the model that the adaptation begins with."""
        assert isinstance(learner, PreTrainedModel)
        export_model(Export(learner), self.start.domain, finished_run.path / "model", CARD, length=self.shape.longest)
