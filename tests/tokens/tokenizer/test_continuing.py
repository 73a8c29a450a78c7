"""Laws of letters that go on with a word."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from unmask.tokens.tokenizer.boundaries import token_boundaries
from unmask.tokens.tokenizer.continuing import continue_word

Trained = Callable[[str], PreTrainedTokenizerFast]


@pytest.mark.parametrize("letters", ["ing", "itis", "s", "believable"])
def test_the_tokens_spell_the_letters_and_none_begins_a_word(kind: str, trained: Trained, letters: str) -> None:
    tokenizer = trained(kind)
    ids = continue_word(tokenizer, letters)
    assert "".join(tokenizer.convert_ids_to_tokens(ids)).replace("##", "") == letters
    assert not token_boundaries(tokenizer).starting[np.array(ids)].any()


def test_letters_that_the_vocabulary_cannot_spell_are_no_tokens(trained: Trained) -> None:
    assert continue_word(trained("wordpiece"), "字") == []
