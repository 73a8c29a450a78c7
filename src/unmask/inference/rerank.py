"""What a search found, in the order of a model that reads the query and each passage together.

In: `Searched` results and a model of `unmask tune retrieve --head cross`. Out: the same, best first by that model. A
cross-encoder reads every pair anew, so it is asked for the first documents of a faster search, not for all there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.errors import BadInput
from unmask.results import Searched
from unmask.tasks.retrieve.cross_retriever import CrossRetriever
from unmask.tasks.tuned_model import TunedModel

DEPTH = 50  # documents that are reranked where nobody says


def reranker_of(tuned: TunedModel) -> CrossRetriever:
    """A tuned model that reranks; another is refused."""
    if not isinstance(tuned, CrossRetriever):
        remedy = "unmask tune retrieve --head cross makes one that is"
        raise BadInput(f"{tuned.directory}: was not tuned to rerank; {remedy}")
    return tuned


def rerank(found: Sequence[Searched], reranker: CrossRetriever, top: int) -> list[Searched]:
    """The best passages of each search by the model, whose score they have then."""
    pairs = [(each.query, hit.text) for each in found for hit in each.hits]
    scores = reranker.scores([query for query, _ in pairs], [text for _, text in pairs])[0] if pairs else np.empty(0)
    parts = np.split(scores, np.cumsum([len(each.hits) for each in found])[:-1]) if found else []
    results = []
    for each, part in zip(found, parts, strict=True):
        order = np.argsort(-part, kind="stable")[:top].tolist()
        hits = tuple(
            replace(each.hits[place], score=float(part[place]), ranks={**each.hits[place].ranks, "before": place + 1})
            for place in order
        )
        results.append(replace(each, hits=hits, reranked=reranker.directory))
    return results
