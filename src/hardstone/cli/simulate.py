"""`hardstone simulate`: sweeps of the tire, in real time and as fast as possible."""

from __future__ import annotations

from dataclasses import dataclass

import click

from hardstone.cli.options import (
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
        metavar="SIZES",
        help="Sizes: 400,1000 or 400..5900/500 as they are; LEAST..MOST is searched "
        "(default: 400..1000000).",
    )
    rate: str | None = option(
        "--rate", metavar="HZ", help="Steps per second (default: as many as simulated time has)."
    )
    duration: str | None = option(
        "-D",
        "--duration",
        metavar="TIME",
        help="Measuring time of each point (default: 1s).",
    )
    points: str | None = option(
        "--points", metavar="N", help="Points of a curve that is searched, at most (default: 20)."
    )
    no_fast: bool = option("--no-fast", is_flag=True, help="No real-fast points at the end.")


@dataclass(frozen=True, kw_only=True)
class _RealfastOptions:
    masses: str | None = option(
        "--masses",
        metavar="SIZES",
        help="Sizes: 400,1000 or 400..5900/500 (default: 400,1000,2000,4000,5900).",
    )
    duration: str | None = option(
        "-D", "--duration", metavar="TIME", help="Simulated time of each point (default: 60s)."
    )


@dataclass(frozen=True, kw_only=True)
class _CurveOptions:
    threads: str | None = option(
        "--threads",
        metavar="LIST",
        help="Threads (default: 1, cores, hardware threads, 3 x cores, 2 x hardware threads).",
    )
    solver: str = option(
        "--solver",
        metavar="[semaphore|barrier]",
        default="semaphore",
        show_default=True,
        help="The algorithm of the study, with a semaphore for each mass, or one barrier a step.",
    )
    policy: str = option(
        "--policy",
        metavar="[fifo|rr|other|deadline]",
        default="fifo",
        show_default=True,
        help="Scheduling policies of the solver; several are compared: fifo,other.",
    )
    step: str | None = option(
        "--step", metavar="TIME", help="Simulated time of a step (default: 10ms, or 1/--rate)."
    )
    stiffness: str | None = option(
        "--stiffness",
        metavar="N",
        help="Of a spring over the mass, per s^2 (default: 0.1/step^2, which is always stable).",
    )
    within: str | None = option(
        "--within",
        metavar="TIME",
        help="The sweep ends by then with what it has; 0: no limit (default: 8m for a search).",
    )
    blocks: str = option(
        "--blocks",
        metavar="N",
        default="4",
        show_default=True,
        help="Steps whose blocks are kept for each thread, in one point of each curve.",
    )
    frames: str = option(
        "--frames",
        metavar="N",
        default="8",
        show_default=True,
        help="Pictures of the falling tire: one point more, of 400 masses with a step of 1 ms.",
    )
    cpu: str | None = option("-a", "--cpu", metavar="N", help="CPU for the measuring threads.")
    priority: str | None = option(
        "-p",
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
    )


@dataclass(frozen=True, kw_only=True)
class _ResumeOption:
    resume: str | None = resume_option(
        "Goes on with a sweep that was cut off, by default the last one: same document."
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


@click.group("simulate", no_args_is_help=False)
def command() -> None:
    """Simulate a tire of point masses, over sizes, threads and policies.

    The tests are SIM-S-RT, in real time, and SIM-P-RF, as fast as possible; explain says more.
    """


@command.command("realtime")
@options_of(RealtimeOptions)
@click.pass_context
def realtime(context: click.Context, /, options: RealtimeOptions) -> int:
    """Find the largest simulation that misses no deadline, per number of threads.

    Each step has a deadline: the release of the next one. The largest size is searched on each
    curve, one for each solver, policy, number of threads, load and CPU configuration; --masses
    measures given sizes instead. Each point is a result of one run, which --resume goes on with
    after Ctrl-C, a kill or a power cut. An HTML report is written, as evaluate does.
    """
    return _simulate("realtime", context, options)


@command.command("realfast")
@options_of(RealfastOptions)
@click.pass_context
def realfast(context: click.Context, /, options: RealfastOptions) -> int:
    """Measure how long a simulation takes that runs as fast as possible.

    Each point is the total time of 60 s of simulated time, with the CPU time and the context
    switches. --resume goes on with a sweep that was cut off.
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
