import json
from collections.abc import Callable
from dataclasses import asdict
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from transformers import AutoModelForMaskedLM, AutoTokenizer

import unmask
from unmask.corruption.policy import corrupt, policy_named
from unmask.errors import BadInput, Damaged
from unmask.evaluation.intrinsic import evaluate, training_notes
from unmask.files import with_seal, write_json
from unmask.models.load import load_model
from unmask.pretraining.validation import measure_masks
from unmask.records import Blocks
from unmask.results import Evaluated, to_json
from unmask.runs.directory import FORMAT, INTERVAL
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import save_tokenizer, vocabulary_of

Make = Callable[..., Path]
FAMILIES = [
    ("bert", "wordpiece"),
    ("roberta", "unigram"),
    ("modernbert", "bpe"),
    ("deberta-v2", "wordpiece"),
    ("electra", "wordpiece"),
    ("distilbert", "bpe"),
]


def plainly(model: Path, data: Path, length: int, seed: int, rate: float) -> dict[str, float]:
    """The same figures by transformers alone: every document cut by hand, one row at a time, all logits."""
    network, tokenizer = (
        AutoModelForMaskedLM.from_pretrained(model).eval(),
        AutoTokenizer.from_pretrained(model),
    )
    vocabulary = vocabulary_of(tokenizer)
    rows = []
    texts = list(Dataset.open(data).texts("valid"))
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        rows += [ids[begin : begin + length - 2] for begin in range(0, len(ids), length - 2)]
    losses, targets, ranks = [], [], []
    for size in {len(row) for row in rows}:  # rows of one length need no padding
        numbers = [number for number, row in enumerate(rows) if len(row) == size]
        ids = np.array([[vocabulary.start, *rows[n], vocabulary.end] for n in numbers], dtype=np.int32)
        ones = np.ones_like(ids)
        blocks = Blocks(ids, ones.astype(np.bool_), ones, np.array(numbers), 0)
        hidden = corrupt(blocks, policy_named("token", rate=rate), vocabulary, seed=seed)
        with torch.no_grad():
            logits = network(torch.from_numpy(hidden.ids.astype(np.int64))).logits
        scores = logits[torch.from_numpy(hidden.hidden)].log_softmax(-1)
        there = torch.from_numpy(ids[hidden.hidden].astype(np.int64))
        losses += (-scores[torch.arange(len(there)), there]).tolist()
        ranks += (scores.argsort(-1, descending=True) == there[:, None]).int().argmax(-1).tolist()
        targets += there.tolist()
    tokens, octets = sum(map(len, rows)), sum(len(text.encode()) for text in texts)
    loss = float(np.mean(losses))
    return {
        "positions": len(targets),
        "loss": loss,
        "perplexity": float(np.exp(loss)),
        "top1": float(np.mean(np.array(ranks) < 1)),
        "top5": float(np.mean(np.array(ranks) < 5)),
        "bits_per_byte": loss / log(2) * tokens / octets,
        "context_bits": float(entropy(np.bincount(targets), base=2)) - loss / log(2),
    }


@pytest.mark.parametrize(("family", "kind"), FAMILIES)
def test_figures_are_those_of_a_plain_full_computation(family: str, kind: str, make_model: Make, data: Path) -> None:
    model = make_model(family, kind)
    found = evaluate(model, data, length=40, seed=3, rate=0.2)
    expected = plainly(model, data, length=40, seed=3, rate=0.2)
    assert found.positions == expected.pop("positions") > 500
    for name, value in expected.items():
        assert getattr(found, name).value == pytest.approx(value, rel=1e-4, abs=2e-3), name


@pytest.fixture(scope="module")
def found(make_model: Make, data: Path) -> Evaluated:
    return evaluate(make_model(), data, length=64)


def test_the_batch_size_changes_nothing(make_model: Make, data: Path, found: Evaluated) -> None:
    again = evaluate(make_model(), data, length=64, batch=300)
    assert again.positions == found.positions
    assert again.loss.value == pytest.approx(found.loss.value, rel=1e-5)
    assert {name: band.positions for name, band in again.by_frequency.items()} == {
        name: band.positions for name, band in found.by_frequency.items()
    }


def test_another_seed_hides_other_positions(make_model: Make, data: Path, found: Evaluated) -> None:
    other = evaluate(make_model(), data, length=64, seed=1)
    assert other.loss.value != found.loss.value
    assert other.loss.low < found.loss.value < other.loss.high


def test_it_measures_what_training_validates_on(data: Path, make_model: Make, tmp_path: Path) -> None:
    dataset = Dataset.open(data)
    model = load_model(make_model()).model
    model.save_pretrained(tmp_path)
    save_tokenizer(dataset.tokenizer(), tmp_path)
    validated = measure_masks(model, HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=64))
    evaluated = evaluate(tmp_path, data, length=64)
    assert evaluated.positions == validated["predictions"]
    assert evaluated.loss.value == pytest.approx(validated["loss"], rel=1e-5)
    assert evaluated.top1.value == pytest.approx(validated["accuracy"], abs=1e-3)
    for name, figure in (("loss", evaluated.loss), ("accuracy", evaluated.top1)):
        bounds = [validated[f"{INTERVAL}{name}_{end}"] for end in ("low", "high")]
        assert bounds == pytest.approx([figure.low, figure.high], rel=1e-4, abs=1e-3) and bounds[0] < bounds[1]


def test_it_is_said_where_a_model_may_have_been_trained_on_the_text(
    found: Evaluated, data: Path, tmp_path: Path
) -> None:
    dataset, run, further = Dataset.open(data), tmp_path / "run", tmp_path / "further"
    assert found.notes[0].startswith("on what it was trained is not known: this held-out text may have been a part")
    described = {"format": FORMAT, "unmask": "0", "data": dataset.fingerprint, "places": {"data": str(data)}}
    for place, more in ((run, {}), (further, {"places": {"data": str(data), "model": str(run / "model")}})):
        (place / "model").mkdir(parents=True)
        write_json(place / "run.json", with_seal(described | more))
        assert training_notes(place, dataset) == training_notes(place / "model", dataset) == ()
    write_json(run / "run.json", with_seal(described | {"data": "another"}))
    for place in (run, further):  # the second goes on from the first
        assert training_notes(place, dataset)[0].startswith("it was trained on other data: this held-out text may")


def test_kinds_and_bands_each_cover_all_hidden_tokens(found: Evaluated) -> None:
    for parts in (found.by_kind, found.by_frequency):
        assert sum(band.positions for band in parts.values()) == found.positions
        total = sum(band.positions * band.loss.value for band in parts.values())
        assert total / found.positions == pytest.approx(found.loss.value)
    assert list(found.by_kind) == ["masked", "random", "kept"]
    parts = [band.positions / found.positions for band in found.by_kind.values()]
    assert parts == pytest.approx([0.8, 0.1, 0.1], abs=0.05)


def test_figures_are_split_by_source_and_language_where_the_data_knows_them(
    data: Path, corpus: Path, make_model: Make, tmp_path: Path, found: Evaluated
) -> None:
    texts = corpus.read_text(encoding="utf-8").split("\n\n")
    assert found.by_source == found.by_language == {}  # of one file, whose language nobody asked for
    german = [f"Die Katze Nummer {n} saß auf der Matte und sah dem Regen zu. " * 4 for n in range(8)]
    (tmp_path / "wiki.txt").write_text("\n\n".join(texts[:60]))
    (tmp_path / "law.txt").write_text("\n\n".join([*texts[60:80], *german]))
    named = [tmp_path / "wiki.txt", tmp_path / "law.txt"]
    tokenizer = str(data / "tokenizer")
    unmask.prepare(*named, out=tmp_path / "data", tokenizer=tokenizer, mix="wiki=1,law=1", language="any", valid=0.5)
    split = evaluate(make_model(), tmp_path / "data", length=64)
    for groups in (split.by_source, split.by_language):
        assert sum(group.positions for group in groups.values()) == split.positions
        mean = sum(group.loss.value * group.positions for group in groups.values()) / split.positions
        assert mean == pytest.approx(split.loss.value)
    assert [*split.by_source] == ["wiki", "law"] and {"de", "en"} <= split.by_language.keys()


def test_what_follows_from_the_loss_has_the_interval_of_the_loss(found: Evaluated) -> None:
    loss, perplexity, bits = found.loss, found.perplexity, found.bits_per_byte
    assert (perplexity.low, perplexity.high) == pytest.approx((exp(loss.low), exp(loss.high)))
    scale = bits.value / loss.value
    assert (bits.low, bits.high) == pytest.approx((scale * loss.low, scale * loss.high))


def test_figures_over_many_documents_are_not_known_exactly(found: Evaluated) -> None:
    assert found.documents > 20
    for figure in (found.loss, found.top1, found.top5, found.context_bits):
        assert figure.low < figure.value < figure.high


def test_a_sample_is_smaller_and_agrees(make_model: Make, data: Path, found: Evaluated) -> None:
    part = evaluate(make_model(), data, length=64, limit=2000)
    assert 0 < part.positions < 0.6 * found.positions
    assert part.loss.low < found.loss.value < part.loss.high


def test_a_model_that_knows_nothing_is_as_good_as_chance_and_ties_are_no_success(
    data: Path, make_model: Make, tmp_path: Path
) -> None:
    loaded = load_model(make_model())
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.zero_()
    loaded.model.save_pretrained(tmp_path)
    save_tokenizer(loaded.tokenizer, tmp_path)
    found = evaluate(tmp_path, data, length=64)
    size = loaded.vocabulary.size
    assert found.loss.value == pytest.approx(log(size), rel=1e-5)
    assert found.top1.value == 0  # among equals the lowest id leads, and that is [PAD]
    assert found.context_bits.value < 0


def test_baselines_know_the_training_frequencies_only(data: Path, make_model: Make, tmp_path: Path) -> None:
    dataset = Dataset.open(data)
    load_model(make_model()).model.save_pretrained(tmp_path)
    save_tokenizer(dataset.tokenizer(), tmp_path)
    found = evaluate(tmp_path, data, length=64)
    examples = HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=64)
    targets = np.concatenate([held_out.batch.targets for held_out in examples.batches()])
    likeliest = np.bincount(np.concatenate(list(_training_ids(dataset)))).argmax()
    assert found.most_frequent_top1 == pytest.approx(np.mean(targets == likeliest))
    cost = entropy(np.bincount(targets))
    assert cost < found.unigram_loss < cost + 0.2  # training text is like the held-out text, not the same


def _training_ids(dataset: Dataset) -> list[np.ndarray]:
    return [each.ids for each in encode(dataset.tokenizer(), list(dataset.texts("train")))]


def test_what_cannot_be_measured_is_refused_in_one_line(data: Path, make_model: Make, tmp_path: Path) -> None:
    model = make_model()
    for settings, line in [
        ({"length": 65}, "--length 65: this model takes rows of 3 to 64 tokens"),
        ({"length": 2}, "--length 2"),
        ({"rate": 0.0}, r"--rate 0\.0"),
        ({"rate": 1.5}, r"--rate 1\.5"),
    ]:
        with pytest.raises(BadInput, match=line):
            evaluate(model, data, **settings)  # type: ignore[arg-type]
    loaded = load_model(model)
    with torch.no_grad():
        next(loaded.model.parameters()).fill_(float("nan"))
    loaded.model.save_pretrained(tmp_path)
    save_tokenizer(loaded.tokenizer, tmp_path)
    with pytest.raises(Damaged, match="not finite"):
        evaluate(tmp_path, data, length=64)


def test_the_result_is_json_to_the_last_number(found: Evaluated) -> None:
    read = json.loads(to_json(found))
    assert read["loss"] == asdict(found.loss) and read["positions"] == found.positions
    assert read["by_kind"]["masked"]["top1"]["value"] == found.by_kind["masked"].top1.value
