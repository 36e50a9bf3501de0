"""`hardstone lab` on a terminal: the list of kernels, and the progress of a fetched package."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hardstone.cli.messages import tell
from hardstone.lab.debian import Steps
from hardstone.terminal.console import make_console, print_command, print_table, words


@contextmanager
def steps_shown(*, quiet: bool) -> Iterator[Steps]:
    """What `get_debian` calls as it goes on."""
    if quiet:
        yield Steps()
        return
    console = make_console(sys.stderr)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield Steps(step=tell)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(
        *columns, TransferSpeedColumn(), console=console, transient=True, redirect_stdout=False
    ) as progress:
        task = progress.add_task("", total=None, visible=False)

        def step(text: str) -> None:
            progress.update(task, visible=False)
            tell(text)

        def download(done_bytes: int, total_bytes: int) -> None:
            known = max(done_bytes, total_bytes)
            progress.update(task, completed=done_bytes, total=known, visible=True)

        yield Steps(step, download)


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
    from rich import box
    from rich.table import Table

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
