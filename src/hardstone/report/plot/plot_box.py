"""The room that a part of a drawing takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from hardstone.report.plot.text_size import width_of

# Of the size of a letter: how far the baseline is below the place of the text.
_BASELINES = {"top": 0.79, "middle": 0.3, "bottom": -0.21, "alphabetic": 0.0}


@dataclass
class Box:
    left: float = inf
    top: float = inf
    right: float = -inf
    bottom: float = -inf

    def add(self, left: float, top: float, right: float, bottom: float) -> None:
        self.left = min(self.left, left)
        self.top = min(self.top, top)
        self.right = max(self.right, right)
        self.bottom = max(self.bottom, bottom)

    def join(self, other: Box, x: float = 0, y: float = 0) -> None:
        self.add(other.left + x, other.top + y, other.right + x, other.bottom + y)


def baseline(name: str, size: float) -> int:
    """How far below its place text is written."""
    return _half_up(_BASELINES[name] * size)


def text_box(
    text: str,
    x: float,
    y: float,
    size: float,
    align: str = "start",
    at: str = "alphabetic",
    *,
    is_bold: bool = False,
) -> Box:
    """`align` and `at` say which point of the text is at (x, y)."""
    width = width_of(text, size, is_bold=is_bold)
    left = x - (width / 2 if align == "middle" else width if align == "end" else 0)
    top = y + baseline(at, size) - _half_up(0.8 * size)
    return Box(left, top, left + width, top + size)


def _half_up(value: float) -> int:
    return int(value + 0.5) if value >= -0.5 else -int(0.5 - value)
