"""Files as SQuAD has them are read whole, wrong places are repaired and counted, and what cannot be used is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput
from unmask.tasks.answer.questions import GoldAnswer, check_answerable, read_questions

CONTEXT = "Anna met Otto in Bonn. Otto left."


def content(*questions: dict[str, Any], context: str = CONTEXT) -> dict[str, Any]:
    return {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def asked(name: str = "q1", text: str = "Bonn", start: Any = 17, **more: Any) -> dict[str, Any]:
    return {"id": name, "question": "Where?", "answers": [{"text": text, "answer_start": start}], **more}


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_both_versions_are_read_plain_and_packed(tmp_path: Path) -> None:
    none = {"id": "q2", "question": "When?", "answers": [], "is_impossible": True, "plausible_answers": []}
    value = content(asked(), none)
    with gzip.open(tmp_path / "x.json.gz", "wt") as file:
        json.dump(value, file)
    for path in (write(tmp_path / "x.json", value), tmp_path / "x.json.gz"):
        examples = read_questions(path)
        assert [each.answers for each in examples.examples] == [(GoldAnswer("Bonn", 17),), ()]
        assert (len(examples), examples.unanswerable, examples.repaired) == (2, 1, 0)
    assert len({each.paragraph for each in examples.examples}) == 1


def test_an_answer_that_stands_elsewhere_is_moved_there_and_counted(tmp_path: Path) -> None:
    questions = (asked("a", "Otto", 20), asked("b", "Otto", 3), asked("c", "Bonn", None), asked("d", " Bonn", 16))
    examples = read_questions(write(tmp_path / "x.json", content(*questions)))
    assert [each.answers[0].start for each in examples.examples] == [23, 9, 17, 17] and examples.repaired == 3


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (content(asked("q7", "Berlin", 0)), "x.json: question 'q7': the answer 'Berlin' is not in its context"),
        (
            content({**asked("q8"), "answers": []}),
            "'q8' has no answer; give one, or say that it is_impossible",
        ),
        (content(asked(), asked()), "the question id 'q1' is there twice"),
        (content({"id": "q9", "answers": []}), "question 'q9' has no text 'question'"),
        (content({**asked(), "answers": ["Bonn"]}), "question 'q1' has no list 'answers'"),
        ({"data": [{"paragraphs": [{"qas": [asked()]}]}]}, "paragraph 1 has no text 'context'"),
        ({"data": [{}]}, "article 1 has no list 'paragraphs'"),
        ({"version": "2"}, "has no list 'data'"),
        ([1], "has no list 'data'"),
        ("{", "is not JSON; give a file with questions and answers as SQuAD has them"),
        ("", "is not JSON"),
        ({"data": []}, "has no questions"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(value: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_questions(write(tmp_path / "x.json", value))
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_other_files_and_too_few_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.jsonl: what is in it\? give a file with questions and answers as SQuAD"):
        read_questions(write(tmp_path / "x.jsonl", "{}"))
    with pytest.raises(BadInput, match="does not exist"):
        read_questions(tmp_path / "nothing.json")
    three = read_questions(write(tmp_path / "x.json", content(*(asked(str(n)) for n in range(3)))))
    with pytest.raises(BadInput, match="3 questions, too few to learn from; give at least 10"):
        check_answerable(three)
    none = content(*({**asked(str(n)), "is_impossible": True} for n in range(10)))
    with pytest.raises(BadInput, match="no question has an answer"):
        check_answerable(read_questions(write(tmp_path / "x.json", none)))


def test_questions_without_words_are_left_out_and_counted(tmp_path: Path) -> None:
    examples = read_questions(write(tmp_path / "x.json", content(asked(), {**asked("q2"), "question": " "})))
    assert (len(examples), examples.empty) == (1, 1)
