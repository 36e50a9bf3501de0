"""`hardstone simulate`: sweeps of the tire, in real time and as fast as possible."""

from __future__ import annotations

from typing import Any

import click

from hardstone.cli.lab_options import lab_options
from hardstone.cli.simulate_options import realfast_options, realtime_options


@click.group("simulate", no_args_is_help=False)
def command() -> None:
    """Simulate a tire of point masses, over sizes, threads and policies.

    The tests are SIM-S-RT, in real time, and SIM-P-RF, as fast as possible; explain says more.
    """


@command.command("realtime")
@realtime_options
@lab_options
@click.pass_context
def realtime(context: click.Context, /, **options: Any) -> int:
    """Find the largest simulation that misses no deadline, per number of threads.

    Each step has a deadline: the release of the next one. The largest size is searched on each
    curve, one for each solver, policy, number of threads, load and CPU configuration; --masses
    measures given sizes instead. Each point is a result of one run, which --resume goes on with
    after Ctrl-C, a kill or a power cut. An HTML report is written, as evaluate does.
    """
    return _simulate("realtime", context, options)


@command.command("realfast")
@realfast_options
@lab_options
@click.pass_context
def realfast(context: click.Context, /, **options: Any) -> int:
    """Measure how long a simulation takes that runs as fast as possible.

    Each point is the total time of 60 s of simulated time, with the CPU time and the context
    switches. --resume goes on with a sweep that was cut off.
    """
    return _simulate("realfast", context, options)


def _simulate(mode: str, context: click.Context, options: dict[str, Any]) -> int:
    typed = click.core.ParameterSource.COMMANDLINE
    given = {name for name in options if context.get_parameter_source(name) is typed}
    resumed = options.pop("resume")
    if resumed is None:
        from hardstone.cli.simulating import simulate

        return simulate(mode, options)
    from hardstone.cli.resuming_sweep import resume

    return resume(mode, resumed, options, given - {"resume"}, context.command)
