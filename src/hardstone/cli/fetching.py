"""Progress of a fetched package: a live line on a terminal, one line for each step elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from hardstone.cli.messages import tell
from hardstone.lab.debian import Steps
from hardstone.terminal.console import make_console


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
