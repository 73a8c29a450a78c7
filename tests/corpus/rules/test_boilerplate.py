from __future__ import annotations

from unmask.corpus.rules.boilerplate import boilerplate_lines
from unmask.records import Document


def test_a_line_of_ten_documents_and_one_in_fifty_of_its_folder_is_boilerplate() -> None:
    site = [Document(f"Home | About\nText {n} of its own.\nHome | About", "site/a.jsonl", n) for n in range(500)]
    other = [Document(f"Chapter {n % 9}\nAnother text {n}.", "books/b.jsonl", n) for n in range(900)]
    rare = [Document(f"Rare line\nText {n}", "books/b.jsonl", n) for n in range(9)]
    often = [Document(f"Quoted line\nA text {n}", "books/b.jsonl", n) for n in range(12)]
    assert boilerplate_lines([*site, *other, *rare, *often]) == (
        "Home | About",
        *(f"Chapter {n}" for n in range(9)),
    )


def test_a_paragraph_is_no_boilerplate_however_often_it_is_said() -> None:
    assert boilerplate_lines(Document("word " * 50, "a.txt", n) for n in range(100)) == ()
