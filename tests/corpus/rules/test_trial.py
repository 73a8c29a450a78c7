from __future__ import annotations

from unmask.corpus.rules.apply import rules_of
from unmask.corpus.rules.settings import choose_rules
from unmask.corpus.rules.trial import try_rules
from unmask.records import Document

PROSE = "The old house stood at the end of the road, and nobody had lived in it for years with its garden."
TEXTS = [
    f"{PROSE} Number {n}."
    if n % 3
    else ["# # # a", "{ code } # # #", "Menu\n" + PROSE, "Die Katze saß auf der Matte."][n % 4]
    for n in range(60)
]
SAMPLE = [Document(text, "a.jsonl", line) for line, text in enumerate(TEXTS, start=1)]


def test_each_rule_is_asked_by_itself_and_all_together_drop_what_prepare_would() -> None:
    settings = choose_rules("gopher-hashes,c4-curly-brackets,c4-few-words", language="en")
    trial = try_rules(SAMPLE, settings)
    rows = {row.name: row for row in trial.rules}
    assert {*rows} == {"gopher-hashes", "c4-curly-brackets", "c4-few-words", "language"}
    for name, value in (("gopher-hashes", 0), ("c4-curly-brackets", 1)):
        alone = rules_of(choose_rules(f"{name},c4-few-words"))
        drops = [ruling for ruling in alone(TEXTS, [()] * len(TEXTS)) if ruling.dropped == name]
        assert rows[name].dropped == len(drops) > value
        assert [example.value for example in rows[name].examples] == [drop.value for drop in drops][:10]
    assert trial.dropped == sum(each.dropped is not None for each in rules_of(settings)(TEXTS, [()] * len(TEXTS)))
    assert rows["c4-curly-brackets"].only == 0 < rows["language"].only
    assert rows["c4-few-words"].changed == 5 and rows["c4-few-words"].dropped == 0
    assert {example.excerpt for example in rows["c4-few-words"].examples} == {"Menu"}  # what it would cut out
    assert (trial.documents, sum(trial.languages.values())) == (60, 60)


def test_there_are_ten_examples_at_most_with_their_places() -> None:
    (row,) = try_rules(SAMPLE, choose_rules("gopher-words")).rules
    assert row.dropped == 60 and len(row.examples) == 10
    assert [(example.source, example.line) for example in row.examples[:2]] == [("a.jsonl", 1), ("a.jsonl", 2)]
    assert (row.low, row.high, row.measures) == (50, 100_000, "words")
