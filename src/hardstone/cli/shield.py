"""`hardstone shield`: the probe does all the work.

On this machine the tool replaces itself by the probe; on another one it hands over the streams.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from hardstone.cli.help import CONDITIONS, OUTPUT, WHAT, declare
from hardstone.cli.options import (
    GuestOptions,
    MachineOption,
    lab_target,
    option,
    options_of,
    shared,
)

_OPTIONS = ("cpu", "cpus", "policy", "priority", "settings")
_FLAGS = ("restore", "forget", "show", "verbose")


@dataclass(frozen=True, kw_only=True)
class ShieldOptions(GuestOptions):
    """Options of `hardstone shield`, all but the last of them those of the probe's command."""

    cpu: str | None = option(
        "-a",
        "--cpu",
        group=WHAT,
        metavar="N",
        help="Reserve CPU N (default: an isolated one, or the last).",
    )
    cpus: str | None = option(
        "--cpus", group=WHAT, metavar="LIST", help="Reserve several CPUs: 2-3,6."
    )
    policy: str | None = option(
        "--policy",
        group=CONDITIONS,
        type=click.Choice(["fifo", "rr", "other"]),
        help="Scheduling policy of COMMAND (default: unchanged; fifo with --priority).",
    )
    priority: str | None = option(
        "--priority",
        group=CONDITIONS,
        metavar="N|max",
        help="Real-time priority of COMMAND (default with --policy: 50).",
    )
    settings: str | None = option(
        "--settings",
        group=CONDITIONS,
        metavar="LIST",
        help="Change only these: cpuset, interrupts, workqueues, timers, watchdog, governor, "
        "dma_latency (default: all).",
    )
    restore: bool = option(
        "--restore",
        group=WHAT,
        is_flag=True,
        help="Restore the settings that a killed shield left changed.",
    )
    forget: bool = option(
        "--forget",
        group=WHAT,
        is_flag=True,
        help="With --restore: give up settings that cannot be restored.",
    )
    show: bool = option(
        "--show", group=WHAT, is_flag=True, help="Show what is reserved now and what can be."
    )
    verbose: bool = option(
        "--verbose",
        group=OUTPUT,
        is_flag=True,
        help="List every change, and everything that could not be moved.",
    )
    as_json: bool = option(
        "--json", group=OUTPUT, is_flag=True, help="With --show: print one JSON document."
    )
    target: str = shared(MachineOption, "target")


@declare(
    "shield",
    "sudo hardstone shield -a 3 --priority 80 -- ./controller",
    "sudo hardstone shield --show",
    context_settings={"allow_interspersed_args": False},
)
@options_of(ShieldOptions)
@click.argument("words", metavar="[-- COMMAND ARG...]", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], options: ShieldOptions) -> int:
    """Reserve a CPU, run COMMAND there, restore all settings.

    While COMMAND runs, other processes, interrupts and movable kernel threads are kept off the CPU.
    Input, output and exit code are those of COMMAND. Standard error names what could not be moved.
    Root is needed. With --target lab:NAME, COMMAND runs in the guest.
    """
    from hardstone.targets.find import find_probe

    arguments = ["shield"]
    for name in _OPTIONS:
        value = getattr(options, name)
        if isinstance(value, str):
            arguments += [f"--{name}", value]
    arguments += [f"--{name}" for name in _FLAGS if getattr(options, name)]
    arguments.append("--json" if options.as_json else "--text")
    arguments += ["--", *words] if words else []
    name = lab_target(options.target, options)
    if name != "local":
        return _call(name, arguments)
    _become(find_probe(), arguments)
    return 0


def _call(target: str, arguments: list[str]) -> int:
    """Runs the probe's command on `target` with the streams of this process: its exit code."""
    from hardstone.cli.messages import notice_messages
    from hardstone.errors import InputError
    from hardstone.targets import find_transport
    from hardstone.targets.transport import Caller

    with closing(find_transport(target)) as transport:
        if not isinstance(transport, Caller):
            raise InputError(
                f"no command can be run on the target '{target[:60]}'",
                "name another: local, or lab:NAME",
            )
        transport.open(notice_messages(quiet=not sys.stderr.isatty()))  # it is COMMAND's stream
        return transport.call(arguments, sys.stdin.buffer, sys.stdout.buffer, sys.stderr.buffer)


def _become(probe: Path, arguments: list[str]) -> None:
    """Replaces this process, so that the shield gets its signals and gives its exit code."""
    from hardstone.errors import TargetError

    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; COMMAND must not
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(  # noqa: S606 - no shell is wanted
            probe, ["hardstone-probe", *arguments], os.environ
        )
    except OSError as error:
        raise TargetError(
            f"the probe {probe} cannot be started: {error.strerror}",
            "rebuild it: hardstone probe build",
        ) from error
