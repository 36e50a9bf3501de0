"""Tests and intervals that assume no distribution: signed ranks, sign flips, and resampled
blocks.

Wilcoxon's signed-rank test with zeros ranked and then left out (Pratt 1959), tied ranks
averaged, and the null distribution counted exactly over all signs, ties included. The
estimate is that of Hodges and Lehmann (1963), with the interval that inverts the test.
scipy.stats.wilcoxon gives the same where there are neither ties nor zeros, and takes a
second to import.

Under the hypothesis that the terms are symmetric about 0, each of the 2**n choices of their signs
is as likely as the one seen (Fisher 1935). A sum at most as large as the one seen, with some signs
flipped, means that the flipped terms add up to at least 0: so p is the share of all sets of pairs,
the empty one included, whose terms add up to at least (or at most) 0. Written with the ratio of the
pairs in the terms, that share falls (or rises) with the ratio, and the interval follows from it
(Hartigan 1969).

Moving blocks (Kunsch 1989): samples are put together from blocks of neighbours drawn at random, so
that what depends within a block still does. The caller chooses the length of a block, of at least
0.5 s of the run. A histogram has no order: this is for values in theirs.

Where there are at least ten runs, the run is the unit: their median, by order statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite, sqrt
from statistics import median

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardstone.stats.quantiles import rank_interval


def mean_ranks(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place], dtype=np.float64)


class Shift(msgspec.Struct, kw_only=True, frozen=True):
    """An estimated shift of differences. `low` and `high` are its interval at `confidence`, the
    least attainable one not below the requested; all three are None if the differences are too
    few for any interval."""

    estimate: float
    low: float | None
    high: float | None
    confidence: float | None


def signed_rank_p(differences: Sequence[float]) -> float:
    """Two-sided p of "the differences are symmetric about 0"; 1.0 where all are 0."""
    # Doubled, so that averaged ranks are whole numbers.
    ranks = [int(rank) for rank in 2 * mean_ranks(np.abs(differences))]
    used = [rank for rank, one in zip(ranks, differences, strict=True) if one]
    if not used:
        return 1.0
    positive = sum(rank for rank, one in zip(ranks, differences, strict=True) if one > 0)
    distance = abs(2 * positive - sum(used))
    counts = _sign_sums(used)
    extreme = sum(n for value, n in enumerate(counts) if abs(2 * value - sum(used)) >= distance)
    return float(extreme / 2 ** len(used))


def hodges_lehmann(differences: Sequence[float], confidence: float = 0.95) -> Shift:
    """Median of the means of all pairs of differences, with its exact interval.

    ValueError for no difference, and unless 0 < confidence < 1.
    """
    if not differences or not 0 < confidence < 1:
        raise ValueError("the estimate needs a difference and 0 < confidence < 1")
    means = sorted(
        (one + other) / 2 for at, one in enumerate(differences) for other in differences[at:]
    )
    outside, achieved = _interval_rank(len(differences), 1 - confidence)
    return Shift(
        estimate=median(means),
        low=means[outside - 1] if outside else None,
        high=means[-outside] if outside else None,
        confidence=achieved,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in order; they bound the chance of any false alarm (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for place, at in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = so_far
    return adjusted


def _interval_rank(count: int, alpha: float) -> tuple[int, float | None]:
    """The rank, from 1, of the mean that bounds the interval at either end, and its confidence."""
    counts = _sign_sums(range(1, count + 1))
    below, rank, achieved = 0, 0, None
    for value, ways in enumerate(counts):
        below += ways
        tail = 2 * below / 2**count
        if tail > alpha:
            break
        rank, achieved = value + 1, 1 - tail
    return rank, achieved


def _sign_sums(ranks: Sequence[int] | range) -> list[int]:
    """How many of all choices of signs make the positive ranks add up to each value."""
    counts = [1]
    for rank in ranks:
        grown = counts + [0] * rank
        for value, ways in enumerate(counts):
            grown[value + rank] += ways
        counts = grown
    return counts


MOST_PAIRS = 30  # 2**15 sums of each half
_STEPS = 44
_FAR = 46.0  # exp: beyond any ratio of two counts of 64 bits
_ROUNDING = 1e-12

FloatArray = NDArray[np.float64]
Terms = Callable[[float], FloatArray]


def p_below(terms: FloatArray) -> float:
    """Exact one-sided p of "the terms are not below 0": small if they are. Shape (n,).

    ValueError beyond MOST_PAIRS terms.
    """
    return _share_of_sets(-terms)


def p_above(terms: FloatArray) -> float:
    """Exact one-sided p of "the terms are not above 0": small if they are. Shape (n,)."""
    return _share_of_sets(terms)


def ratio_bounds(terms: Terms, error: float) -> tuple[float | None, float | None]:
    """The ratios that the test does not refuse at `error` on either side; None: unbounded.

    `terms` gives the terms of the pairs for the natural logarithm of a ratio; none of them may
    rise with it.
    """
    low = _crossing(lambda at: p_above(terms(at)) > error)
    high = _crossing(lambda at: p_below(terms(at)) <= error)
    return (
        float(np.exp(low)) if low is not None else None,
        float(np.exp(high)) if high is not None else None,
    )


def _crossing(is_beyond: Callable[[float], bool]) -> float | None:
    """The point from which `is_beyond` is true, by bisection; None if it is so nowhere or
    everywhere."""
    low, high = -_FAR, _FAR
    if is_beyond(low) or not is_beyond(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if is_beyond(middle):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _share_of_sets(terms: FloatArray) -> float:
    """The share of all sets of terms that add up to at most 0, the empty set included.

    Each is the sum of a set of the first half and of one of the second: what is left for the
    second is looked up among its sorted sums. Sums that are 0 but for rounding count.
    """
    count = terms.size
    if count > MOST_PAIRS:
        raise ValueError(f"{count} pairs: at most {MOST_PAIRS} can be counted out")
    first, second = (_sums(half) for half in (terms[: count // 2], terms[count // 2 :]))
    slack = _ROUNDING * float(np.abs(terms).sum())
    second.sort()
    found = second.searchsorted(slack - first, side="right")
    return float(found.sum()) / 2.0**count


def _sums(terms: FloatArray) -> FloatArray:
    """The sums of all sets of terms, shape (2**n,)."""
    sums = np.zeros(1 << terms.size)
    for at, term in enumerate(terms.tolist()):
        np.add(sums[: 1 << at], term, out=sums[1 << at : 2 << at])
    return sums


def neighbour_p(maxima: NDArray[np.int64] | NDArray[np.float64]) -> float:
    """p of "neighbours do not depend on each other": rank correlation of each with the next."""
    from scipy import special

    ranks = mean_ranks(maxima)
    one, two = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    spread = sqrt(float((one**2).sum() * (two**2).sum()))
    if not spread:
        return 1.0
    return float(special.erfc(abs(float(one @ two)) / spread * sqrt(one.size / 2)))


CONFIDENCE = 0.95
LEAST_BLOCKS = 10
LEAST_RUNS = 10
DRAWS = 2000
_MOST_OF_ONE = 0.1
_DEPEND_LEVEL = 0.05

_Statistic = Callable[[FloatArray], float]


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
    statistic: _Statistic,
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


def _refuse_extremes(raw: FloatArray, statistic: _Statistic) -> None:
    """ValueError for a statistic that follows its largest or its smallest value alone."""
    before = statistic(raw)
    step = float(np.ptp(raw)) + 1.0
    for place, way in ((int(raw.argmax()), step), (int(raw.argmin()), -step)):
        changed = raw.copy()
        changed[place] += way
        if not abs(statistic(changed) - before) <= _MOST_OF_ONE * step:
            raise ValueError(
                "a statistic that depends on a single extreme value has no interval from its own "
                "values"
            )
