"""What to do with a data directory, and what to mind: commands to copy, and warnings.

In: a data directory that has been made. Out: lines for a person, with words of that person's own text where some fit.
"""

from __future__ import annotations

from math import ceil, sqrt
from pathlib import Path
from shlex import quote

from unmask.files import free_place
from unmask.runs.commands import quoted_path, train_command
from unmask.tokens.example import NEUTRAL, best_example
from unmask.tokens.tokenizer.load import tokenizer_place

CONFIG = "config.json"  # beside the tokenizer of a model
FEW = 50  # documents, below which intervals are too wide to tell much
# How far documents differ: the standard deviations of loss and accuracy from document to document, from the intervals
# of `mini` on 246 documents of Wikipedia (README): ±0.066 nats and ±0.75 points.
LOSS_SPREAD = 0.53  # nats
ACCURACY_SPREAD = 0.06


def next_commands(data: Path, tokenizer: Path | None = None) -> tuple[str, ...]:
    """What may be done now: look at how text is hidden, train, fill a blank.

    Data in the tokens of a model, whose directory `tokenizer` is or has, is for that model to go on with.
    """
    example = best_example(data)
    if tokenizer is not None and (tokenizer_place(tokenizer) / CONFIG).is_file():
        run = free_place(Path("adapted"))
        train = f"unmask adapt {quoted_path(tokenizer)} {quoted_path(data)} --out {run}"
    else:
        run = free_place(Path("run"))
        train = train_command(data, out=run)
    return (
        *([f"unmask show {quoted_path(data)} {_quoted(example.sentence)}"] if example else []),
        train,
        f"unmask fill {run} {_quoted(example.text if example else NEUTRAL)}",
    )


def _quoted(sentence: str) -> str:
    """A sentence of an example as one word of a shell; it has nothing in it that double quotes do not keep.

    >>> print(_quoted("It's a [MASK]."), _quoted("Go!"))
    "It's a [MASK]." 'Go!'
    """
    return quote(sentence) if "!" in sentence else f'"{sentence}"'


def held_out_warning(train: int, valid: int) -> str | None:
    """What so few held-out documents mean for the figures measured on them, and what would help.

    >>> held_out_warning(700, 8)
    'only 8 documents are held out: 95 % intervals will be wide, about ±0.44 nats of loss and ±5 points of accuracy, \
and more where documents are short; give more text, or --valid 0.09'
    """
    if valid >= FEW:
        return None
    share = ceil(125 * FEW / max(train + valid, 1)) / 100  # a quarter more, for chance decides who is held out
    remedy = f"give more text, or --valid {share}" if share <= 0.25 else "give more text, in more documents"
    if valid < 2:
        count = "no document is" if not valid else "only 1 document is"
        consequence = "nothing can be measured" if not valid else "intervals cannot be told from one"
        return f"{count} held out: {consequence}; {remedy}"
    from scipy.special import stdtrit

    times = float(stdtrit(valid - 1, 0.975)) / sqrt(valid)
    loss, accuracy = (
        f"±{times * LOSS_SPREAD:.2f} nats of loss",
        f"±{100 * times * ACCURACY_SPREAD:.0f} points of accuracy",
    )
    wide = f"95 % intervals will be wide, about {loss} and {accuracy}, and more where documents are short"
    return f"only {valid} documents are held out: {wide}; {remedy}"
