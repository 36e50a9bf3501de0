"""`hardstone simulate`: sweeps of the tire, in real time and as fast as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hardstone.cli.options import (
    condition_options,
    decorated,
    lab_options,
    run_options,
    targets_option,
)

if TYPE_CHECKING:
    from hardstone.simulation.request import SweepRequest


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_BASE = ("load", "cpu_config", "cpu", "priority", "clock", "seed", "dma_latency", "trace", "name")
_ASKED = ("masses", "threads", "solver", "policy", "step", "rate", "stiffness", "duration")
_ASKED_TOO = ("within", "points", "blocks", "frames")
_SHARED = (
    click.option(
        "--threads",
        metavar="LIST",
        help="Threads (default: 1, cores, hardware threads, 3 x cores, 2 x hardware threads).",
    ),
    click.option(
        "--solver",
        metavar="[semaphore|barrier]",
        default="semaphore",
        show_default=True,
        help="The algorithm of the study, with a semaphore for each mass, or one barrier a step.",
    ),
    click.option(
        "--policy",
        metavar="[fifo|rr|other|deadline]",
        default="fifo",
        show_default=True,
        help="Scheduling policies of the solver; several are compared: fifo,other.",
    ),
    click.option(
        "--step", metavar="TIME", help="Simulated time of a step (default: 10ms, or 1/--rate)."
    ),
    click.option(
        "--stiffness",
        metavar="N",
        help="Of a spring over the mass, per s^2 (default: 0.1/step^2, which is always stable).",
    ),
    click.option(
        "--within",
        metavar="TIME",
        help="The sweep ends by then with what it has; 0: no limit (default: 8m for a search).",
    ),
    click.option(
        "--blocks",
        metavar="N",
        default="4",
        show_default=True,
        help="Steps whose blocks are kept for each thread, in one point of each curve.",
    ),
    click.option(
        "--frames",
        metavar="N",
        default="8",
        show_default=True,
        help="Pictures of the falling tire: one point more, of 400 masses with a step of 1 ms.",
    ),
    click.option("-a", "--cpu", metavar="N", help="CPU for the measuring threads."),
    click.option(
        "-p",
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
    ),
    *condition_options[1:],  # all but --policy
    targets_option,
    click.option(
        "--resume",
        is_flag=False,
        flag_value="",
        metavar="[RUN]",
        help="Goes on with a sweep that was cut off, by default the last one: same document.",
    ),
    *run_options,
)
_REALTIME = (
    click.option(
        "--masses",
        metavar="SIZES",
        help="Sizes: 400,1000 or 400..5900/500 as they are; LEAST..MOST is searched "
        "(default: 400..1000000).",
    ),
    click.option(
        "--rate", metavar="HZ", help="Steps per second (default: as many as simulated time has)."
    ),
    click.option(
        "-D",
        "--duration",
        metavar="TIME",
        help="Measuring time of each point (default: 1s).",
    ),
    click.option(
        "--points", metavar="N", help="Points of a curve that is searched, at most (default: 20)."
    ),
    click.option("--no-fast", is_flag=True, help="No real-fast points at the end."),
)
_REALFAST = (
    click.option(
        "--masses",
        metavar="SIZES",
        help="Sizes: 400,1000 or 400..5900/500 (default: 400,1000,2000,4000,5900).",
    ),
    click.option(
        "-D", "--duration", metavar="TIME", help="Simulated time of each point (default: 60s)."
    ),
)


def realtime_options(command: Decorated) -> Decorated:
    """All options of `simulate realtime` but those of the lab."""
    return decorated(command, (*_REALTIME, *_SHARED))


def realfast_options(command: Decorated) -> Decorated:
    """All options of `simulate realfast` but those of the lab."""
    return decorated(command, (*_REALFAST, *_SHARED))


def sweep_request(mode: str, target: str, options: Mapping[str, Any]) -> SweepRequest:
    """`options` of the command line as a request for `target`."""
    from hardstone.plan import Request
    from hardstone.simulation.request import SweepRequest

    asked = {name: options[name] for name in (*_ASKED, *_ASKED_TOO) if name in options}
    base = Request(target=target, **{name: options[name] for name in _BASE})
    return SweepRequest(mode=mode, base=base, has_fast=not options.get("no_fast", False), **asked)


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
        from hardstone.cli.tire import simulate

        return simulate(mode, options)
    from hardstone.cli.tire import resume

    return resume(mode, resumed, options, given - {"resume"}, context.command)
