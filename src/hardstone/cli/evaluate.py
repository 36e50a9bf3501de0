"""`hardstone evaluate`: the battery."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.options import lab_options, plan_options


@click.command("evaluate")
@plan_options
@lab_options
def command(**options: Any) -> int:
    """Run the whole battery, store the run, print its summary and write an HTML report.

    The report goes into the folder `reports` of the store, unless -o names a file.
    """
    from hardstone.cli.measure import measure

    return measure(("*",), options, wants_report=True)
