"""A tuned model as a directory that stock transformers loads offline, whatever the task."""

from __future__ import annotations

import copy

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.files import whole_directory
from unmask.models.config import quiet_transformers
from unmask.tasks.tuned_model import TaskCard
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.training.job import FinishedRun


def write_tuned_model(
    learner: PreTrainedModel, finished_run: FinishedRun, card: TaskCard, tokenizer: PreTrainedTokenizerFast, readme: str
) -> None:
    """Write the model, its tokenizer, its card and its README, whole or not at all."""
    with whole_directory(finished_run.path / "model") as aside:
        with quiet_transformers():
            learner.save_pretrained(aside)
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.model_max_length = card.length
        save_tokenizer(tokenizer, aside)
        card.write(aside)
        (aside / "README.md").write_text(readme, encoding="utf-8")
