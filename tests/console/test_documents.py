from pathlib import Path

from unmask.console.documents import document_counts, rule_rows
from unmask.results import Decontaminated, Prepared


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
            "dropped": 20,
            "duplicate": 4,
            "odd": 5,
            "train": 6,
            "valid": 7,
        },
        tokenizer="wordpiece",
        vocabulary=1,
        tokens={},
        changed={"c4-javascript": 1_000},
        languages_told={"en": 9, "de": 1},
        decontaminated=Decontaminated(items=6, too_short=3, removed=4, touched=2, before=0.5, after=0.01),
        dropped={f"rule{n}": 3 - (n > 4) for n in range(10)},
        fingerprint="",
        seconds=0.0,
    )
    assert dict(document_counts(prepared)) == {
        "documents read": 9,
        "documents malformed, in quarantine.jsonl": 1,
        "documents left out: empty": 2,
        "documents left out: too short": 3,
        "documents left out: by rules": 20,
        **{f"  by rule{n}": 3 - (n > 4) for n in range(8)},
        "  by 2 other rules": 4,
        "documents left out: exact duplicates": 4,
        "documents left out: odd": 5,
        "documents to train on": 6,
        "documents held out to measure on": 7,
    }
    assert [*rule_rows(prepared)] == [
        ("changed by the rule c4-javascript", "1,000", ""),
        ("languages told", "2", "en 9, de 1"),
        ("held-out items", "6", "3 are too short"),
        ("documents touched by one", "2", "8 words in a row"),
        ("leak before, after", "50.00%", "1.00% of the items"),
    ]
