"""Text to a tokenizer: WordPiece, byte-level BPE or Unigram, the same bytes for the same text.

In: texts. Out: a transformers tokenizer with [PAD] [UNK] [CLS] [SEP] [MASK] at the ids 0 to 4, whatever the kind.

The trainers of `tokenizers` walk hash maps with random keys, so that WordPiece and Unigram would come out differently
each time. Here WordPiece is given its characters in a fixed order, and Unigram is learnt by `unigram`;
byte-level BPE is the same each time as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer import unigram
from unmask.tokens.tokenizer.encode import SPACE

PAD, UNK, CLS, SEP, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
VOCABULARY = 16_384  # unless a size is asked for
SAMPLE = 32 << 20  # characters; twice as many gave 0.1 % fewer tokens on held-out Wikipedia
CANDIDATES = 4  # times as many pieces as are asked for, for Unigram to choose from; 10 gave no better ones
WORD_TYPES = 200_000  # different words to learn Unigram from: memory stays flat
COVERAGE = 0.9999  # of the characters of a text are in the alphabet
LONGEST_WORD = 200  # characters, beyond which WordPiece says [UNK]; Thai writes a clause without a space

# A word is a run of letters with their accents and vowel signs (GPT-2 cuts Hindi and Thai at those), of digits or of
# other signs, each with the space before it; English contractions are words of their own. Scripts written without
# spaces are apart from the others, so that no piece has both.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
WORDS = "|".join(
    (
        r"'(?:s|t|re|ve|m|ll|d)(?![\p{L}\p{M}])",
        rf"_?[{UNSPACED}]+",
        rf"_?[\p{{L}}\p{{M}}&&[^{UNSPACED}]]+",
        r"_?\p{N}+",
        r"_?[^\s_\p{L}\p{M}\p{N}]+",
        r"[\s_]+(?=_)",
        r"[\s_]+",
    )
)


def train_tokenizer(
    texts: Iterable[str], kind: str, vocab_size: int | None = None, cased: bool = True
) -> PreTrainedTokenizerFast:
    """Train a tokenizer of a kind (wordpiece, bpe or unigram) to exactly `vocab_size` pieces.

    Where no size is asked for it has 16,384, or as many as the text allows.

    Of a corpus over 32 Mi characters every second document is learnt from, or every fourth, …: see `sample_texts`.
    """
    if kind not in KINDS:
        raise BadInput(f"tokenizer {kind!r}: neither a directory nor a kind; the kinds are {', '.join(KINDS)}")
    sample = sample_texts(texts, SAMPLE)
    if not any(sample):
        raise BadInput("there is no text to train a tokenizer on")
    tokenizer = KINDS[kind](sample, vocab_size or VOCABULARY, cased)
    size = tokenizer.get_vocab_size()
    if vocab_size is not None and size < vocab_size:
        raise BadInput(
            f"a vocabulary of {vocab_size:,} is larger than the text allows: "
            f"ask for {_max_vocabulary(sample, kind, size, cased):,} at most, or add text"
        )
    return _as_fast_tokenizer(tokenizer)


def sample_texts(texts: Iterable[str], limit: int) -> list[str]:
    """Texts from all over the corpus, at most `limit` characters, without knowing beforehand how many there are.

    Every text is kept until they are too many; then every second of them goes, and of what follows every second is
    kept; and so on.

    >>> sample_texts(["aa", "bb", "cc", "dd", "ee"], limit=7)
    ['aa', 'cc', 'ee']
    """
    sample: list[str] = []
    size, stride = 0, 1
    for number, text in enumerate(texts):
        if number % stride:
            continue
        sample.append(text)
        size += len(text)
        while size > limit and len(sample) > 1:
            sample, stride = sample[::2], 2 * stride
            size = sum(map(len, sample))
    return sample


def _max_vocabulary(sample: list[str], kind: str, size: int, cased: bool) -> int:
    """The largest vocabulary the text allows: what a smaller one leaves out may make it smaller still."""
    while (smaller := KINDS[kind](sample, size, cased).get_vocab_size()) < size:
        size = smaller
    return size


def _wordpiece(sample: list[str], vocab_size: int, cased: bool) -> Tokenizer:
    """BERT's: spaces and punctuation part words, Chinese characters stand alone, ## continues a word."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNK))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    apart = pre_tokenizers.Split(Regex(f"[{UNSPACED}]+"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([apart, pre_tokenizers.BertPreTokenizer()])
    alphabet = _alphabet(sample, vocab_size, tokenizer.normalizer)

    def one_word(text: str) -> bool:
        return len(tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))) == 1

    continued = [f"##{character}" for character in alphabet if one_word(2 * character)]
    _check_room(vocab_size, len(alphabet) + len(continued))
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=[
            *SPECIAL,
            *continued,
        ],  # named here, or their ids would come from the order of a hash map
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample, trainer)
    vocab = tokenizer.get_vocab()
    plain = Tokenizer(models.WordPiece(vocab, unk_token=UNK, max_input_chars_per_word=LONGEST_WORD))
    plain.normalizer, plain.pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    plain.decoder = decoders.WordPiece(cleanup=True)
    return plain


def _bpe(sample: list[str], vocab_size: int, cased: bool) -> Tokenizer:
    """RoBERTa's: merges of the 256 bytes, so that every text has tokens and every text comes back."""
    tokenizer = Tokenizer(models.BPE())
    if not cased:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [_split_words(" "), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    _check_room(vocab_size, len(alphabet))
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample, trainer)
    return tokenizer


def _unigram(sample: list[str], vocab_size: int, cased: bool) -> Tokenizer:
    """XLM-R's, with punctuation apart and without NFKC, so that the text comes back as it was."""
    tokenizer = Tokenizer(models.Unigram())
    if not cased:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(SPACE, prepend_scheme="first", split=False), _split_words(SPACE)]
    )
    tokenizer.decoder = decoders.Metaspace(SPACE, prepend_scheme="first", split=False)
    alphabet = sorted({SPACE, "\n", *_alphabet(sample, vocab_size, tokenizer.normalizer)})
    _check_room(vocab_size, len(alphabet))
    merges = trainers.BpeTrainer(
        vocab_size=CANDIDATES * vocab_size,
        min_frequency=2,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    candidates = _train_like(tokenizer, models.BPE(), merges, sample).get_vocab()
    pieces = unigram.learn(_word_counts(tokenizer, sample), candidates, vocab_size - len(SPECIAL))
    tokenizer.model = models.Unigram([*((name, 0.0) for name in SPECIAL), *pieces], SPECIAL.index(UNK), False)
    return tokenizer


KINDS: dict[str, Callable[[list[str], int, bool], Tokenizer]] = {
    "wordpiece": _wordpiece,
    "bpe": _bpe,
    "unigram": _unigram,
}


def _split_words(space: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(WORDS.replace("_", space)), "isolated")


def _alphabet(sample: list[str], vocab_size: int, normalizer: normalizers.Normalizer | None) -> list[str]:
    """The characters worth a piece, in code order: those of all but a ten-thousandth of the text.

    The 256 most frequent are always among them, and never more than a quarter of the vocabulary: an encyclopedia in
    English has thousands of characters, which once each would take the place of words.
    """
    code_counts = np.zeros(0x110000, dtype=np.int64)
    for text in _join_texts(sample):
        code_counts += np.bincount(np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32), minlength=len(code_counts))
    counts: Counter[str] = Counter()
    for code in np.flatnonzero(code_counts).tolist():
        for character in normalizer.normalize_str(chr(code)) if normalizer else chr(code):
            if not character.isspace():
                counts[character] += int(code_counts[code])
    by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
    coverage = np.cumsum([counts[character] for character in by_frequency])
    count = int(np.searchsorted(coverage, COVERAGE * coverage[-1])) + 1 if by_frequency else 0
    return sorted(by_frequency[: max(256, min(count, vocab_size // 4))])


def _join_texts(sample: list[str], size: int = 1 << 22) -> Iterator[str]:
    """The sample in strings of about `size` characters."""
    texts: list[str] = []
    length = 0
    for text in sample:
        texts.append(text)
        length += len(text)
        if length > size:
            yield "".join(texts)
            texts, length = [], 0
    yield "".join(texts)


def _word_counts(tokenizer: Tokenizer, sample: list[str]) -> dict[str, int]:
    """How often each word occurs, as the tokenizer's pre-tokenizer finds them.

    Of too many different ones the rarer half is thinned out, and what stays of it counts for what went.
    """
    trainer = trainers.WordLevelTrainer(vocab_size=10 * WORD_TYPES, special_tokens=[UNK], show_progress=False)
    words = _train_like(tokenizer, models.WordLevel(unk_token=UNK), trainer, sample)
    counts = np.zeros(words.get_vocab_size(), dtype=np.int64)
    for start in range(0, len(sample), 1024):
        for encoding in words.encode_batch_fast(sample[start : start + 1024], add_special_tokens=False):
            np.add.at(counts, encoding.ids, 1)
    frequent = sorted((-counts[number], word) for word, number in words.get_vocab().items() if word != UNK)
    head_size = WORD_TYPES // 2
    stride = max(1, -(-(len(frequent) - head_size) // head_size))
    head = {word: -int(count) for count, word in frequent[:head_size]}
    return head | {word: -int(count) * stride for count, word in frequent[head_size::stride]}


def _train_like(like: Tokenizer, model: models.Model, trainer: trainers.Trainer, sample: list[str]) -> Tokenizer:
    """A tokenizer with another model over the same words."""
    tokenizer = Tokenizer(model)
    if like.normalizer is not None:
        tokenizer.normalizer = like.normalizer
    tokenizer.pre_tokenizer = like.pre_tokenizer
    tokenizer.train_from_iterator(sample, trainer)
    return tokenizer


def _check_room(vocab_size: int, characters: int) -> None:
    if (minimum := characters + len(SPECIAL)) > vocab_size:
        raise BadInput(
            f"a vocabulary of {vocab_size:,} has no room for the characters of the text: ask for {minimum:,} or more"
        )


def _as_fast_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers knows one: [CLS] text [SEP], and a mask that takes the space before it."""
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False, lstrip=name == MASK) for name in SPECIAL]
    )
    ids = [(name, tokenizer.token_to_id(name)) for name in (CLS, SEP)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}", pair=f"{CLS} $A {SEP} $B:1 {SEP}:1", special_tokens=ids
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "attention_mask"],  # ModernBERT takes no token types, BERT needs none
        clean_up_tokenization_spaces=False,
        pad_token=PAD,
        unk_token=UNK,
        cls_token=CLS,
        sep_token=SEP,
        mask_token=AddedToken(MASK, special=True, normalized=False, lstrip=True),
    )
