"""Scored pairs: files, fields and ranges as people have them; what cannot be used is named in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.similarity.scored import check_scores, hold_out_pairs, read_scored

GOOD = "\n".join(["s1,s2,score", *(f"a text {n},another {n},{n - 3}" for n in range(40))])


def written(folder: Path, text: str, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_fields_are_known_by_their_names_and_scores_have_any_range(tmp_path: Path) -> None:
    pairs = read_scored(written(tmp_path, GOOD))
    assert pairs.fields == ("s1", "s2", "score", None) and len(pairs) == 40
    assert (pairs.scores.min(), pairs.scores.max()) == (-3, 36)
    assert pairs.texts[0] == "a text 0" and pairs.texts[40] == "another 0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s1,s2,score\na,b,high\n", r"pairs\.csv:2: the field 'score' is 'high', which is no number"),
        ("s1,s2,score\na,b,nan\n", r"pairs\.csv:2: the field 'score' is 'nan', which is no number"),
        ("s1,s2,score\na,b,\n", r"pairs\.csv:2: the field 'score' is '', which is no number"),
        ("s1,s2,score\na,b\n", r"pairs\.csv:2: has 2 columns, the first line 3"),
        ("s1,s2\na,b\n", "which field has the score\\? --label-field names it, one of 's1', 's2'"),
        ("text,score\na,1\n", "which field has the two texts\\? --text-field names it"),
        ("id,s1,s2,score\n7,a,b,1\n7,c,d,2\n", r"pairs\.csv:3: the id '7' is that of line 2 too"),
        ("", "has no pairs"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said) as error:
        read_scored(written(tmp_path, text))
    assert "\n" not in str(error.value)


def test_one_pair_one_score_and_nothing_but_empty_texts_are_too_little(tmp_path: Path) -> None:
    one = read_scored(written(tmp_path, "s1,s2,score\na,b,1\n"))
    with pytest.raises(BadInput, match="1 pair, too few; give at least 10"):
        check_scores(one)
    empty = read_scored(written(tmp_path, "s1,s2,score\n ,b,1\na,,2\n"))
    assert empty.empty == 2
    with pytest.raises(BadInput, match="0 pairs beside 2 lines without text, too few"):
        check_scores(empty)
    same = read_scored(written(tmp_path, "s1,s2,score\n" + "a,b,1\n" * 12))
    with pytest.raises(BadInput, match="all pairs have the score 1"):
        check_scores(same)


def test_every_tenth_pair_is_held_out_and_groups_go_one_way(tmp_path: Path) -> None:
    pairs = read_scored(written(tmp_path, GOOD))
    learnt, held_out = hold_out_pairs(pairs, 0)
    assert (len(learnt), len(held_out)) == (36, 4) and not {*learnt.examples} & {*held_out.examples}
    lines = ["s1,s2,score,author", *(f"a {n},b {n},{n},{n // 4}" for n in range(40))]
    grouped = read_scored(written(tmp_path, "\n".join(lines)), group="author")
    learnt, held_out = hold_out_pairs(grouped, 0)
    assert len(held_out) == 4 and len({each.group for each in held_out.examples}) == 1
