"""`hardstone run`: chosen tests."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.lab_options import lab_options
from hardstone.cli.options import plan_options


@click.command("run")
@click.argument("tests", nargs=-1, required=True, metavar="TEST...")
@plan_options
@lab_options
def command(tests: tuple[str, ...], **options: Any) -> int:
    """Run chosen tests in the order given, each under every load and CPU configuration.

    TEST is an ID or a glob in any case, such as TMR-P-LAT or 'sem-*'; see list.
    An HTML report is written where -o says so.
    """
    from hardstone.cli.measure_targets import measure

    return measure(tests, options, wants_report=False)
