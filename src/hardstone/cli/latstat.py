"""`hardstone latstat`: hours of wake-up latency."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from hardstone.cli.help import CONDITIONS, HOW_LONG, OUTPUT, WHAT, declare
from hardstone.cli.options import (
    PRIORITY_HELP,
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
    shared,
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
        group=HOW_LONG,
        is_common=True,
        metavar="TIME",
        help="Measuring time: 300 (seconds), 30s, 24h; 0 measures until Ctrl-C, at most "
        f"{_LONGEST} (default: {_DEFAULT}; with --samples no limit).",
    )
    interval: str | None = option(
        "-i",
        "--interval",
        group=WHAT,
        is_common=True,
        metavar="US",
        help="Period of the wake-ups in us (default: 1000).",
    )
    samples: str | None = option(
        "--samples", group=HOW_LONG, metavar="N", help="Stop after N wake-ups on each CPU."
    )
    cpu: str | None = option(
        "-a",
        "--cpu",
        group=WHAT,
        is_common=True,
        metavar="LIST",
        help="CPUs to measure, with one thread on each: 1, 0,2 or 0-3.",
    )
    priority: str | None = option(
        "-p",
        "--priority",
        group=CONDITIONS,
        is_common=True,
        metavar="N|max",
        help=PRIORITY_HELP,
    )
    mlockall: bool = option(
        "-m",
        "--mlockall",
        group=CONDITIONS,
        is_flag=True,
        help="No effect; memory is locked whenever permitted.",
    )
    threshold: str | None = option(
        "--threshold",
        group=HOW_LONG,
        metavar="TIME",
        help="Stop at the first latency above TIME, with exit code 1: 100 (us), 100us, 1ms.",
    )
    go_on: bool = option(
        "--go-on",
        group=HOW_LONG,
        is_flag=True,
        help="With --threshold: report and continue.",
    )
    on_threshold: str | None = option(
        "--on-threshold",
        group=OUTPUT,
        metavar="COMMAND",
        help="With --threshold: run COMMAND, without a shell; HARDSTONE_VALUE_NS and other "
        "variables describe the event.",
    )
    parts: str | None = option(
        "--parts",
        group=WHAT,
        metavar="[auto|none|timerlat|tracepoints]",
        help="Split each latency into its parts with this tracer (default: auto, the first that is "
        "available).",
    )
    params: tuple[str, ...] = option(
        "--param",
        group=WHAT,
        multiple=True,
        metavar="KEY=VALUE",
        help="Set another parameter; hardstone explain TMR-P-LAT lists them.",
    )


@dataclass(frozen=True, kw_only=True)
class _ResumeOption:
    resume: str | None = resume_option(
        "Continue an interrupted recording in the same document (default: the last)."
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

    load: tuple[str, ...] = shared(
        ConditionOptions,
        "load",
        metavar="LOAD",
        help="Load during the recording: heavy, heavy@cpu, cpu=10ms/100ms, heavy+storm. See "
        "hardstone load --help.",
    )
    cpu_config: tuple[str, ...] = shared(
        ConditionOptions,
        "cpu_config",
        metavar="CONFIG",
        help="CPU configuration: shared, single (other CPUs offline), shielded (other work kept "
        "off the CPU).",
    )


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


@declare(
    "latstat",
    "hardstone latstat -D 24h -a 0-3",
    "hardstone latstat -D 1h --threshold 200us --load heavy",
)
@options_of(LatstatOptions)
@click.pass_context
def command(context: click.Context, /, options: LatstatOptions) -> int:
    """Record wake-up latency for minutes, hours or weeks.

    The test is TMR-P-LAT; it needs constant memory. At a terminal the distribution is shown while
    it grows. After Ctrl-C (exit code 130), a kill or a power cut the results so far are stored, and
    --resume continues.
    """
    from hardstone.cli.recording import record, resume

    if options.resume is None:
        return record(options)
    return resume(options.resume, options, typed_options(context))
