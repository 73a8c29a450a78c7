"""Whether a domain is something that the model never saw: another language, or characters that its tokens do not have.

In: a model's texts. Out: lines for a person; nothing is refused, for to learn a new language is a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from unmask.adapting.start import AdaptStart
from unmask.corpus.rules.language import UNDETERMINED, identifier
from unmask.tokens.store.dataset import Dataset

UNKNOWN_SHARE = 0.01  # of tokens, above which a vocabulary lacks what the text is written in
LANGUAGE_SHARE = 0.25  # of general text that keeps a model's own language, while it learns another
SAMPLE = 100_000  # characters
FEWEST_DOCUMENTS = 100  # below which a text is soon known by heart


def strange_text(start: AdaptStart) -> Iterator[str]:
    """What is unusual about the domain, a line each."""
    documents = start.data.manifest["counts"]["train"]
    if documents < FEWEST_DOCUMENTS:
        yield f"{start.data.path}: only {documents} documents: they are soon known by heart; give more text"
    if (share := unknown_share(start.domain)) > UNKNOWN_SHARE:
        yield f"{start.data.path}: {share:.1%} of its tokens are unknown to the model: is it in another script?"
    own = None if start.replay is None else main_language(start.replay)
    other = main_language(start.data)
    if own is not None and other is not None and own != other:
        yield (
            f"{start.data.path}: is in another language ({other}) than general text ({own}): "
            f"--replay-share {LANGUAGE_SHARE} keeps more of it"
        )


def unknown_share(dataset: Dataset) -> float:
    """The share of the training tokens that stand for what the vocabulary lacks."""
    unknown = dataset.tokenizer().unk_token_id
    return 0.0 if unknown is None else float(dataset.counts[unknown] / max(1, dataset.counts.sum()))


def main_language(dataset: Dataset) -> str | None:
    """The language of most documents; none where nobody can say."""
    identify = identifier()
    counts = Counter(identify(text)[0] for text in dataset.sample("train", SAMPLE))
    counts.pop(UNDETERMINED, None)
    counts.pop("zxx", None)
    return counts.most_common(1)[0][0] if counts else None
