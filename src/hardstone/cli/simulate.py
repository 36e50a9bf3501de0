"""`hardstone simulate`: sweeps of the tire, in real time and as fast as possible."""

from __future__ import annotations

from dataclasses import dataclass

import click

from hardstone.cli.help import CONDITIONS, HOW_LONG, OUTPUT, WHAT, declare_group
from hardstone.cli.options import (
    PRIORITY_HELP,
    ConditionOptions,
    LabOptions,
    OutcomeOptions,
    TargetsOption,
    option,
    options_of,
    resume_option,
    typed_options,
)


@dataclass(frozen=True, kw_only=True)
class _RealtimeOptions:
    masses: str | None = option(
        "--masses",
        group=WHAT,
        is_common=True,
        metavar="SIZES",
        help="Measure these sizes: 400,1000 or 400..5900/500; or search the largest one within "
        "LEAST..MOST (default: 400..1000000).",
    )
    rate: str | None = option(
        "--rate",
        group=WHAT,
        metavar="HZ",
        help="Steps per second (default: 1/--step, so that simulated time is real time).",
    )
    duration: str | None = option(
        "-D",
        "--duration",
        group=HOW_LONG,
        is_common=True,
        metavar="TIME",
        help="Measuring time of each point (default: 1s).",
    )
    points: str | None = option(
        "--points",
        group=HOW_LONG,
        metavar="N",
        help="In a search, measure at most N points of each curve (default: 20).",
    )
    no_fast: bool = option(
        "--no-fast", group=WHAT, is_flag=True, help="Leave out the real-fast points at the end."
    )


@dataclass(frozen=True, kw_only=True)
class _RealfastOptions:
    masses: str | None = option(
        "--masses",
        group=WHAT,
        is_common=True,
        metavar="SIZES",
        help="Measure these sizes: 400,1000 or 400..5900/500 (default: 400,1000,2000,4000,5900).",
    )
    duration: str | None = option(
        "-D",
        "--duration",
        group=HOW_LONG,
        is_common=True,
        metavar="TIME",
        help="Simulated time of each point (default: 60s).",
    )


@dataclass(frozen=True, kw_only=True)
class _CurveOptions:
    threads: str | None = option(
        "--threads",
        group=WHAT,
        is_common=True,
        metavar="LIST",
        help="Numbers of threads, one curve each (default: 1, cores, hardware threads, 3 x cores, "
        "2 x hardware threads).",
    )
    solver: str = option(
        "--solver",
        group=WHAT,
        metavar="[semaphore|barrier]",
        default="semaphore",
        show_default=True,
        help="Synchronize with a semaphore for each mass, as the study did, or with one barrier in "
        "each step.",
    )
    policy: str = option(
        "--policy",
        group=CONDITIONS,
        is_common=True,
        metavar="[fifo|rr|other|deadline]",
        default="fifo",
        show_default=True,
        help="Scheduling policy of the solver; a list compares several: fifo,other.",
    )
    step: str | None = option(
        "--step",
        group=WHAT,
        metavar="TIME",
        help="Simulated time of a step (default: 10ms, or 1/--rate).",
    )
    stiffness: str | None = option(
        "--stiffness",
        group=WHAT,
        metavar="N",
        help="Stiffness of a spring divided by the mass, in 1/s^2 (default: 0.1/step^2, which is "
        "always stable).",
    )
    within: str | None = option(
        "--within",
        group=HOW_LONG,
        is_common=True,
        metavar="TIME",
        help="Stop the sweep after TIME and report what was found; 0: no limit (default: 8m for a "
        "search).",
    )
    blocks: str = option(
        "--blocks",
        group=OUTPUT,
        metavar="N",
        default="4",
        show_default=True,
        help="Keep when each thread computed and waited in N steps, for one point of each curve.",
    )
    frames: str = option(
        "--frames",
        group=OUTPUT,
        metavar="N",
        default="8",
        show_default=True,
        help="Keep N pictures of the falling tire, from an extra point of 400 masses and 1 ms "
        "steps.",
    )
    cpu: str | None = option(
        "-a",
        "--cpu",
        group=CONDITIONS,
        metavar="N",
        help="Run all threads of the solver on CPU N.",
    )
    priority: str | None = option(
        "-p",
        "--priority",
        group=CONDITIONS,
        metavar="N|max",
        help=PRIORITY_HELP,
    )


@dataclass(frozen=True, kw_only=True)
class _ResumeOption:
    resume: str | None = resume_option(
        "Continue an interrupted sweep in the same document (default: the last)."
    )


@dataclass(frozen=True, kw_only=True)
class SweepOptions(
    LabOptions, OutcomeOptions, _ResumeOption, TargetsOption, ConditionOptions, _CurveOptions
):
    """Options of both sweeps."""


@dataclass(frozen=True, kw_only=True)
class RealtimeOptions(SweepOptions, _RealtimeOptions):
    """Options of `hardstone simulate realtime`."""


@dataclass(frozen=True, kw_only=True)
class RealfastOptions(SweepOptions, _RealfastOptions):
    """Options of `hardstone simulate realfast`."""


@declare_group(
    "simulate",
    "hardstone simulate realtime --masses 400,1000 --threads 1,2",
    "hardstone simulate realfast",
    no_args_is_help=False,
)
def command() -> None:
    """Simulate a tire, in real time or as fast as possible.

    The tire consists of point masses and springs. A sweep measures several sizes, numbers of
    threads and scheduling policies. The tests are SIM-S-RT (in real time) and SIM-P-RF (as fast as
    possible); hardstone explain describes them.
    """


@command.command(
    "realtime",
    examples=(
        "hardstone simulate realtime --within 15m --load none,heavy",
        "hardstone simulate realtime --masses 400..5900/500 --policy fifo,other",
    ),
)
@options_of(RealtimeOptions)
@click.pass_context
def realtime(context: click.Context, /, options: RealtimeOptions) -> int:
    """Find the largest simulation that misses no deadline.

    The deadline of each step is the release of the next one. A curve is one combination of solver,
    policy, number of threads, load and CPU configuration; its largest size is searched, or --masses
    measures given sizes. --resume continues an interrupted sweep. An HTML report is written, as by
    evaluate.
    """
    return _simulate("realtime", context, options)


@command.command(
    "realfast",
    examples=(
        "hardstone simulate realfast --threads 1,2,4",
        "hardstone simulate realfast --masses 400,5900 --export-csv fast.csv",
    ),
)
@options_of(RealfastOptions)
@click.pass_context
def realfast(context: click.Context, /, options: RealfastOptions) -> int:
    """Measure how long a simulation takes as fast as possible.

    Each point is the total time that 60 s of simulated time take, with CPU time and context
    switches. --resume continues an interrupted sweep.
    """
    return _simulate("realfast", context, options)


def _simulate(mode: str, context: click.Context, options: SweepOptions) -> int:
    if options.resume is None:
        from hardstone.cli.tire import simulate

        return simulate(mode, options)
    from hardstone.cli.tire import resume

    return resume(
        mode, options.resume, options, typed_options(context) - {"resume"}, context.command
    )
