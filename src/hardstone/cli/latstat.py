"""`hardstone latstat`: hours of wake-up latency."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.lab_options import lab_options
from hardstone.cli.latstat_options import latstat_options


@click.command("latstat")
@latstat_options
@lab_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Record how late a thread wakes up, for minutes or weeks, in constant memory.

    The test is TMR-P-LAT. On a terminal the distribution is shown while it grows. Ctrl-C keeps
    what was measured (exit code 130), and so does a kill or a power cut; --resume goes on.
    """
    from hardstone.cli.recording import record, resume

    given = {
        name
        for name in options
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if options["resume"] is None:
        return record(options)
    return resume(options["resume"], options, given)
