from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from unmask.errors import BadInput, Damaged
from unmask.inference import ask as ask_module
from unmask.inference.blanks import BlankText, read_blanks, speller
from unmask.inference.fill import Candidate, complete_text, fill_blanks, fill_good
from unmask.models.load import LoadedModel, load_model
from unmask.results import Filled, Guess
from unmask.tokens.tokenizer.boundaries import token_boundaries

Make = Callable[..., Path]
KINDS = ("wordpiece", "bpe", "unigram")


@pytest.fixture(params=KINDS)
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(kind=request.param))


def all_probabilities(loaded: LoadedModel, text: str) -> torch.Tensor:
    """The whole distribution at every blank, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(loaded.path)
    model = AutoModelForMaskedLM.from_pretrained(loaded.path).eval()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    return logits[inputs["input_ids"][0] == tokenizer.mask_token_id].softmax(-1)


def test_probabilities_are_those_of_the_full_computation(loaded: LoadedModel) -> None:
    text = "The old king [MASK] the [MASK] of France."
    expected = all_probabilities(loaded, text.replace("[MASK]", loaded.tokenizer.mask_token))
    expected[:, list(loaded.vocabulary.special)] = 0
    expected[:, torch.from_numpy(~token_boundaries(loaded.tokenizer).allowed("The "))] = 0
    (filled,) = fill_blanks(loaded, [text], top=7)
    for row, guesses in zip(expected, filled.blanks, strict=True):
        best = row.topk(7)
        assert [guess.probability for guess in guesses] == pytest.approx(best.values.tolist(), rel=1e-4)
        spell = speller(loaded)
        shown = [guess.token.removeprefix("##") for guess in guesses]
        assert shown == [spell(token).strip() for token in best.indices.tolist()]


def test_answers_are_the_same_alone_and_among_texts_of_other_lengths(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'The king sees ' * n}the [MASK]." for n in (5, 1, 3, 0, 4, 2)]
    alone = [fill_blanks(loaded, [text])[0] for text in texts]
    for tokens, rows in ((8192, 128), (60, 2)):
        monkeypatch.setattr(ask_module, "TOKENS", tokens)
        monkeypatch.setattr(ask_module, "ROWS", rows)
        together = fill_blanks(loaded, texts)
        for one, other in zip(alone, together, strict=True):
            assert (one.text, one.completed) == (other.text, other.completed)
            got = [guess.probability for guess in other.blanks[0]]
            assert got == pytest.approx([guess.probability for guess in one.blanks[0]], rel=1e-4)


def test_special_tokens_are_never_offered(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["The [MASK] sees."], top=10_000)
    ordinary = loaded.vocabulary.ordinary
    fitting = token_boundaries(loaded.tokenizer).allowed("The ")
    assert len(filled.blanks[0]) == len(
        {speller(loaded)(token).strip() for token in ordinary[fitting[ordinary]].tolist()}
    )
    shown = {guess.token for guess in filled.blanks[0]}
    assert not shown & set(loaded.tokenizer.all_special_tokens)


def test_the_model_s_own_mask_token_and_the_common_spelling_are_the_same_blank(make_model: Make) -> None:
    loaded = load_model(make_model("roberta", "unigram"))
    ours, own = fill_blanks(loaded, ["The king sees [MASK].", "The king sees <mask>."])
    assert (ours.blanks, ours.completed) == (own.blanks, own.completed)
    with pytest.raises(BadInput, match=r"write \[MASK\] or <mask> where a word is missing"):
        fill_blanks(loaded, ["no blank"])


def test_the_best_guess_stands_in_the_text_where_the_places_say(loaded: LoadedModel) -> None:
    texts = ["The [MASK] sees [MASK].", "[MASK] sees", "the dog ([MASK]) and “[MASK]”", "[MASK]"]
    for filled in fill_blanks(loaded, texts):
        assert "[MASK]" not in filled.completed
        for (start, end), guesses in zip(filled.places, filled.blanks, strict=True):
            assert filled.completed[start:end] == guesses[0].token.removeprefix("##")


def test_after_a_space_no_candidate_goes_on_with_a_word_and_after_letters_all_do(loaded: LoadedModel) -> None:
    after_space, after_letters = fill_blanks(loaded, ["The [MASK] sees", "un[MASK] sees"], top=10_000)
    assert not any(guess.token.startswith("##") for guess in after_space.blanks[0])
    words = [guess.token for guess in after_space.blanks[0] if guess.token.isalpha()]
    assert "the" in words and "ing" not in words
    pieces = [guess.token for guess in after_letters.blanks[0] if "\\" not in guess.token]  # whole characters
    assert all(token.startswith("##") for token in pieces if token[-1].isalnum())
    assert any(len(token) > 3 for token in pieces) and "##the" not in pieces


def test_what_reads_the_same_is_offered_once(loaded: LoadedModel) -> None:
    for text in ("[MASK] sees", "the dog ([MASK])", "[MASK][MASK]", "The “[MASK]”"):
        for guesses in fill_blanks(loaded, [text], top=10_000)[0].blanks:
            shown = [guess.token for guess in guesses]
            assert len(shown) == len(set(shown)) > 10


SPACING = [
    # text, the spelling inside a text of each best guess, the text completed, and how the guess is listed
    ("The [MASK] barks.", [" dog"], "The dog barks.", "dog"),
    ("[MASK] is here", [" Paris"], "Paris is here", "Paris"),
    ("[MASK] is here", ["Paris"], "Paris is here", "Paris"),
    ("He was walk [MASK].", ["ing"], "He was walking.", "##ing"),
    ("He was walk[MASK].", ["ing"], "He was walking.", "##ing"),
    ("He came [MASK]", ["."], "He came.", "."),
    ("a ([MASK])", ["dog"], "a (dog)", "dog"),
    ("a ([MASK])", [" dog"], "a (dog)", "dog"),
    ("中[MASK]人", [" 国"], "中国人", "国"),
    ("a  [MASK]  b", [" dog"], "a  dog  b", "dog"),
]


@pytest.mark.parametrize(("text", "spelt", "completed", "shown"), SPACING)
def test_the_text_keeps_its_spacing_and_pieces_join_their_word(
    text: str, spelt: list[str], completed: str, shown: str
) -> None:
    question = BlankText(text, tuple(text.split("[MASK]")), [], [])
    filled = complete_text(question, [[Candidate(each, 0.5)] for each in spelt])
    assert filled.completed == completed
    assert filled.blanks == ((Guess(shown, 0.5),),)


def test_every_kind_of_tokenizer_spells_words_with_a_space_and_pieces_without(loaded: LoadedModel) -> None:
    spell = speller(loaded)
    spelt = {spell(token) for token in loaded.vocabulary.ordinary.tolist()}
    assert " the" in spelt
    assert any(len(each) > 1 and each.isalpha() for each in spelt)
    assert all(each.strip() and each.isprintable() for each in spelt)


def test_targets_have_the_model_s_probabilities_and_come_in_their_order(loaded: LoadedModel) -> None:
    (every,) = fill_blanks(loaded, ["The dog sees the [MASK]."], top=10_000)
    (some,) = fill_blanks(loaded, ["The dog sees the [MASK]."], targets=["king", "the", "king"])
    expected = {guess.token: guess.probability for guess in reversed(every.blanks[0])}
    found = {guess.token: guess.probability for guess in some.blanks[0]}
    assert found.keys() == {"king", "the"}
    assert found == pytest.approx({word: expected[word] for word in found})
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert some.completed == f"The dog sees the {some.blanks[0][0].token}."


def test_a_target_is_the_token_it_has_in_its_place(make_model: Make) -> None:
    loaded = load_model(make_model(kind="bpe"))
    (question,) = read_blanks(loaded, ["[MASK] sees the [MASK]."], ["The", "king"])
    assert isinstance(question, BlankText)
    first, second = question.choices
    assert [loaded.tokenizer.convert_ids_to_tokens(list(each)) for each in (first, second)] == [
        ["The", "king"],
        ["ĠThe", "Ġking"],
    ]


def test_a_vocabulary_s_own_spelling_is_a_target_too(make_model: Make) -> None:
    loaded = load_model(make_model())
    piece = next(token for token in loaded.tokenizer.get_vocab() if token.startswith("##") and len(token) > 3)
    (filled,) = fill_blanks(loaded, ["The king wan [MASK]."], targets=[piece])
    assert filled.blanks[0][0].token == piece
    assert filled.completed == f"The king wan{piece[2:]}."


REFUSED = [
    ("There is none.", {}, r"'There is none\.': there is no blank to fill: write \[MASK\]"),
    ("The [mask] sees", {}, r"\[mask\] is not a blank here: write \[MASK\]"),
    ("The <MASK> sees", {}, r"<MASK> is not a blank here"),
    ("The [MASK] sees {mask}", {}, r"\{mask\} is not a blank here"),
    ("The ___ sees", {}, r"___ is not a blank here"),
    ("The [BLANK] sees", {}, r"\[BLANK\] is not a blank here"),
    ("the king " * 60 + "[MASK]", {}, r"…: 1\d\d tokens, but this model takes 64"),
    ("\udcff [MASK]", {}, "not valid Unicode"),
    ("The [MASK] sees", {"top": 0}, "--top 0"),
    ("The [MASK] sees", {"targets": ["Reykjavik"]}, "the target 'Reykjavik' is"),
    ("The [MASK] sees", {"targets": ["the king"]}, r"the target 'the king' is 2 tokens here \(the king\)"),
    ("The [MASK] sees", {"targets": ["the [MASK]"]}, "give the texts before --targets"),
    ("The [MASK] sees", {"targets": [" "]}, "is not a word"),
]


@pytest.mark.parametrize(("text", "settings", "line"), REFUSED)
def test_what_cannot_be_filled_is_refused_in_one_line(
    text: str, settings: dict[str, object], line: str, make_model: Make
) -> None:
    with pytest.raises(BadInput, match=line) as refusal:
        fill_blanks(load_model(make_model()), [text], **settings)  # type: ignore[arg-type]
    assert "\n" not in str(refusal.value)


def test_of_many_texts_the_good_are_filled_and_the_bad_are_told(make_model: Make) -> None:
    texts = ["The [MASK] sees", "none", "The [MASK]", "the king " * 60 + "[MASK]"]
    loaded = load_model(make_model())
    first, second, third, fourth = fill_good(loaded, texts, top=3)
    assert [first, third] == fill_blanks(loaded, [texts[0], texts[2]], top=3)
    assert isinstance(second, BadInput) and isinstance(fourth, BadInput)
    with pytest.raises(BadInput, match=r"^'none': there is no blank"):
        fill_blanks(loaded, texts)


def test_underscores_beside_a_blank_are_text(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["the __init__ of [MASK]"])
    assert filled.completed.startswith("the __init__ of")


def test_a_model_that_gives_no_numbers_is_named(make_model: Make) -> None:
    loaded = load_model(make_model())
    with torch.no_grad():
        next(loaded.model.parameters()).fill_(float("nan"))
    with pytest.raises(Damaged, match="not finite"):
        fill_blanks(loaded, ["The [MASK] sees"])


def test_no_texts_give_no_answers(loaded: LoadedModel) -> None:
    assert fill_blanks(loaded, []) == list[Filled]()
