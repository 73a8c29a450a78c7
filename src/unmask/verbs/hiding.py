"""What a policy hides: shown on a text, measured on data, and the phrases that are hidden whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Refused
from unmask.files import check_writable
from unmask.results import Audited, Collocated, Hardness, Shown, Written
from unmask.verbs.arguments import Location
from unmask.verbs.commands import streamed, verb
from unmask.verbs.lines import Answers, answer_texts


@verb
@streamed
def show(
    model: Location,
    /,
    *texts: str,
    policy: str = "token",
    all: bool = False,
    rate: str | None = None,
    phrases: Location | None = None,
    seed: int = 0,
    epoch: int = 0,
    revision: str | None = None,
) -> Iterator[Shown | Written]:
    """Show texts as a model will see them: what a policy hides, the original above.

    Hidden, random and kept tokens have a colour each, or signs where there is none; what is hidden together is
    underlined; ## stands before a token that goes on with a word, whatever the tokenizer.

    Args:
        model: What has the tokenizer: a data directory, a run, a model or a tokenizer, or a name on the hub, of which
            only the tokenizer is fetched.
        texts: Texts to hide in, a file of them (a text a line, or .jsonl), or - for standard input.
        policy: What is hidden: token, word, span, ngram, sentinel and so on, or "span 0.7, token 0.3".
        all: Every policy on the same text; entity, phrase and collocation if there are phrases.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation; else the lists of the
            data directory, mined if there are none.
        seed: Which positions are hidden.
        epoch: In which pass over the data, counted from 0: each hides anew.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput('nothing to show: give a text, such as "The cat sat on the mat."')
    from unmask.models.locate import tokenizer_directory

    directory = tokenizer_directory(Path(model), revision)  # a wrong path is told before anything heavy is loaded
    if epoch < 0:
        raise BadInput(f"--epoch {epoch}: passes over the data are counted from 0")
    draw = {"rate": rate, "seed": seed, "epoch": epoch}
    show_one = _shower(directory, model, policy=policy, all=all, phrases=phrases, draw=draw)

    def answer(texts: list[str]) -> Answers[Shown]:
        for text in texts:
            try:
                yield show_one(text)
            except BadInput as error:
                yield error

    return answer_texts(texts, answer, done="shown")


def _shower(
    directory: Path, model: Location, *, policy: str, all: bool, phrases: Location | None, draw: dict[str, Any]
) -> Callable[[str], list[Shown]]:
    """From a text to what a policy, or each of them, makes of it; wrong settings are told before any text is read."""
    from unmask.corruption.schedule import parse_schedule
    from unmask.inference.show import Phrases, phrases_of_data, show_all, show_text
    from unmask.tokens.spans.phrases import read_phrases
    from unmask.tokens.tokenizer.load import load_tokenizer, vocabulary_of

    parse_schedule(policy, draw["rate"])
    phrase_list: Phrases = (
        read_phrases(phrases) if phrases is not None else phrases_of_data(Path(model), None if all else policy)
    )
    tokenizer = load_tokenizer(directory)
    vocabulary_of(tokenizer)

    def show_one(text: str) -> list[Shown]:
        if all:
            return show_all(tokenizer, text, phrases=phrase_list, **draw)
        return [show_text(tokenizer, text, policy, phrases=phrase_list, **draw)]

    return show_one


@verb
def audit(
    data: Location,
    /,
    *,
    policy: str | None = None,
    hardness: bool = False,
    rate: str | None = None,
    length: int = 512,
    blocks: int = 2048,
    phrases: Location | None = None,
    seed: int = 0,
) -> Audited | Hardness:
    """Measure what a policy really does on the blocks of a data directory.

    The realised rate and its spread, how hidden tokens are shown, the lengths of what is hidden together, whether a
    position is favoured (it is said to be where the p-value is below 0.001), whether a special token was touched, and
    the speed. With --hardness instead: how predictable what is hidden is, in bits under a bigram model of the
    training text, measured on held-out text.

    Args:
        data: A data directory made by prepare.
        policy: What is hidden: span, "span 0.7, token 0.3" and so on, as it is at the beginning of a training; token if
            not given, and with --hardness every policy.
        hardness: How predictable what is hidden is from its neighbours, beside what the policy token hides.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        length: Tokens in a block.
        blocks: How many blocks of the training text, at the most; with --hardness of the held-out text.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation; else as the data marks,
            or its lists, mined if there are none.
        seed: Which blocks, and which positions are hidden.
    """
    from unmask.tokens.store.manifest import read_manifest

    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    from unmask.evaluation.audit import audit_data
    from unmask.evaluation.hardness import measure_hardness
    from unmask.tokens.spans.phrases import read_phrases

    settings: dict[str, Any] = {"rate": rate, "length": length, "blocks": blocks, "seed": seed}
    settings["phrases"] = read_phrases(phrases) if phrases is not None else ()
    if hardness:
        return measure_hardness(data, () if policy is None else (policy,), **settings)
    return audit_data(data, policy or "token", **settings)


@verb
def collocations(
    data: Location,
    /,
    *,
    out: Location | None = None,
    above: float | None = None,
    top: int | None = None,
    longest: int = 5,
    least: int = 10,
    overwrite: bool = False,
) -> Collocated:
    """Find the word sequences of a data directory that belong together.

    Those that no split of theirs explains (PMI-masking), best first, down to the score that words side by side by
    chance alone can reach. The list is text, a phrase a line: strike out lines, add some, and give it to pretrain,
    audit or show with --phrases.

    Args:
        data: A data directory made by prepare.
        out: The list to write; without it the best are only shown.
        above: Stop at this score instead, such as -8 for a longer list; 0 is the best that there is.
        top: How many to keep at the most.
        longest: How many words a collocation has at the most.
        least: Only what occurs more often than this.
        overwrite: Replace a list that is already there, edited or not.
    """
    from time import perf_counter

    from unmask.tokens.store.manifest import read_manifest

    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    if out is not None and Path(out).exists() and not overwrite:
        raise Refused(f"{out}: is already there; name another file, or replace it with --overwrite")
    if out is not None:
        check_writable(Path(out), beside=True)
    from unmask.progress import task
    from unmask.tokens.spans.collocations import mine_collocations
    from unmask.tokens.spans.phrases import as_phrases, wordless_tokens, write_phrases
    from unmask.tokens.store.dataset import Dataset

    start = perf_counter()
    dataset = Dataset.open(data)
    stream, tokenizer = dataset.split("train"), dataset.tokenizer()
    with task("Collocations", total=2 * longest) as step:
        mined = mine_collocations(
            stream, wordless_tokens(tokenizer), max_words=longest, min_count=least, above=above, top=top, step=step
        )
    phrases = as_phrases(mined.collocations, tokenizer)
    if out is not None:
        write_phrases(phrases, Path(out))
    return Collocated(
        data=Path(data),
        path=None if out is None else Path(out),
        phrases=tuple(phrases),
        above=mined.above,
        chance=mined.chance,
        seconds=perf_counter() - start,
    )
