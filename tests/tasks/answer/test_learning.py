"""Answering as a job: it learns, stops and goes on, is cut up at will, and loads in stock transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

import unmask
from unmask.errors import BadInput, Interrupted
from unmask.files import sha256_of
from unmask.tasks.answer.learning import AnswerTuning, answering_of
from unmask.tasks.answer.official import exact_match
from unmask.tasks.answer.questions import read_questions
from unmask.tasks.settings import TuneSettings
from unmask.training.machine.distributed import ALONE
from unmask.training.session import Session
from unmask.training.step import take_step


def opened(model: Path, files: dict[str, Path], /, dev: bool = True, **settings: Any) -> AnswerTuning:
    train, held_out = (read_questions(files[name]) for name in ("train", "dev"))
    return answering_of(model, TuneSettings(**settings), train, held_out if dev else None)


def test_simple_questions_are_learnt_in_seconds(answerer_run: unmask.Tuned) -> None:
    assert answerer_run.figures["f1"] > 0.9 and answerer_run.task == "answer" and answerer_run.labels == ()
    assert (answerer_run.train, answerer_run.dev) == (200, 40)
    judged = answerer_run.test
    assert isinstance(judged, unmask.JudgedAnswers) and judged.f1.value > 0.9 and judged.answerable == 45
    assert judged.unanswerable_right is not None and judged.unanswerable_right.value > 0.8
    assert [each.name for each in judged.baselines] == ["sliding window", "never answers"]
    card = json.loads((answerer_run.model / "task.json").read_text())
    assert isinstance(card["threshold"], float) and card["longest"] >= 2


def test_stopped_on_the_way_it_goes_on_to_the_same_weights(
    start: Path,
    question_files: dict[str, Path],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    settings: dict[str, Any] = {"dev": question_files["dev"], "epochs": 1, "precision": "float32", "save_seconds": 0.0}
    with interrupted(4), pytest.raises(Interrupted, match="to go on: unmask tune answer --resume"):
        unmask.tune("answer", start, question_files["train"], out=tmp_path / "run", **settings)
    unmask.tune("answer", resume=tmp_path / "run")
    unmask.tune("answer", start, question_files["train"], out=tmp_path / "whole", **settings)
    one, other = (sha256_of(tmp_path / name / "model" / "model.safetensors") for name in ("run", "whole"))
    assert one == other


def test_micro_batches_change_no_loss(start: Path, question_files: dict[str, Path]) -> None:
    losses = []
    for micro_batch in (32, 5):
        session = Session.begin(opened(start, question_files, micro_batch=micro_batch).job(), 20)
        results = [take_step(session.learner, session.optimizer, session.source, step=step) for step in range(3)]
        losses.append([result.loss for result in results])
    assert losses[0] == pytest.approx(losses[1], rel=2e-4) and losses[0][0] == pytest.approx(losses[1][0], rel=1e-6)


def test_stock_transformers_says_the_same_begin_and_end(answerer_run: unmask.Tuned) -> None:
    model = AutoModelForQuestionAnswering.from_pretrained(answerer_run.model, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(answerer_run.model, local_files_only=True)
    question, context = "the dog ?", "of course grandmother likes old stories again ."
    encoded = tokenizer(question, context, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0]
    outside = torch.tensor([side != 1 for side in encoded.sequence_ids(0)])
    with torch.no_grad():
        answer = model(**encoded)
    first, last = (each[0].masked_fill(outside, -1e9).argmax() for each in (answer.start_logits, answer.end_logits))
    (ours,) = unmask.predict(answerer_run.path, question, context)
    assert isinstance(ours, unmask.Answered) and ours.answer == "old stories"
    assert (int(offsets[first][0]), int(offsets[last][1])) == (ours.start, ours.end)


def test_an_answer_at_token_29000_is_found_and_learnt(
    answerer_run: unmask.Tuned, start: Path, question_files: dict[str, Path], tmp_path: Path
) -> None:
    filler = "of course it rains at night . " * 4500
    context = f"{filler}of course grandmother likes old stories again . {'at night . ' * 20}"
    (said,) = unmask.predict(answerer_run.path, "the dog ?", context)
    assert isinstance(said, unmask.Answered) and said.tokens_read > 29_000 and said.windows > 900
    assert said.answer == "old stories" and said.start == context.index("old stories")
    content = json.loads(question_files["train"].read_text())
    answers = [{"text": "old stories", "answer_start": context.index("old stories")}]
    long = {"context": context, "qas": [{"id": "long", "question": "the dog ?", "answers": answers}]}
    content["data"][0]["paragraphs"].insert(0, long)
    (tmp_path / "train.json").write_text(json.dumps(content))
    batches = opened(start, {**question_files, "train": tmp_path / "train.json"}).batches
    first, last = batches.targets[0]
    assert first > 28_000 and last > first and batches.rows.rows.windows[0] == said.windows


def test_without_dev_whole_articles_are_held_out_and_of_few_whole_paragraphs(
    start: Path, question_files: dict[str, Path], inside: Callable[..., Any], tmp_path: Path
) -> None:
    few = opened(start, question_files, dev=False)
    kept, held_out = ({each.paragraph for each in part.examples} for part in (few.train, few.dev))
    assert few.kept_together == "paragraphs" and len(held_out) == 10 and not kept & held_out
    out = tmp_path / "run"
    done = inside(
        "tune", "answer", start, question_files["plain"], "--epochs", 0.1, "--folds", 0, "--out", out, "--json"
    )
    flat = " ".join(done.stderr.split())
    assert "all with an answer: one is always given" in flat and "every tenth of the articles" in flat
    assert done.returncode == 0 and json.loads(done.stdout)["dev"] < 30
    card = json.loads((out / "model" / "task.json").read_text())
    assert card["threshold"] is None
    (said,) = unmask.predict(out, "the dog ?", "of course it rains .")
    assert isinstance(said, unmask.Answered) and said.answer is not None and said.no_answer is None


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta-v2", "electra", "distilbert"])
def test_every_family_has_a_head_and_can_be_measured(
    family: str, make_model: Callable[..., Path], question_files: dict[str, Path]
) -> None:
    answering = opened(make_model(family), question_files)
    figures = answering.held_out.measure(answering.learner(), 300, ALONE)
    assert 0 <= figures["exact"] <= figures["f1"] <= 1


def test_its_head_goes_on_and_a_model_of_another_task_gets_one(
    answerer_run: unmask.Tuned, start: Path, question_files: dict[str, Path], files: dict[str, Path], tmp_path: Path
) -> None:
    head = AutoModelForQuestionAnswering.from_pretrained(answerer_run.model).qa_outputs.weight
    again = opened(answerer_run.model, question_files).learner()
    assert torch.equal(again.qa_outputs.weight, head)  # type: ignore[union-attr]
    other = unmask.tune("classify", start, files["train"], dev=files["dev"], out=tmp_path / "other", epochs=0.2)
    drawn, fresh = (opened(model, question_files).learner() for model in (other.model, start))
    assert torch.equal(drawn.qa_outputs.weight, fresh.qa_outputs.weight)  # type: ignore[union-attr]


def test_what_cannot_be_done_is_told_plainly(
    answerer_run: unmask.Tuned, start: Path, question_files: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="is tuned for answering and has no head that fills blanks; unmask predict"):
        unmask.fill(answerer_run.path, "The [MASK].")
    with pytest.raises(BadInput, match="--label-field x: the fields of SQuAD have fixed names"):
        unmask.tune("answer", start, question_files["train"], label_field="x", out=tmp_path / "run")
    with pytest.raises(BadInput, match="--sets: sets are of the labels of texts, and answer has none"):
        unmask.tune("answer", start, question_files["train"], sets=0.9, out=tmp_path / "run")
    content = json.loads(question_files["train"].read_text())
    content["data"][0]["paragraphs"][0]["qas"][0]["question"] = "the " * 50
    (tmp_path / "train.json").write_text(json.dumps(content))
    with pytest.raises(BadInput, match=r"question '0-0-0': the question has 50 tokens, and rows of 64 have"):
        unmask.tune("answer", start, tmp_path / "train.json", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_others_to_judge_by_each_question_is_answered_by_a_model_that_has_not_seen_it(
    start: Path, question_files: dict[str, Path], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"folds": 2, "epochs": 1, "precision": "float32"}
    result = unmask.tune("answer", start, question_files["train"], out=tmp_path / "run", **given)
    every = read_questions(question_files["train"])
    assert isinstance(result.folds, unmask.JudgedAnswers) and result.folds.examples == len(every)
    parts = [part.examples for _, part in answering_of(start, TuneSettings(), every, None).folds(2)]
    paragraphs = [{each.paragraph for each in part} for part in parts]
    assert not paragraphs[0] & paragraphs[1] and sum(map(len, parts)) == len(every)
    exact = 0
    for number, part in enumerate(parts, start=1):
        model = unmask.load(tmp_path / "run" / "trials" / f"fold-{number}")
        answers = model.predict(*(each.question for each in part), pairs=[each.context for each in part])
        for each, said in zip(part, answers, strict=True):
            assert isinstance(said, unmask.Answered)
            exact += exact_match(said.answer or "", [answer.text for answer in each.answers])
    assert result.folds.exact.value == pytest.approx(exact / len(every))
