"""The picture of two distributions: the ratio of their quantiles, with a band.

A shift function (Doksum 1974) shows where two distributions differ: 1 everywhere if they do not, a
constant if one is the other times that, and a rise at the end if only the tail differs. It has no
verdict.
"""

from __future__ import annotations

import msgspec

from hardstone.model import Histogram
from hardstone.stats.histogram import Bins, bins_of
from hardstone.stats.quantiles import is_printable
from hardstone.stats.two_runs import widened_quantile

CONFIDENCE = 0.95
LEVELS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
    *(1 - part * 10.0**-power for power in (2, 3, 4, 5) for part in (1, 0.5, 0.2)),
    1 - 1e-6,
)
ABOUT = (
    "Ratio of the quantiles. 1: alike; a constant: one is a multiple of the other; a rise at the "
    "end: only the tail differs. The band holds at 95 % as a whole, widened because values of one "
    "run depend on each other. It ends where fewer than 10 values are beyond the quantile."
)


class ShiftPoint(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of the other distribution divided by that of the first.

    `low` and `high` are the band there; None: unbounded.
    """

    q: float
    ratio: float
    low: float | None
    high: float | None


def shift_function(
    first: Histogram, other: Histogram, *, confidence: float = CONFIDENCE
) -> list[ShiftPoint]:
    """The ratios of `other` to `first`, q ascending, where both have at least 10 values beyond q.

    The band holds at `confidence` for all points together (Bonferroni), if the values depend on
    each other no more than stats.two_runs.DEPENDENCE allows. Where a quantile is 0 or outside of
    the buckets there is no point. ValueError unless 0 < confidence < 1; InputError if unreadable.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
    below, above = bins_of(first), bins_of(other)
    count = min(below.total, above.total)
    levels = [q for q in LEVELS if is_printable(q, count) and is_printable(1 - q, count)]
    of_each = 1 - (1 - confidence) / 2 / max(len(levels), 1)
    points = (_point(below, above, q, of_each) for q in levels)
    return [point for point in points if point is not None]


def _point(below: Bins, above: Bins, q: float, confidence: float) -> ShiftPoint | None:
    one = widened_quantile(below, q, confidence)
    two = widened_quantile(above, q, confidence)
    if one is None or two is None or not one.value or not two.value:
        return None
    return ShiftPoint(
        q=q,
        ratio=two.value / one.value,
        low=(two.low or 0) / one.high if one.high else None,
        high=two.high / one.low if one.low and two.high is not None else None,
    )
