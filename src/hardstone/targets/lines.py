"""Lines out of chunks of bytes, as received."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_MOST_SAID = 600  # characters
_MOST_BYTES = (1 << 24) + 1  # just beyond what a line of a stream may have


def split_lines(chunks: Iterable[bytes], most_bytes: int = _MOST_BYTES) -> Iterator[bytes]:
    """Lines without their ends; what follows the last line end comes last, cut as it is.

    A line that does not end is passed on in parts of at least `most_bytes`.
    """
    parts: list[bytes] = []
    held_bytes = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*parts, line])
            parts, held_bytes = [], 0
        if rest:
            parts.append(rest)
            held_bytes += len(rest)
        if held_bytes >= most_bytes:
            yield b"".join(parts)
            parts, held_bytes = [], 0
    if parts:
        yield b"".join(parts)


def said_by_probe(stderr: bytes | bytearray) -> str:
    """The first line that a probe wrote to standard error, at most 600 characters, with "?" for
    each that does not print: a target is not trusted."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    shown = (char if char.isprintable() else "?" for char in lines[0][:_MOST_SAID])
    return "".join(shown)
