"""What several tests start from: a small corpus, tokenizers of each kind, models with random weights."""

from __future__ import annotations

import inspect
import io
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from unmask.records import Vocabulary

# one thread for each process: tests run side by side
os.environ.setdefault("OMP_NUM_THREADS", "1")
# what is kept for a user from one command to the next is kept here for nobody
os.environ["XDG_STATE_HOME"] = os.path.join(tempfile.gettempdir(), f"unmask-state-{os.getpid()}")  # noqa: PTH118


def pytest_configure(config: pytest.Config) -> None:
    """Where bfloat16 would end this process, torch is told before its first product."""
    from unmask.training.machine.processor import half_precision_works

    half_precision_works()


# a machine that is busy for a moment is no fault of what is tested
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--record-golden` keeps the numbers of this run instead of comparing with yesterday's: see `golden.golden`."""
    parser.addoption("--record-golden", action="store_true", help="record tests/golden/losses.json anew")


WHO = (
    "the king|the cat|the dog|my sister|nobody|the river|her teacher|our neighbour|a quiet boy|the captain|"
    "one traveller|the moon|an engineer|grandmother|the whole village|a stranger|the gardener|some children"
)
DOES = (
    "sees|likes|remembers|follows|paints|forgets|wants|understands|describes|crosses|builds|hears|imagines|"
    "carries|measures|welcomes|discovers|repairs"
)
WHAT = (
    "the garden|a small house|the capital of France|music|bread and butter|the sea|Paris|old stories|the king|"
    "every mountain|a wooden bridge|the northern light|an unbelievable number|the dog|clouds|two silver coins"
)
HOW = (
    "every day.|in winter.|without a word.|, of course.|and laughs!|again.|at night?|before breakfast.|"
    "with great patience.|; it rains.|under the tree.|since the beginning of the year."
)
SIZES = {"wordpiece": 300, "bpe": 500}
SLOTS = [part.split("|") for part in (WHO, DOES, WHAT, HOW)]


def sentences(count: int, seed: int = 0) -> list[str]:
    """English enough to learn from, and the same every time."""
    draw = random.Random(seed)
    drawn = (" ".join(draw.choice(slot) for slot in SLOTS) for _ in range(count))
    return [re.sub(" (?=[,;])", "", text[0].upper() + text[1:]) for text in drawn]


def documents(count: int, seed: int = 0) -> list[str]:
    """Documents of 3 to 20 such sentences."""
    draw = random.Random(seed)
    return [" ".join(sentences(draw.randint(3, 20), seed=draw.randrange(1 << 30))) for _ in range(count)]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of 300 documents."""
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("\n\n".join(documents(300)) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def data(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory made of the corpus, a tenth of it held out."""
    import unmask

    path = tmp_path_factory.mktemp("data") / "data"
    unmask.prepare(corpus, out=path, vocab_size=300, valid=0.1)
    return path


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Model directories of a family and a kind of tokenizer, tiny and with random weights; do not change them."""
    made: dict[str, Path] = {}

    def make(family: str = "bert", kind: str = "wordpiece", **changes: object) -> Path:
        from unmask.tokens.tokenizer.load import save_tokenizer, vocabulary_of
        from unmask.tokens.tokenizer.train import train_tokenizer

        name = "-".join([family, kind, *map(str, changes.values())])
        if name not in made:
            ours = kind in SIZES
            tokenizer = train_tokenizer(documents(200), kind, SIZES[kind]) if ours else _foreign_unigram()
            made[name] = tmp_path_factory.mktemp("models") / name
            save_tokenizer(tokenizer, made[name])
            _model(family, vocabulary_of(tokenizer), changes).save_pretrained(made[name])
        return made[name]

    return make


@pytest.fixture(scope="session")
def kept_run(make_model: Callable[..., Path], data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, as it looks, of a model with random weights, and three moments that it kept; do not change it."""
    import shutil

    from unmask.files import with_seal, write_json
    from unmask.models.load import load_model
    from unmask.runs.directory import FORMAT
    from unmask.training.checkpoint import Checkpoint, save

    run = tmp_path_factory.mktemp("kept") / "run"
    shutil.copytree(make_model("bert"), run / "model")
    description = {"format": FORMAT, "unmask": "0", "kind": "pretrain", "name": "tiny", "steps": 10, "seed": 0}
    description |= {"places": {"data": str(data)}, "uses": ["unmask fill RUN EXAMPLE"], "figures": []}
    write_json(run / "run.json", with_seal(description))
    (run / "metrics.jsonl").write_text('{"step": 10, "loss": 5.0, "tokens": 100}\n{"step": 10, "final_loss": 5.0}\n')
    weights = {name: each.detach() for name, each in load_model(run / "model").model.named_parameters()}
    for step, factor in ((0, 0.1), (5, 0.5), (10, 1.0)):
        learnt = {name: tensor * factor for name, tensor in weights.items()}
        save(run / "moments", Checkpoint(step, learnt, {}, {}), keep=None)
    save(run / "checkpoints", Checkpoint(10, weights, {}, {}))
    save(run / "best", Checkpoint(5, {name: tensor * 0.5 for name, tensor in weights.items()}, {}, {}))
    return run


def _foreign_unigram() -> PreTrainedTokenizerFast:
    """A tokenizer as others make them: Unigram, with <s>, </s> and <mask>, and words marked by ▁."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    text = " ".join(documents(200))
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [
        *sorted({f"▁{word}" for word in re.findall(r"\w+", text)}),
        "ing",
        "s",
        "▁",
        *sorted(set(text) - {" "}),
    ]
    scored = [(piece, -10.0 / len(piece)) for piece in dict.fromkeys(pieces)]
    backend = Tokenizer(models.Unigram([*((each, 0.0) for each in specials), *scored], unk_id=3))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens([*specials, AddedToken("<mask>", lstrip=True)])
    backend.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 2)])
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"}
    names |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def _model(family: str, vocabulary: Vocabulary, changes: dict[str, object]) -> PreTrainedModel:
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM

    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    names = ("dim", "n_layers", "n_heads", "hidden_dim") if family == "distilbert" else names
    settings = {
        **dict(zip(names, (32, 2, 2, 64), strict=True)),
        **({"embedding_size": 32} if family == "electra" else {}),
        "vocab_size": vocabulary.size,
        "max_position_embeddings": 64,
        "pad_token_id": vocabulary.pad,
        "initializer_range": 0.4,  # wide, so that some tokens are clearly likelier than others
        **changes,
    }
    torch.manual_seed(0)
    return AutoModelForMaskedLM.from_config(AutoConfig.for_model(family, **settings))


def given(function: Callable[..., Any], args: tuple[Any, ...], more: dict[str, Any]) -> dict[str, Any]:
    """What a call gives a function, by the names of its parameters: in which order they stand is nobody's business."""
    return inspect.signature(function).bind(*args, **more).arguments


@pytest.fixture(scope="session")
def before_step() -> Callable[[int, Callable[[Any], object]], AbstractContextManager[None]]:
    """Has something happen to the learner before a step, counted from 0: `with before_step(4, act): train(…)`."""

    @contextmanager
    def happening(at: int, act: Callable[[Any], object]) -> Iterator[None]:
        from unmask.training import loop

        taken = loop.take_step

        @wraps(taken)
        def take_step(*args: Any, **more: Any) -> Any:
            call = given(taken, args, more)
            if call["step"] == at:
                act(call["learner"])
            return taken(*args, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "take_step", take_step)
            yield

    return happening


@pytest.fixture(scope="session")
def interrupted(
    before_step: Callable[[int, Callable[[Any], object]], AbstractContextManager[None]],
) -> Callable[..., AbstractContextManager[None]]:
    """Has a signal arrive while a step is taken, counted from 1: `with interrupted(5): train(…)`."""

    def arriving(step: int, number: int = signal.SIGINT) -> AbstractContextManager[None]:
        return before_step(step - 1, lambda _learner: os.kill(os.getpid(), number))

    return arriving


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], list[dict[str, Any]]]:
    """Notes what a function is called with, by the names of its parameters: `calls = recorded(module, "function")`."""

    def record(place: Any, name: str) -> list[dict[str, Any]]:
        real = getattr(place, name)
        calls: list[dict[str, Any]] = []

        @wraps(real)
        def call(*args: Any, **more: Any) -> Any:
            calls.append(given(real, args, more))
            return real(*args, **more)

        monkeypatch.setattr(place, name, call)
        return calls

    return record


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a user does, in a process of its own."""

    def run(*words: object, stdin: str | bytes = b"", **more: Any) -> subprocess.CompletedProcess[str]:
        said = stdin.encode() if isinstance(stdin, str) else stdin
        line = [sys.executable, "-m", "unmask", *map(str, words)]
        done = subprocess.run(line, input=said, capture_output=True, timeout=120, check=False, **more)
        return subprocess.CompletedProcess(line, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def inside(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line in this process: the same, but what is heavy is already loaded."""

    def run(*words: object, stdin: str | bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        from unmask.cli import main

        said = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert isinstance(leaving.value.code, int)
        return subprocess.CompletedProcess(words, leaving.value.code, out, err)

    return run
