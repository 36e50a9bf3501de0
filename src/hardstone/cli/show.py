"""`hardstone show`: the summary of a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from hardstone.cli.options import json_option, store_option
from hardstone.errors import InputError


@click.command("show")
@click.argument("run")
@store_option
@json_option
@click.option("--published", is_flag=True, help="Beside the published figures of its tests.")
def command(run: str, store: Path | None, as_json: bool, published: bool) -> int:
    """Show a stored run: its summary, or with --json the whole document.

    RUN is an ID, the start of one, a name, or "last"; see runs. Exits with 3 where figures
    of the run contradict each other: they are named first, and marked.
    """
    from hardstone.cli.messages import print_json
    from hardstone.cli.open_store import consistency_exit, open_store

    if published and as_json:
        raise InputError("--published and --json are both given", "give one of them")
    opened = open_store(store)
    document = opened.load(run)
    if as_json:
        print_json(document)
    elif published:
        from hardstone.summary.beside_published import print_beside_published

        print_beside_published(document)
    else:
        from hardstone.summary import print_summary

        print_summary(document)
    return consistency_exit(document)
