from __future__ import annotations

from pathlib import Path

import pytest
from writing_cases import Make, as_run

import unmask
from unmask.errors import BadInput
from unmask.inference.model import Model


@pytest.fixture(scope="module")
def diffusion(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return unmask.load(as_run(make_model(), tmp_path_factory.mktemp("generate") / "run", "diffusion"))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"order": "confidence", "steps": 7, "blocks": 3},
        {"order": "threshold", "threshold": 0.3},
        {"remask": True, "steps": 60},
    ],
)
def test_the_same_seed_gives_the_same_text_and_another_another(diffusion: Model, settings: dict) -> None:
    first = diffusion.generate(prefix="The cat", length=20, seed=3, trace=True, **settings)
    assert diffusion.generate(prefix="The cat", length=20, seed=3, trace=True, **settings) == first
    assert diffusion.generate(prefix="The cat", length=20, seed=4, **settings)[0].text != first[0].text
    assert first[0].method == "diffusion"
    assert not first[0].note


def test_a_sample_does_not_depend_on_how_many_others_are_drawn(diffusion: Model) -> None:
    three = diffusion.generate(length=12, count=3, seed=1)
    assert [each.sample for each in three] == [0, 1, 2]
    assert len({each.text for each in three}) == 3
    assert diffusion.generate(length=12, count=1, seed=1) == three[:1]


def test_as_many_tokens_as_asked_for_stand_behind_the_prefix(diffusion: Model) -> None:
    (result,) = diffusion.generate(prefix="The king", length=17)
    assert result.text.startswith("The king")
    if result.ended is None:
        assert len(result.tokens) == 17
    special = set(diffusion.masked.tokenizer.all_special_tokens)
    assert not special & set(result.tokens)
    ((begin, end),) = result.places
    assert end == len(result.text)
    assert begin <= len("The king") + 1


def test_no_special_token_is_written_but_the_end_and_that_in_the_last_block_only(
    diffusion: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a model that wants nothing but special tokens."""
    import torch

    from unmask.inference import generate as module

    vocabulary = diffusion.masked.vocabulary
    real = module.ask

    def special_only(*arguments: object, **more: object) -> object:
        for number, answer in real(*arguments, **more):  # type: ignore[arg-type]
            wanted = answer.clone()
            wanted[:, list(vocabulary.special)] += 100
            yield number, torch.log_softmax(wanted, -1)

    monkeypatch.setattr(module, "ask", special_only)
    (result,) = diffusion.generate(length=12, blocks=3, trace=True)
    end = diffusion.masked.tokenizer.convert_ids_to_tokens(vocabulary.end)
    assert result.ended == 8  # the first token of the last block
    assert len(result.tokens) == 8
    assert end not in result.tokens
    assert {event.place for event in result.trace if event.token == end} == {8, 9, 10, 11}
    (filled,) = diffusion.generate("The [MASK] sees [MASK] dog.")  # something has to follow: no end
    assert filled.ended is None
    assert len(filled.tokens) == 2


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_the_text_around_gaps_stays_as_it_was_written(kind: str, make_model: Make) -> None:
    model = unmask.load(make_model("roberta" if kind == "bpe" else "bert", kind))
    text = "The [MASK]  sees [MASK][MASK], and MY [MASK] sister."
    for result in model.generate(text, count=5, order="random", seed=2):
        rest, place = [], 0
        for begin, end in result.places:
            rest.append(result.text[place:begin])
            place = end
        rest.append(result.text[place:])
        given = ["The ", "  sees ", ", and MY ", " sister."]
        assert [part.rstrip() for part in rest] == [part.rstrip() for part in given]
        assert len(result.tokens) == 4


def test_after_a_space_a_gap_begins_a_word(make_model: Make) -> None:
    model = unmask.load(make_model())
    results = model.generate("The king [MASK] the dog.", count=30, temperature=3.0)
    assert not [token for result in results for token in result.tokens if token.startswith("##")]


def test_a_masked_model_writes_the_surest_first_and_says_what_it_is(make_model: Make, tmp_path: Path) -> None:
    for path in (make_model(), as_run(make_model(), tmp_path / "run", "causal until 0.25; mlm")):
        (result,) = unmask.load(path).generate(length=9, steps=3, trace=True)
        assert result.method == "masked"
        assert result.note.startswith("no run of masked diffusion")
        assert [sum(event.step == step for event in result.trace) for step in (1, 2, 3)] == [3, 3, 3]


def test_the_trace_tells_the_text(diffusion: Model) -> None:
    (result,) = diffusion.generate(length=15, remask=True, steps=80, trace=True, seed=8)
    tokens: dict[int, str | None] = {}
    for event in result.trace:
        assert (event.token is None) == (event.confidence is None)
        tokens[event.place] = event.token
    assert [tokens[place] for place in range(len(result.tokens))] == list(result.tokens)
    assert not diffusion.generate(length=3)[0].trace


def test_drafts_are_shown_while_they_are_written(diffusion: Model) -> None:
    seen: list[list[str]] = []
    (result,) = diffusion.generate(prefix="The cat", length=10, order="confidence", steps=5, show=seen.append)
    assert [draft.count("·") for (draft,) in seen] == [8, 6, 4, 2, 0]
    assert all(draft.startswith("The cat") for (draft,) in seen)
    assert result.steps == 5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"length": 100}, "--length 100: this model has room for 62 tokens; give --length 62 or less"),
        ({"length": 61, "prefix": "The cat sees"}, "room for .. tokens behind a prefix of"),
        ({"length": 0}, "--length 0: give at least 1"),
        ({"count": 0}, "--count 0"),
        ({"temperature": -1.0}, "--temperature -1.0"),
        ({"top_p": 0.0}, "--top-p 0.0"),
        ({"threshold": 0.5}, "--threshold goes with --order threshold"),
        ({"order": "threshold", "steps": 5}, "--steps: --order threshold takes as many as it needs"),
        ({"order": "confidence", "remask": True}, "--remask goes with --order random"),
        ({"blocks": 8, "steps": 4}, "--steps 4: at least one for each of the 8 blocks"),
        ({"blocks": 9, "length": 8}, "--blocks 9: there are only 8 tokens"),
        ({"prefix": "A [MASK]"}, "--prefix: has a .MASK.; give the text without --prefix"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(diffusion: Model, settings: dict, said: str) -> None:
    with pytest.raises(BadInput, match=said) as error:
        diffusion.generate(**settings)
    assert "\n" not in str(error.value)


def test_texts_without_a_gap_and_lengths_of_gaps_are_refused(diffusion: Model) -> None:
    with pytest.raises(BadInput, match="there is no blank"):
        diffusion.generate("The cat sees.")
    with pytest.raises(BadInput, match=r"--length: each .MASK. of a text is one token"):
        diffusion.generate("The [MASK] sees.", length=3)
    with pytest.raises(BadInput, match="--prefix and a text with gaps"):
        diffusion.generate("The [MASK] sees.", prefix="A")


def test_without_a_length_there_is_as_much_as_fits(diffusion: Model) -> None:
    (result,) = diffusion.generate(prefix="The cat sees the dog. " * 4)
    assert result.ended is not None or 1 <= len(result.tokens) < 60
