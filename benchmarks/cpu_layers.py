"""What shorter ways through transformers' layers bring where a BERT is tuned on a CPU: attention as products, dropout.

    python benchmarks/cpu_layers.py                        # rows of 28, 128 and 256 tokens, in float32
    python benchmarks/cpu_layers.py --precision bfloat16   # where the processor multiplies it
    python benchmarks/cpu_layers.py --dropout 0            # without dropout

Both passes of a BERT of 6 layers of 384 with random weights, as large as the sentence encoders that people tune, over
some 900 tokens for short rows and some 4,000 for long ones. Transformers' own layers and ours take turns, each in a
process of its own; the optimizer is left out. In bfloat16 transformers' attention is in bfloat16 too.
"""

from __future__ import annotations

from functools import partial

import torch
import tyro
from transformers import BertConfig, BertModel
from turns import THREADS, Clock, Spread, Turn, race, ratios

from unmask.models.kernels import use_cpu_kernels
from unmask.training.machine.allocator import keep_large_blocks

ROWS = {28: 32, 128: 32, 256: 16}  # rows of each length
VOCABULARY = 1000  # small: what a vocabulary takes is the same for both
THEIRS, OURS = "transformers", "unmask"


def passes(turn: Turn, *, side: str, length: int, dropout: float, precision: str) -> None:
    """Both passes, again and again."""
    keep_large_blocks()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=6,
        num_attention_heads=12,
        attention_probs_dropout_prob=dropout,
        hidden_dropout_prob=dropout,
    )
    model = BertModel(config, add_pooling_layer=False).train()
    if side == OURS:
        use_cpu_kernels(model)
    ids = torch.randint(5, VOCABULARY, (ROWS[length], length))
    real = (torch.arange(length) < torch.randint(length * 3 // 4, length + 1, (len(ids), 1))).long()
    while True:
        turn()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            states = model(input_ids=ids, attention_mask=real).last_hidden_state
        states.float().square().mean().backward()
        model.zero_grad()


def main(rounds: int = 12, dropout: float = 0.1, precision: str = "float32", clock: Clock = "wall") -> None:
    """Race both sides on rows of each length."""
    print(f"dropout {dropout:g}, {precision}\n\n| tokens of a row | {THEIRS}, ms | {OURS}, ms | times as fast |")
    print("|---|---|---|---|")
    for length in ROWS:
        case = {"length": length, "dropout": dropout, "precision": precision}
        seconds = race(
            {side: partial(passes, side=side, **case) for side in (THEIRS, OURS)},
            rounds,
            threads=THREADS[clock],
            clock=clock,
        )
        times = [Spread.of([1000 * each for each in seconds[side]]) for side in (THEIRS, OURS)]
        print(f"| {length} | {times[0]:.0f} | {times[1]:.0f} | {ratios(seconds, THEIRS, OURS):.2f} |", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
