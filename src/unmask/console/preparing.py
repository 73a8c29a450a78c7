"""Text as it was collected and cut into tokens, for people.

In: a result of `unmask.results`. Out: its page.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from unmask.console.documents import document_counts, first_names, office_hint, rule_rows
from unmask.console.layout import draw_page, draw_table, fact_line, next_command, title_line
from unmask.quantities import format_bytes, format_duration, spell_counts
from unmask.results import Collocated, Prepared, Verified
from unmask.runs.commands import quoted_path, train_command

BEST = 30  # collocations that are shown
REASONS, LOOKED_THROUGH = 3, 10_000  # that are shown, and lines they are looked for in


def draw_prepared(result: Prepared) -> RenderableType:
    """What was read, what was kept and what was not."""
    rows = [("files", f"{result.files:,}", format_bytes(result.bytes_read))]
    if len(result.formats) > 1:
        rows += [(f"files of {form}", f"{count:,}", "") for form, count in result.formats.items()]
    for encoding, count in result.encodings.items():
        rows.append((f"files in {encoding}", f"{count:,}", "the others are UTF-8" if count < result.files else ""))
    if result.passed_over:
        count = sum(result.passed_over.values())
        rows.append(("files passed over", f"{count:,}", spell_counts(result.passed_over)))
    if result.pages_without_text:
        rows.append(("pages without text", f"{result.pages_without_text:,}", "scanned, or blank"))
    rows += [(f"{split}: there before", f"{count:,}", "") for split, count in result.earlier.items()]
    rows += [(fate, f"{count:,}", "") for fate, count in document_counts(result)]
    rows += rule_rows(result)
    rows += [(f"tokens in {split}", f"{count:,}", "") for split, count in result.tokens.items()]
    for split, kinds in result.spans.items():
        rows += [(f"spans in {split}: {kind}", f"{count:,}", "") for kind, count in kinds.items()]
    if result.languages:
        rows.append(("languages", f"{len(result.languages):,}", first_names(result.languages)))
    rows.append(("vocabulary", f"{result.vocabulary:,}", result.tokenizer))
    return draw_page(
        title_line("Prepared", result.path, format_duration(result.seconds)),
        draw_table(("", "", ""), rows, numbers=(1,)),
        *([_notice(hint)] if (hint := office_hint(result.passed_over)) else []),
        *_first_malformed(Path(result.path) / "quarantine.jsonl"),
        *([fact_line("near-duplicates", result.near_duplicates)] if result.near_duplicates else []),
        *([fact_line("leak", result.leak)] if result.leak else []),
        fact_line("fingerprint", result.fingerprint),
        *map(_notice, result.warnings),
        Group(*map(next_command, result.next)),
    )


def _notice(line: str) -> RenderableType:
    """Something to mind."""
    return Padding(Text(line, style="yellow"), (0, 2))


def _first_malformed(quarantine: Path) -> list[RenderableType]:
    """Why the first malformed line was left out, and the first that was left out for another reason, and another."""
    if not quarantine.is_file():
        return []
    firsts: dict[str, str] = {}  # by their reasons without what is in brackets, which tells where
    with quarantine.open(encoding="utf-8") as file:
        for each in map(json.loads, islice(file, LOOKED_THROUGH)):
            place = f"{each['source']}:{each['line']}" if each["line"] else each["source"]
            firsts.setdefault(each["reason"].partition(" (")[0], f"first malformed  {place}: {each['reason']}")
    return [_notice(line) for line in islice(firsts.values(), REASONS)]


def draw_verified(result: Verified) -> RenderableType:
    """What of a data directory is damaged."""
    verdict = f"{len(result.damage)} damaged" if result.damage else "nothing damaged"
    head = title_line("Verified", result.path, f"{result.files:,} files, {format_bytes(result.bytes)}: {verdict}")
    return draw_page(head, *(Text(f"  {line}", style="red") for line in result.damage))


def draw_collocated(result: Collocated) -> RenderableType:
    """The best of the collocations, and where their list ends."""
    best = result.phrases[:BEST]
    rows = [(phrase.text, f"{phrase.count:,}", f"{phrase.score:.2f}") for phrase in best]
    summary = f"{len(result.phrases):,} collocations, the best {len(best)} of them" if best else "no collocation"
    list_ = result.path or "phrases.txt"
    train = train_command(result.data, "--policy", "collocation", "--phrases", quoted_path(list_))
    mine = f"unmask collocations {quoted_path(result.data)} --out {quoted_path(list_)}"
    return draw_page(
        title_line("Found", result.path or result.data, f"{summary}; {format_duration(result.seconds)}"),
        *([draw_table(("", "count", "score"), rows, numbers=(1, 2))] if best else []),
        Padding(Text(_where_the_list_ends(result)), (0, 1)),
        next_command(train if result.path else mine),
    )


def _where_the_list_ends(result: Collocated) -> str:
    """At which score, and why there."""
    chance = f"words side by side by chance alone can reach {result.chance:.2f}"
    if result.above == result.chance:
        return f"stopped at score {result.above:.2f}, or before it by --top: {chance}; --above sets another"
    return f"stopped at score {result.above:.2f}, as asked, or before it by --top; {chance}"
