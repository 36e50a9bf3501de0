"""`hardstone shield`: the probe does all the work.

On this machine the tool replaces itself by the probe; on another one it hands over the streams.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from pathlib import Path

import click

from hardstone.cli.options import lab_options_without_cpus, lab_target, machine_option

_OPTIONS = ("cpu", "cpus", "policy", "priority", "settings")
_FLAGS = ("restore", "forget", "show", "verbose")


@click.command("shield", context_settings={"allow_interspersed_args": False})
@click.option(
    "-a", "--cpu", metavar="N", help="CPU to reserve (default: an isolated one, or the last)."
)
@click.option("--cpus", metavar="LIST", help="Several CPUs to reserve: 2-3,6.")
@click.option(
    "--policy",
    type=click.Choice(["fifo", "rr", "other"]),
    help="Scheduling policy of COMMAND (default: unchanged; fifo with --priority).",
)
@click.option(
    "--priority",
    metavar="N|max",
    help="Real-time priority of COMMAND (50 if only --policy is given).",
)
@click.option(
    "--settings",
    metavar="LIST",
    help="Only some of cpuset, interrupts, workqueues, timers, watchdog, governor, dma_latency.",
)
@click.option("--restore", is_flag=True, help="Restore the settings that a killed shield left.")
@click.option("--forget", is_flag=True, help="With --restore: give up what cannot be restored.")
@click.option("--show", is_flag=True, help="Show what is reserved now, and what can be.")
@click.option("--verbose", is_flag=True, help="List every change, and all that could not be moved.")
@click.option("--json", "as_json", is_flag=True, help="With --show: one JSON document.")
@machine_option
@lab_options_without_cpus
@click.argument("words", metavar="[-- COMMAND ARG...]", nargs=-1, type=click.UNPROCESSED)
def command(
    words: tuple[str, ...], as_json: bool, target: str, **options: str | bool | None
) -> int:
    """Reserve a CPU, run COMMAND there, then restore all settings.

    While COMMAND runs, other processes, interrupts and movable kernel threads are kept
    off the CPU. Input, output and exit code are those of COMMAND. Standard error names
    what could not be moved. Needs root. With --target lab:NAME, COMMAND runs in the guest.
    """
    from hardstone.targets.find import find_probe

    command_words = ["--", *words] if words else []
    arguments = [*_arguments(options), "--json" if as_json else "--text", *command_words]
    name = lab_target(target, options)
    if name != "local":
        return _call(name, arguments)
    _become(find_probe(), arguments)
    return 0


def _arguments(options: dict[str, str | bool | None]) -> list[str]:
    arguments = ["shield"]
    for name in _OPTIONS:
        value = options[name]
        if isinstance(value, str):
            arguments += [f"--{name}", value]
    return arguments + [f"--{name}" for name in _FLAGS if options[name]]


def _call(target: str, arguments: list[str]) -> int:
    """Runs the probe's command on `target` with the streams of this process: its exit code."""
    from hardstone.cli.messages import notices_told
    from hardstone.errors import InputError
    from hardstone.targets import find_transport
    from hardstone.targets.transport import Caller

    with closing(find_transport(target)) as transport:
        if not isinstance(transport, Caller):
            raise InputError(
                f"no command can be run on the target '{target[:60]}'",
                "name another: local, or lab:NAME",
            )
        transport.open(notices_told(quiet=not sys.stderr.isatty()))  # it is COMMAND's stream
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
