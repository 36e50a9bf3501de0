"""Targets: where the probe runs and how it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardstone.errors import InputError, printable

if TYPE_CHECKING:
    from hardstone.targets.base import Target
    from hardstone.targets.console.address import ConsoleSettings
    from hardstone.targets.transport import Transport

_MOST_SHOWN = 60


def find_target(name: str) -> Target:
    """The target called `name`, not yet reached. InputError for an unknown name."""
    kind, _, rest = name.partition(":")
    if kind == "fake":
        from hardstone.targets.fake import fake_target

        return fake_target(rest)
    if kind == "lab":
        from hardstone.targets.lab import lab_target

        return lab_target(rest)
    console = console_settings(name)
    if console is not None and console.time is None:
        from hardstone.targets.console.console_target import console_target

        return console_target(console)
    from hardstone.targets.probe_target import ProbeTarget

    return ProbeTarget(find_transport(name))


def find_transport(name: str) -> Transport:
    """The way to the target called `name`, not yet reached, for commands that measure nothing.

    InputError for an unknown name, and for a target that has no probe.
    """
    kind, _, rest = name.partition(":")
    if name == "local":
        from hardstone.targets.local import LocalTransport

        return LocalTransport()
    if kind == "lab":
        from hardstone.targets.lab import lab_transport

        return lab_transport(rest)
    if kind == "fake":
        raise InputError(
            f"'{_shown(name)}' only replays results of tests",
            "name a target with a probe: local, lab:NAME, ssh://[USER@]HOST or console:PORT",
        )
    console = console_settings(name)
    if console is not None and console.time is not None:
        from hardstone.targets.console.job import JobTransport

        return JobTransport(console)
    if console is not None:
        from hardstone.targets.console.console_target import ConsoleTransport

        return ConsoleTransport(console)
    from hardstone.targets.named import ssh_settings, unknown_target

    settings = ssh_settings(name)
    if settings is None:
        raise unknown_target(name)
    from hardstone.targets.ssh import SshTransport

    return SshTransport(settings)


def console_settings(name: str) -> ConsoleSettings | None:
    """The console that `name` means, by its own name or that of the user's file."""
    if name == "local":
        return None
    from hardstone.targets.named import named_console

    return named_console(name)


def _shown(name: str) -> str:
    return printable(name)[:_MOST_SHOWN]
