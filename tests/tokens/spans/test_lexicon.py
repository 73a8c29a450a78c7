from itertools import pairwise

import numpy as np
from corruption_cases import CLS, PAD, SEP, UNK, VOCABULARY, batches, law
from hypothesis import strategies as st

from unmask.corruption import policy
from unmask.corruption.policy import policy_named
from unmask.records import Blocks
from unmask.tokens.spans.lexicon import Lexicon, Members, mark_phrases

THE, NEW, YORK, TIMES, OF, UN, DO = range(10, 17)


def row(ids, starts=None, documents=None):
    grid = np.array([ids], dtype=np.int32)
    begins = np.ones_like(grid) if starts is None else np.array([starts])
    owner = np.ones_like(grid) if documents is None else np.array([documents], dtype=np.int32)
    return Blocks(grid, begins.astype(np.bool_), owner, np.arange(1), 0)


def marks(blocks, phrases):
    return mark_phrases(blocks, Lexicon.of(phrases), VOCABULARY, kind="collocation").spans["collocation"]


def test_the_longest_phrase_wins():
    phrases = [[[NEW], [YORK]], [[NEW], [YORK], [TIMES]]]
    assert marks(row([THE, NEW, YORK, TIMES, OF, NEW, YORK]), phrases).tolist() == [[0, 2, 2, 2, 0, 6, 6]]


def test_of_two_that_overlap_the_left_one_is_taken():
    assert marks(row([OF, OF, OF, OF, OF]), [[[OF], [OF]]]).tolist() == [[1, 1, 3, 3, 0]]
    assert marks(row([NEW, YORK, TIMES]), [[[NEW], [YORK]], [[YORK], [TIMES]]]).tolist() == [[1, 1, 0]]


def test_a_phrase_is_of_whole_words():
    phrases = [[[UN, DO], [THE]]]
    assert marks(row([UN, DO, THE], [1, 0, 1]), phrases).tolist() == [[1, 1, 1]]
    assert marks(row([UN, DO, THE], [1, 1, 1]), phrases).tolist() == [[0, 0, 0]]
    assert marks(row([UN, DO, THE, DO], [1, 0, 1, 0]), phrases).tolist() == [[0, 0, 0, 0]]


def test_a_phrase_crosses_neither_documents_nor_special_tokens():
    phrases = [[[NEW], [YORK]]]
    assert not marks(row([NEW, UNK, YORK]), phrases).any()
    assert not marks(row([NEW, YORK], documents=[1, 2]), phrases).any()
    packed = row([CLS, NEW, SEP, CLS, YORK, SEP, PAD], [0, 1, 0, 0, 1, 0, 0], [1, 1, 1, 2, 2, 2, 0])
    assert not marks(packed, phrases).any()


def test_an_empty_lexicon_marks_nothing():
    assert not marks(row([NEW, YORK]), []).any()
    assert not marks(row([NEW, YORK]), [[[NEW]]]).any()


def by_loop(blocks, phrases):
    """Each place from the left tried for each phrase, the longest phrases first; a word is its eligible tokens."""
    found = set()
    for line in range(len(blocks.ids)):
        words, before = [], None
        for column, token in enumerate(blocks.ids[line].tolist()):
            document = blocks.documents[line, column]
            if column == 0 or blocks.word_starts[line, column] or document != before:
                words.append((document, []))
            before = document
            if document and not VOCABULARY.is_special[token]:
                words[-1][1].append((column, token))
        words = [(document, word) for document, word in words if word]
        taken = set()
        for phrase in sorted(phrases, key=len, reverse=True):
            same = [other for other in phrases if len(other) == len(phrase)]
            for begin in range(len(words) - len(phrase) + 1):
                span = words[begin : begin + len(phrase)]
                places = [column for _, word in span for column, _ in word]
                gaps = any(b[1][0][0] != a[1][-1][0] + 1 for a, b in pairwise(span))
                if gaps or taken & set(places) or len({document for document, _ in span}) > 1:
                    continue
                if [[token for _, token in word] for _, word in span] in same:
                    taken |= set(places)
                    found.add(tuple((line, column) for column in places))
    return found


@law(rows=batches(longest=128), seed=st.integers(0, 99))
def test_phrases_are_found_as_by_a_loop(rows, seed):
    rng = np.random.default_rng(seed)
    few = rows.ids.copy()  # an alphabet of three, so that phrases meet and overlap
    few[few > UNK + 3] = rng.integers(10, 13, (few > UNK + 3).sum())
    rows = Blocks(few, rows.word_starts, rows.documents, rows.numbers, 0)
    phrases = [[[int(rng.integers(10, 13))] for _ in range(rng.integers(2, 5))] for _ in range(4)]
    phrases.append([[10, 11], [12]])
    got = marks(rows, phrases)
    places = {}
    for place in zip(*np.nonzero(got), strict=True):
        places.setdefault((place[0], got[place]), []).append(tuple(map(int, place)))
    assert {tuple(group) for group in places.values()} == by_loop(rows, phrases)


def test_marked_phrases_are_hidden_whole_by_the_collocation_policy():
    blocks = mark_phrases(
        row([THE, NEW, YORK, TIMES] * 30),
        Lexicon.of([[[NEW], [YORK], [TIMES]]]),
        VOCABULARY,
        kind="collocation",
    )
    hidden = policy.corrupt(blocks, policy_named("collocation", 0.4), VOCABULARY, seed=0).hidden[0].reshape(30, 4)
    assert (hidden[:, 1:].all(axis=1) == hidden[:, 1:].any(axis=1)).all() and hidden[:, 1:].any()


def test_members_know_what_is_in_and_what_is_not():
    rng = np.random.default_rng(0)
    table = np.unique(rng.integers(0, 2**63, 5000).astype(np.uint64))
    asked = np.concatenate((table[::7], rng.integers(0, 2**63, 5000).astype(np.uint64)))
    assert Members(table).have(asked).tolist() == np.isin(asked, table).tolist()
    assert not Members(table[:0]).have(asked).any()
