"""`hardstone report`: the HTML report of a stored run."""

from __future__ import annotations

from pathlib import Path

import click

from hardstone.cli.options import output_option, store_option


@click.command("report")
@click.argument("run")
@output_option
@store_option
def command(run: str, output: Path | None, store: Path | None) -> int:
    """Write the HTML report of a stored run; one file that needs no network.

    RUN is an ID, the start of one, a name, or "last"; see runs. Without -o the
    report goes to the folder "reports" within the store. Exits with 3 where figures of the run
    contradict each other: the report names them first, and marks them.
    """
    from hardstone.cli.messages import tell
    from hardstone.cli.open_store import consistency_exit, open_store
    from hardstone.cli.registers import register_or_none
    from hardstone.cli.report_file import default_report, write_report

    opened = open_store(store)
    document = opened.load(run)
    place = output or default_report(opened.path, document.id)
    write_report(document, place, None if document.descriptors else register_or_none())
    tell(f"report: {place}")
    return consistency_exit(document)
