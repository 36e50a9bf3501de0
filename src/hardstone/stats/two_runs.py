"""The ratio of one quantile of two runs, and whether it can be called a difference.

Samples of one run depend on each other: intervals by order statistics, which assume independence,
were 3 to 7 times too narrow on real data. So the ranks are those of a sample whose interval is
DEPENDENCE times as wide: one of count / DEPENDENCE**2 values. What changes from run to run is in
no single run: only interleaved pairs (stats.pair_gate) decide about systems.
"""

from __future__ import annotations

from typing import Literal

import msgspec

DEPENDENCE = 7
Difference = Literal["higher", "lower", "no difference seen", "not decided"]


class QuantileRatio(msgspec.Struct, kw_only=True, frozen=True):
    """The quantile `q` of another run divided by that of the first.

    `low` and `high` bound the ratio at `confidence` within these two runs; None: unbounded.
    `outcome`: "higher" or "lower" if the interval is wholly beyond 1 + `margin` or its inverse, "no
    difference seen" if it is wholly within, else "not decided". `reason`: why it is not.
    """

    q: float
    ratio: float | None
    low: float | None
    high: float | None
    margin: float
    confidence: float
    outcome: Difference
    reason: str = ""
