"""How well rankings answer queries: trec's own measures, by pytrec-eval.

In: for each query the numbers of documents, best first, and how well documents answer it. Out: a figure for each query.

    nDCG@10      Σ grade / log2(1 + rank) over the first ten, as a share of the best there could be
    MRR@10       1 / the rank of the first document that answers, 0 behind the tenth
    recall@100   the share of the documents that answer among the first hundred
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytrec_eval

from unmask.records import Reals

MEASURES = {"ndcg_10": ("ndcg_cut.10", "ndcg_cut_10", 10), "mrr_10": ("recip_rank", "recip_rank", 10)}
MEASURES |= {"recall_100": ("recall.100", "recall_100", 100)}


def measure_rankings(grades: Sequence[Mapping[str, int]], rankings: Sequence[Sequence[str]]) -> dict[str, Reals]:
    """By measure, Q: the figure of each query, from its ranked documents by id."""
    judged = {str(number): dict(each) for number, each in enumerate(grades)}
    figures = {}
    for name, (asked, given, depth) in MEASURES.items():
        runs = {
            str(number): {document: float(-rank) for rank, document in enumerate(ranking[:depth])}
            for number, ranking in enumerate(rankings)
        }
        found = pytrec_eval.RelevanceEvaluator(judged, {asked}).evaluate(runs)
        figures[name] = np.array([found.get(number, {}).get(given, 0.0) for number in judged])
    return figures
