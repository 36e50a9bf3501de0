"""`hardstone latstat`: hours of wake-up latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from hardstone.cli.options import (
    condition_options,
    decorated,
    lab_options,
    run_options,
    target_option,
)
from hardstone.errors import InputError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
LONGEST = "30d"
_DEFAULT = "10m"
_OPTIONS = (
    click.option(
        "-D",
        "--duration",
        metavar="TIME",
        help=f"Measuring time: 300 (seconds), 30s, 24h; 0: until Ctrl-C, {LONGEST} at most "
        f"(default: {_DEFAULT}; with --samples as long as they take).",
    ),
    click.option(
        "-i",
        "--interval",
        metavar="US",
        help="Time between two wake-ups, in us (default: 1000).",
    ),
    click.option("--samples", metavar="N", help="Ends after N wake-ups on each CPU."),
    click.option(
        "-a", "--cpu", metavar="LIST", help="CPUs to measure, a thread on each: 1, 0,2 or 0-3."
    ),
    click.option(
        "-p",
        "--priority",
        metavar="N|max",
        help="Real-time priority (default: maximum - 1; max: as in the studies).",
    ),
    click.option(
        "-m", "--mlockall", is_flag=True, help="Accepted: memory is always locked where it may be."
    ),
    click.option(
        "--threshold",
        metavar="TIME",
        help="Stops at the first latency above it, exit code 1: 100 (us), 100us, 1ms.",
    ),
    click.option("--go-on", is_flag=True, help="With --threshold: told, and measuring goes on."),
    click.option(
        "--on-threshold",
        metavar="COMMAND",
        help="Command that is run then, words without a shell; HARDSTONE_VALUE_NS and others say "
        "what happened.",
    ),
    click.option(
        "--parts",
        metavar="[auto|none|timerlat|tracepoints]",
        help="What splits a latency into its parts (default: auto, what is there; none: nothing).",
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="KEY=VALUE",
        help="Another parameter of the test; see explain TMR-P-LAT.",
    ),
    *condition_options,
    target_option,
    click.option(
        "--resume",
        is_flag=False,
        flag_value="",
        metavar="[RUN]",
        help="Goes on with a recording that was cut off, by default the last one: same document.",
    ),
    *run_options,
)


def latstat_options(command: Decorated) -> Decorated:
    """All options of latstat but those of the lab."""
    return decorated(command, _OPTIONS)


def plan_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` as those of `hardstone run` for TMR-P-LAT."""
    cpu, cpus = _cpus(options["cpu"])
    threshold, is_watched = _threshold(options["threshold"]), options["go_on"]
    added = {
        "cpus": cpus,
        "threshold_ns": None if is_watched else threshold,
        "parts": options["parts"],
    }
    params = [f"{name}={text}" for name, text in added.items() if text is not None]
    return {
        **options,
        "profile": "soak",
        "name": options["name"] or "latstat",
        "duration": _duration(options["duration"], options["samples"]),
        "cpu": cpu,
        "params": (*options["params"], *params),
        "watched": threshold if is_watched else None,
        "is_recording": True,
    }


def _duration(asked: str | None, samples: str | None) -> str:
    """Samples without a length lift the limit of the default one."""
    if asked is None:
        return _DEFAULT if samples is None else LONGEST
    return LONGEST if asked.strip() == "0" else asked


def _cpus(text: str | None) -> tuple[str | None, str | None]:
    """The CPU of one thread, or the list for several."""
    from hardstone.plan.params import parse_cpu_list

    if text is None or text.strip().isdecimal():
        return text, None
    try:
        return None, ",".join(map(str, sorted(parse_cpu_list(text))))
    except ValueError as error:
        raise InputError(f"-a: {error}", "give for example 1, 0,2 or 0-3") from None


def _threshold(text: str | None) -> str | None:
    """With its unit: a bare number is in us, as in cyclictest and rtla."""
    bare = text is not None and text.strip().replace(".", "", 1).isdecimal()
    return f"{text.strip()}us" if bare and text is not None else text


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
