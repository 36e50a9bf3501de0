"""Options of `hardstone simulate`, and how they are told to a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hardstone.cli.options import condition_options, decorated, run_options, targets_option

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
