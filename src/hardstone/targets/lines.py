"""Lines out of chunks of bytes, as received."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends; what follows the last line end comes last, cut as it is."""
    parts: list[bytes] = []
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            yield b"".join([*parts, line])
            parts = []
        if rest:
            parts.append(rest)
    if parts:
        yield b"".join(parts)
