"""`hardstone runs`: the runs of the store."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hardstone.cli.options import json_option, store_option
from hardstone.errors import EXIT_OK


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
        from hardstone.terminal.runs import print_runs

        print_runs(entries, unreadable_count=len(unreadable))
    return EXIT_OK
