"""What a policy hides: shown on a text, measured on data, and the phrases that are hidden whole."""

from __future__ import annotations

from pathlib import Path

from unmask.errors import BadInput, Refused
from unmask.files import check_writable
from unmask.results import Audited, Collocated, Shown
from unmask.verbs.arguments import Location, standard_input
from unmask.verbs.commands import takes_lines, verb


@verb
@takes_lines
def show(
    *texts: str,
    model: Location,
    policy: str = "token",
    all: bool = False,
    rate: str | None = None,
    phrases: Location | None = None,
    seed: int = 0,
) -> list[Shown]:
    """Show texts as a model will see them: what a policy hides, the original above.

    Hidden, random and kept tokens have a colour each, or signs where there is none; what is hidden together is
    underlined.

    Args:
        texts: Texts to hide in, or - for standard input, one text a line.
        model: What has the tokenizer: a run, a model, a tokenizer or a data directory.
        policy: What is hidden: token, word, span, ngram, sentinel and so on, or "span 0.7, token 0.3".
        all: Every policy on the same text; entity, phrase and collocation if there are phrases.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation; else the lists of the
            data directory, mined if there are none.
        seed: Which positions are hidden.
    """
    from unmask.models.locate import tokenizer_directory

    if not texts:
        raise BadInput('nothing to show: give a text, such as "The cat sat on the mat."')
    directory = tokenizer_directory(Path(model))  # a wrong path is told before anything heavy is loaded
    from unmask.inference.show import Phrases, phrases_of_data, show_all, show_text
    from unmask.tokens.spans.phrases import read_phrases
    from unmask.tokens.tokenizer.load import load_tokenizer

    phrase_list: Phrases = (
        read_phrases(phrases) if phrases is not None else phrases_of_data(Path(model), None if all else policy)
    )
    tokenizer = load_tokenizer(directory)
    results: list[Shown] = []
    for text in (text for _, text in standard_input()) if texts == ("-",) else texts:
        if all:
            results += show_all(tokenizer, text, rate=rate, seed=seed, phrases=phrase_list)
        else:
            results.append(show_text(tokenizer, text, policy, rate=rate, seed=seed, phrases=phrase_list))
    return results


@verb
def audit(
    data: Location,
    /,
    *,
    policy: str = "token",
    rate: str | None = None,
    length: int = 512,
    blocks: int = 2048,
    phrases: Location | None = None,
    seed: int = 0,
) -> Audited:
    """Measure what a policy really does on the blocks of a data directory.

    The realised rate and its spread, how hidden tokens are shown, the lengths of what is hidden together, whether a
    position is favoured, whether a special token was touched, and the speed.

    Args:
        data: A data directory made by prepare.
        policy: What is hidden: span, "span 0.7, token 0.3" and so on, as it is at the beginning of a training.
        rate: How much is hidden, such as 0.15; the policy's published rate if not given.
        length: Tokens in a block.
        blocks: How many blocks of the training text, at the most.
        phrases: A file with a phrase a line, for the policies entity, phrase and collocation; else as the data marks,
            or its lists, mined if there are none.
        seed: Which blocks, and which positions are hidden.
    """
    from unmask.tokens.store.manifest import read_manifest

    read_manifest(Path(data))  # a wrong path is told before anything heavy is loaded
    from unmask.evaluation.audit import audit_data
    from unmask.tokens.spans.phrases import read_phrases

    phrase_list = read_phrases(phrases) if phrases is not None else ()
    return audit_data(data, policy, rate=rate, length=length, blocks=blocks, phrases=phrase_list, seed=seed)


@verb
def collocations(
    data: Location,
    /,
    *,
    out: Location | None = None,
    top: int = 20_000,
    longest: int = 5,
    least: int = 10,
    overwrite: bool = False,
) -> Collocated:
    """Find the word sequences of a data directory that belong together.

    Those that no split of theirs explains (PMI-masking), best first. The list is text, a phrase a line: strike out
    lines, add some, and give it to pretrain, audit or show with --phrases.

    Args:
        data: A data directory made by prepare.
        out: The list to write; without it the best are only shown.
        top: How many to keep.
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
        best = mine_collocations(
            stream, wordless_tokens(tokenizer), max_words=longest, min_count=least, top=top, step=step
        )
    phrases = as_phrases(best, tokenizer)
    if out is not None:
        write_phrases(phrases, Path(out))
    return Collocated(
        data=Path(data),
        path=None if out is None else Path(out),
        phrases=tuple(phrases),
        seconds=perf_counter() - start,
    )
