"""What people tune with: transformers' Trainer for labels, SentenceTransformerTrainer for scored pairs.

In: a model directory, examples and a rate. Out: a trainer whose every step is the library's own, set up as someone who
knows it would: the mean of all tokens, padding to the longest text of a batch, batches of like length, a tenth of the
steps to rise and then a linear fall, the dev score at eleven moments.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rival import AfterStep

from unmask.models.locate import model_directory
from unmask.tasks.classify.labelled import read_labelled
from unmask.tasks.similarity.scored import read_scored

Task = Literal["classify", "similarity"]
FIGURE: dict[Task, str] = {"classify": "accuracy", "similarity": "spearman"}
BATCH, MOMENTS = 32, 11


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """One tuning of theirs."""

    model: Path
    train: Path
    dev: Path | None = None
    steps: int
    lr: float
    seed: int = 0
    bf16: bool = False


def trainer_of(task: Task, plan: Tuned, after_step: Callable[[int], None]) -> Any:
    """Their trainer for a task, ready to train."""
    return {"classify": classifier_trainer, "similarity": sentence_trainer}[task](plan, after_step)


def scores_of(task: Task, plan: Tuned) -> list[tuple[int, float]]:
    """Train to the end; the dev score after so many steps."""
    trainer = trainer_of(task, plan, lambda _: None)
    trainer.train()
    name = {"classify": "eval_accuracy", "similarity": "eval_spearman_cosine"}[task]
    return [(entry["step"], entry[name]) for entry in trainer.state.log_history if name in entry]


def classifier_trainer(plan: Tuned, after_step: Callable[[int], None]) -> Any:
    """Trainer with a classification head."""
    from transformers import (
        AutoConfig,
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(plan.seed)
    directory = str(model_directory(plan.model))
    tokenizer = AutoTokenizer.from_pretrained(directory)
    labels = read_labelled(plan.train).labels

    def rows(file: Path) -> list[dict[str, Any]]:
        return [
            {**tokenizer(example.text, truncation=True), "labels": labels.index(example.labels[0])}
            for example in read_labelled(file).examples
        ]

    def accuracy(found: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
        return {"accuracy": float((found[0].argmax(-1) == found[1]).mean())}

    config = AutoConfig.from_pretrained(directory, num_labels=len(labels))
    if hasattr(config, "classifier_pooling"):
        config.classifier_pooling = "mean"  # as ours; masked training gives the first token nothing to do
    return Trainer(
        model=AutoModelForSequenceClassification.from_pretrained(directory, config=config),
        args=TrainingArguments(**arguments_of(plan), train_sampling_strategy="group_by_length"),
        train_dataset=rows(plan.train),
        eval_dataset=None if plan.dev is None else rows(plan.dev),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy,
        callbacks=[AfterStep(after_step)],
    )


def sentence_trainer(plan: Tuned, after_step: Callable[[int], None]) -> Any:
    """SentenceTransformerTrainer with CoSENT over the cosines of mean vectors."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
    from sentence_transformers.losses import CoSENTLoss
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import set_seed

    set_seed(plan.seed)
    transformer = Transformer(str(model_directory(plan.model)))
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[transformer, pooling], device="cpu")
    pairs = read_scored(plan.train).examples
    top = max(pair.score for pair in pairs)
    columns = {
        "sentence1": [pair.text for pair in pairs],
        "sentence2": [pair.pair for pair in pairs],
        "score": [pair.score / top for pair in pairs],
    }
    evaluator = None
    if plan.dev is not None:
        dev = read_scored(plan.dev).examples
        scores = [pair.score / top for pair in dev]
        evaluator = EmbeddingSimilarityEvaluator([p.text for p in dev], [p.pair for p in dev], scores)
    return SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(**arguments_of(plan)),
        train_dataset=Dataset.from_dict(columns),
        loss=CoSENTLoss(model),
        evaluator=evaluator,
        callbacks=[AfterStep(after_step)],
    )


def arguments_of(plan: Tuned) -> dict[str, Any]:
    """What both are told."""
    measured = {} if plan.dev is None else {"eval_strategy": "steps", "eval_steps": max(1, plan.steps // MOMENTS)}
    return {
        "output_dir": tempfile.mkdtemp(prefix="trainer-"),
        "max_steps": plan.steps,
        "per_device_train_batch_size": BATCH,
        "per_device_eval_batch_size": 64,
        "learning_rate": plan.lr,
        "warmup_steps": round(0.1 * plan.steps),
        "lr_scheduler_type": "linear",
        "seed": plan.seed,
        "bf16": plan.bf16,
        "use_cpu": True,
        "dataloader_pin_memory": False,
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        **measured,
    }
