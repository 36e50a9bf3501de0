"""`hardstone shield`: replaces itself by the probe, which does all the work."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

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
@click.argument("words", metavar="[-- COMMAND ARG...]", nargs=-1, type=click.UNPROCESSED)
def command(words: tuple[str, ...], as_json: bool, **options: str | bool | None) -> int:
    """Reserve a CPU, run COMMAND there, then restore all settings.

    While COMMAND runs, other processes, interrupts and movable kernel threads are kept
    off the CPU. Input, output and exit code are those of COMMAND. Standard error names
    what could not be moved. Needs root.
    """
    from hardstone.targets.find import find_probe

    command_words = ["--", *words] if words else []
    _become(find_probe(), [*_arguments(options), "--json" if as_json else "--text", *command_words])
    return 0


def _arguments(options: dict[str, str | bool | None]) -> list[str]:
    arguments = ["shield"]
    for name in _OPTIONS:
        value = options[name]
        if isinstance(value, str):
            arguments += [f"--{name}", value]
    return arguments + [f"--{name}" for name in _FLAGS if options[name]]


def _become(probe: Path, arguments: list[str]) -> None:
    """Replaces this process, so that the shield gets its signals and gives its exit code."""
    from hardstone.errors import TargetError

    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; COMMAND must not
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(probe, ["hardstone-probe", *arguments])  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise TargetError(
            f"the probe {probe} cannot be started: {error.strerror}",
            "rebuild it: hardstone probe build",
        ) from error
