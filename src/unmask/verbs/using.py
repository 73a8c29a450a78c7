"""Models measured, compared and put to use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unmask.errors import BadInput, MissingOption
from unmask.files import check_writable, missing_path
from unmask.results import Comparison, Evaluated, Filled, TunedComparison, Written
from unmask.verbs.arguments import Location, given_settings, path_of, text_of
from unmask.verbs.commands import streamed, verb
from unmask.verbs.lines import Answers, answer_texts

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.inference.model import Model


@verb
def evaluate(
    model: Location,
    data: Location,
    /,
    *,
    length: int = 128,
    seed: int = 0,
    rate: float = 0.15,
    limit: int | None = None,
    consistency: bool = False,
    plot: Location | None = None,
    revision: str | None = None,
) -> Evaluated:
    """Measure how well a model restores hidden tokens of held-out text.

    The hidden positions are fixed by the data, the tokenizer, the length, the rate and the seed, so that
    models compare on the same blanks; bits per byte compare models whose tokenizers differ. XLNet and MPNet, which can
    predict hidden tokens one after another, are measured both ways, with what the difference is worth.

    Args:
        model: A run, any directory with a masked language model or an XLNet of transformers, or a name on the hub:
            org/name, or hf:name.
        data: A data directory made by prepare.
        length: Tokens in a row, the two that open and close it among them.
        seed: Which positions are hidden.
        rate: The fraction of tokens hidden.
        limit: Measure on an even sample of about so many tokens, instead of all that are held out.
        consistency: Measure too how far answers depend on the order of asking.
        plot: A file to draw the reliability diagram in, such as calibration.png: is it as sure as it is right?
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    from unmask.models.locate import model_directory

    directory = model_directory(Path(model), revision)  # a wrong path is told before anything heavy is loaded
    if plot is not None:
        check_writable(Path(plot), beside=True)
    from unmask.evaluation.intrinsic import evaluate as run

    settings = {"length": length, "seed": seed, "rate": rate, "limit": limit, "consistency": consistency}
    asked = Path(model) if revision is None else directory
    return run(asked, Path(data), **settings, plot=path_of(plot))  # type: ignore[arg-type]


@verb
def compare(
    *models: Location,
    data: Location | None = None,
    recipes: str = "",
    out: Location = "compare",
    minutes: float | None = None,
    tokens: int | None = None,
    flops: float | None = None,
    probe_texts: Location | None = None,
    probe_tags: Location | None = None,
    phrases: Location | None = None,
    length: str | int | None = None,
    batch_size: int | None = None,
    precision: str = "auto",
    seed: int = 0,
    paired: bool = False,
    resume: bool = False,
) -> Comparison | TunedComparison:
    """Measure and probe runs and recipes alike; or tuned runs, by what they answered.

    Masked loss and accuracy on the same masks, bits per byte of text, speed, and linear probes on frozen vectors, each
    with its 95 % interval; a run for each recipe, compare.json and compare.png. What budgets, data or tokenizers keep
    from being compared is said. Ctrl-C saves; --resume goes on.

    Tuned runs that were judged on the same test set are compared example by example, with paired intervals and a
    significance test: unmask compare A B. Where both were tuned with --seeds, order, dropout and the drawn head are the
    same for a seed, and the difference is given seed by seed too.

    Args:
        models: Runs, directories with a masked language model of transformers, or names on the hub (org/name, or
            hf:name): measured, not trained.
        data: A data directory made by prepare; tuned runs need none.
        recipes: Recipes to train, with commas between them: bert,electra,causal, or bert-tiny,electra-tiny.
        out: The directory to write: a run for each recipe, compare.json, compare.png.
        minutes: The budget of each recipe in minutes of training.
        tokens: The budget of each in tokens seen.
        flops: The budget of each in floating-point operations, such as 1e15.
        probe_texts: A JSONL file with a text and its label on each line, for a probe of your own.
        probe_tags: A file with a token, a tab and its tag on each line, blank lines between sentences, for another.
        phrases: A file with a phrase a line, for recipes that hide phrases; without it they are mined from the data.
        length: Tokens in a block: 128, or longer ones in the end, "128 until 0.9; 1024".
        batch_size: Blocks in a step.
        precision: Of a recipe's products: float32, bfloat16, float16, or auto, which is what pretrain takes here.
        seed: Where the weights, the order of the blocks and the hidden positions come from.
        paired: Of tuned runs: refuse those that share fewer than two seeds, and so cannot be compared seed by seed.
        resume: Go on with the comparison that is already there.
    """
    from unmask.models.locate import model_directory
    from unmask.tokens.store.manifest import read_manifest

    if data is None:
        return _compare_tuned(models, paired)
    if paired:
        raise BadInput("--paired is of tuned runs: recipes share their order and masks by --seed; leave it out")
    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    check_writable(Path(out))
    for model in models:
        model_directory(Path(model))
    from unmask.evaluation.compare import compare as run
    from unmask.pretraining.recipes import recipe_named
    from unmask.training.budget import Budget

    settings = given_settings(phrases=text_of(phrases), length=length, batch_size=batch_size)
    return run(
        Path(data),
        Path(out),
        [recipe_named(name.strip(), **settings) for name in recipes.split(",") if name.strip()],
        Budget(minutes=minutes, tokens=tokens),
        models=[Path(model) for model in models],
        flops=flops,
        precision=precision,
        probe_texts=None if probe_texts is None else Path(probe_texts),
        probe_tags=None if probe_tags is None else Path(probe_tags),
        seed=seed,
        resume=resume,
    )


def _compare_tuned(models: tuple[Location, ...], paired: bool) -> TunedComparison:
    """Tuned runs by their answers; of others it is said what they need."""
    from unmask.evaluation.tuned.comparison import compare_tuned, is_judged

    runs = [Path(model) for model in models]
    for run in runs:
        if not run.exists():
            raise missing_path(run, "give runs that are there")
        if not is_judged(run):
            names = " ".join(map(str, runs))
            raise MissingOption(
                f"--data is missing: models are compared on held-out text, as in unmask compare {names} --data DATA "
                f"(only runs of tune that were judged need none, and {run} is no such run)"
            )
    if not runs:
        raise MissingOption("compare what? name runs, or --recipes, with --data; or two tuned runs")
    return compare_tuned(runs, by_seed=paired)


@verb
@streamed
def fill(
    model: Location,
    /,
    *texts: str,
    top: int = 5,
    targets: tuple[str, ...] = (),
    pieces: str = "1-4",
    explain: bool = False,
    step: int | None = None,
    on_long: Literal["windows", "error", "cut"] = "windows",
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Literal["float32", "bfloat16", "float16"] = "float32",
    revision: str | None = None,
) -> Iterator[Filled | Written]:
    """Fill the blanks of texts, with probabilities; several blanks agree.

    A blank is [MASK], a token, or [MASK:word], a word of one or several. The text is completed with what its blanks
    agree on: two by the joint distribution nearest to what the model says of each, more by a search in several orders;
    what each says on its own stands beside it. Tokens that go on with a word are offered after a letter only;
    probabilities are over the whole vocabulary. Of T5 a blank holds a span of any length, found by beam search. Lines
    that cannot be filled are named at the end (exit code 3).

    What is here wins over a name on the hub. A name is org/name where there is no folder org, hf:name, or what the
    hub's cache has; its config, tokenizer and safetensors are fetched once, no pickles and no code.

    Args:
        model: A run, any directory with a masked language model or a T5 of transformers, or a name on the hub:
            org/name, or hf:name.
        texts: Texts with blanks, a file of them (a text a line, or .jsonl), or - for standard input.
        top: How many candidates for each blank, and for all together.
        targets: Only these words, of any number of tokens, the likeliest first; they come after the texts.
        pieces: How many tokens a word may have where [MASK:word] stands, such as 2 or 1-4.
        explain: Tell which words of the context mattered, each being replaced by others that could stand there.
        step: Of a run, also one that still trains, ask the moment that it kept after so many steps, instead of its
            model.
        on_long: A text longer than the model takes is read in windows around its blanks, refused, or cut.
        field: The field of JSON lines that holds the text; text if not given.
        out: A file to write, a line of JSON for each text; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput('nothing to fill: give a text with a blank, such as "Paris is in [MASK]."')
    asked = model_to_ask(model, device, precision, revision, step)

    def answer(texts: list[str]) -> Answers[Filled]:
        each = asked.fill_each(texts, top=top, targets=targets, pieces=pieces, explain=explain, on_long=on_long)
        for filled in each:
            yield filled if isinstance(filled, BadInput) else [filled]

    settings = {"model": asked.path, "precision": precision, "top": top, "targets": targets, "pieces": pieces}
    settings |= {"explain": explain, "on_long": on_long} | given_settings(step=step)
    return answer_texts(texts, answer, done="filled", field=field, out=path_of(out), settings=settings)


def model_to_ask(
    model: Location, device: str | None, precision: str, revision: str | None = None, step: int | None = None
) -> Model:
    """A model that answers, or a moment of a run; a wrong path is told before anything heavy is loaded."""
    from unmask.models.locate import model_directory, moment_directory

    directory = (model_directory if step is None else moment_directory)(Path(model), revision)
    from unmask.inference.model import load

    asked = load(directory, device=device, precision=precision)
    return asked if step is None else asked.at_step(step)
