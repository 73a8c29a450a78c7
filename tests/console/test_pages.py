"""Results for people, at 80 columns and without colour."""

import io
import json
import typing
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from rich.console import Console

from unmask.cli import COMMANDS
from unmask.console.pages import draw_result, result_pages
from unmask.results import (
    Breakdown,
    Collocated,
    ComparedRun,
    Comparison,
    Dependence,
    Evaluated,
    Figure,
    Filled,
    Guess,
    Phrase,
    Prepared,
    Probed,
    Shown,
    ShownToken,
    Trained,
    Verified,
)

FIGURE = Figure(0.25, 0.2, 0.3)
PART = Breakdown(positions=1234, loss=FIGURE, top1=FIGURE)
EVALUATED = Evaluated(
    model="run",
    data="data",
    positions=123_456,
    documents=300,
    loss=Figure(4.5, 4.4, 4.6),
    perplexity=Figure(90.0, 81.5, 99.5),
    top1=FIGURE,
    top5=FIGURE,
    bits_per_byte=Figure(1.5, 1.4, 1.6),
    context_bits=Figure(2.25, 2.0, 2.5),
    most_frequent_top1=0.05,
    unigram_loss=6.25,
    by_kind={"masked": PART, "random": PART, "kept": PART},
    by_frequency={"rank 1 to 100": PART, "no word: punctuation": PART},
)
FILLED = Filled(
    text="The [MASK] barks [bold]at[/bold] [MASK].",
    blanks=((Guess("dog", 0.5), Guess("##s", 0.25)), (Guess("me", 1.0), Guess("[x]", 0.0))),
    completed="The dog barks [bold]at[/bold] me.",
    places=((4, 7), (30, 32)),
)
PREPARED = Prepared(
    path=Path("data"),
    files=3,
    bytes_read=12_345_678,
    counts={"read": 100, "malformed": 1, "empty": 2, "short": 3, "duplicate": 4, "train": 80, "valid": 10},
    tokenizer="wordpiece",
    vocabulary=16_384,
    tokens={"train": 1_000_000, "valid": 10_000},
    warnings=("only 10 documents are held out: intervals will be wide",),
    next=("unmask pretrain data --out run --minutes 10", 'unmask fill run "The king [MASK] the sea."'),
    fingerprint="f" * 64,
    seconds=75.0,
)
VERIFIED = Verified(path=Path("data"), files=12, bytes=1000, damage=("data/train/00000.tokens.npy: changed",))
TRAINED = Trained(
    path=Path("run"),
    model=Path("run/model"),
    recipe="mini",
    parameters=8_000_000,
    steps=1000,
    tokens=2_000_000,
    seconds=600.0,
    loss=5.31,
    accuracy=0.21,
    weights_sha256="a" * 64,
)
COLLOCATED = Collocated(
    data=Path("data"),
    path=Path("list.txt"),
    phrases=tuple(Phrase(f"phrase [{number}]", 1000 - number, -0.01 * number) for number in range(50)),
    above=-5.5,
    chance=-5.5,
    seconds=4.0,
)
SHOWN = Shown(
    policy="token",
    pieces=(
        ShownToken("the", "the", "shown"),
        ShownToken("cat", "[MASK]", "masked", 1),
        ShownToken("sat", "sat", "kept", 2),
    ),
    hidden=2,
    tokens=3,
)
ALL = [PREPARED, VERIFIED, TRAINED, EVALUATED, FILLED, COLLOCATED, SHOWN]


def printed(result: object, **console: object) -> str:
    terminal = Console(width=80, **{"no_color": True, "force_terminal": False, **console})  # type: ignore[arg-type]
    with terminal.capture() as capture:
        terminal.print(draw_result(result))
    return capture.get()


@pytest.mark.parametrize("result", ALL, ids=lambda result: type(result).__name__)
def test_every_result_fits_80_columns_and_needs_no_colour(result: object) -> None:
    text = printed(result)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text  # nothing was cut off to fit


@pytest.mark.parametrize("verb", COMMANDS.values(), ids=COMMANDS)
def test_whatever_a_verb_gives_is_drawn(verb: Callable[..., object]) -> None:
    result = typing.get_type_hints(verb)["return"]
    each = typing.get_args(result)[0] if typing.get_origin(result) is Iterator else result
    for kind in typing.get_args(each) or (each,):
        assert draw_result.dispatch(kind) is not draw_result.dispatch(object)


def test_what_was_read_and_left_out_is_counted() -> None:
    text = printed(PREPARED)
    for said in (
        "12.3 MB",
        "exact duplicates",
        "16,384",
        "1,000,000",
        "f" * 64,
        "1 min 15 s",
        "only 10 documents are held out: intervals will be wide",
        "next  unmask pretrain data --out run --minutes 10",
        'next  unmask fill run "The king [MASK] the sea."',
    ):
        assert said in text


def test_files_passed_over_are_counted_by_suffix_with_what_would_read_them() -> None:
    assert "passed over" not in printed(PREPARED)
    text = printed(replace(PREPARED, passed_over={".bin": 12, ".pdf": 3, ".docx": 1}))
    [row] = [line for line in text.splitlines() if "files passed over" in line]
    assert row.split("passed over")[1].split() == ["16", ".bin", "12,", ".pdf", "3,", ".docx", "1"]
    assert "pip install 'unmask[office]' reads .pdf and .docx" in text
    assert "pip" not in printed(replace(PREPARED, passed_over={".bin": 12}))


def test_files_that_were_not_utf8_are_counted() -> None:
    [row] = [line for line in printed(replace(PREPARED, encodings={"latin-1": 1})).splitlines() if "latin-1" in line]
    assert row.split() == ["files", "in", "latin-1", "1", "the", "others", "are", "UTF-8"]


def test_languages_are_counted_and_the_first_named() -> None:
    assert "languages" not in printed(PREPARED)
    names = tuple(f"abstracts-{number:02}" for number in range(42))
    [row] = [line for line in printed(replace(PREPARED, languages=names)).splitlines() if "languages" in line]
    assert row.split() == ["languages", "42", "abstracts-00,", "abstracts-01,", "…"]


def test_files_are_counted_by_format_where_there_are_several() -> None:
    assert "files of" not in printed(replace(PREPARED, formats={"text": 3}))
    lines = printed(replace(PREPARED, formats={"pdf": 2, "text": 1})).splitlines()
    assert [line.split()[2:] for line in lines if "files of" in line] == [["pdf", "2"], ["text", "1"]]


def test_damage_is_listed() -> None:
    assert "1 damaged" in printed(VERIFIED) and "00000.tokens.npy: changed" in printed(VERIFIED)
    assert "nothing damaged" in printed(replace(VERIFIED, damage=()))


def test_figures_stand_beside_their_intervals_and_baselines() -> None:
    text = printed(EVALUATED)
    for said in ("4.400 – 4.600", "20.0% – 30.0%", "6.250  unigram", "5.0%  most frequent token"):
        assert said in text
    assert "at least 2.25 bits about a hidden token: a lower bound" in " ".join(text.split())
    assert "one after another" not in text
    warned = printed(replace(EVALUATED, notes=("it was trained on other data: this may have been a part",)))
    assert "It was trained on other data: this may have been a part." in warned and "trained on" not in text
    ways = Dependence(independent=Figure(4.7, 4.6, 4.8), dependent=Figure(4.5, 4.4, 4.6), gain=Figure(0.2, 0.19, 0.21))
    lines = [" ".join(line.split()) for line in printed(replace(EVALUATED, dependence=ways)).splitlines()]
    assert "each on its own 4.700 4.600 – 4.800" in lines and "one after another 4.500 4.400 – 4.600" in lines
    assert "what that brings 0.200 0.190 – 0.210" in lines


def test_an_interval_that_is_not_known_and_a_model_that_learnt_nothing_are_said_to_be_so() -> None:
    alone = replace(EVALUATED, top1=Figure(0.25, nan, nan), context_bits=Figure(-0.5, -0.6, -0.4))
    text = printed(replace(alone, loss=Figure(6.3, 6.2, 6.4)))
    assert "unknown" in text and "nan" not in text
    assert "no better than the frequencies" in " ".join(text.split())


def test_a_model_that_beats_frequencies_is_never_said_not_to_for_the_sample_is_small() -> None:
    text = " ".join(printed(replace(EVALUATED, context_bits=Figure(-0.5, -0.6, -0.4))).split())
    assert "no better than" not in text and "the model saves 2.52 bits a token" in text  # (6.25 − 4.5) / ln 2


@pytest.mark.parametrize(("count", "said"), [(60, None), (30, "intervals are wide"), (10, "intervals are too narrow")])
def test_few_held_out_documents_are_told_beside_the_intervals(count: int, said: str | None) -> None:
    text = " ".join(printed(replace(EVALUATED, documents=count)).split())
    assert (f"Only {count} held-out documents: {said}" in text) if said else ("Only" not in text)


def test_words_of_the_text_are_never_taken_for_markup() -> None:
    text = printed(FILLED)
    assert "The dog barks [bold]at[/bold] me." in text
    assert "[x]" in text


def test_filled_words_stand_out_and_bars_are_as_long_as_they_are_likely() -> None:
    coloured = printed(FILLED, no_color=False, force_terminal=True, color_system="standard")
    assert "\x1b[1;4;32mdog\x1b[0m" in coloured
    lines = printed(FILLED).splitlines()
    bars = {line.split()[0]: line.count("█") for line in lines if "%" in line}
    assert bars == {"dog": 12, "##s": 6, "me": 24, "[x]": 0}


def test_a_word_that_is_hardly_likely_is_not_said_to_be_impossible() -> None:
    unlikely = replace(FILLED, blanks=((Guess("dog", 0.00022), Guess("eel", 0.0)),))
    rows = [line.split()[:2] for line in printed(unlikely).splitlines()]
    assert ["dog", "2.2e-4"] in rows and ["eel", "0.0%"] in rows


def test_the_best_thirty_collocations_are_shown_and_what_to_do_with_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = printed(COLLOCATED)
    assert "phrase [29]" in text and "phrase [30]" not in text
    assert "--policy collocation --phrases list.txt" in " ".join(text.split())
    assert "--out run --policy" in " ".join(text.split())
    (tmp_path / "run").touch()
    assert "--out run-2 --policy" in " ".join(printed(COLLOCATED).split())
    unwritten = replace(COLLOCATED, path=None)
    assert "unmask collocations data --out phrases.txt" in printed(unwritten)
    assert "no collocation" in printed(replace(unwritten, phrases=()))


def test_the_legend_stands_once_below_all_that_is_shown() -> None:
    assert [len(list(result_pages(each))) for each in ([SHOWN, SHOWN], SHOWN, FILLED)] == [3, 2, 1]


def test_what_nobody_draws_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing draws a int"):
        draw_result(3)


def test_too_few_held_out_documents_are_said_to_be_too_few() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(draw_result(replace(EVALUATED, documents=3)))
    assert "Only 3 held-out documents" in console.export_text(clear=False)
    assert "Only 300" not in console.export_text()


def test_a_model_that_fills_no_blanks_is_told_with_its_own_figures_and_not_sent_to_fill_any() -> None:
    writes = replace(TRAINED, recipe="causal", figures={"accuracy": 0.21, "bits_per_byte": 2.125}, fills=False)
    console = Console(width=90, file=io.StringIO())
    console.print(draw_result(writes))
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "bits per byte" in said and "2.125" in said and "masked" not in said and "unmask fill" not in said


def compared_run(recipe: str, **known: Figure) -> ComparedRun:
    figures = {"masked_loss": None, "masked_accuracy": None, "hidden_bits_per_byte": None, "text_bits_per_byte": None}
    probed = Probed(kind="tagging", score=FIGURE, untrained=FIGURE, majority=0.0, learnt=600, tested=400)
    return ComparedRun(
        name=recipe,
        recipe=recipe,
        run=Path("compare") / recipe,
        parameters=7_391_744,
        steps=461,
        tokens=1_874_586,
        seconds=601.0,
        tokens_per_second=3_119.1,
        text_bound=recipe == "diffusion",
        figures={},
        probes={"punctuation": probed},
        **{**figures, **known},  # type: ignore[arg-type]
    )


def test_a_comparison_fits_80_columns_and_says_what_is_not_defined_and_what_is_a_bound() -> None:
    bits = Figure(2.5, 2.25, 2.75)
    runs = (
        compared_run("bert-small", masked_loss=bits, masked_accuracy=FIGURE),
        compared_run("causal", text_bits_per_byte=bits),
        compared_run("diffusion", masked_loss=bits, masked_accuracy=FIGURE, text_bits_per_byte=bits),
    )
    made = Comparison(
        path=Path("compare"),
        data=Path("data"),
        budget={"tokens": 2_000_000},
        seed=0,
        length=128,
        runs=runs,
        plot=Path("compare/compare.png"),
    )
    shown = printed(made)
    assert "Compared compare  on data, 2,000,000 tokens each, seed 0" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["bert-small", "2.50", "(2.25–2.75)", "25.0%", "(20.0%–30.0%)", "–"] in lines
    assert ["causal", "–", "–", "2.500", "(2.250–2.750)"] in lines
    assert ["diffusion", "2.50", "(2.25–2.75)", "25.0%", "(20.0%–30.0%)", "≤", "2.500", "(2.250–2.750)"] in lines
    runs = (replace(runs[0], name="modernbert-mini-with-a-higher-rate-and-a-longer-warmup/seed-0", trained_here=False),)
    long = printed(replace(made, runs=runs, budget={}, notes=("budgets differ: a 1.0 min, b not known",)))
    assert "Compared compare  on data, seed 0" in long and "budgets differ: a 1.0 min, b not known" in long
    assert max(map(len, long.splitlines())) <= 80 and "…" not in long
    assert ["probe", "punctuation", "F1", "of", "tags", "before", "training", "most", "frequent"] in lines
    assert max(map(len, shown.splitlines())) <= 80


def test_each_reason_for_malformed_lines_is_shown_once_with_its_remedy(tmp_path: Path) -> None:
    reasons = ["not a pdf (cut)", "not a pdf (cut elsewhere)", "not UTF-8 (byte 4); give --encoding latin-1"]
    lines = [{"source": f"file{number}", "line": 1, "reason": reason} for number, reason in enumerate(reasons)]
    (tmp_path / "quarantine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = " ".join(printed(replace(PREPARED, path=tmp_path)).split())
    assert "file0:1" in said and "file1" not in said and "--encoding latin-1" in said
