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
    "build", examples=("hardstone probe build", "hardstone probe build --arch aarch64")
)
@click.option(
    "--arch",
    cls=Option,
    group=WHAT,
    type=click.Choice(["x86_64", "aarch64"]),
    help="Build for guests of the lab with this architecture, and keep the result.",
)
def build(arch: str | None) -> int:
    """Build the probe from the source tree, with Meson or only cc."""
    from hardstone.cli.messages import tell
    from hardstone.targets.build import build_probe, own_arch, programs_for

    is_own = arch is None or arch == own_arch()
    built = build_probe(tell) if is_own else programs_for(str(arch), tell).probe
    click.echo(str(built))
    return EXIT_OK
