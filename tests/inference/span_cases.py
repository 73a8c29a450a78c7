"""T5 models to ask: small, random weights that are wide enough for some answers to be clearly likelier than others."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from writing_cases import Make, sequential_model

from unmask.models.load import LoadedModel
from unmask.models.load_spans import load_spans


def wide_t5(make_model: Make, path: Path, kind: str = "wordpiece") -> Path:
    """A T5 that is sure of some tokens."""
    sequential_model(make_model, path, "t5", kind)
    lm = load_spans(path)
    model, marks = lm.model, [lm.vocabulary.end, *lm.vocabulary.sentinels]
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.normal_(std=0.15 if "lm_head" not in name and "shared" not in name else 0.6)
        ids = torch.randint(5, lm.vocabulary.size, (8, 12))
        states = model(input_ids=ids, decoder_input_ids=ids, output_hidden_states=True).decoder_hidden_states[-1]
        mean = states.flatten(0, 1).mean(0)
        model.get_output_embeddings().weight[marks] += mean / mean.norm()  # spans come to an end
    model.save_pretrained(path)
    return path


def as_stock(path: Path) -> Path:
    """The same with a tokenizer like T5's own: no mask, nothing that opens a text."""
    file = path / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    for name in ("mask_token", "cls_token", "sep_token", "bos_token"):
        settings.pop(name, None)
    file.write_text(json.dumps(settings), encoding="utf-8")
    return path


@torch.no_grad()
def transformers_log_probability(lm: LoadedModel, source: list[int], answer: list[int], given: int) -> float:
    """What transformers' own loss says of an answer of the decoder, but for the first tokens, which are given."""
    labels = torch.tensor([[*[-100] * given, *answer[given:]]])
    start = lm.model.config.decoder_start_token_id
    decoded = torch.tensor([[start, *answer[:-1]]])
    loss = lm.model(input_ids=torch.tensor([source]), decoder_input_ids=decoded, labels=labels).loss
    return -float(loss) * (len(answer) - given)
