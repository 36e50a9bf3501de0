"""The shapes of points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt

from hardstone.report.plot.plot_reading import known
from hardstone.report.plot.tenth import tenth

_TALL = sqrt(3) / 2
# Corners in halves of the width.
_CORNERS: dict[str, Sequence[tuple[float, float]]] = {
    "diamond": ((-1, 0), (0, -1), (1, 0), (0, 1)),
    "triangle-up": ((0, -_TALL), (-1, _TALL), (1, _TALL)),
    "triangle-down": ((0, _TALL), (-1, -_TALL), (1, -_TALL)),
    "triangle-left": ((-_TALL, 0), (_TALL, -1), (_TALL, 1)),
    "triangle-right": ((_TALL, 0), (-_TALL, -1), (-_TALL, 1)),
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "cross": (
        *((-1, -0.4), (-1, 0.4), (-0.4, 0.4), (-0.4, 1), (0.4, 1), (0.4, 0.4)),
        *((1, 0.4), (1, -0.4), (0.4, -0.4), (0.4, -1), (-0.4, -1), (-0.4, -0.4)),
    ),
}


@cache
def path(shape: str, size: float) -> str:
    """Around 0, with the area `size` of a square around it."""
    half = sqrt(size) / 2
    if shape == "circle":
        r = tenth(half)
        arc = f"A{r},{r},0,1,1,"
        return f"M{r},0{arc}-{r},0{arc}{r},0"
    if shape == "stroke":
        return f"M{tenth(-half)},0H{tenth(half)}"
    known(shape in _CORNERS)
    corners = (f"{tenth(x * half)},{tenth(y * half)}" for x, y in _CORNERS[shape])
    return f"M{'L'.join(corners)}Z"


@cache
def reach(shape: str, size: float) -> tuple[float, float]:
    """How far it reaches to each side, and up and down."""
    half = sqrt(size) / 2
    if shape == "stroke":
        return half, 0
    corners = _CORNERS.get(shape, ((1, 1),))
    return half * max(abs(x) for x, _ in corners), half * max(abs(y) for _, y in corners)
