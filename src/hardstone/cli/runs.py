"""`hardstone runs`: the runs of the store."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from hardstone.cli.options import json_option, store_option
from hardstone.errors import EXIT_OK

if TYPE_CHECKING:
    from rich.text import Text

    from hardstone.store.documents import RunEntry


@click.command("runs")
@store_option
@json_option
def command(store: Path | None, as_json: bool) -> int:
    """List the stored runs, oldest first."""
    from hardstone.cli.messages import print_json, tell
    from hardstone.cli.open_store import open_store
    from hardstone.targets.host_memory import lost_recordings

    opened = open_store(store)
    entries = opened.runs()
    unreadable = opened.unreadable
    for run_id, reason in unreadable.items():
        tell(f"{run_id} cannot be read: {reason}")
    for folder, root in lost_recordings():
        tell(
            f"{folder} belongs to a run whose store {root} is missing; to remove it",
            f"rm -r {shlex.quote(str(folder))}",
        )
    if as_json:
        print_json(entries)
    else:
        _print_runs(entries, unreadable_count=len(unreadable))
    return EXIT_OK


_HERE = "local"
_TARGET_CHARACTERS = 120
_LINE_CHARACTERS = 20
_STATUS_CHARACTERS = 13


def _print_runs(entries: Sequence[RunEntry], *, unreadable_count: int = 0) -> None:
    """Prints one row for each run, or a message if there is none or none is readable."""
    from hardstone.terminal.console import (
        make_console,
        make_table,
        print_command,
        print_table,
        words,
    )

    console = make_console()
    if not entries and unreadable_count:
        console.print(words(f"none of the stored runs is readable ({unreadable_count} found)"))
        return
    if not entries:
        console.print(words("no runs yet; to measure:"))
        print_command(console, "hardstone evaluate")
        return
    from hardstone.present.overview import status_words  # which loads numpy

    has_targets = any(entry.target != _HERE for entry in entries)
    table = make_table()
    table.add_column("run", no_wrap=True)
    table.add_column("name, target" if has_targets else "name", overflow="fold", ratio=1)
    table.add_column("stars", justify="right", no_wrap=True)
    table.add_column("tests", justify="right")
    table.add_column("status", max_width=_STATUS_CHARACTERS)
    table.add_column("trust", no_wrap=True)
    for entry in entries:
        status = status_words(entry.status, entry.lacking or "", entry.tests)
        run, *rest = map(words, (entry.id, _stars(entry), str(entry.tests), status, entry.grade))
        table.add_row(run, _name(entry), *rest)
    print_table(console, table)
    if any(entry.rated_as and entry.stars is not None for entry in entries):
        console.print(words("* not the full rating; why: hardstone show RUN --why", "dim"))


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
    from rich.text import Text

    from hardstone.terminal.console import words
    from hardstone.wording import shorten

    name = words(entry.name)
    if entry.target == _HERE:
        return name
    parts = shorten(entry.target, _TARGET_CHARACTERS).replace(",", ",\n").split("\n")
    lines = [line for part in parts for line in wrap(part, _LINE_CHARACTERS)]
    return Text("\n").join([name, *(words(line, "dim") for line in lines)])
