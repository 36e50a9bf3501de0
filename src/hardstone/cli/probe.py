"""`hardstone probe`: the executable that measures."""

from __future__ import annotations

import click

from hardstone.errors import EXIT_OK


@click.group("probe", no_args_is_help=False)
def command() -> None:
    """Find or build the probe, the executable that measures."""


@command.command("path")
def path() -> int:
    """Print the path of the probe in use."""
    from hardstone.targets.find import find_probe

    click.echo(str(find_probe()))
    return EXIT_OK


@command.command("build")
@click.option(
    "--arch",
    type=click.Choice(["x86_64", "aarch64"]),
    help="Build for a guest of the lab of this architecture, and keep the result for it.",
)
def build(arch: str | None) -> int:
    """Build the probe from the source tree, with Meson or with cc alone."""
    from hardstone.cli.messages import tell
    from hardstone.targets.build import build_probe, own_arch, programs_for

    is_own = arch is None or arch == own_arch()
    built = build_probe(tell) if is_own else programs_for(str(arch), tell).probe
    click.echo(str(built))
    return EXIT_OK
