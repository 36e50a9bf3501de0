"""`hardstone evaluate`: the battery."""

from __future__ import annotations

import click

from hardstone.cli.options import MeasureOptions, options_of


@click.command("evaluate")
@options_of(MeasureOptions)
def command(options: MeasureOptions) -> int:
    """Run the whole battery, store the run, print its summary and write an HTML report.

    The report goes into the folder `reports` of the store, unless -o names a file.
    """
    from hardstone.cli.measure import measure

    return measure(("*",), options, wants_report=True)
