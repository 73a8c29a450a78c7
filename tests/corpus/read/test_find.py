from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unmask.corpus.read.find import COMPRESSIONS, FORMATS, TextSource, estimate_text_bytes, find_sources
from unmask.errors import BadInput


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def names(arguments: list[Path | str], under: Path) -> list[str]:
    return [str(Path(source.name).relative_to(under)) for source in find_sources([str(each) for each in arguments])]


def test_a_folder_is_searched_recursively_in_the_order_of_sorted_paths(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt", "a/z.jsonl", "a/c/d.md.gz", "c.parquet", "B.TXT")
    assert names([tmp_path], tmp_path) == ["B.TXT", "b.txt", "c.parquet", "a/z.jsonl", "a/c/d.md.gz"]


def test_arguments_keep_their_order_and_a_file_is_read_once(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "b.txt", "c.txt")
    assert names([tmp_path / "b.txt", tmp_path, tmp_path / "a.txt"], tmp_path) == ["b.txt", "a.txt", "c.txt"]


def test_unknown_hidden_and_empty_files_in_a_folder_are_passed_over_and_told(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "a.odt", "Makefile", ".hidden.txt", ".git/b.txt", "a.txt.lz4", "sub/b.ODT", "old/a.zip.gz")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    (tmp_path / "nothing.txt").touch()
    passed_over: dict[str, str] = {}
    assert [source.name for source in find_sources([str(tmp_path)], passed_over.__setitem__)] == [f"{tmp_path}/a.txt"]
    assert {str(Path(name).relative_to(tmp_path)): kind for name, kind in passed_over.items()} == {
        "a.odt": ".odt",
        "sub/b.ODT": ".odt",
        "Makefile": "no suffix",
        ".hidden.txt": "hidden",
        ".git": "hidden",
        "a.txt.lz4": ".lz4",
        "old/a.zip.gz": ".zip.gz",
        "dangling.txt": "broken link",
        "linked": "linked folder",
        "nothing.txt": "empty",
    }


def test_what_a_glob_matches_and_nobody_reads_is_told(tmp_path: Path) -> None:
    touch(tmp_path, "1.txt", "1.odt", "2.txt")
    passed_over: dict[str, str] = {}
    find_sources([f"{tmp_path}/1.*"], passed_over.__setitem__)
    assert passed_over == {f"{tmp_path}/1.odt": ".odt"}


def test_globs_find_files_and_folders_sorted(tmp_path: Path) -> None:
    touch(tmp_path, "2.txt", "1.txt", "1.odt", "deep/er/3.txt")
    assert names([tmp_path / "[12].*"], tmp_path) == ["1.txt", "2.txt"]
    assert names([tmp_path / "**/3.*"], tmp_path) == ["deep/er/3.txt"]
    assert names([tmp_path / "de*"], tmp_path) == ["deep/er/3.txt"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    touch(tmp_path, "a[1].txt", "a1.txt")
    assert names([tmp_path / "a[1].txt"], tmp_path) == ["a[1].txt"]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("compression", ["", *COMPRESSIONS])
def test_every_format_is_known_plain_and_compressed(tmp_path: Path, suffix: str, compression: str) -> None:
    touch(tmp_path, name := f"x{suffix}{compression}")
    expected = TextSource(str(tmp_path / name), FORMATS[suffix], COMPRESSIONS.get(compression))
    assert find_sources([str(tmp_path / name)]) == [expected]


def test_without_the_extra_office_files_are_passed_over_and_a_named_one_is_told_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "a.txt", "a.pdf", "b.docx")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    monkeypatch.setitem(sys.modules, "mammoth", None)
    passed_over: dict[str, str] = {}
    assert [source.format for source in find_sources([str(tmp_path)], passed_over.__setitem__)] == ["text"]
    assert sorted(passed_over.values()) == [".docx", ".pdf"]
    for name in ("a.pdf", "b.docx"):
        with pytest.raises(BadInput, match=rf"{name}: .* is read by an extra: pip install 'unmask\[office\]'$"):
            find_sources([str(tmp_path / name)])


def test_standard_input_and_the_built_in_corpus_have_names_of_their_own() -> None:
    assert [source.format for source in find_sources(["-", "builtin", "-"])] == ["stdin", "builtin"]


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("nowhere.txt", "nowhere.txt: no such file or folder"),
        ("*.nothing", "nothing matches *.nothing (.txt"),
        ("empty", "empty: no file that can be read (.txt"),
        ("a.odt", "a.odt: unknown kind of file (.odt); known are .txt"),
        ("a.zip.gz", "a.zip.gz: unknown kind of file (.zip.gz)"),
        ("README", "README: unknown kind of file (no suffix)"),
    ],
)
def test_what_cannot_be_found_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "a.odt", "a.zip.gz", "README")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput) as raised:
        find_sources([argument])
    assert str(raised.value).startswith(line)
    assert "\n" not in str(raised.value)


def test_an_empty_file_is_called_empty_and_no_reason_to_stop_if_there_are_others(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt")
    (tmp_path / "b.txt").touch()
    (tmp_path / "c.jsonl").touch()
    passed_over: dict[str, str] = {}
    both = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert [source.name for source in find_sources(both, passed_over.__setitem__)] == both[:1]
    assert passed_over == {both[1]: "empty"}
    with pytest.raises(BadInput, match=r"b\.txt: the file is empty$"):
        find_sources(both[1:])
    with pytest.raises(BadInput, match=r"b\.txt: the file is empty, and so are the 1 others$"):
        find_sources([*both[1:], str(tmp_path / "c.jsonl")])


def test_no_argument_is_one_clear_line() -> None:
    with pytest.raises(BadInput, match="nothing to read"):
        find_sources([])


def test_an_empty_source_is_not_this_folder() -> None:
    with pytest.raises(BadInput, match=r"a source is empty: name a file"):
        find_sources([""])


def test_the_text_of_a_compressed_file_is_more_than_its_bytes_and_that_of_a_pdf_less(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt.gz", "c.pdf"):
        (tmp_path / name).write_bytes(bytes(1000))
    sizes = [estimate_text_bytes(find_sources([str(tmp_path / name)])) for name in ("a.txt", "b.txt.gz", "c.pdf")]
    assert sizes == [1000, 2500, 20]
    assert estimate_text_bytes(find_sources([str(tmp_path)])) == sum(sizes)
