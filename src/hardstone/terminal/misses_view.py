"""`hardstone show RUN --deadline TIME`: how often each series missed it, and how often it may."""

from __future__ import annotations

from itertools import groupby
from typing import IO

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.model import RunDocument
from hardstone.present.deadline_misses import (
    Misses,
    MissesDocument,
    count_text,
    misses_document,
    share_lines,
)
from hardstone.present.wording import labels_text, spoken
from hardstone.stats.conditions import Condition, names_in
from hardstone.terminal.console import make_console, print_rows
from hardstone.terminal.run_rows import trust_rows
from hardstone.terminal.whole_run import print_head
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words
from hardstone.units import format_count, write_ns

_MOST_ROWS = 800  # rows take time to print, and nobody reads more


def print_misses(shown: RunDocument, deadline_ns: int, stream: IO[str] | None = None) -> None:
    """Prints those of all series of durations of `shown` to `stream` (default: standard output)."""
    found = misses_document(shown, deadline_ns)
    console = make_console(stream)
    print_head(console, shown)
    console.print()
    console.print(words(f"values above {write_ns(deadline_ns)}", "bold"))
    print_table(console, _table(shown, found))
    console.print()
    if len(found.series) > _MOST_ROWS:
        console.print(words(f"{len(found.series) - _MOST_ROWS} more series, with --json"))
    if found.left_out_count:
        count = found.left_out_count
        what = "1 series is no duration" if count == 1 else f"{count} series are no durations"
        console.print(words(f"{what}, and left out"))
    if any(one.at_most is not None for one in found.series):
        level = f"{found.confidence * 100:.0f} % confidence"
        console.print(words(f"at most: what no miss in that many values shows with {level}"))
    for note in found.notes:
        console.print(words(note))
    console.print()
    print_rows(console, "", trust_rows(shown))


def _table(shown: RunDocument, found: MissesDocument) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("test, series", overflow="fold", ratio=1)
    table.add_column("values", justify="right", no_wrap=True)
    table.add_column("misses", justify="right", no_wrap=True)
    table.add_column(f"share of misses\n({found.confidence * 100:.0f} % interval)")
    names = names_in(shown)
    for key, group in groupby(found.series[:_MOST_ROWS], _result_of):
        test, condition, state = key
        under = names.label(condition)
        table.add_row(words(f"{test}{f' [{under}]' if under else ''}{state}", "bold"))
        for one in group:
            derived = "derived" if one.derived else ""
            parts = filter(None, (spoken(one.name), labels_text(one.labels), derived))
            label = ", ".join(parts)
            table.add_row(Padding(Text(label), (0, 0, 0, 1)), *_cells(one))
    return table


def _result_of(one: Misses) -> tuple[str, Condition, str]:
    is_whole = one.status == "measured" and one.is_complete
    state = "" if is_whole else f" ({one.status if one.status != 'measured' else 'incomplete'})"
    return one.test, Condition(one.load, one.cpu_config, one.preemption), state


def _cells(one: Misses) -> tuple[Text, Text, Text]:
    style = "bold" if one.most_count else ""
    # a line may break before "to", and nowhere else in an interval
    lines = "\n".join(share_lines(one)).replace("1 in", "1\N{NO-BREAK SPACE}in")
    share = Text(lines, style="yellow" if one.problem else "")
    return Text(format_count(one.values)), Text(count_text(one), style=style), share
