"""Messages to people: standard error, one line each, nothing that steers a terminal."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


def tell(text: str) -> None:
    """Prints every line of `text` to standard error; where nobody can read it, nothing."""
    try:
        for line in text.splitlines() or [""]:
            shown = "".join(char if char.isprintable() else "?" for char in line)
            click.echo(f"hardstone: {shown}", err=True)
    except (OSError, ValueError):  # ValueError: the stream was closed
        abandon(sys.stderr)


def print_json(document: object) -> None:
    """Prints the one document that --json promises to standard output."""
    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
    click.echo(encoded.decode("utf-8"))
    sys.stdout.flush()


def abandon(stream: TextIO | None) -> None:
    """After the reader of a pipe left (head, less): no second complaint at the end."""
    if stream is None:
        return
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        return


def fill_missing_streams() -> None:
    """A standard stream that is closed would give its number to the next file opened."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


class _WatchedFile(io.FileIO):
    """Remembers that it could not be written."""

    problem: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.problem = error
            raise


def watch_stdout() -> None:
    """From now on `stdout_problem` tells what went wrong with standard output."""
    try:
        raw = _WatchedFile(sys.stdout.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=sys.stdout.encoding,
        errors="replace",
        line_buffering=bool(sys.stdout.line_buffering),
    )


def stdout_problem() -> OSError | None:
    """Why standard output could not be written, None where it could."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.problem if isinstance(raw, _WatchedFile) else None
