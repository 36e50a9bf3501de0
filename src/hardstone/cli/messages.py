"""Messages to people: standard error, one line each, nothing that steers a terminal.

What is to be typed stands on a line of its own below, as it works from here.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

import click

from hardstone.calling import as_typed, parted, parted_text
from hardstone.errors import HardstoneError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_INDENT = "    "


def tell(text: str, *commands: str) -> None:
    """Prints `text` and what to type, to standard error; where nobody can read it, nothing."""
    try:
        for line in message_lines(text, *commands):
            click.echo(line, err=True)
    except (OSError, ValueError):  # ValueError: the stream was closed
        abandon(sys.stderr)


def tell_error(error: HardstoneError, before: str = "") -> None:
    """Prints each cause with its remedy, after the words `before`."""
    for cause, remedy in error.reasons():
        told, command = parted(remedy)
        text = "; ".join(part for part in (before + cause, told) if part)
        tell(text, *([command] if command else []))


def message_lines(text: str, *commands: str) -> list[str]:
    """The lines of a message: `text` is one, whatever is in it, and each command is one.

    Without `commands` it is the one that `text` ends in, if any.
    """
    words, typed = (text, commands) if commands else _parted(text)
    shown = f"hardstone: {visible(words)}{':' if typed else ''}"
    return [shown, *(f"{_INDENT}{visible(as_typed(one))}" for one in typed)]


def _parted(text: str) -> tuple[str, tuple[str, ...]]:
    words, command = parted_text(text)
    return (words, (command,)) if command and words else (text, ())


def visible(text: str) -> str:
    """Untrusted text as one line: control bytes, line breaks and bidi overrides escaped."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


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
