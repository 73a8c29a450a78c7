from pathlib import Path

from unmask.console.documents import document_counts
from unmask.results import Prepared


def test_every_count_has_words_and_a_reason_without_them_is_its_own_word() -> None:
    prepared = Prepared(
        path=Path("data"),
        files=1,
        bytes_read=1,
        counts={
            "read": 9,
            "malformed": 1,
            "empty": 2,
            "short": 3,
            "duplicate": 4,
            "odd": 5,
            "train": 6,
            "valid": 7,
        },
        tokenizer="wordpiece",
        vocabulary=1,
        tokens={},
        fingerprint="",
        seconds=0.0,
    )
    assert dict(document_counts(prepared)) == {
        "read": 9,
        "malformed, in quarantine.jsonl": 1,
        "left out: empty": 2,
        "left out: too short": 3,
        "left out: exact duplicates": 4,
        "left out: odd": 5,
        "to train on": 6,
        "held out to measure on": 7,
    }
