"""`hardstone load`: a load without a measurement."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import click

from hardstone.cli.help import CONDITIONS, HOW_LONG, Option, declare
from hardstone.cli.options import (
    GuestOptions,
    json_option,
    lab_target,
    machine_option,
    options_of,
    quiet_option,
)
from hardstone.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNTRUSTWORTHY

if TYPE_CHECKING:
    from hardstone.targets.base import OnIdle
    from hardstone.targets.probe_target import AnyLine
    from hardstone.targets.transport import Transport


_LACKING = {"load_short", "load_unseen", "load_ended_early", "load_not_settled"}
_TO_TELL = {*_LACKING, "load_limited"}


@declare(
    "load",
    "hardstone load heavy -D 5m",
    "hardstone load cpu=10ms/100ms+disk+network=4000/s --cpus 2-3",
)
@click.argument("load", metavar="LOAD")
@click.option(
    "-D",
    "--duration",
    cls=Option,
    group=HOW_LONG,
    metavar="TIME",
    help="Stop after TIME: 300 (seconds), 30s, 5m (default: at Ctrl-C).",
)
@click.option(
    "--cpus",
    cls=Option,
    group=CONDITIONS,
    metavar="LIST",
    help="Run the load on these CPUs, such as 0,2-3 (default: all).",
)
@machine_option
@options_of(GuestOptions)
@json_option
@quiet_option
def command(
    load: str,
    duration: str | None,
    cpus: str | None,
    target: str,
    as_json: bool,
    quiet: bool,
    options: GuestOptions,
) -> int:
    """Load a machine without measuring it.

    The degree that each element of the load reached is reported.

    LOAD is heavy, storm, latstat, or elements joined by +, each with or without a degree:
    cpu=10ms/100ms+disk+network=4000/s+search. The elements are cpu, disk, interrupt, network,
    syscall, memory, search, storm, build, kernel, messages, and 'stress-ng:OPTIONS'. A degree
    applies to the whole system, or with @cpu to each CPU: heavy@cpu. network=4000/s@HOST:PORT
    sends packets to a host, otherwise they use loopback. This machine resolves the name of HOST.
    interrupt=1000/s@/dev/uio0 has a UIO device interrupt, otherwise kernel timers do.

    Without -D the load runs until Ctrl-C, and the exit code is 0. The exit code is 3 if an element
    reached less than 80 % of its degree, or ended early.
    """
    from hardstone.campaign.campaign import stop_on_signals
    from hardstone.cli.messages import notice_messages
    from hardstone.hosts import addresses_of, with_addresses
    from hardstone.targets import find_transport
    from hardstone.targets.base import Stop
    from hardstone.targets.probe_target import check_load, load_lines

    duration_ns = None if duration is None else _duration_ns(duration)
    target = lab_target(target, options)
    stop = Stop()
    with closing(find_transport(target)) as transport:
        transport.open(notice_messages(quiet=quiet))
        load = _one_load(transport, load)
        addressed = with_addresses(load, addresses_of([load]))
        check_load(transport, addressed, cpus)
        with stop_on_signals(stop), _progress(duration_ns, quiet=quiet) as show:
            lines = list(load_lines(transport, addressed, duration_ns, cpus, stop, show))
    code = _report(target, load, lines, as_json=as_json)
    return EXIT_INTERRUPTED if stop.is_set() and duration_ns is not None else code


def _one_load(transport: Transport, text: str) -> str:
    """The load in its one form; InputError as from a command that measures."""
    from hardstone.plan.params import Problems, check_load
    from hardstone.targets.probe_target import ProbeTarget

    problems = Problems()
    load = check_load(text, ProbeTarget(transport).load_list(), problems)
    problems.raise_if_any("--load: ")
    return load


def _duration_ns(text: str) -> int:
    from hardstone.errors import InputError
    from hardstone.units import parse_duration_ns

    try:
        return parse_duration_ns(text)
    except ValueError as error:
        cause, _, remedy = str(error).partition(": ")
        raise InputError(f"--duration: {cause}", remedy) from error


@contextmanager
def _progress(duration_ns: int | None, *, quiet: bool) -> Iterator[OnIdle]:
    """A live line on a terminal, redrawn whenever the probe is polled; it needs no thread."""
    from hardstone.cli.messages import tell

    def say(said: str = "") -> None:
        if said:
            tell(said)

    if quiet or not sys.stderr.isatty():
        yield say
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from hardstone.terminal.console import make_console

    started_s = time.monotonic()
    total_s = None if duration_ns is None else duration_ns / 1e9
    text = "load" if total_s is not None else "load (Ctrl-C ends it)"
    columns = (TextColumn(text), BarColumn(bar_width=None), TimeElapsedColumn())
    console = make_console(sys.stderr)
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task("", total=total_s)

        def show(said: str = "") -> None:
            say(said)
            progress.update(task, completed=time.monotonic() - started_s, refresh=True)

        yield show


def _report(target: str, load: str, lines: list[AnyLine], *, as_json: bool) -> int:
    from hardstone.cli.messages import print_json, tell
    from hardstone.errors import UntrustworthyError
    from hardstone.model import StreamEvent, StreamLoad
    from hardstone.targets.probe_target import LoadFooter

    reached = [line for line in lines if isinstance(line, StreamLoad)]
    events = [line for line in lines if isinstance(line, StreamEvent) and line.name in _TO_TELL]
    if not any(isinstance(line, LoadFooter) for line in lines):
        raise UntrustworthyError(
            "the probe ended before it reported what the load reached", "try again"
        )
    if as_json:
        print_json(_document(target, load, lines))
    else:
        _print_load(reached)
    for event in events:
        tell(event.text)
    is_lacking = any(event.name in _LACKING for event in events)
    return EXIT_UNTRUSTWORTHY if is_lacking else EXIT_OK


def _document(target: str, load: str, lines: list[AnyLine]) -> dict[str, Any]:
    import msgspec

    from hardstone.model import StreamEvent, StreamLoad
    from hardstone.targets.probe_target import SCHEMA, LoadHeader

    def plain(line: AnyLine) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(line)
        del fields["type"]
        return fields

    header = next((line for line in lines if isinstance(line, LoadHeader)), None)
    return {
        "schema": SCHEMA,
        "target": target,
        "load": load,
        "started_utc_ns": None if header is None else header.started_utc_ns,
        "elements": [plain(line) for line in lines if isinstance(line, StreamLoad)],
        "events": [plain(line) for line in lines if isinstance(line, StreamEvent)],
    }


class _Reached(Protocol):
    """What one element of a load reached."""

    element: str
    degree: str
    asked: float | None
    reached: float
    unit: str
    processes: int
    how: str | None
    counters: dict[str, int]


def _print_load(lines: Sequence[_Reached]) -> None:
    """Prints one row for each element; shares and rates are those of one of its processes."""
    from hardstone.present.measured_tables import load_figure
    from hardstone.terminal.console import make_console, make_table, print_table, words
    from hardstone.wording import shorten

    table = make_table()
    table.add_column("element", no_wrap=True)
    table.add_column("degree", overflow="fold")
    for heading in ("asked", "reached", "processes", "CPU time"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("how", overflow="fold")
    for line in lines:
        cpu_ns = line.counters.get("cpu_ns")
        cells = (
            line.element,
            shorten(line.degree, 60),
            load_figure(line.asked, line.unit),
            load_figure(line.reached, line.unit),
            str(line.processes),
            "-" if cpu_ns is None else f"{cpu_ns / 1e9:.3g} s",
            shorten(line.how or "", 60),
        )
        table.add_row(*(words(cell) for cell in cells))
    print_table(make_console(), table)
