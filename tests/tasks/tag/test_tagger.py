"""What `predict` says of a text is what was measured, alone or among others, as words or as a text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import unmask
from unmask.errors import BadInput, Damaged
from unmask.evaluation.tuned.tag import span_counts
from unmask.tasks.tag.columns import read_sentences
from unmask.tasks.tag.tagged import LabelledSpan, read_tagged
from unmask.tasks.tag.tagger import read_tag_card


def spans_of(said: Any) -> list[LabelledSpan]:
    entities = said["entities"] if isinstance(said, dict) else [vars(each) for each in said.entities]
    return [LabelledSpan(each["start"], each["end"], each["label"]) for each in entities]


def test_predict_says_what_the_evaluation_measured(
    tagger_run: unmask.Tuned, tagged_files: dict[str, Path], tmp_path: Path, inside: Callable[..., Any]
) -> None:
    test = read_tagged(tagged_files["test"])
    words = [[each.text[begin:end] for begin, end in each.words or ()] for each in test.examples]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in words))
    done = inside("predict", tagger_run.path, tmp_path / "test.jsonl", "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["text"] for each in said] == [each.text for each in test.examples]
    right, found, there = span_counts([spans_of(each) for each in said], [each.spans for each in test.examples]).sum(0)
    assert isinstance(tagger_run.test, unmask.JudgedTags) and there == tagger_run.test.entities
    assert 2 * right / (found + there) == pytest.approx(tagger_run.test.f1.value)
    assert right / found == pytest.approx(tagger_run.test.precision)


def test_on_dev_it_says_what_was_measured_while_it_trained(
    tagger_run: unmask.Tuned, tagged_files: dict[str, Path]
) -> None:
    examples = read_tagged(tagged_files["dev"]).examples
    said = [spans_of(each) for each in unmask.predict(tagger_run.path, *(each.text for each in examples))]
    right, found, there = span_counts(said, [each.spans for each in examples]).sum(0)
    assert 2 * right / (found + there) == pytest.approx(tagger_run.figures["f1"])


def test_a_text_is_read_alike_alone_and_among_others(tagger_run: unmask.Tuned) -> None:
    texts = ("nobody forgets Paris .", "my sister likes music and bread " * 30, "grandmother likes the sea again .")
    together = unmask.predict(tagger_run.path, *texts)
    for text, among in zip(texts, together, strict=True):
        (alone,) = unmask.predict(tagger_run.path, text)
        assert spans_of(alone) == spans_of(among)
        shares = [[each.probability for each in said.entities] for said in (alone, among)]  # type: ignore[union-attr]
        assert shares[0] == pytest.approx(shares[1], abs=1e-6)
        assert all(each.text == text[each.start : each.end] for each in among.entities)  # type: ignore[union-attr]
    assert together[1].windows > 1  # type: ignore[union-attr]


def test_bad_lines_columns_and_pairs_are_told(
    tagger_run: unmask.Tuned, tagged_files: dict[str, Path], tmp_path: Path, inside: Callable[..., Any]
) -> None:
    lines = [{"text": ["nobody", "likes", "Paris"]}, {"text": [" "]}, {"text": 3}, {"text": "the sea"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = inside("predict", tagger_run.path, tmp_path / "x.jsonl", "--json")
    assert done.returncode == 3 and len(done.stdout.splitlines()) == 2
    assert "line 2: an empty text has no answer" in done.stderr and "line 3: the field 'text' is no text" in done.stderr
    (tmp_path / "ragged.conll").write_text("the O\nsea O\n\ntwo\n")
    with pytest.raises(BadInput, match=r"ragged\.conll:4: has 1 column, the first line 2"):
        unmask.predict(tagger_run.path, str(tmp_path / "ragged.conll"))
    with pytest.raises(BadInput, match="this model takes single texts, not pairs"):
        unmask.load(tagger_run.path).predict("a", pairs=["b"])


def test_columns_are_read_as_words_with_tags_or_without(
    tagger_run: unmask.Tuned, tagged_files: dict[str, Path], tmp_path: Path
) -> None:
    sentences = list(read_sentences(tagged_files["test"]))
    with_tags = unmask.predict(tagger_run.path, str(tagged_files["test"]))
    said = unmask.load(tagger_run.path).predict(*[list(sentence.words) for sentence in sentences])
    assert with_tags == said and any(each.entities for each in said)  # type: ignore[union-attr]
    alone = "\n\n".join("\n".join(f"_\t{word}" for word in sentence.words) for sentence in sentences)
    (tmp_path / "words.conll").write_text(alone)
    assert unmask.predict(tagger_run.path, str(tmp_path / "words.conll"), field="2") == said
    (written,) = unmask.predict(tagger_run.path, str(tagged_files["test"]), out=tmp_path / "said.jsonl")
    assert written.lines == len(sentences)  # type: ignore[union-attr]
    numbers = [json.loads(line)["line"] for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert numbers == [sentence.line for sentence in sentences]


def test_a_changed_card_is_damage(tagger_run: unmask.Tuned, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(tagger_run.model, tmp_path / "model"))
    card = json.loads((copied / "task.json").read_text())
    (copied / "task.json").write_text(json.dumps(card | {"labels": ["LOC"]}))
    with pytest.raises(Damaged, match="its weights are not those of 1 labels; tune again"):
        unmask.predict(copied, "a text")
    (copied / "task.json").write_text(json.dumps(card | {"labels": 3}))
    with pytest.raises(Damaged, match=r"task\.json: cannot be read"):
        read_tag_card(copied)
