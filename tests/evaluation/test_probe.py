from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.evaluation.probe import judge_items, summarize_items
from unmask.evaluation.probe_items import BUILT_IN, ProbeItem, read_item
from unmask.inference.score import Scorer, ScoreSettings
from unmask.models.load import load_model
from unmask.results import ProbedItem
from unmask.training.machine.processor import multiplies_bfloat16

Make = Callable[..., Path]
LONG = "The king sees the sea and the dog follows the river and nobody likes the small house under the tree"


@pytest.fixture
def scorer(make_model: Make) -> Scorer:
    return unmask.load(make_model()).scorer


def pair(good: str, bad: str) -> ProbeItem:
    return ProbeItem("pairs", "", "", (good, bad))


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("bert", "wordpiece"),
        ("roberta", "bpe"),
        ("deberta-v2", "unigram"),
        ("modernbert", "bpe"),
        ("electra", "wordpiece"),
    ],
)
def test_a_pair_is_judged_by_the_scores_of_its_sentences(make_model: Make, family: str, kind: str) -> None:
    model = unmask.load(make_model(family, kind))
    items = [pair("The dog sees the sea.", "The dog see the sea."), pair("Clouds again.", "Again clouds.")]
    for item, judged in zip(items, judge_items(model.scorer, items), strict=True):
        good, bad = (scored.score for scored in model.score(*item.choices))
        assert list(judged.scores.values()) == pytest.approx([good, bad], abs=1e-3)
        assert judged.right == (good > bad) and judged.choice == item.choices[int(bad > good)]


def test_a_filler_is_judged_by_its_own_tokens_given_the_text_around_it(scorer: Scorer) -> None:
    (judged,) = judge_items(scorer, [ProbeItem("p", "The ", " sees the sea.", ("dog", "cat", "king"))])
    for choice, score in judged.scores.items():
        settings = ScoreSettings(prefix="The", suffix="sees the sea.")
        (scored,) = scorer.score([choice], settings)
        assert not isinstance(scored, Exception) and score == pytest.approx(scored.score, abs=1e-4)
    assert judged.text == "The [MASK] sees the sea." and judged.right == (judged.choice == "dog")


def test_an_answer_without_candidates_is_ranked_among_all_tokens(make_model: Make) -> None:
    model = unmask.load(make_model())
    (filled,) = model.fill("The [MASK] sees.", top=200)
    best = next(guess.token for guess in filled.blanks[0])
    answers = [best, filled.blanks[0][9].token, "kinggardens"]
    judged = list(judge_items(model.scorer, [ProbeItem("open", "The ", " sees.", (answer,)) for answer in answers]))
    assert judged[1].rank is not None and judged[1].rank >= 10 and not judged[1].right
    assert judged[0].rank is not None and judged[0].rank < judged[1].rank
    assert judged[0].right == (judged[0].rank == 1)
    assert judged[2].right is None and "tokens here" in judged[2].problem


def test_equal_scores_are_a_tie_and_not_right(make_model: Make) -> None:
    scorer = unmask.load(make_model()).scorer
    unknown = pair("The 日 sees.", "The 月 sees.")  # neither is in the vocabulary
    (judged,) = judge_items(scorer, [unknown])
    assert judged.tie and judged.right is False
    result = summarize_items(Path("m"), Path("i"), "pseudo", [judged])
    assert result.overall.ties == 1 and result.overall.accuracy.value == 0


def test_what_cannot_be_scored_is_counted_and_left_out_of_the_accuracy() -> None:
    right = ProbedItem(phenomenon="a", text=None, answer="x", choice="x", scores={"x": 1.0, "y": 0.0}, right=True)
    wrong = ProbedItem(phenomenon="b", text=None, answer="x", choice="y", scores={"x": 0.0, "y": 1.0}, right=False)
    none = ProbedItem(phenomenon="b", text="z", answer="x", problem="two tokens")
    result = summarize_items(Path("m"), Path("i"), "pseudo", [right, right, right, wrong, none])
    assert (result.overall.items, result.overall.unscorable) == (5, 1)
    assert result.overall.accuracy.value == 0.75 and result.overall.chance == 0.5
    assert result.mean == 0.5 and result.phenomena["b"].accuracy.value == 0
    assert result.phenomena["a"].accuracy.low < 1 == result.phenomena["a"].accuracy.high


@pytest.mark.skipif(not multiplies_bfloat16(), reason="the processor does not multiply bfloat16")
def test_quick_decides_as_all_exact_and_is_exact_where_scores_are_near(make_model: Make) -> None:
    scorer = unmask.load(make_model("modernbert", "bpe")).scorer
    words = LONG.split()
    items = [pair(" ".join(words[: 4 + n]), " ".join([*words[: 2 + n], words[3 + n], words[2 + n]])) for n in range(12)]
    items += [
        pair("The dog sees the sea.", "The dog sees the sea."),
        pair("The dog.", ""),
    ]  # a tie; one without a score
    exact, quick = (list(judge_items(scorer, items, quick=choice)) for choice in (False, True))
    assert [(each.right, each.choice, each.tie, each.problem) for each in quick] == [
        (each.right, each.choice, each.tie, each.problem) for each in exact
    ]
    assert quick[12].exact and quick[12].tie and all(each.exact for each in exact)
    rough = [(each, other) for each, other in zip(quick, exact, strict=True) if not each.exact]
    assert rough, "no pair is clear: the test shows nothing"
    for each, other in rough:
        assert list(each.scores.values()) == pytest.approx(list(other.scores.values()), rel=0.02)
        assert abs(np.subtract(*each.scores.values())) > 0.02 * 5


def test_a_model_without_the_shorter_way_is_asked_exactly_when_it_is_to_be_quick(scorer: Scorer) -> None:
    (judged,) = judge_items(scorer, [pair("The dog sees the sea.", "Sea the sees dog the.")], quick=True)
    assert judged.exact and scorer.lm.rough is None


def test_a_stride_with_a_margin_decides_as_all_exact_and_asks_less(
    scorer: Scorer,
) -> None:
    draw = np.random.default_rng(0)
    words = f"{LONG} {LONG}".split()
    items = [pair(" ".join(words), " ".join(draw.permutation(words))) for _ in range(12)]
    items.append(pair("Short.", "Again short."))
    exact = list(judge_items(scorer, items))
    quick = list(judge_items(scorer, items, stride=4, margin=10.0))
    assert [each.right for each in quick] == [each.right for each in exact]
    assert 0 < sum(not each.exact for each in quick) < len(items)
    assert quick[-1].exact  # where it saves nothing
    assert all(each.exact for each in judge_items(scorer, items, stride=4, margin=np.inf))


def test_items_of_all_kinds_come_back_in_their_order(scorer: Scorer) -> None:
    lines = list(islice(BUILT_IN.read_text(encoding="utf-8").splitlines(), 0, None, 12))
    items = [read_item(line) for line in lines]
    assert [each.answer for each in judge_items(scorer, items)] == [item.choices[0] for item in items]


def test_the_verb_writes_each_item_and_goes_on_where_it_was_stopped(make_model: Make, tmp_path: Path) -> None:
    items, out = tmp_path / "items.jsonl", tmp_path / "judged.jsonl"
    lines = BUILT_IN.read_text(encoding="utf-8").splitlines()[:240:20]
    items.write_text("\n".join(lines), encoding="utf-8")
    whole = unmask.probe(make_model(), items, out=out)
    assert whole.out == out and whole.overall.items == 12
    written = out.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["line"] for line in written] == list(range(1, 13))
    stat = items.stat()
    settings = {
        "by": None,
        "margin": 10.0,
        "model": str(make_model()),
        "precision": "float32",
        "quick": False,
        "stride": None,
    }
    settings |= {"source": str(items), "bytes": stat.st_size, "changed": stat.st_mtime_ns}
    (tmp_path / "judged.jsonl.unfinished").write_text(json.dumps(settings), encoding="utf-8")
    out.write_text("\n".join(written[:5]) + "\n", encoding="utf-8")
    assert unmask.probe(make_model(), items, out=out).phenomena == whole.phenomena
    assert len(out.read_text(encoding="utf-8").splitlines()) == 12
    assert unmask.probe(make_model(), items).overall == whole.overall


def test_a_model_that_reads_from_left_to_right_chooses_by_whole_texts(make_model: Make) -> None:
    lm = load_model(make_model("modernbert", "bpe"))
    scorer = Scorer(lm, "likelihood")  # an encoder, asked as if it had been trained so
    item, blank = ProbeItem("p", "The ", " sees.", ("dog", "cat")), ProbeItem("p", "The ", " sees.", ("dog",))
    judged, open_blank = judge_items(scorer, [item, blank])
    expected = [scored.score for scored in scorer.score(["The dog sees.", "The cat sees."], ScoreSettings())]  # type: ignore[union-attr]
    assert list(judged.scores.values()) == pytest.approx(expected, abs=1e-4)
    assert open_blank.right is None and "give candidates" in open_blank.problem
