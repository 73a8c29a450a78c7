from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus import parts
from unmask.corpus.parts import cut_parts, part_size
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import Malformed
from unmask.corpus.read.reader import read_source
from unmask.records import Document

pieces = st.sampled_from(["a", "é", "日本", " ", "\t", "\n", "\r\n", "\n\n", "\n \n", "{", '{"text": "b"}', "\x0b\n"])


@settings(max_examples=60, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=60), st.integers(1, 40), st.sampled_from(["text", "jsonl"]))
def test_stretches_of_a_file_hold_its_documents_whole_in_order_and_nothing_twice(
    tmp_path_factory: object, content: list[str], size: int, form: str
) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "cut"  # type: ignore[attr-defined]
    path.write_bytes("".join(content).encode())
    source = TextSource(str(path), form)
    cut = cut_parts([source], size)
    stretches = [stretch for part in cut for stretch in part.sources]
    assert [part.number for part in cut] == list(range(len(cut)))
    assert sum(stretch.size for stretch in stretches) == source.size

    def told(record: object) -> tuple[str, str]:
        assert isinstance(record, Document | Malformed)
        return type(record).__name__, record.text

    whole = [told(record) for record in read_source(source)]
    assert [told(record) for stretch in stretches for record in read_source(stretch)] == whole


def test_an_end_of_a_document_that_lies_across_two_looks_is_found(tmp_path: Path, monkeypatch: object) -> None:
    monkeypatch.setattr(parts, "LOOK", 4)  # type: ignore[attr-defined]
    (path := tmp_path / "a.txt").write_bytes(b"one two\n      \nthree four\n\n\nfive")
    cut = cut_parts([TextSource(str(path), "text")], 3)
    assert [part.sources[0].end for part in cut] == [15, 27, 32]


def test_small_files_are_read_together_and_large_ones_that_cannot_be_cut_alone(tmp_path: Path) -> None:
    sources = []
    for number, (size, form) in enumerate([(10, "text"), (10, "csv"), (10, "html"), (500, "csv"), (10, "text")]):
        (path := tmp_path / f"{number}").write_bytes(b"x" * size)
        sources.append(TextSource(str(path), form))
    sources.insert(1, TextSource("-", "stdin"))
    cut = cut_parts(sources, 25)
    assert [[sources.index(source) for source in part.sources] for part in cut] == [[0], [1], [2, 3], [4], [5]]
    assert [part.here for part in cut] == [False, True, False, False, False]


def test_parts_of_a_small_corpus_are_small_and_none_is_larger_than_64_mb(tmp_path: Path) -> None:
    sizes = []
    for size in (1_000, 100 << 20, 100 << 30):
        with (path := tmp_path / str(size)).open("wb") as file:
            file.truncate(size)
        sizes.append(part_size([TextSource(str(path), "text")]) >> 20)
    assert sizes == [4, 6, 64]


def test_a_file_that_changed_or_other_settings_have_another_key(tmp_path: Path) -> None:
    (path := tmp_path / "a.txt").write_text("one")
    (part,) = cut_parts([TextSource(str(path), "text")], 100)
    keys = {part.key({"field": "text"}), part.key({"field": "body"})}
    path.write_text("three")
    keys.add(part.key({"field": "text"}))
    path.unlink()
    keys.add(part.key({"field": "text"}))
    assert len(keys) == 4
