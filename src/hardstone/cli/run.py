"""`hardstone run`: chosen tests."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.options import lab_options, plan_options


@click.command("run")
@click.argument("tests", nargs=-1, metavar="TEST...")
@plan_options
@click.option(
    "--repeat",
    metavar="N",
    help="N runs of the plan, one after another: what varies between runs, for gate --baseline.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Goes on with repeats or with a search of IRQ-S-SUS, by default the last cut off.",
)
@lab_options
@click.pass_context
def command(context: click.Context, /, tests: tuple[str, ...], **options: Any) -> int:
    """Run chosen tests in the order given, each under every load and CPU configuration.

    TEST is an ID or a glob in any case, such as TMR-P-LAT or 'sem-*'; see list.
    An HTML report is written where -o says so.
    """
    from hardstone.cli import repeats
    from hardstone.cli.measure import measure

    resumed, repeat = options.pop("resume"), options.pop("repeat")
    if resumed is None:
        if not tests:
            raise click.UsageError("Missing argument 'TEST...'.", context)
        if repeat is not None:
            return repeats.repeat(repeat, tests, options)
        return measure(tests, options, wants_report=False)
    from hardstone.cli.resume import resume

    given = {
        name
        for name in options
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    given |= {"repeat"} if repeat is not None else set()
    whole = repeats.find_unfinished(options["store"], resumed, tests, given)
    if whole is not None:
        return repeats.resume(whole, options, given)
    return resume(resumed, tests, options, given)
