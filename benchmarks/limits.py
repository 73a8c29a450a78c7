"""Four limits of masked language modelling, each measured on small models that are trained for it.

    python benchmarks/limits.py data --out limits                     # all of them, tiny models
    python benchmarks/limits.py data --out limits --only independence

In: a data directory of English. Out: the tables of docs/limits.md. Stopped, the same command goes on: every part is a
run or a comparison of unmask's own. Model, vocabulary and budget are small, so the sizes of effects are those of small
models; what is compared with what has the same data, size, seed and number of tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import tyro
from torch import Tensor

from unmask.evaluation.compare import compare
from unmask.evaluation.intrinsic import evaluate
from unmask.evaluation.likelihood import bits_per_byte
from unmask.models.inputs import as_inputs
from unmask.models.load import LoadedModel, load_model
from unmask.models.sparse import logits_at
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.results import Comparison, Figure
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode
from unmask.training import checkpoint
from unmask.training.budget import Budget
from unmask.training.session import Session

PAIR = re.compile(r"\bNew ([A-Z][a-z]+) ([A-Za-z]+)\b")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
ASKED = "He was born in New [MASK] [MASK] and moved to"
NEAR = 5  # words on either side
LIKELY = 30  # first words whose second words are looked at: nearly all of the probability
SIZE, VOCABULARY, SAMPLE = "tiny", 4096, 8 << 20  # characters


def cell(figure: Figure | None, form: str = ".3f") -> str:
    return "–" if figure is None else f"{figure.value:{form}} ({figure.low:{form}}–{figure.high:{form}})"


def rows(*lines: tuple[str, ...]) -> None:
    head, *rest = lines
    for line in (head, ("---",) * len(head), *rest):
        print(f"| {' | '.join(line)} |")
    print(flush=True)


def sample(data: Path, out: Path) -> Path:
    """A part of the text with a small vocabulary, on which tiny models get somewhere in minutes."""
    if not out.exists():
        text = out.with_suffix(".jsonl")
        documents = Dataset.open(data).sample("train", SAMPLE)
        text.write_text("".join(json.dumps({"text": each}) + "\n" for each in documents), encoding="utf-8")
        prepare([str(text)], out, vocab_size=VOCABULARY, valid=0.03)
    return out


# 1. Independence


def independence(data: Path, out: Path, tokens: int) -> None:
    """Two blanks side by side: guesses at each alone against one after the other."""
    texts = out / "new.txt"
    if not texts.exists():
        found = [near for text in Dataset.open(data).texts("train") for near in around(text)]
        texts.write_text("\n\n".join(found), encoding="utf-8")
        prepare([str(texts)], out / "new", vocab_size=VOCABULARY, valid=0.1, overwrite=True)
    dataset = Dataset.open(out / "new")
    taught = recipe_named(f"modernbert-{SIZE}", length=64, policy="span mask=1 random=0", rate="0.3")
    pretrain(dataset.path, out / "independence", taught, Budget(tokens=tokens), resume=True)
    loaded = load_model(out / "independence")
    written = {match.groups() for text in dataset.texts("train") for match in PAIR.finditer(text)}
    seen = [(a[0], b[0]) for pair in written for a, b in [words(loaded, pair)] if len(a) == len(b) == 1]
    costs, masses = [], []
    for text in dataset.texts("valid"):
        match = PAIR.search(text)
        true = words(loaded, match.groups()) if match else []
        if match and all(len(word) == 1 for word in true):
            (a,), (b,) = true
            first, second, after = both(loaded, text[: match.start()], text[match.end() :], extra=a)
            costs.append((-(first[a] + second[b]), -(first[a] + after[a][b])))
            masses.append((mass(first, dict.fromkeys(after, second), seen), mass(first, after, seen)))
    bits, share = np.mean(costs, axis=0) / np.log(2), np.mean(masses, axis=0)
    print(f"{len(costs)} held-out sentences with both words after 'New' hidden; {len(seen)} pairs in the text")
    rows(
        ("two blanks filled", "bits for the pair that stood there", "probability of the pairs that are in the text"),
        ("each on its own", f"{bits[0]:.2f}", f"{share[0]:.1%}"),
        ("the second knowing the first", f"{bits[1]:.2f}", f"{share[1]:.1%}"),
    )
    ask(loaded, set(seen))


def ask(loaded: LoadedModel, seen: set[tuple[int, int]]) -> None:
    """The pairs that one sentence is best completed with, one way and the other."""
    first, second, after = both(loaded, *ASKED.split("New [MASK] [MASK]"))
    for name, then in (("each on its own", dict.fromkeys(after, second)), ("the second knowing the first", after)):
        pairs = {(a, int(b)): first[a] + then[a][b] for a in after for b in then[a].topk(8).indices}
        print(f"{ASKED}: {name}")
        spelt = {pair: loaded.tokenizer.decode(list(pair)) for pair in sorted(pairs, key=lambda pair: -pairs[pair])}
        words_only = [pair for pair, text in spelt.items() if text.replace(" ", "").isalpha()]
        for pair in words_only[:6]:
            print(f"    {pairs[pair].exp():6.1%}  New {spelt[pair]}{'' if pair in seen else '   (not in the text)'}")
    print()


def around(text: str) -> Iterator[str]:
    """Every "New …" of a text with a few words before and after it."""
    for sentence in SENTENCE.split(text):
        for match in PAIR.finditer(sentence):
            before, after = sentence[: match.start()].split()[-NEAR:], sentence[match.end() :].split()[:NEAR]
            yield " ".join((*before, match[0], *after))


def words(loaded: LoadedModel, pair: tuple[str, ...]) -> list[list[int]]:
    """The ids of words inside a text."""
    return [encode(loaded.tokenizer, [f"in {word}"])[0].ids[1:].tolist() for word in pair]


def both(
    loaded: LoadedModel, head: str, tail: str, extra: int | None = None
) -> tuple[Tensor, Tensor, dict[int, Tensor]]:
    """Log probabilities of the first blank, of the second, and of the second after each likely first word."""
    vocabulary = loaded.vocabulary
    left = encode(loaded.tokenizer, [f"{head}New"])[0].ids.tolist()[-30:]
    right = encode(loaded.tokenizer, [tail])[0].ids.tolist()[:29]

    def asked(firsts: list[int]) -> Tensor:
        ids = torch.tensor(
            [[vocabulary.start, *left, each, vocabulary.mask, *right, vocabulary.end] for each in firsts]
        )
        with torch.inference_mode():
            return loaded.model(input_ids=ids).logits[:, len(left) + 1 : len(left) + 3].double().log_softmax(-1)

    first, second = asked([vocabulary.mask])[0]
    likely = list(dict.fromkeys([*first.topk(LIKELY).indices.tolist(), *([] if extra is None else [extra])]))
    return first, second, dict(zip(likely, asked(likely)[:, 1], strict=True))


def mass(first: Tensor, then: dict[int, Tensor], seen: list[tuple[int, int]]) -> float:
    """The share of the probability of pairs with a likely first word that goes to pairs that were seen."""
    known = sum(float((first[a] + then[a][b]).exp()) for a, b in seen if a in then)
    return known / sum(float(first[a].exp()) for a in then)


# 2. The masks of training are not in the text of use


PLANS = {"80/10/10": "token", "100/0/0": "token mask=1 random=0"}


def shown_two_ways(data: Path, out: Path, tokens: int) -> Comparison:
    """The same model trained with BERT's way of showing what is hidden, and with masks alone."""
    recipes = [
        replace(recipe_named(f"modernbert-{SIZE}", policy=policy), name=name.replace("/", "-"))
        for name, policy in PLANS.items()
    ]
    return compare(data, out / "mismatch", recipes, Budget(tokens=tokens), resume=True)


def mismatch(data: Path, out: Path, tokens: int) -> None:
    """BERT's 80/10/10 against masks alone: at masks, and on text as it is."""
    found, lines = shown_two_ways(data, out, tokens), []
    for name, each in zip(PLANS, found.runs, strict=True):
        loss, copied = visible(load_model(each.run), Dataset.open(data))
        masked = evaluate(each.run, data).by_kind["masked"].loss
        probes = (cell(probed.score, ".1%") for probed in each.probes.values())
        lines.append((name, cell(masked, ".2f"), f"{loss:.2f}", f"{copied:.1%}", *probes))
    head = ("trained with", "loss at masks", "loss where the token is visible", "visible token is its best guess")
    rows((*head, *(f"probe {name}" for name in found.runs[0].probes)), *lines)


@torch.inference_mode()
def visible(loaded: LoadedModel, dataset: Dataset, limit: int = 16_384) -> tuple[float, float]:
    """The loss at tokens that are not hidden at all, and how often they are the best guess at their own place."""
    nats, right, count = 0.0, 0, 0
    for held_out in HeldOutSet.of(dataset.split("valid"), loaded.vocabulary, policy=None).batches(2048, limit):
        ids, batch = torch.from_numpy(held_out.batch.ids).flatten(), held_out.batch
        places = torch.from_numpy(np.flatnonzero(~loaded.vocabulary.is_special[batch.ids]))
        logits = logits_at(loaded.model, places, **as_inputs(loaded.model, batch)).double()
        nats -= logits.log_softmax(-1).gather(1, ids[places, None]).sum().item()
        right += int((logits.argmax(-1) == ids[places]).sum())
        count += len(places)
    return nats / count, right / count


# 3. Only some positions teach


def positions(data: Path, out: Path, tokens: int) -> None:
    """BERT and DeBERTa, which learn from 15 to 30 % of their tokens, beside ELECTRA and DeBERTaV3: from all of them."""
    lines: list[tuple[str, ...]] = []
    recipes = [recipe_named(f"{kind}-{SIZE}") for kind in ("bert", "electra", "deberta", "deberta-v3")]
    for budget in (tokens, 2 * tokens):
        found = compare(data, out / f"positions-{budget}", recipes, Budget(tokens=budget), resume=True)
        lines += [
            (f"{budget:,}", each.recipe, *(cell(probed.score, ".1%") for probed in each.probes.values()))
            for each in found.runs
        ]
    rows(("tokens seen", "recipe", *(f"probe {name}" for name in found.runs[0].probes)), *lines)


# 4. Not a generator


def generator(data: Path, out: Path, tokens: int) -> None:
    """What whole texts cost: left to right, by diffusion, and a masked LM asked as if it were one."""
    mlm = shown_two_ways(data, out, tokens).runs[0]
    recipes = [recipe_named(f"{kind}-{SIZE}") for kind in ("causal", "diffusion")]
    causal, diffusion = compare(data, out / "generator", recipes, Budget(tokens=tokens), resume=True).runs
    pretraining = Pretraining.of(Dataset.open(data), recipes[1])  # the same model, asked another way
    session = Session.begin(pretraining.job(), mlm.steps)
    saved = checkpoint.newest(mlm.run / "checkpoints")
    assert saved is not None
    session.restore(saved)
    asked = bits_per_byte(session.learner, pretraining.validation(session.learner))
    rows(
        ("model", "bits per byte of held-out text"),
        ("left to right", cell(causal.text_bits_per_byte)),
        ("masked diffusion, at most", cell(diffusion.text_bits_per_byte)),
        ("masked LM (30 to 15 % hidden), asked as diffusion, at most", cell(asked)),
    )


LIMITS: dict[str, Callable[[Path, Path, int], None]] = {
    "independence": independence,
    "mismatch": mismatch,
    "positions": positions,
    "generator": generator,
}


def main(data: Path, /, out: Path = Path("limits"), tokens: int = 1_500_000, only: tuple[str, ...] = ()) -> None:
    out.mkdir(parents=True, exist_ok=True)
    part = sample(data, out / "sample")
    for name, limit in LIMITS.items():
        if only and name not in only:
            continue
        print(f"## {name}\n", flush=True)
        limit(data if name == "independence" else part, out, tokens)


if __name__ == "__main__":
    tyro.cli(main)
