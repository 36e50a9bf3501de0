"""The generalised Pareto distribution fitted to exceedances, twice, and the next maximum from it.

With shape s and scale c an exceedance is above y with the probability (1 + s y / c)**(-1 / s), for
s = 0 exp(-y / c). Both fits go over t = s / c: given t, the shape of greatest likelihood is the
mean of ln(1 + t y) (Grimshaw 1993), so the likelihood has one dimension.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

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
