"""The kernels of the lab as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from hardstone.terminal.console import make_console, print_command
from hardstone.terminal.widths import print_table
from hardstone.terminal.words import words


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
