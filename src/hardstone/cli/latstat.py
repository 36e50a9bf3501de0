"""`hardstone latstat`: hours of wake-up latency."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from hardstone.cli.options import (
    ConditionOptions,
    LabOptions,
    MeasureOptions,
    OutcomeOptions,
    PolicyOption,
    TargetOption,
    fitting,
    option,
    options_of,
    resume_option,
    typed_options,
)
from hardstone.errors import InputError

_LONGEST = "30d"
_DEFAULT = "10m"


@dataclass(frozen=True, kw_only=True)
class _RecordingOptions:
    duration: str | None = option(
        "-D",
        "--duration",
        metavar="TIME",
        help=f"Measuring time: 300 (seconds), 30s, 24h; 0: until Ctrl-C, {_LONGEST} at most "
        f"(default: {_DEFAULT}; with --samples as long as they take).",
    )
    interval: str | None = option(
        "-i",
        "--interval",
        metavar="US",
        help="Time between two wake-ups, in us (default: 1000).",
    )
    samples: str | None = option(
        "--samples", metavar="N", help="Ends after N wake-ups on each CPU."
    )
    cpu: str | None = option(
        "-a", "--cpu", metavar="LIST", help="CPUs to measure, a thread on each: 1, 0,2 or 0-3."
    )
    priority: str | None = option(
        "-p",
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
    )
    mlockall: bool = option(
        "-m", "--mlockall", is_flag=True, help="Accepted: memory is always locked where it may be."
    )
    threshold: str | None = option(
        "--threshold",
        metavar="TIME",
        help="Stops at the first latency above it, exit code 1: 100 (us), 100us, 1ms.",
    )
    go_on: bool = option(
        "--go-on", is_flag=True, help="With --threshold: told, and measuring goes on."
    )
    on_threshold: str | None = option(
        "--on-threshold",
        metavar="COMMAND",
        help="Command that is run then, words without a shell; HARDSTONE_VALUE_NS and others say "
        "what happened.",
    )
    parts: str | None = option(
        "--parts",
        metavar="[auto|none|timerlat|tracepoints]",
        help="What splits a latency into its parts (default: auto, what is there; none: nothing).",
    )
    params: tuple[str, ...] = option(
        "--param",
        multiple=True,
        metavar="KEY=VALUE",
        help="Another parameter of the test; see explain TMR-P-LAT.",
    )


@dataclass(frozen=True, kw_only=True)
class _ResumeOption:
    resume: str | None = resume_option(
        "Goes on with a recording that was cut off, by default the last one: same document."
    )


@dataclass(frozen=True, kw_only=True)
class LatstatOptions(
    LabOptions,
    OutcomeOptions,
    _ResumeOption,
    TargetOption,
    ConditionOptions,
    PolicyOption,
    _RecordingOptions,
):
    """Options of `hardstone latstat`."""


def plan_options(options: LatstatOptions) -> MeasureOptions:
    """`options` as those of `hardstone run` for TMR-P-LAT."""
    cpu, cpus = _cpus(options.cpu)
    duration = options.duration
    if duration is None:  # samples lift the limit of the default length
        duration = _DEFAULT if options.samples is None else _LONGEST
    elif duration.strip() == "0":
        duration = _LONGEST
    threshold = options.threshold
    if threshold is not None and threshold.strip().replace(".", "", 1).isdecimal():
        threshold = f"{threshold.strip()}us"  # the unit of cyclictest and rtla
    added = {
        "cpus": cpus,
        "threshold_ns": None if options.go_on else threshold,
        "parts": options.parts,
    }
    params = [f"{name}={text}" for name, text in added.items() if text is not None]
    asked = MeasureOptions(
        **(fitting(MeasureOptions, options) | {"target": (options.target,), "cpu": cpu})
    )
    return replace(
        asked,
        profile="soak",
        name=options.name or "latstat",
        duration=duration,
        params=(*options.params, *params),
        watched=threshold if options.go_on else None,
        is_recording=True,
    )


def _cpus(text: str | None) -> tuple[str | None, str | None]:
    """The CPU of one thread, or the list for several."""
    from hardstone.plan.params import parse_cpu_list

    if text is None or text.strip().isdecimal():
        return text, None
    try:
        return None, ",".join(map(str, sorted(parse_cpu_list(text))))
    except ValueError as error:
        raise InputError(f"-a: {error}", "give for example 1, 0,2 or 0-3") from None


@click.command("latstat")
@options_of(LatstatOptions)
@click.pass_context
def command(context: click.Context, /, options: LatstatOptions) -> int:
    """Record how late a thread wakes up, for minutes or weeks, in constant memory.

    The test is TMR-P-LAT. On a terminal the distribution is shown while it grows. Ctrl-C keeps
    what was measured (exit code 130), and so does a kill or a power cut; --resume goes on.
    """
    from hardstone.cli.recording import record, resume

    if options.resume is None:
        return record(options)
    return resume(options.resume, options, typed_options(context))
