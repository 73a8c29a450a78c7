"""What people use: transformers' Trainer with its own collator, as run_mlm.py puts them together.

In: a data directory and a rate. Out: a `Trainer` whose every step is the library's own, and what it trains on: the
texts with [CLS] and [SEP], one after the other, cut into blocks of 128. The other benchmarks measure against it.

    plain      BertForMaskedLM as run_mlm.py makes it: 16 blocks a step, 15 % hidden
    informed   what someone who knows the field would run: ModernBERT of our shape with logits at the labels only
               (`sparse_prediction`), 32 blocks a step, 30 % hidden, AdamW with β₂ of 0.98
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from unmask.models.families.sizes import SIZES, Size
from unmask.models.sparse import logits_at
from unmask.records import Vocabulary
from unmask.tokens.store.dataset import Dataset

LENGTH, ROWS = 128, 16
Who = Literal["plain", "informed"]
HIDDEN: dict[Who, float] = {"plain": 0.15, "informed": 0.3}
IGNORED = -100  # the label of what is not predicted
ROUND = 64  # logits are filled up to a multiple of it: fewer shapes for oneDNN to keep kernels for


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run of Trainer: its schedule ends with its steps."""

    steps: int
    learning_rate: float = 1e-3
    seed: int = 0
    rows: int = ROWS
    plain: bool = True  # logits at every position, as Trainer has it; else at the labelled ones, for the same gradients
    who: Who = "plain"
    bf16: bool = False  # autocast, as TrainingArguments has it


def model_of(vocabulary: Vocabulary, size: Size = SIZES["mini"], length: int = LENGTH) -> BertForMaskedLM:
    """BERT of that size with transformers' own defaults: dropout 0.1, weights drawn with 0.02."""
    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary.size,
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.width,
            max_position_embeddings=length,
            pad_token_id=vocabulary.pad,
        )
    )


def modernbert_of(vocabulary: Vocabulary, size: Size = SIZES["mini"], length: int = LENGTH) -> ModernBertForMaskedLM:
    """ModernBERT of that size with transformers' own defaults, computing logits where there is a label."""
    return ModernBertForMaskedLM(
        ModernBertConfig(
            vocab_size=vocabulary.size,
            hidden_size=size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=round(size.width * 8 / 3 / 32) * 32,
            max_position_embeddings=length,
            pad_token_id=vocabulary.pad,
            bos_token_id=vocabulary.start,
            cls_token_id=vocabulary.start,
            eos_token_id=vocabulary.end,
            sep_token_id=vocabulary.end,
            sparse_prediction=True,
        )
    )


MODELS: dict[Who, Callable[[Vocabulary], PreTrainedModel]] = {"plain": model_of, "informed": modernbert_of}


class Grouped(torch.utils.data.Dataset):
    """The training text as run_mlm.py groups it: all texts in a row, cut every 128 tokens, the rest left out."""

    def __init__(self, dataset: Dataset, length: int = LENGTH) -> None:
        stream, vocabulary = dataset.split("train"), dataset.vocabulary
        ends = np.asarray(stream.ends, dtype=np.int64)
        ids, _ = stream.read(0, int(ends[-1]))
        begins = np.concatenate(([0], ends[:-1]))
        around = np.stack([begins, ends], axis=1).ravel()  # [CLS] before each text and [SEP] after it
        whole = np.insert(ids, around, np.tile([vocabulary.start, vocabulary.end], len(ends)))
        self.rows = whole[: len(whole) // length * length].reshape(-1, length)
        self.is_special = vocabulary.is_special

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, list[int]]:
        row = self.rows[number]
        return {
            "input_ids": row.tolist(),
            "attention_mask": [1] * len(row),
            "special_tokens_mask": self.is_special[row].astype(int).tolist(),
        }


class Gathering(Trainer):
    """Trainer with the head applied where there is a label: less work, the same loss and gradients (see `agrees`)."""

    def compute_loss(
        self,
        model: BertForMaskedLM,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Tensor:
        labels = inputs.pop("labels").flatten()
        predicted = (labels != IGNORED).nonzero().flatten()
        filling = -len(predicted) % ROUND
        targets = F.pad(labels[predicted], (0, filling), value=IGNORED)
        logits = logits_at(model, F.pad(predicted, (0, filling)), **inputs)
        total = F.cross_entropy(logits, targets, reduction="sum", ignore_index=IGNORED)
        return total / (len(predicted) if num_items_in_batch is None else num_items_in_batch)


class AfterStep(TrainerCallback):
    """Calls back after each step with its number."""

    def __init__(self, after_step: Callable[[int], None]) -> None:
        self.after_step = after_step

    def on_step_end(self, _: TrainingArguments, state: TrainerState, control: TrainerControl, **__: object) -> None:
        self.after_step(state.global_step)


def trainer_of(dataset: Dataset, plan: Plan, after_step: Callable[[int], None]) -> Trainer:
    """Trainer, ready to train: AdamW with weight decay 0.01, 6 % warm-up, then a linear fall to 0."""
    set_seed(plan.seed)
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="trainer-"),
        max_steps=plan.steps,
        per_device_train_batch_size=plan.rows,
        learning_rate=plan.learning_rate,
        weight_decay=0.01,
        adam_beta2=0.98 if plan.who == "informed" else 0.999,
        warmup_steps=round(0.06 * plan.steps),
        lr_scheduler_type="linear",
        seed=plan.seed,
        bf16=plan.bf16,
        use_cpu=True,
        dataloader_pin_memory=False,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    gathers = plan.who == "plain" and not plan.plain  # ModernBERT does so itself
    return (Gathering if gathers else Trainer)(
        model=MODELS[plan.who](dataset.vocabulary),
        args=arguments,
        train_dataset=Grouped(dataset),
        data_collator=DataCollatorForLanguageModeling(dataset.tokenizer(), mlm_probability=HIDDEN[plan.who]),
        callbacks=[AfterStep(after_step)],
    )


def agrees(dataset: Dataset) -> dict[str, float]:
    """How far the gathered loss and its gradients are from Trainer's own on one batch: the largest differences."""
    found = []
    for plain in (True, False):
        trainer = trainer_of(dataset, Plan(steps=1, plain=plain), lambda _: None)
        set_seed(1)
        inputs = next(iter(trainer.get_train_dataloader()))
        trainer.model.eval()  # dropout would draw alike, but what is compared is the arithmetic
        loss = trainer.compute_loss(trainer.model, inputs, num_items_in_batch=(inputs["labels"] != IGNORED).sum())
        loss.backward()
        found.append((loss.item(), torch.cat([each.grad.flatten() for each in trainer.model.parameters()])))
    (plain_loss, plain_gradient), (loss, gradient) = found
    return {
        "loss": abs(plain_loss - loss),
        "gradient": float((plain_gradient - gradient).abs().max()),
        "largest gradient": float(plain_gradient.abs().max()),
    }
