"""The least concave majorant of points: the lowest concave line that none of them lies above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Point = tuple[float, float]


def concave_majorant(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The corners of the least concave majorant of the points (`x`, `y`), shape (n,).

    `x` ascends strictly. The first and the last point are corners.
    """
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    corners: list[Point] = []
    for point in points:
        while len(corners) > 1 and _is_below(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    found = np.array(corners, dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _is_below(first: Point, middle: Point, last: Point) -> bool:
    """Whether the middle point lies on or below the line between the others."""
    rise = (last[1] - first[1]) * (middle[0] - first[0])
    return (middle[1] - first[1]) * (last[0] - first[0]) <= rise
