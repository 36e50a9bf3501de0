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
def build() -> int:
    """Build the probe from the source tree, with Meson or with cc alone."""
    from hardstone.cli.messages import tell
    from hardstone.targets.build import build_probe

    built = build_probe(tell)
    click.echo(str(built))
    return EXIT_OK
