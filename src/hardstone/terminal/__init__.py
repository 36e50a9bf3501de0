"""Text for a terminal of 80 columns, or for a pipe."""

from __future__ import annotations

import os
from typing import IO

_USUAL, _LEAST = 80, 40


def width_of(stream: IO[str] | None) -> int:
    """Columns from $COLUMNS, else of the terminal of `stream`, else 80; at least 40."""
    told = os.environ.get("COLUMNS", "")
    width = int(told) if told.isascii() and told.isdigit() and len(told) < 6 else 0
    return max(width or _of_terminal(stream) or _USUAL, _LEAST)


def _of_terminal(stream: IO[str] | None) -> int:
    descriptors = [1, 2, 0] if stream is None else [_descriptor(stream)]
    for descriptor in descriptors:
        try:
            return os.get_terminal_size(descriptor).columns
        except OSError:
            continue
    return 0


def _descriptor(stream: IO[str]) -> int:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return -1
