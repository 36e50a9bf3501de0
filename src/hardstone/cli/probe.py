"""`hardstone probe`: the executable that measures."""

from __future__ import annotations

import click

from hardstone.cli.help import WHAT, Option, declare_group
from hardstone.errors import EXIT_OK


@declare_group("probe", "hardstone probe build", "hardstone probe path", no_args_is_help=False)
def command() -> None:
    """Find or build the probe, the executable that measures."""


@command.command("path", examples=("hardstone probe path", 'file "$(hardstone probe path)"'))
def path() -> int:
    """Print the path of the probe in use."""
    from hardstone.targets.find import find_probe

    click.echo(str(find_probe()))
    return EXIT_OK


@command.command(
    "build",
    examples=(
        "hardstone probe build",
        "hardstone probe build --arch arm64",
        "hardstone probe build --arch armv7 --libc musl",
    ),
)
@click.option(
    "--arch",
    cls=Option,
    group=WHAT,
    type=click.Choice(["x86-64", "arm64", "armv7", "riscv64", "x86_64", "aarch64"]),
    metavar="[x86-64|arm64|armv7|riscv64]",
    help="Build for boards and guests of the lab with this architecture, and keep the result.",
)
@click.option(
    "--libc",
    cls=Option,
    group=WHAT,
    type=click.Choice(["musl", "glibc"]),
    help="C library of the probe, which is part of what it measures (default: glibc if there is "
    "GCC for the architecture, else musl).",
)
def build(arch: str | None, libc: str | None) -> int:
    """Build the probe from the source tree, with Meson or only a compiler."""
    from hardstone.cli.messages import tell
    from hardstone.targets.arches import ARCHES, own_arch
    from hardstone.targets.build import build_probe, built_programs

    names = {one.option: one.name for one in ARCHES}
    name = own_arch() if arch is None else names.get(arch, arch)
    is_in_use = name == own_arch() and libc is None
    built = build_probe(tell) if is_in_use else built_programs(name, tell, libc=libc).probe
    click.echo(str(built))
    return EXIT_OK
