"""What a model can learn from: the objectives that fit it, and the learner that one of them trains.

In: a model as an adaptation starts from it, and a line such as `causal until 0.2; mlm`. Out: a learner whose weights
come from directories. Masked tokens fit every masked language model; replaced tokens an ELECTRA, whose generator lies
beside it as pretraining leaves it; spans any, their head taken from beside the model or drawn; from left to right any
that keeps documents apart by a mask, if something that is measured on masks comes after.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module
from transformers import AutoModelForPreTraining, PreTrainedModel

from unmask.adapting.settings import AdaptSettings
from unmask.adapting.start import AdaptStart, start_masked_lm
from unmask.corruption.policy import policies_with
from unmask.corruption.schedule import MaskingSchedule, parse_schedule
from unmask.errors import BadInput
from unmask.models.families.architectures import architecture
from unmask.models.heads import BOUNDARY, load_boundary_head
from unmask.models.masked_lm import whole_model
from unmask.models.settings import read_settings
from unmask.objectives.curriculum import Curriculum, parse_curriculum
from unmask.objectives.spans import BoundaryLearner
from unmask.objectives.text import TextObjective
from unmask.training.checkpoint import load as load_checkpoint

DETECTOR = "ElectraForPreTraining"
# What ends with a model that the fixed masks measure.
FITTING = ("mlm", "replaced", "spans", "retromae", "tsdae", "diffusion")
USUAL_RATE = "0.15"


def is_detector(directory: Path) -> bool:
    """Whether a directory is of a model that tells which tokens were replaced."""
    return DETECTOR in (read_settings(directory).get("architectures") or ())


@dataclass(frozen=True)
class Fitting:
    """A start and what it learns."""

    start: AdaptStart
    settings: AdaptSettings
    seed: int

    @cached_property
    def curriculum(self) -> Curriculum:
        """What is learnt when."""
        return parse_curriculum(self.settings.objective or ("replaced" if is_detector(self.start.model) else "mlm"))

    @property
    def objective(self) -> TextObjective[Any]:
        """What the training is for in the end."""
        return self.curriculum.main

    @cached_property
    def masking(self) -> MaskingSchedule:
        """What is hidden."""
        policy = self.settings.policy or self.objective.usual or "token"
        timed = policy.split()[0] == "diffusion"
        return parse_schedule(policy, self.settings.rate or (None if timed else USUAL_RATE))

    def check(self) -> None:
        """Refuse what the model cannot learn, before anything is written."""
        name = self.objective.name
        if name not in FITTING:
            raise BadInput(f"--objective {name}: what is adapted ends as {', '.join(FITTING[:-1])} or {FITTING[-1]}")
        for objective in self.curriculum.objectives:
            if objective.hides and (unfit := self.masking.policies_without(objective.learns_from)):
                fitting = ", ".join(policies_with(objective.learns_from))
                raise BadInput(f"--policy {unfit[0]}: the objective {objective.name} learns from what {fitting} hide")
        kind = str(read_settings(self.start.model).get("model_type"))
        if not architecture(kind).packs and any(each.name == "causal" for each in self.curriculum.objectives):
            raise BadInput(f"--objective causal: a {kind} takes no mask that hides what comes later; leave it out")
        if name == "replaced":
            if not is_detector(self.start.model):
                raise BadInput("--objective replaced: is for an ELECTRA that tells replaced tokens; leave it out")
            if self.settings.extend is not None:
                raise BadInput("--extend: a model that tells replaced tokens keeps its vocabulary; leave it out")
            self.generator  # noqa: B018, told before anything is written

    @property
    def generator(self) -> Path:
        """Where the generator of a detector lies."""
        place = self.start.model.parent / "generator"
        if not (place / "config.json").is_file():
            raise BadInput(f"{self.start.model}: tells replaced tokens, and its generator is not at {place}")
        return place

    def build(self, **overrides: Any) -> PreTrainedModel:
        """The model from its directory, or the generator beside it."""
        if overrides:
            return start_masked_lm(self.generator)
        if self.objective.name == "replaced":
            with torch.random.fork_rng():
                return whole_model(AutoModelForPreTraining, self.start.directory, "detector", torch.device("cpu"))
        return self.start.masked_lm(self.seed)

    def learner(self) -> Module:
        """What is trained, with the weights that the start has."""
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)  # of what the objective adds to the model
            learner: Module = self.objective.learner(self.build)
        if isinstance(learner, BoundaryLearner) and (self.start.directory / BOUNDARY).is_file():
            learner.boundary = load_boundary_head(self.start.directory)
        learner.train()
        return learner

    def stable_learner(self) -> Module:
        """The same; of a run of ours that kept the moment before its learning rate fell, with the weights of that."""
        learner = self.learner()
        if self.start.moment is None:
            return learner
        weights, parameters = load_checkpoint(self.start.moment).model, dict(learner.named_parameters())
        if weights.keys() != parameters.keys():  # another objective's: the model as it is
            return learner
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(weights[name])
        return learner
