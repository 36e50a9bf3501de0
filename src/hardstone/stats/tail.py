"""The largest values of a series: exceedances of a threshold, maxima of blocks, and Pareto's
distribution fitted to them.

With shape s and scale c an exceedance is above y with the probability (1 + s y / c)**(-1 / s), for
s = 0 exp(-y / c). Both fits go over t = s / c: given t, the shape of greatest likelihood is the
mean of ln(1 + t y) (Grimshaw 1993), so the likelihood has one dimension.

Whether they are stationary, whether large values come in clusters, and whether a tail fitted to
some of them foresees the others.
"""

from __future__ import annotations

from math import exp, sqrt

import msgspec
import numpy as np
from numpy.typing import NDArray

from hardstone.stats.histogram import Bins
from hardstone.stats.rank_tests import mean_ranks

FloatArray = NDArray[np.float64]
_GRID = 400
_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 60
_LEAST_SHAPE = -1.0  # below it the likelihood has no maximum
_NODES = 15
_TINY = 1e-9


class ParetoFit(msgspec.Struct, frozen=True):
    """Shape (no unit) and scale (that of the exceedances)."""

    shape: float
    scale: float


def zhang_stephens(exceedances: FloatArray) -> ParetoFit:
    """The quasi-Bayesian estimate of Zhang and Stephens 2009, of exceedances, shape (n,)."""
    t, weights = _weighted(exceedances)
    return _fit_at(exceedances, float(t @ weights))


def most_likely(exceedances: FloatArray) -> ParetoFit | None:
    """The fit of greatest likelihood with a shape above -1; None where the likelihood has no
    maximum there, but rises to its edge."""
    largest = float(exceedances.max())
    places = np.linspace(-9.0, 9.0, _GRID)

    def likelihood(place: FloatArray) -> FloatArray:
        return _likelihood(exceedances, np.expm1(place) / largest)

    found = likelihood(places)
    best = int(np.argmax(found))
    if best in (0, _GRID - 1) or not np.isfinite(found[best - 1 : best + 2]).all():
        return None
    low, high = places[best - 1], places[best + 1]
    for _ in range(_STEPS):
        one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        values = likelihood(np.array([one, two]))
        low, high = (low, two) if values[0] >= values[1] else (one, high)
    return _fit_at(exceedances, float(np.expm1((low + high) / 2)) / largest)


class NextMaximum(msgspec.Struct, frozen=True):
    """What the largest exceedance of further values is, if nothing changes: a mixture.

    `shapes`, `scales` and `weights`, shape (m,), are the fits that the exceedances leave open;
    `count` exceedances were seen, and `times` as many values are to come.
    """

    shapes: FloatArray
    scales: FloatArray
    weights: FloatArray
    count: int
    times: float

    def below(self, exceedance: float) -> float:
        """The probability that no exceedance of the further values is above `exceedance`.

        The number to come is Poisson with a mean as uncertain as `count` makes it (Gamma).
        """
        beyond = _survival(exceedance, self.shapes, self.scales)
        return float(self.weights @ (1 + self.times * beyond) ** -float(self.count))

    def quantile(self, probability: float) -> float:
        """The exceedance that `below` gives `probability`; 0 where none is that likely."""
        if self.below(0.0) >= probability:
            return 0.0
        low, high = 0.0, float(self.scales.max())
        while self.below(high) < probability and high < 1e18:
            low, high = high, 2 * high
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < probability else (low, middle)
        return high


def next_maximum(exceedances: FloatArray, times: float) -> NextMaximum:
    """The predictive distribution of the next maximum, over all fits and not the best one.

    The weights of Zhang and Stephens are the posterior of t. Given t, n times the mean of
    ln(1 + t y) over the shape is Gamma(n), here by its quantiles.
    """
    from scipy import special

    count = exceedances.size
    t, weights = _weighted(exceedances)
    likely = _shapes(exceedances, t)
    nodes = special.gammaincinv(count, (np.arange(_NODES) + 0.5) / _NODES)
    shapes = np.outer(count * likely, 1 / nodes).ravel()
    scales = shapes / np.repeat(t, _NODES)
    return NextMaximum(shapes, scales, np.repeat(weights, _NODES) / _NODES, count, times)


def _weighted(exceedances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The grid of Zhang and Stephens over t, and the weight of each of its points."""
    ordered = np.sort(exceedances)
    count = ordered.size
    points = 20 + int(count**0.5)
    quartile = ordered[int(count / 4 + 0.5) - 1]
    places = np.arange(1, points + 1) - 0.5
    t = -(1 / ordered[-1] + (1 - np.sqrt(points / places)) / (3 * quartile))
    t = np.where(np.abs(t) * ordered[-1] < _TINY, _TINY / ordered[-1], t)
    likelihood = _likelihood(exceedances, t)
    weights = np.exp(likelihood - likelihood.max())
    return t, weights / weights.sum()


def _likelihood(exceedances: FloatArray, t: FloatArray) -> FloatArray:
    """The log likelihood at each t with its best shape; minus infinity where that is below -1."""
    t = np.where(np.abs(t) * exceedances.max() < _TINY, _TINY / exceedances.max(), t)
    shapes = _shapes(exceedances, t)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = exceedances.size * (np.log(t / shapes) - shapes - 1)
    return np.where((shapes > _LEAST_SHAPE) & np.isfinite(found), found, -np.inf)


def _shapes(exceedances: FloatArray, t: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log1p(np.outer(t, exceedances)).mean(axis=1), dtype=np.float64)


def _fit_at(exceedances: FloatArray, t: float) -> ParetoFit:
    if abs(t) * exceedances.max() < _TINY:
        t = _TINY / float(exceedances.max())
    shape = float(_shapes(exceedances, np.array([t]))[0])
    return ParetoFit(shape, shape / t)


def _survival(exceedance: float, shapes: FloatArray, scales: FloatArray) -> FloatArray:
    inside = np.maximum(1 + shapes * exceedance / scales, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(-np.log(inside) / shapes), dtype=np.float64)


LEAST_EXCEEDANCES = 100
MOST_EXCEEDANCES = 1000
SHARE = 0.01


class Tail(msgspec.Struct, frozen=True):
    """`exceedances`, ascending, shape (n,), are how far the values above `threshold` are above it.

    Values of one bucket are spread evenly over it; the last one is exact. `twins_count`: pairs of
    values that share a bucket.
    """

    threshold: float
    exceedances: FloatArray
    twins_count: int

    def above(self, share: float) -> FloatArray:
        """The exceedances of a higher threshold: the largest `share` of them."""
        size = self.exceedances.size
        kept = max(round(share * size), 2)
        return np.asarray(self.exceedances[size - kept :] - self.exceedances[size - kept - 1])


def tail_of(bins: Bins, largest: int) -> Tail | None:
    """The largest 1 % of the values, at most MOST_EXCEEDANCES; None if they are fewer than
    LEAST_EXCEEDANCES, or some of them overflowed."""
    wanted = min(int(bins.total * SHARE), MOST_EXCEEDANCES)
    place = edge_above(bins, wanted)
    if bins.overflow or place is None:
        return None
    count = bins.count[place + 1 :]
    if count.sum() < LEAST_EXCEEDANCES:
        return None
    threshold = float(bins.upper[place]) + 0.5
    spread = [
        low - 0.5 + (high - low + 1) * (np.arange(many) + 0.5) / many
        for low, high, many in zip(
            bins.lower[place + 1 :], bins.upper[place + 1 :], count, strict=True
        )
    ]
    values = np.concatenate(spread)
    values[-1] = max(float(largest), values[-2])
    return Tail(threshold, values - threshold, int((count * (count - 1)).sum()) // 2)


def edge_above(bins: Bins, wanted: int) -> int | None:
    """The place of the lowest bucket with at most `wanted` values above it; None without one."""
    above = bins.total - bins.underflow - np.cumsum(bins.count)
    places = np.flatnonzero(above <= wanted)
    return int(places[0]) if places.size and wanted > 0 else None


LEAST_BLOCKS = 100
FOLDS = 10
LEAST_FOLDS_HELD = 8
_PARTS = 4
_BACK_TEST_QUANTILE = 0.7
_MOST_ABOVE = 1000  # more say no more, and a fit takes memory for each

IntArray = NDArray[np.int64]


def level_p(maxima: IntArray) -> float:
    """p of "four equal parts have the same level": Kruskal and Wallis 1952, ties corrected."""
    from scipy import special

    ranks = mean_ranks(maxima)
    count = ranks.size
    parts = np.array_split(ranks, _PARTS)
    between = sum(part.sum() ** 2 / part.size for part in parts)
    statistic = 12 / (count * (count + 1)) * between - 3 * (count + 1)
    _, ties = np.unique(maxima, return_counts=True)
    correction = 1 - float((ties**3 - ties).sum()) / (count**3 - count)
    if correction <= 0:
        return 1.0
    return float(special.chdtrc(_PARTS - 1, statistic / correction))


def neighbour_p(maxima: IntArray | NDArray[np.float64]) -> float:
    """p of "neighbours do not depend on each other": rank correlation of each with the next."""
    from scipy import special

    ranks = mean_ranks(maxima)
    one, two = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    spread = sqrt(float((one**2).sum() * (two**2).sum()))
    if not spread:
        return 1.0
    return float(special.erfc(abs(float(one @ two)) / spread * sqrt(one.size / 2)))


def crowding(maxima: IntArray, threshold: int, above_count: int) -> float:
    """By how many standard deviations fewer blocks hold the `above_count` values above `threshold`
    than if they came independently (the classical occupancy problem)."""
    blocks = maxima.size
    hit = int((maxima > threshold).sum())
    load = above_count / blocks
    expected = blocks * (1 - exp(-load))
    variance = blocks * exp(-load) * (1 - (1 + load) * exp(-load))
    return (expected - hit) / sqrt(variance) if variance > 0 else 0.0


def close_gaps_p(places: IntArray, count: int) -> float:
    """p of "the largest values lie independently among `count`", from how many of their distances
    are below a tenth of the mean distance. `places`: their numbers in the series."""
    from scipy import special

    if places.size < 2:
        return 1.0
    gaps = np.diff(np.sort(places))
    is_close = 10.0 * (places.size + 1) * gaps.astype(np.float64) < count
    return float(special.bdtrc(int(is_close.sum()) - 1, gaps.size, -np.expm1(-0.1)))


def folds_held(maxima: IntArray, confidence: float) -> int:
    """In how many of FOLDS tenths the maximum lies where the other nine foresee it.

    The tail is fitted to the maxima above the 70 % quantile of the nine tenths, at most 1000. Each
    tenth is left out once, so that the ten outcomes hardly depend on each other: a cut into first
    part and rest would ask for the same few maxima again and again.
    """
    held = 0
    side = (1 - confidence) / 2
    for number, fold in enumerate(np.array_split(maxima, FOLDS)):
        parts = np.array_split(maxima, FOLDS)
        rest = np.concatenate(parts[:number] + parts[number + 1 :])
        threshold = float(np.quantile(rest, max(_BACK_TEST_QUANTILE, 1 - _MOST_ABOVE / rest.size)))
        above = np.asarray(rest[rest > threshold] - threshold, dtype=np.float64)
        if above.size < 2:
            continue
        foreseen = next_maximum(above, fold.size / rest.size)
        held += side <= foreseen.below(max(float(fold.max()) - threshold, 0.0)) <= 1 - side
    return held
