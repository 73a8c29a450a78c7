from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from unmask.errors import BadInput, Damaged
from unmask.inference import agree as agree_module
from unmask.inference import ask as ask_module
from unmask.inference.blanks import BlankText, read_blanks
from unmask.inference.fill import fill_blanks, fill_good
from unmask.inference.spelling import speller
from unmask.models.load import LoadedModel, load_model
from unmask.results import Filled
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
        best = [words for agreement in filled.agreements for words in agreement.fillings[0].words]
        for (start, end), word in zip(filled.places, best or [filled.blanks[0][0].token], strict=True):
            assert filled.completed[start:end] == word.removeprefix("##")


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
    spelt = [
        [loaded.tokenizer.convert_ids_to_tokens(choice.pieces[0]) for choice in blank.choices]
        for blank in question.blanks
    ]
    assert spelt == [["The", "king"], ["ĠThe", "Ġking"]]


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
    ("the king " * 60 + "[MASK]", {"on_long": "error"}, r"…: 1\d\d tokens, but this model takes 62"),
    ("the king " * 60 + "[MASK]", {"on_long": "cut"}, r"blank 1 is token 121, beyond the 62 that --on-long cut keeps"),
    ("", {}, r"'': the text is empty: write one with \[MASK\]"),
    (" \t ", {}, "the text is empty"),
    ("The [MASK:words] sees", {}, r"\[MASK:words\] is not a blank here: .* or \[MASK:word\] for a whole word"),
    ("The [MASK] sees", {"pieces": "4-1"}, "--pieces 4-1: give a number of tokens or a range"),
    ("The [MASK] sees", {"pieces": "many"}, "--pieces many"),
    ("\udcff [MASK]", {}, "not valid Unicode"),
    ("The [MASK] sees", {"top": 0}, "--top 0"),
    ("The [MASK] sees", {"targets": ["猫"]}, "the target '猫' is not in this vocabulary"),
    ("The [MASK] sees", {"targets": ["the king"]}, "the target 'the king' is 2 words, but a blank holds one"),
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
    first, second, third, fourth = fill_good(loaded, texts, top=3, on_long="error")
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


def padded(loaded: LoadedModel, words: int) -> str:
    """A text of about so many tokens of its own kind."""
    return "the king sees a dog , " * (words // 6)


def test_no_token_is_dropped_uncounted_in_a_text_of_thirty_thousand_with_blanks_all_over_it(make_model: Make) -> None:
    loaded = load_model(make_model())
    filler = padded(loaded, 15_000)
    text = f"The [MASK] sees. {filler} nobody [MASK] music [MASK] {filler} and laughs [MASK]"
    (filled,) = fill_blanks(loaded, [text], top=3)
    assert filled.tokens > 30_000 and filled.windows == 3
    assert filled.tokens_read == 3 * loaded.room  # type: ignore[operator]
    assert [agreement.blanks for agreement in filled.agreements] == [(1, 2)]  # the others are out of sight
    assert "[MASK]" not in filled.completed and filled.completed.startswith("The ")
    # each blank has all the context that a row holds: as much of the text around it, in a row of its own
    near, end = text[: text.index("the king sees") + 400], text[-400:]
    for guesses, part in ((filled.blanks[0], near), (filled.blanks[3], end)):
        ids = read_blanks(loaded, [part])[0]
        assert isinstance(ids, BlankText) and len(ids.ids) > loaded.room  # type: ignore[operator]
        (short,) = fill_blanks(loaded, [part], top=3)
        assert [guess.token for guess in short.blanks[0]] == [guess.token for guess in guesses]
        assert [guess.probability for guess in short.blanks[0]] == pytest.approx(
            [guess.probability for guess in guesses], rel=1e-3
        )


def test_what_is_cut_is_counted(make_model: Make) -> None:
    loaded = load_model(make_model())
    text = f"The [MASK] sees. {padded(loaded, 600)}"
    (cut,) = fill_blanks(loaded, [text], on_long="cut")
    assert cut.cut == cut.tokens - 62 and cut.tokens_read == 62 and cut.windows == 1
    (whole,) = fill_blanks(loaded, ["The [MASK] sees."])
    assert (whole.tokens, whole.tokens_read, whole.windows, whole.cut) == (6, 6, 1, 0)


def test_a_target_of_several_tokens_is_judged_piece_by_piece_and_weighs_as_words_of_its_length_do(
    make_model: Make,
) -> None:
    loaded = load_model(make_model())
    (question,) = read_blanks(loaded, ["The [MASK] sees"], ["kingdog"])
    assert isinstance(question, BlankText)
    pieces = question.blanks[0].choices[0].pieces
    assert len(pieces) > 1 and loaded.tokenizer.decode(list(pieces)) == "kingdog"
    (filled,) = fill_blanks(loaded, ["The [MASK] sees"], targets=["kingdog", "king"])
    found = {guess.token: guess for guess in filled.blanks[0]}
    assert {word: guess.pieces for word, guess in found.items()} == {"kingdog": len(pieces), "king": 1}
    assert filled.word_lengths == "the words of the text, and the vocabulary"
    shares = {
        word: found[word].probability / whole_probability(loaded, "The ", ids, " sees")
        for word, ids in (("king", (loaded.tokenizer.get_vocab()["king"],)), ("kingdog", pieces))
    }
    assert 0 < shares["kingdog"] < shares["king"] < 1  # P(n), which short words have more of


def whole_probability(loaded: LoadedModel, before: str, pieces: tuple[int, ...], after: str) -> float:
    """Of pieces from left to right, later ones hidden, by transformers alone."""
    tokenizer = loaded.tokenizer
    ids = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in (before, after)]
    product = 1.0
    for place, piece in enumerate(pieces):
        shown = [*pieces[:place], *[tokenizer.mask_token_id] * (len(pieces) - place)]
        row = [tokenizer.cls_token_id, *ids[0], *shown, *ids[1], tokenizer.sep_token_id]
        with torch.no_grad():
            logits = loaded.model(torch.tensor([row])).logits[0, 1 + len(ids[0]) + place]
        product *= float(logits.softmax(-1)[piece])
    return product


def test_a_blank_for_a_word_offers_whole_words_only_and_lengths_compete(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["The [MASK:word] sees the dog."], top=40)
    assert filled.word_lengths
    assert all(guess.token.isalnum() for guess in filled.blanks[0] if "\\" not in guess.token)
    assert {1, 2} <= {guess.pieces for guess in filled.blanks[0]}
    (longer,) = fill_blanks(loaded, ["The [MASK:word] sees the dog."], pieces="3")
    assert {guess.pieces for guess in longer.blanks[0]} == {3}
    (one,) = fill_blanks(loaded, ["The [MASK:word] sees the dog."], top=5, pieces="1")
    (token,) = fill_blanks(loaded, ["The [MASK] sees the dog."], top=50)
    words = [guess.token for guess in token.blanks[0] if guess.token.isalnum()]
    assert [guess.token for guess in one.blanks[0]] == words[:5]


def test_a_word_s_probability_is_that_of_its_pieces_and_of_its_length(make_model: Make) -> None:
    loaded = load_model(make_model())
    (filled,) = fill_blanks(loaded, ["The [MASK:word] sees"], top=60)
    (targets,) = fill_blanks(loaded, ["The [MASK:word] sees"], targets=[guess.token for guess in filled.blanks[0]])
    expected = {guess.token: guess.probability for guess in filled.blanks[0]}
    same = {
        guess.token: guess.probability
        for guess in targets.blanks[0]
        for other in filled.blanks[0]
        if (guess.token, guess.pieces) == (other.token, other.pieces)  # the tokenizer may spell it in other pieces
    }
    assert same and same == pytest.approx({word: expected[word] for word in same}, rel=1e-3)


def test_before_letters_only_what_the_word_can_go_on_from_is_offered(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["The un[MASK]ing [MASK]s."], top=10_000)
    inner, outer = ([guess.token for guess in guesses if "\\" not in guess.token] for guesses in filled.blanks)
    assert inner and outer and all(token[-1].isalnum() for token in [*inner, *outer])
    assert all(token.startswith("##") for token in inner) and not any(token.startswith("##") for token in outer)


def test_letters_behind_a_blank_are_tokens_that_go_on_with_a_word(make_model: Make) -> None:
    loaded = load_model(make_model())
    (question,) = read_blanks(loaded, ["The [MASK]ing the"])
    assert isinstance(question, BlankText)
    tokens = loaded.tokenizer.convert_ids_to_tokens(question.ids.tolist())
    behind = tokens[tokens.index("[MASK]") + 1 : tokens.index("the")]
    assert "".join(behind).replace("##", "") == "ing" and all(token.startswith("##") for token in behind)


HOSTILE = {
    "long": "the king " * 11_000 + "[MASK]" + " the dog" * 100,
    "emoji": "😀😀 [MASK] 😀 👩‍👩‍👧",
    "right to left": "\u202eهذا [MASK] كتاب שלום",
    "special tokens": "[CLS] The [SEP] [PAD] [UNK] [MASK] <s> </s> <pad> <unk> [unused1]",
    "control characters": "\x00\x07 the\x1b[31m [MASK] \x7f\r\n",
    "no spaces": "x" * 5_000 + "[MASK]",
    "one blank": "[MASK]",
    "marks": "e\u0301\u0301\u0301 [MASK]\u0301",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_filled_and_stay_as_they_were_around_their_blanks(text: str, loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, [text], top=2)
    head, tail = text.split("[MASK]")
    assert filled.completed.startswith(head.rstrip()) and filled.completed.endswith(tail)
    assert len(filled.blanks) == 1 and filled.blanks[0][0].probability > 0
    assert 0 < filled.tokens_read <= filled.tokens


def test_five_hundred_blanks_are_filled_in_bounded_work(make_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, shown = load_model(make_model(max_position_embeddings=16)), 0
    forward = ask_module._forward

    def counted(lm: LoadedModel, rows: list[ask_module.Question]) -> list[torch.Tensor]:
        nonlocal shown
        shown += sum(len(row.ids) for row in rows)
        return forward(lm, rows)

    monkeypatch.setattr(ask_module, "_forward", counted)
    monkeypatch.setattr(agree_module, "WORK", 1 << 18)  # 32 rows for each
    (filled,) = fill_blanks(loaded, ["the [MASK] " * 500], top=1)
    assert len(filled.blanks) == 500 and "[MASK]" not in filled.completed
    assert [number for agreement in filled.agreements for number in agreement.blanks] == list(range(500))
    assert max(len(agreement.blanks) for agreement in filled.agreements) > 2
    assert shown < 2 * agree_module.WORK
    monkeypatch.setattr(agree_module, "WORK", 1 << 10)
    (alone,) = fill_blanks(loaded, ["the [MASK] " * 500], top=1)
    assert not alone.agreements and alone.completed == alone.independent
    assert alone.notes == ("too many blanks for all to agree: each of the 500 is filled on its own",)
