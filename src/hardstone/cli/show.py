"""`hardstone show`: the summary of a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from hardstone.cli.options import json_option, store_option
from hardstone.errors import EXIT_OK


@click.command("show")
@click.argument("run")
@store_option
@json_option
def command(run: str, store: Path | None, as_json: bool) -> int:
    """Show a stored run: its summary, or with --json the whole document.

    RUN is an ID, the start of one, a name, or "last"; see runs.
    """
    from hardstone.cli.messages import print_json
    from hardstone.cli.stores import open_store

    opened = open_store(store)
    document = opened.load(run)
    if as_json:
        print_json(document)
    else:
        from hardstone.summary import print_summary

        print_summary(document)
    return EXIT_OK
