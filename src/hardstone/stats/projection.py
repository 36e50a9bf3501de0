"""The next maximum of a series by extreme values: a projection from the largest values, and only
where nothing speaks against it.

With shape s and scale c an exceedance is above y with the probability (1 + s y / c)**(-1 / s), for
s = 0 exp(-y / c). Both fits go over t = s / c: given t, the shape of greatest likelihood is the
mean of ln(1 + t y) (Grimshaw 1993), so the likelihood has one dimension.

Checked are whether the values are stationary, whether large ones come in clusters, and whether a
tail fitted to some of them foresees the others. Levels are such that values that are independent
and of one kind are refused in about one of twenty cases.

Peaks over threshold: the largest 1 % of the values, at most 1000 of them, follow a generalised
Pareto distribution (Pickands 1975) if they are independent, of one kind and of one time. Each of
these is checked first, and each failure is a reason to refuse. A refusal is
the usual outcome: what makes a maximum is seldom of one kind.

The interval holds for the largest of as many values again, or up to ten times as many, measured
in the same way on the same system in the same state. It is never a worst case.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, sqrt
from typing import Literal

import msgspec
import numpy as np

from hardstone import event_names
from hardstone.model import Result, RunDocument, Series
from hardstone.stats.histogram import Bins, IntArray, bins_of
from hardstone.stats.join import joins_of
from hardstone.stats.quantiles import PATH_NOT_TAKEN, quantile_of_bins, why_no_quantile
from hardstone.stats.resampling import FloatArray, mean_ranks, neighbour_p
from hardstone.stats.trust import MISSING, lacks
from hardstone.units import format_count, format_ns

CONFIDENCE = 0.95
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
_MOST_EXCEEDANCES = 1000
SHARE = 0.01
LEAST_VALUES = round(LEAST_EXCEEDANCES / SHARE)


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


def _tail_of(bins: Bins, largest: int) -> Tail | None:
    """The largest 1 % of the values, at most _MOST_EXCEEDANCES; None if they are fewer than
    LEAST_EXCEEDANCES, or some of them overflowed."""
    wanted = min(int(bins.total * SHARE), _MOST_EXCEEDANCES)
    place = _edge_above(bins, wanted)
    if bins.overflow or place is None or not bins.has_quantiles:
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


def _edge_above(bins: Bins, wanted: int) -> int | None:
    """The place of the lowest bucket with at most `wanted` values above it; None without one."""
    above = bins.total - bins.underflow - np.cumsum(bins.count)
    places = np.flatnonzero(above <= wanted)
    return int(places[0]) if places.size and wanted > 0 else None


LEAST_BLOCKS = 100
_FOLDS = 10
_LEAST_FOLDS_HELD = 8
_PARTS = 4
_BACK_TEST_QUANTILE = 0.7
_MOST_ABOVE = 1000  # more say no more, and a fit takes memory for each


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


def folds_held(maxima: IntArray) -> int:
    """How many of ten tenths have their maximum where the other nine foresee it.

    The tail is fitted to the maxima above the 70 % quantile of the nine tenths, at most 1000. Each
    tenth is left out once, so that the ten outcomes hardly depend on each other: a cut into first
    part and rest would ask for the same few maxima again and again.
    """
    count = 0
    side = (1 - CONFIDENCE) / 2
    for number, fold in enumerate(np.array_split(maxima, _FOLDS)):
        parts = np.array_split(maxima, _FOLDS)
        rest = np.concatenate(parts[:number] + parts[number + 1 :])
        threshold = float(np.quantile(rest, max(_BACK_TEST_QUANTILE, 1 - _MOST_ABOVE / rest.size)))
        above = np.asarray(rest[rest > threshold] - threshold, dtype=np.float64)
        if above.size < 2:
            continue
        foreseen = next_maximum(above, fold.size / rest.size)
        count += side <= foreseen.below(max(float(fold.max()) - threshold, 0.0)) <= 1 - side
    return count


_LEVEL = 0.005  # of each check of stationarity
_CLUSTER_LEVEL = 0.001
_FAR = 3.0  # standard deviations
_MOST_SHAPE = 0.5
_STEPS_OF_SCALE = 50
_MODE_RATIO = 10
_MODE_BEYOND = 100
_UNSTABLE = 2.58

Code = Literal[
    "unit",
    "overflow",
    "few",
    "order",
    "moved",
    "tied",
    "not stationary",
    "clustered",
    "heavy",
    "unstable",
    "disagree",
    "back-test",
    "rare mode",
    "missing",
]
REASONS: dict[Code, str] = {
    "unit": "Only durations are projected.",
    "overflow": "Of values beyond the histogram only the number is known.",
    "few": f"The tail needs {LEAST_EXCEEDANCES} exceedances, that is 10 000 values.",
    "order": f"To judge stationarity, the maxima of {LEAST_BLOCKS} intervals are needed, in order.",
    "moved": "A tail describes one state of the machine: nothing may have changed or interfered.",
    "tied": "Values rounded by the clock look like a tail with an end.",
    "not stationary": "A tail that changes with time says nothing about the next hour.",
    "clustered": "Large values that occur together are one event, counted several times.",
    "heavy": f"Above a shape of {_MOST_SHAPE} the next maximum has no finite mean or spread.",
    "unstable": "A homogeneous tail has the same shape above every threshold.",
    "disagree": "Two estimators of the same tail must give the same shape.",
    "back-test": "Nine tenths of the run must predict the maximum of the remaining tenth.",
    "rare mode": "A single event far beyond all others has another cause.",
    "missing": "A value that a tool dropped or overwrote may be the largest.",
}


class Reason(msgspec.Struct, frozen=True):
    """`code` for programs; `text` is the finding with its figures. REASONS says why it matters."""

    code: Code
    text: str


def _reasons_before(series: Series, result: Result, document: RunDocument) -> list[Reason]:
    """What refuses a projection whatever the tail looks like."""
    found = []
    bins = bins_of(series.histogram)
    if series.unit != "ns":
        found.append(Reason("unit", f"the unit is {series.unit}"))
    if why := why_no_quantile(series):
        found.append(Reason("overflow", why.replace("so no quantile", "so no tail")))
    elif bins.overflow:
        found.append(Reason("overflow", f"{bins.overflow} values are beyond the histogram"))
    elif _tail_of(bins, series.max or 0) is None:
        few = f"fewer than {LEAST_EXCEEDANCES} exceedances"
        found.append(Reason("few", f"{few}: {SHARE:.0%} of {bins.total} values"))
    if lacks(document, "values"):
        found.append(Reason("missing", MISSING))
    count = maxima_of(series).size
    if count < LEAST_BLOCKS:
        needed = f"{LEAST_BLOCKS} are needed to see whether it is stationary"
        found.append(Reason("order", f"maxima of {count} intervals are known, {needed}"))
    return found + [Reason("moved", text) for text in _interference(result, document)]


def _reasons_of_tail(tail: Tail, series: Series, bins: Bins) -> list[Reason]:
    """What refuses a projection from this tail."""
    found = [_tied(tail), _heavy(tail), _unstable(tail), _disagree(tail)]
    maxima = maxima_of(series)
    if maxima.size >= LEAST_BLOCKS:
        found += [
            _not_stationary(maxima),
            _crowded(maxima, bins) or _close(series),
            _not_foreseen(maxima),
        ]
    found.append(_rare_mode(series, bins))
    return [one for one in found if one is not None]


def maxima_of(series: Series) -> IntArray:
    """The maxima of all intervals that have one, in their order, shape (n,)."""
    return np.array([one for one in series.maxima_per_s if one is not None], dtype=np.int64)


def _interference(result: Result, document: RunDocument) -> Iterator[str]:
    """What interfered, or changed, while the series was measured."""
    counters = result.environment
    if any(event.name == event_names.THROTTLED for event in result.events):
        yield f"the test {event_names.CPU_LOST}"
    for name, text in _COUNTERS.items():
        if counters.get(name, 0) > 0:
            yield f"{text}: {counters[name]}"
    if counters.get("steal_ns", 0) > 0:
        yield f"steal time: {format_ns(counters['steal_ns'])}"
    elif document.system.get("virtual.hypervisor") and "steal_ns" not in counters:
        yield "virtual machine with unknown steal time"
    if document.system.get("power.frequency_is_fixed") is False:
        yield "the CPU frequency is not fixed"
    if document.environment_moved:
        facts = ", ".join(sorted({changed.fact for changed in document.environment_moved}))
        yield f"the machine changed during the run: {facts}"
    if joins_of(result):
        yield "the recording was resumed, with a gap"
    if document.trust.grade == "untrustworthy":
        yield "the run is not trustworthy"


_COUNTERS = {
    "thermal_throttled_count": "slowed down because of heat",
    "throttled_count": "its control group was throttled",
    "migrations_count": "migrations",
}


def _tied(tail: Tail) -> Reason | None:
    """Estimates the step in which values come from the number of pairs that share a bucket.

    For a density f and steps w, a pair shares a bucket with a probability of w times the integral
    of f squared: here w / (scale (2 + shape)).
    """
    fit = zhang_stephens(tail.exceedances)
    count = tail.exceedances.size
    step = tail.twins_count * 2 / (count * (count - 1)) * fit.scale * (2 + fit.shape)
    if step * _STEPS_OF_SCALE <= fit.scale:
        return None
    steps = f"values come in steps of about {format_ns(step)}"
    return Reason(
        "tied",
        (
            f"exceedances are tied: {steps}, but the scale of the tail is only "
            f"{format_ns(fit.scale)}"
        ),
    )


def _heavy(tail: Tail) -> Reason | None:
    shape = zhang_stephens(tail.exceedances).shape
    return Reason("heavy", f"the shape is {shape:.2f}") if shape > _MOST_SHAPE else None


def _unstable(tail: Tail) -> Reason | None:
    """Standard errors of the difference: the tail of a higher threshold is part of the other."""
    count = tail.exceedances.size
    shape = zhang_stephens(tail.exceedances).shape
    for share in (0.5, 0.25):
        higher = tail.above(share)
        other = zhang_stephens(higher).shape
        error = (1 + max(shape, -0.5)) * sqrt(1 / higher.size - 1 / count)
        if abs(other - shape) > _UNSTABLE * error:
            shapes = f"{shape:.2f} of all exceedances, {other:.2f} of the largest {share:.0%}"
            return Reason("unstable", f"the shape depends on the threshold: {shapes}")
    return None


def _disagree(tail: Tail) -> Reason | None:
    one, two = zhang_stephens(tail.exceedances), most_likely(tail.exceedances)
    if two is None:
        return Reason("disagree", "the likelihood of the tail has no maximum")
    if abs(one.shape - two.shape) <= (1 + max(one.shape, -0.5)) / sqrt(tail.exceedances.size):
        return None
    shapes = f"{one.shape:.2f} (Zhang-Stephens), {two.shape:.2f} (likelihood)"
    return Reason("disagree", f"the estimators disagree about the shape: {shapes}")


def _not_stationary(maxima: IntArray) -> Reason | None:
    if level_p(maxima) < _LEVEL:
        return Reason("not stationary", "the maxima of the quarters of the run differ in level")
    if neighbour_p(maxima) < _LEVEL:
        return Reason("not stationary", "the maxima of neighbouring intervals are correlated")
    return None


def _crowded(maxima: IntArray, bins: Bins) -> Reason | None:
    place = _edge_above(bins, maxima.size)
    if place is None:
        return None
    threshold = int(bins.upper[place])
    count = int(bins.count[place + 1 :].sum())
    if crowding(maxima, threshold, count) <= _FAR:
        return None
    hit = int((maxima > threshold).sum())
    where = f"{count} values above {format_ns(threshold)} lie in {hit} of {maxima.size} intervals"
    return Reason("clustered", f"exceedances occur together: {where}")


def _close(series: Series) -> Reason | None:
    places = np.array([one.index for one in series.worst], dtype=np.int64)
    if close_gaps_p(places, series.count) >= _CLUSTER_LEVEL:
        return None
    return Reason("clustered", "the largest values occur together")


def _not_foreseen(maxima: IntArray) -> Reason | None:
    held = folds_held(maxima)
    if held >= _LEAST_FOLDS_HELD:
        return None
    return Reason("back-test", f"the back-test holds in {held} of {_FOLDS} tenths of the run")


def _rare_mode(series: Series, bins: Bins) -> Reason | None:
    q = 1 - _MODE_BEYOND / bins.total if bins.total > _MODE_BEYOND else 0.0
    found = quantile_of_bins(bins, q) if q else None
    if found is None or found.value is None or (series.max or 0) <= _MODE_RATIO * found.value:
        return None
    far = f"{format_ns(series.max or 0)} is over {_MODE_RATIO} times {format_ns(found.value)}"
    return Reason("rare mode", f"{far}, which {_MODE_BEYOND} values exceed")


_MOST_TIMES = 10


class Projection(msgspec.Struct, kw_only=True, frozen=True):
    """The largest of `next_count` further values lies from `low_ns` to `high_ns`, with `median_ns`
    in the middle, at `confidence`, if nothing changes. `worst_ns` was observed, in `count` values.

    The tail: `exceedances_count` values above `threshold_ns`, with `shape` and `scale_ns`.
    `text` says it in words.
    """

    low_ns: float
    median_ns: float
    high_ns: float
    confidence: float
    next_count: int
    worst_ns: int
    count: int
    threshold_ns: float
    exceedances_count: int
    shape: float
    scale_ns: float
    text: str


class Refusal(msgspec.Struct, kw_only=True, frozen=True):
    """Why nothing is projected: every reason, not only the first. `text` says it in words."""

    reasons: list[Reason]
    text: str


def project(
    series: Series, result: Result, document: RunDocument, *, times: float = 1.0
) -> Projection | Refusal:
    """The next maximum of a series of `result`, which is one of `document`: of `times` as many
    values as it has.

    ValueError unless 0 < times <= 10; InputError if the histogram is unreadable.
    """
    if not 0 < times <= _MOST_TIMES:
        raise ValueError(f"{times:g} times the data: at most {_MOST_TIMES} are projected")
    reasons = _reasons_before(series, result, document)
    bins = bins_of(series.histogram)
    tail = _tail_of(bins, series.max or 0)
    if tail is not None:
        reasons += _reasons_of_tail(tail, series, bins)
    if reasons or tail is None:
        texts = "; ".join(one.text for one in reasons)
        return Refusal(reasons=reasons, text=f"No projection: {texts}. {PATH_NOT_TAKEN}")
    return _projected(series, tail, times)


def _projected(series: Series, tail: Tail, times: float) -> Projection:
    foreseen = next_maximum(tail.exceedances, times)
    side = (1 - CONFIDENCE) / 2
    low, median, high = (tail.threshold + foreseen.quantile(one) for one in (side, 0.5, 1 - side))
    fit = zhang_stephens(tail.exceedances)
    next_count = round(times * series.count)
    worst = series.max or 0
    return Projection(
        low_ns=low,
        median_ns=median,
        high_ns=high,
        confidence=CONFIDENCE,
        next_count=next_count,
        worst_ns=worst,
        count=series.count,
        threshold_ns=tail.threshold,
        exceedances_count=tail.exceedances.size,
        shape=fit.shape,
        scale_ns=fit.scale,
        text=" ".join(
            [
                "Projection, not observed: if nothing changes, the largest of",
                f"{format_count(next_count)} more values is {format_ns(low)} to {format_ns(high)}",
                f"({CONFIDENCE:.0%}). Worst observed: {format_ns(worst)} in",
                f"{format_count(series.count)}. {PATH_NOT_TAKEN}",
            ]
        ),
    )
