"""`hardstone evaluate`: the battery."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.options import plan_options


@click.command("evaluate")
@plan_options
def command(**options: Any) -> int:
    """Run the whole battery: stored run, summary, HTML report.

    The report is written beside the store unless -o names a file.
    """
    from hardstone.cli.measuring import measure

    return measure(("*",), options, wants_report=True)
