"""The report of a data directory: `report.html`, one page that needs nothing else, for whoever has to judge the data.

In: a data directory whose documents and tokens are written, and the facts of its manifest. Out: the page. It has no
script and loads nothing, everything that comes from data is escaped, and the same data gives the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from unmask.files import write_text
from unmask.quantities import format_bytes
from unmask.records import Integers, Vocabulary
from unmask.runs.page import html_cards, html_figures, html_page, html_quote, html_section, html_table
from unmask.tokens.store.shards import Shards

PAGE = "report.html"
MOST = 20  # rows of a table, and documents to read
FAMILIES, EXAMPLES = 8, 3
EXCERPT, RANDOM_EXCERPT = 240, 700  # characters
RARE = 100  # times a piece is seen: below, a model hardly learns it
STEPS = {
    "empty": "left out: empty",
    "short": "left out: too short",
    "rule": "left out: by rules",
    "duplicate": "left out: exact duplicates",
    "near-duplicate": "left out: near-duplicates",
}


def write_data_report(
    folder: Path, facts: Mapping[str, Any], vocabulary: Vocabulary, unknown: int | None, warnings: Sequence[str]
) -> None:
    """Write the page; `unknown` is the id that stands for what the vocabulary does not spell."""
    counts: Integers = np.load(folder / "train" / "counts.npy", allow_pickle=False)
    removed = folder / "removed.parquet"
    by_step, by_rule = _removed_by(removed, "step"), _removed_by(removed, "rule")
    kept = sum(facts["text_bytes"].values())
    tokens = sum(facts["tokens"].values())
    warnings = [*warnings, *_warnings(facts, counts, unknown, vocabulary, by_step)]
    sections = [
        html_section("To mind", "".join(f'<p class="warn">{escape(line)}</p>' for line in warnings)),
        html_section("What became of the documents", _funnel(facts, by_step, kept)),
        html_section("Left out by each rule", _counts_table(by_rule, "rule")),
        html_section("How long documents are", _lengths(folder)),
        html_section("Languages, as the text tells", _languages(folder)),
        html_section("Sources", _sources(folder, removed)),
        html_section("Tokens", _tokens(facts, counts, vocabulary, unknown)),
        html_section("The largest families of duplicates", _families(folder, removed)),
        html_section("Examples of what rules left out", _rule_examples(removed, by_rule)),
        html_section(f"{MOST} documents drawn at random, to read", _random_documents(folder)),
    ]
    cards = [
        (f"{sum(facts['counts'][split] for split in facts['tokens']):,}", "documents"),
        (format_bytes(kept), "of text"),
        (f"{tokens:,}", "tokens"),
        (f"{facts['vocabulary']:,}", "pieces in the vocabulary"),
        (f"{kept / max(1, tokens):.2f}", "bytes a token"),
    ]
    said = "what was read, what was left out and why, and what is here"
    head = f"<header><h1>Data</h1><span class='faint'>{said}</span></header>"
    write_text(folder / PAGE, html_page("data", head + html_cards(cards) + "".join(sections)))


def _removed_by(path: Path, column: str) -> dict[str, tuple[int, int]]:
    """How many documents, and bytes of them, were left out by each step or rule, most first."""
    if not path.exists():
        return {}
    table = pq.read_table(path, columns=[column, "bytes"])
    groups = table.group_by(column).aggregate([("bytes", "count"), ("bytes", "sum")])
    rows = [(row[column], row["bytes_count"], row["bytes_sum"]) for row in groups.to_pylist() if row[column]]
    return {name: (count, size) for name, count, size in sorted(rows, key=lambda row: (-row[1], row[0]))}


def _funnel(facts: Mapping[str, Any], by_step: Mapping[str, tuple[int, int]], kept: int) -> str:
    """Documents and bytes from step to step."""
    counts = facts["counts"]
    total = kept + sum(size for _, size in by_step.values())
    rows = [("read and cleaned", counts["read"], total)]
    rows += [(words, *by_step[step]) for step, words in STEPS.items() if step in by_step]
    rows += [(f"kept: {split}", counts[split], facts["text_bytes"][split]) for split in facts["text_bytes"]]
    if counts["malformed"]:
        rows.insert(0, ("could not be read (quarantine.jsonl)", counts["malformed"], 0))
    bars = [count / max(1, counts["read"]) for _, count, _ in rows]
    cells = [(name, f"{count:,}", format_bytes(size) if size else "") for name, count, size in rows]
    line = ""
    if recall := facts.get("near_duplicate_recall"):
        line = f"<p>Of {recall['probes']} near-duplicates made from the corpus, {recall['caught']} were caught.</p>"
    return html_figures(("", "documents", "text"), cells, [min(1.0, bar) for bar in bars]) + line


def _counts_table(counts: Mapping[str, tuple[int, int]], title: str) -> str:
    rows = list(counts.items())[:MOST]
    longest = max((count for _, (count, _) in rows), default=1)
    cells = [(name, f"{count:,}", format_bytes(size)) for name, (count, size) in rows]
    return html_figures((title, "documents", "text"), cells, [count / longest for _, (count, _) in rows])


def _lengths(folder: Path) -> str:
    """How many documents have so many tokens, by powers of two."""
    ends = Shards(folder / "train").ends
    lengths = np.diff(ends, prepend=0)
    if not len(lengths):
        return ""
    classes = np.bincount(np.log2(np.maximum(1, lengths)).astype(np.int64))
    filled = np.flatnonzero(classes)
    rows = [(f"{1 << n:,} to {(2 << n) - 1:,} tokens", f"{classes[n]:,}") for n in range(filled[0], filled[-1] + 1)]
    bars = [float(classes[n] / classes.max()) for n in range(filled[0], filled[-1] + 1)]
    low, middle, high = np.percentile(lengths, (5, 50, 95))
    line = f"<p>Half have up to {middle:,.0f} tokens; nine in ten between {low:,.0f} and {high:,.0f}.</p>"
    return html_figures(("in train", "documents"), rows, bars) + line


def _columns(folder: Path, split: str, *names: str) -> Any:
    return pq.read_table(folder / "documents" / split, columns=list(names))


def _languages(folder: Path) -> str:
    """Documents, bytes and tokens of each language, where the text tells it."""
    if "language" not in pq.read_schema(next((folder / "documents" / "train").glob("*.parquet"))).names:
        return ""
    sums: dict[str, list[int]] = {}
    ends, begin = Shards(folder / "train").ends, 0
    lengths = np.diff(ends, prepend=0)
    for path in sorted((folder / "documents" / "train").glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=["language", "text"])
                sizes = pc.binary_length(table["text"]).to_pylist()
                characters = pc.utf8_length(table["text"]).to_pylist()
                tokens = lengths[begin : begin + len(table)].tolist()
                for name, *figures in zip(table["language"].to_pylist(), sizes, characters, tokens, strict=True):
                    row = sums.setdefault(name or "und", [0, 0, 0, 0])
                    for place, figure in enumerate((1, *figures)):
                        row[place] += figure
                begin += len(table)
    rows = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))[:MOST]
    cells = [
        (name, f"{count:,}", format_bytes(size), f"{tokens / max(1, size):.3f}", f"{tokens / max(1, characters):.3f}")
        for name, (count, size, characters, tokens) in rows
    ]
    heads = ("in train", "documents", "text", "tokens a byte", "a character")
    return html_figures(heads, cells, [row[0] / rows[0][1][0] for _, row in rows])


def _sources(folder: Path, removed: Path) -> str:
    """The sources with most documents, and how many of each were left out."""
    kept: Counter[str] = Counter()
    for split in ("train", "valid"):
        for value in pc.value_counts(_columns(folder, split, "source")["source"]).to_pylist():
            kept[value["values"]] += value["counts"]
    gone = Counter({name: count for name, (count, _) in _removed_by(removed, "source").items()})
    rows = sorted({*kept, *gone}, key=lambda name: (-kept[name] - gone[name], name))
    cells = [(name, f"{kept[name]:,}", f"{gone[name]:,}") for name in rows[:MOST]]
    longest = max(kept.values(), default=1)
    more = f"<p class='faint'>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return html_figures(("source", "kept", "left out"), cells, [kept[name] / longest for name in rows[:MOST]]) + more


def _tokens(facts: Mapping[str, Any], counts: Integers, vocabulary: Vocabulary, unknown: int | None) -> str:
    ordinary = counts[vocabulary.ordinary[vocabulary.ordinary < len(counts)]]
    rare = int((ordinary < RARE).sum())
    rows = {f"tokens in {split}": f"{count:,}" for split, count in facts["tokens"].items()}
    size = max(1, facts["text_bytes"]["train"])
    rows["tokens a byte"] = f"{facts['tokens']['train'] / size:.4f}"
    rows[f"pieces seen under {RARE} times"] = f"{rare:,} of {len(ordinary):,} ({rare / max(1, len(ordinary)):.0%})"
    if unknown is not None and unknown < len(counts):
        rows["unknown pieces"] = f"{counts[unknown]:,} ({counts[unknown] / max(1, counts.sum()):.4%})"
    return html_table(rows)


def _families(folder: Path, removed: Path) -> str:
    """The documents that were kept for most others, each with some of those."""
    if not removed.exists():
        return ""
    twins = pq.read_table(removed, columns=["twin"])["twin"].drop_null()
    sizes = sorted((-row["counts"], row["values"]) for row in pc.value_counts(twins).to_pylist())[:FAMILIES]
    kept = _kept_documents(folder, [number for _, number in sizes])
    parts = []
    for size, twin in sizes:
        number, source, line, text = kept[twin]
        parts.append(html_quote(text[:EXCERPT], f"kept for {-size:,}: document {number:,}, {source}:{line}"))
        others = _first_rows(removed, pc.field("twin") == twin)
        for row in others:
            place = f"… {row['step']}, similarity {row['similarity']:.2f}: {row['source']}:{row['line']}"
            parts.append(html_quote(row["excerpt"], place))
    return "".join(parts)


def _first_rows(removed: Path, wanted: pc.Expression) -> list[dict[str, Any]]:
    """Some of what was left out, without reading the rest."""
    rows: list[dict[str, Any]] = ds.dataset(removed).head(EXAMPLES, filter=wanted, batch_readahead=0).to_pylist()
    return rows


def _kept_documents(folder: Path, numbers: Iterable[int]) -> dict[int, tuple[int, str, int, str]]:
    """Documents by their numbers."""
    wanted = pc.field("number").isin(list(numbers))
    names = ["number", "source", "line", "text"]
    rows = [
        tuple(row[name] for name in names)
        for split in ("train", "valid")
        for row in pq.read_table(folder / "documents" / split, columns=names, filters=wanted).to_pylist()
    ]
    return {row[0]: row for row in rows}


def _rule_examples(removed: Path, rules: Iterable[str]) -> str:
    """Some of what each rule left out."""
    parts = []
    for row in (row for rule in rules for row in _first_rows(removed, pc.field("rule") == rule)):
        measured = f" {row['value']:.4g}" if row["value"] is not None else ""
        place = f"{row['rule']}{measured} {row['detail'] or ''}  {row['source']}:{row['line']}"
        parts.append(html_quote(row["excerpt"], place))
    return "".join(parts)


def _random_documents(folder: Path) -> str:
    numbers = _columns(folder, "train", "number")["number"].to_numpy()
    random = np.random.Generator(np.random.Philox(key=0))
    chosen = sorted(random.choice(numbers, min(MOST, len(numbers)), replace=False).tolist())
    documents = _kept_documents(folder, chosen)
    quotes: Iterator[str] = (
        html_quote(text[:RANDOM_EXCERPT], f"document {number:,}, {source}:{line}, {len(text):,} characters")
        for number, source, line, text in (documents[number] for number in chosen)
    )
    return "".join(quotes)


def _warnings(
    facts: Mapping[str, Any],
    counts: Integers,
    unknown: int | None,
    vocabulary: Vocabulary,
    by_step: Mapping[str, tuple[int, int]],
) -> Iterator[str]:
    """What a careful engineer would say."""
    read = max(1, facts["counts"]["read"])
    for step, (count, _) in by_step.items():
        if count > read / 3:
            yield f"{count / read:.0%} of the documents were left out as {step}: look at some of them with unmask why"
    if facts["counts"]["malformed"]:
        yield f"{facts['counts']['malformed']:,} documents could not be read: quarantine.jsonl says which and why"
    if unknown is not None and unknown < len(counts) and counts[unknown] > counts.sum() / 1000:
        yield f"{counts[unknown] / counts.sum():.2%} of the tokens are unknown: another tokenizer would spell them"
    ordinary = counts[vocabulary.ordinary[vocabulary.ordinary < len(counts)]]
    if (ordinary < RARE).mean() > 0.5:
        yield f"more than half of the vocabulary is seen under {RARE} times: a smaller --vocab-size fits better"
    recall = facts.get("near_duplicate_recall")
    if recall and recall["caught"] < 0.95 * recall["probes"]:
        yield f"of {recall['probes']} near-duplicates made to be caught, {recall['caught']} were"
