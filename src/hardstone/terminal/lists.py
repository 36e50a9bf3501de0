"""Lists on a terminal: runs, tests, loads, kernels of the lab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Protocol

from rich import box
from rich.table import Table
from rich.text import Text

from hardstone.catalogue import kind_of
from hardstone.model import Descriptor
from hardstone.present.headline import status_words
from hardstone.present.load_table import load_figure
from hardstone.store import RunEntry
from hardstone.terminal.console import make_console, print_command, print_table, words
from hardstone.terminal.light_table import print_light_table
from hardstone.wording import shorten

_HEADS = ("test", "title", "kind", "origin", "needs")
_WRAPPING = (False, True, False, True, True)


def print_tests(tests: Sequence[Descriptor]) -> None:
    """Prints one row for each test."""
    rows = [
        (test.id, test.title, kind_of(test.id), test.source, ", ".join(test.needs) or "-")
        for test in tests
    ]
    print_light_table(_HEADS, rows, _WRAPPING)


@dataclass(frozen=True)
class KernelRow:
    """A kernel that can be used. `package`: NAME=VERSION; `has_emulator`: QEMU for its architecture
    is installed."""

    name: str
    arch: str
    release: str
    package: str
    append: str
    has_emulator: bool


def print_kernels(rows: Sequence[KernelRow], *, damaged_count: int = 0) -> None:
    """Prints one row for each kernel, or how to get the first."""
    console = make_console()
    if not rows:
        if not damaged_count:
            console.print(words("no kernels yet; to fetch one:"))
            print_command(console, "hardstone lab get debian")
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("arch", no_wrap=True)
    table.add_column("release", overflow="fold")
    table.add_column("version", overflow="fold")
    has_append = any(row.append for row in rows)
    if has_append:
        table.add_column("append", overflow="fold", ratio=1)
    table.add_column("QEMU", no_wrap=True)
    for row in rows:
        cells = [row.name, row.arch, row.release or "?", _version(row)]
        cells += [row.append or "-"] if has_append else []
        cells.append("yes" if row.has_emulator else "missing")
        table.add_row(*(words(cell) for cell in cells))
    print_table(console, table)


def _version(row: KernelRow) -> str:
    """The package's version; its name repeats the release."""
    return row.package.removeprefix(f"linux-image-{row.release}=") or "-"


_HERE = "local"
_TARGET_CHARACTERS = 120
_LINE_CHARACTERS = 20
_STATUS_CHARACTERS = 13
_NOT_FULL = "* not the full rating; why: hardstone show RUN --why"


def print_runs(entries: Sequence[RunEntry], *, unreadable_count: int = 0) -> None:
    """Prints one row for each run, or a message if there is none or none is readable."""
    console = make_console()
    if not entries and unreadable_count:
        console.print(words(f"none of the stored runs is readable ({unreadable_count} found)"))
        return
    if not entries:
        console.print(words("no runs yet; to measure:"))
        print_command(console, "hardstone evaluate")
        return
    has_targets = any(entry.target != _HERE for entry in entries)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("name, target" if has_targets else "name", overflow="fold", ratio=1)
    table.add_column("stars", justify="right", no_wrap=True)
    table.add_column("tests", justify="right")
    table.add_column("status", max_width=_STATUS_CHARACTERS)
    table.add_column("trust", no_wrap=True)
    for entry in entries:
        run, *rest = map(
            words, (entry.id, _stars(entry), str(entry.tests), _status(entry), entry.grade)
        )
        table.add_row(run, _name(entry), *rest)
    print_table(console, table)
    if any(entry.rated_as and entry.stars is not None for entry in entries):
        console.print(words(_NOT_FULL, "dim"))


def _status(entry: RunEntry) -> str:
    return status_words(entry.status, entry.lacking or "", entry.tests)


def _stars(entry: RunEntry) -> str:
    """ "4.5", "<= 4.5" where figures are missing, "1.0-4.5" for a range, with a star where it is
    not the full rating."""
    if entry.stars is None:
        return "-"
    bound = "<= " if entry.is_at_most else ""
    if entry.lowest is not None and entry.lowest < entry.stars:
        bound = f"{entry.lowest:.1f}-"
    return f"{bound}{entry.stars:.1f}{'*' if entry.rated_as else ' '}"


def _name(entry: RunEntry) -> Text:
    """The name, and below it the target if that is not this machine, a setting a line.

    80 columns have no room for a column of its own.
    """
    name = words(entry.name)
    if entry.target == _HERE:
        return name
    parts = shorten(entry.target, _TARGET_CHARACTERS).replace(",", ",\n").split("\n")
    lines = [line for part in parts for line in wrap(part, _LINE_CHARACTERS)]
    return Text("\n").join([name, *(words(line, "dim") for line in lines)])


class Reached(Protocol):
    """What one element of a load reached."""

    element: str
    degree: str
    asked: float | None
    reached: float
    unit: str
    processes: int
    how: str | None
    counters: dict[str, int]


def print_load(lines: Sequence[Reached]) -> None:
    """Prints one row for each element; shares and rates are those of one of its processes."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("element", no_wrap=True)
    table.add_column("degree", overflow="fold")
    for heading in ("asked", "reached", "processes", "CPU time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("how", overflow="fold")
    for line in lines:
        cpu_ns = line.counters.get("cpu_ns")
        cells = (
            line.element,
            shorten(line.degree, 60),
            load_figure(line.asked, line.unit),
            load_figure(line.reached, line.unit),
            str(line.processes),
            "-" if cpu_ns is None else f"{cpu_ns / 1e9:.3g} s",
            shorten(line.how or "", 60),
        )
        table.add_row(*(words(cell) for cell in cells))
    print_table(make_console(), table)
