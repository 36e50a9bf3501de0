"""Options for kernels of the lab: another way to write the settings in a target's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from hardstone.cli.options import decorated
from hardstone.errors import InputError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

LAB_PREFIX = "lab:"
_PARAMETER = "lab_"  # before the key of a setting, so that none has the name of another option
_CPUS = click.option("--cpus", "lab_cpus", metavar="N", help="Lab: CPUs of the guest.")
_OTHERS = (
    click.option(
        "--memory", "lab_memory", metavar="SIZE", help="Lab: memory of the guest: 512M, 2G."
    ),
    click.option(
        "--preempt",
        "lab_preempt",
        metavar="[none|voluntary|full|lazy]",
        help="Lab: preemption model that the kernel is booted with.",
    ),
    click.option(
        "--accel",
        "lab_accel",
        metavar="[auto|kvm|tcg]",
        help="Lab: how the guest's processor is run (default: KVM where it works).",
    ),
    click.option(
        "--deterministic",
        "lab_deterministic",
        is_flag=True,
        help="Lab: time counts instructions, on one CPU; a run repeats to the nanosecond.",
    ),
    click.option(
        "--device",
        "lab_device",
        metavar="[edu]",
        help="Lab: a device whose interrupts programs raise (/dev/uio0).",
    ),
    click.option(
        "--append", "lab_append", metavar="TEXT", help="Lab: more for the kernel's command line."
    ),
)


def lab_options(command: Decorated) -> Decorated:
    """All options for kernels of the lab."""
    return decorated(command, (_CPUS, *_OTHERS))


def lab_options_without_cpus(command: Decorated) -> Decorated:
    """The same, for a command with a --cpus of its own: there the target's name has them."""
    return decorated(command, _OTHERS)


def lab_targets(names: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """`names` with the options of the lab that were given, each kernel of the lab in its one form.

    InputError for such an option and a target that is not of the lab, and for wrong settings.
    """
    given = _given(options)
    return [_lab_target(name, given) for name in names]


def lab_target(name: str, options: Mapping[str, Any]) -> str:
    """The same for one target."""
    return _lab_target(name, _given(options))


def _given(options: Mapping[str, Any]) -> dict[str, str]:
    """Settings by key, as in a target's name: a flag has no value."""
    return {
        name.removeprefix(_PARAMETER): "" if value is True else value
        for name, value in options.items()
        if name.startswith(_PARAMETER) and value not in (None, False)
    }


def _lab_target(name: str, given: Mapping[str, str]) -> str:
    if not name.startswith(LAB_PREFIX):
        if given:
            raise InputError(
                f"--{next(iter(given))} is for kernels of the lab, and the target is '{name[:60]}'",
                "leave it out, or name a kernel with --target lab:NAME",
            )
        return name
    from hardstone.lab.settings import parse_settings, with_settings

    settings = parse_settings(name.removeprefix(LAB_PREFIX))
    return LAB_PREFIX + with_settings(settings, **given).name
