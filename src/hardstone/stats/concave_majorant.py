"""The least concave majorant of a curve: the lowest concave line that no point of it is above."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Slope = Callable[[int, int], float]


def concave_majorant(points: int, slope: Slope) -> list[int]:
    """The corners of the least concave majorant, as places among `points` in ascending order.

    `slope` gives the slope of the line from an earlier point to a later one. The first and the
    last point are corners; from corner to corner slopes fall.
    """
    corners, slopes = [0] if points else [], list[float]()
    for place in range(1, points):
        last = slope(corners[-1], place)
        while slopes and slopes[-1] <= last:
            corners.pop()
            slopes.pop()
            last = slope(corners[-1], place)
        corners.append(place)
        slopes.append(last)
    return corners
