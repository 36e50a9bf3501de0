"""Messages to people: standard error, one line each, nothing that steers a terminal."""

from __future__ import annotations

import os
import sys

import click


def tell(text: str) -> None:
    """Prints every line of `text` to standard error."""
    for line in text.splitlines() or [""]:
        shown = "".join(char if char.isprintable() else "?" for char in line)
        click.echo(f"hardstone: {shown}", err=True)


def print_json(document: object) -> None:
    """Prints the one document that --json promises to standard output."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    click.echo(encoded.decode("utf-8"))
    sys.stdout.flush()


def abandon_stdout() -> None:
    """After the reader of a pipe left (head, less): no second complaint at the end."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        return
