"""The verbs as library calls: paths in, typed results out."""

import inspect
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.cli import COMMANDS

Make = Callable[..., Path]


def test_the_whole_way_from_text_to_filled_blanks(corpus: Path, tmp_path: Path) -> None:
    data, run = str(tmp_path / "data"), str(tmp_path / "run")
    prepared = unmask.prepare(str(corpus), out=data, vocab_size=300, valid=0.1)
    assert prepared.counts["train"] + prepared.counts["valid"] == 300
    assert unmask.verify(data).damage == ()
    trained = unmask.pretrain(data, out=run, recipe="bert-tiny", steps=3)
    assert trained.steps == 3
    evaluated = unmask.evaluate(run, data)
    assert evaluated.loss.value == pytest.approx(trained.loss, rel=1e-4)
    assert evaluated.top1.value == pytest.approx(trained.accuracy, abs=1e-3)
    (filled,) = unmask.fill(run, "The king sees the [MASK].", top=3)
    assert len(filled.blanks[0]) == 3
    assert filled.completed.startswith("The king sees the")


def test_hiding_can_be_seen_and_measured_as_library_calls(data: Path, tmp_path: Path) -> None:
    found = unmask.collocations(str(data), out=str(tmp_path / "list.txt"), least=3)
    assert "bread and butter" in [phrase.text for phrase in found.phrases]
    (shown,) = unmask.show(data, "Nobody likes bread and butter.", policy="collocation", phrases=found.path)
    assert 0 < shown.hidden < shown.tokens
    audited = unmask.audit(data, policy="collocation", phrases=tmp_path / "list.txt", length=64, blocks=100)
    assert audited.policy == "collocation" and audited.lengths.get(3, 0) > 0


def test_the_collator_is_there_for_those_who_ask(data: Path) -> None:
    from unmask.tokens.store.dataset import Dataset

    batch = unmask.Collator(Dataset.open(data).tokenizer(), policy="word", rate=0.15, seed=0)([[2, 7, 8, 9, 3]])
    assert set(batch) == {"input_ids", "attention_mask", "labels"}
    with pytest.raises(AttributeError, match="no attribute 'Colator'"):
        _ = unmask.Colator


@pytest.mark.parametrize("verb", COMMANDS.values(), ids=COMMANDS)
def test_every_setting_is_explained_and_typed(verb: Callable[..., object]) -> None:
    explained = (inspect.getdoc(verb) or "").partition("Args:\n")[2]
    names = [line.partition(":")[0].strip() for line in explained.splitlines() if not line.startswith(" " * 8)]
    assert names == list(inspect.signature(verb).parameters)
    assert all(each.annotation is not each.empty for each in inspect.signature(verb).parameters.values())


ASK_FOR_TORCH = """
import json, sys
from unmask.cli import main

told = []
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as leaving:
        told.append([words[0], leaving.code, "torch" in sys.modules])
print(json.dumps(told))
"""


def test_verbs_that_compute_nothing_load_no_torch(corpus: Path, data: Path, tmp_path: Path) -> None:
    unmask.pretrain(data, out=tmp_path / "run", recipe="tiny", steps=2, length=32, batch_size=2, report=False)
    asked = [
        ["--help"],
        ["pretrain", "--help"],
        ["runs", tmp_path],
        ["watch", tmp_path / "run"],
        ["verify", data],
        ["show", data, "The king sees the sea."],
        ["show", tmp_path / "run", "The king sees the sea.", "--all"],
        ["collocations", data],
        ["audit", data, "--blocks", 50],
        ["audit", data, "--hardness", "--policy", "span"],
        ["prepare", corpus, "--out", tmp_path / "data", "--vocab-size", 300],
    ]
    words = json.dumps([[str(word) for word in each] for each in asked])
    done = subprocess.run([sys.executable, "-c", ASK_FOR_TORCH, words], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [[each[0], 0, False] for each in asked]


LOADED_BY_FILL = """
import json, sys
from unmask.cli import main

try:
    main(["fill", sys.argv[1], "The [MASK] sees.", "--json"])
except SystemExit as leaving:
    print(json.dumps([leaving.code, *(name for name in sys.argv[2:] if name in sys.modules)]))
"""


def test_filling_loads_the_model_s_engine_and_no_other(make_model: Make) -> None:
    engines = ["sklearn", "ray", "pyarrow", "pandas", "matplotlib", "lxml", "fastapi", "datasets", "tensorboard"]
    ours = [
        f"unmask.{room}" for room in ("training", "pretraining", "objectives", "corpus", "corruption", "evaluation")
    ]
    model = str(make_model("modernbert"))  # for which not even transformers' models are loaded
    line = [sys.executable, "-c", LOADED_BY_FILL, model, "transformers.modeling_utils", *engines, *ours]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0]


def test_every_command_is_a_library_call_of_the_same_name() -> None:
    assert {name: getattr(unmask, name) for name in COMMANDS} == COMMANDS


def test_nothing_to_do_is_said(make_model: Make) -> None:
    with pytest.raises(unmask.BadInput, match="nothing to read"):
        unmask.prepare(out="data")
    with pytest.raises(unmask.BadInput, match="nothing to fill"):
        unmask.fill(make_model())
    with pytest.raises(unmask.BadInput, match="nothing to show"):
        unmask.show(make_model())


def test_a_dash_stands_for_the_lines_of_standard_input(make_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Ä [MASK]\n\n  b [MASK]\n".encode())))
    assert [filled.text for filled in unmask.fill(make_model(), "-")] == ["Ä [MASK]", "b [MASK]"]
