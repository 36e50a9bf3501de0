"""KRN-P-PRE on a terminal: the operations of the kernel, worst first."""

from __future__ import annotations

from dataclasses import astuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.errors import InputError
from hardstone.kernel.tables import (
    WHAT_DIFFERS,
    KernelTable,
    history_line,
    kernel_table,
)
from hardstone.model import RunDocument
from hardstone.stats.conditions import names_in
from hardstone.systems.subjects import why_run_apart
from hardstone.terminal.console import figures_table, print_table, words


def show_kernel_time(console: Console, document: RunDocument) -> None:
    """The table of each result of KRN-P-PRE; nothing where there is none."""
    names = names_in(document)
    for result in document.results:
        try:
            found = kernel_table(result)
        except InputError:
            continue  # The table of series says that the histogram is unreadable.
        if found is not None:
            console.print(words(f"kernel time by operation, {names.name(result)}", "bold"))
            show_table(console, found, history_line(why_run_apart(document)))
            console.print()


def show_table(console: Console, found: KernelTable, history: str) -> None:
    """The operations, and what limits their figures. `history` has the published ones."""
    print_table(console, _operations(found))
    if found.traced:
        traced = figures_table(
            ("traced", "kind", "count", "99 %", "longest", "99 %\nof releases", "worst\nobserved"),
            left=2,
        )
        for one in found.traced:
            traced.add_row(*map(words, astuple(one)))
        console.print()
        print_table(console, traced)
        console.print(words(WHAT_DIFFERS, "dim"))
    console.print()
    for note in found.notes:
        console.print(words(note))
    console.print(words(history))
    console.print(words(found.meaning, "dim"))


def _operations(found: KernelTable) -> Table:
    """Intervals are on a line of their own."""
    table = figures_table(
        ("", "operation", "in\nkernel", found.level, "sections\n90 %", "99 %", "worst\nobserved"),
        left=2,
    )
    above = f"rate above\n{found.rate_above}" if found.rate_above else ""
    table.add_column(above, justify="right", overflow="fold")
    reference = [found.reference] if found.reference else []
    for number, row in enumerate([*found.rows, found.whole, *reference]):
        is_worst = row.rank in ("1", "1=")
        style = "bold" if is_worst else "" if number < len(found.rows) else "dim"
        table.add_row(
            words(row.rank),
            words(row.operation) + Text("\n") + words(row.releases, "dim"),
            words(row.kernel_share),
            _with_interval(row.quantile, row.interval),
            _with_interval(row.length_90, row.interval_90),
            _with_interval(row.length_99, row.interval_99),
            words(row.worst),
            _with_interval(row.rate, row.rate_interval),
            style=style,
        )
    return table


def _with_interval(value: str, interval: str) -> Text:
    return words(value) + (Text("\n") + words(interval, "dim") if interval else Text(""))
