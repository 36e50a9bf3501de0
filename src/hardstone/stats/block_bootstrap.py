"""Intervals of a statistic: of one run from blocks of it, or of at least ten runs.

Moving blocks (Kunsch 1989): samples are put together from blocks of neighbours drawn at random, so
that what depends within a block still does. The caller chooses the length of a block, of at least
0.5 s of the run. A histogram has no order: this is for values in theirs.

Where there are at least ten runs, the run is the unit: their median, by order statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from statistics import median

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardstone.stats.projection import neighbour_p
from hardstone.stats.quantiles import rank_interval

CONFIDENCE = 0.95
LEAST_BLOCKS = 10
LEAST_RUNS = 10
LEAST_BLOCK_NS = 500_000_000
DRAWS = 2000
_MOST_OF_ONE = 0.1
_DEPEND_LEVEL = 0.05

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], float]


class Interval(msgspec.Struct, kw_only=True, frozen=True):
    """An estimate with its interval at `confidence`; `how`: where that is from, in words."""

    estimate: float
    low: float
    high: float
    confidence: float
    how: str


def block_bootstrap(
    values: ArrayLike,
    block_length: int,
    statistic: Statistic,
    *,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """The percentile interval of `statistic` of `values`, shape (n,), in their order.

    ValueError for a statistic that a single value decides, as a maximum does: a sample of the
    values has no larger one, so that its interval would end at what was observed. Also for fewer
    than LEAST_BLOCKS blocks, values that are not finite, and unless 0 < confidence < 1.
    """
    raw = np.asarray(values, dtype=np.float64).ravel()
    if not 0 < confidence < 1 or draws < 1:
        raise ValueError("0 < confidence < 1 and at least one draw are needed")
    if block_length < 1 or raw.size < LEAST_BLOCKS * block_length:
        raise ValueError(f"{raw.size} values are fewer than {LEAST_BLOCKS} blocks")
    if not np.isfinite(raw).all():
        raise ValueError("every value must be finite")
    _refuse_extremes(raw, statistic)
    draw = np.random.default_rng(seed)
    found = [statistic(_sample(raw, block_length, draw)) for _ in range(draws)]
    side = (1 - confidence) / 2
    low, high = np.quantile(found, [side, 1 - side])
    return Interval(
        estimate=float(statistic(raw)),
        low=float(low),
        high=float(high),
        confidence=confidence,
        how=f"block bootstrap, {raw.size // block_length} blocks of {block_length} values",
    )


def interval_of_runs(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """The median of one statistic of each run, with its interval by order statistics.

    None for fewer than LEAST_RUNS runs, and where they are too few for `confidence`. ValueError for
    values that are not finite, and unless 0 < confidence < 1.
    """
    if not 0 < confidence < 1 or not all(map(isfinite, values)):
        raise ValueError("0 < confidence < 1 and finite values are needed")
    if len(values) < LEAST_RUNS:
        return None
    first, last = rank_interval(len(values), 0.5, confidence)
    if first < 1 or last > len(values):
        return None
    ordered = sorted(values)
    return Interval(
        estimate=median(ordered),
        low=ordered[first - 1],
        high=ordered[last - 1],
        confidence=confidence,
        how=f"median of {len(ordered)} runs, order statistics",
    )


def runs_depend(values: Sequence[float]) -> bool:
    """Whether a statistic of each run, in the order in which they ran, depends on that of the run
    before: rank correlation of neighbours, p < 0.05. Then `interval_of_runs` is too narrow.

    Independent runs are found so in one of twenty cases. Ten runs show little: False is no proof.
    """
    return len(values) > 2 and neighbour_p(np.asarray(values, dtype=np.float64)) < _DEPEND_LEVEL


def _sample(raw: FloatArray, block_length: int, draw: np.random.Generator) -> FloatArray:
    blocks = -(-raw.size // block_length)
    starts = draw.integers(0, raw.size - block_length + 1, blocks)
    places = (starts[:, None] + np.arange(block_length)).ravel()
    return np.asarray(raw[places[: raw.size]])


def _refuse_extremes(raw: FloatArray, statistic: Statistic) -> None:
    """Whether the statistic follows its largest or its smallest value alone."""
    before = statistic(raw)
    step = float(np.ptp(raw)) + 1.0
    for place, way in ((int(raw.argmax()), step), (int(raw.argmin()), -step)):
        moved = raw.copy()
        moved[place] += way
        if not abs(statistic(moved) - before) <= _MOST_OF_ONE * step:
            raise ValueError(
                "a statistic that one extreme value decides has no interval from its own values"
            )
