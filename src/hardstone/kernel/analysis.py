"""KRN-P-PRE: each operation of the kernel with the blocking that its releases met, how often the
CPU is blocked for longer than x, and HP's share of kernel time.

With R the residual of a moment in the kernel (0 where it is not blocked), F its distribution and f
its density, the share is F(x) - x f(x) (docs/method.md). It is computed from its complement, the
share of the time in sections longer than x, which needs only the rates of longer ones.

They are ranked by the 99 % quantile of their dispatch latency: a maximum says most about how long
one looked, and a quantile with ten values beyond it hardly more. Where no operation has a thousand
values it is the 90 % quantile or the median. An operation that cannot be told from the reference,
which does nothing in the kernel, has no rank.

The idle latency is that of the same wake-ups while the CPU computes in user land. A release is
blocked if its latency is above the mean of the idle latency and 3 of its standard deviations; its
residual is the latency less that mean. docs/method.md, "Blocking intervals", derives the rest.

Releases come an exponential time after a wake-up. If S(x) is the share of them with a residual
above x, and f the density, there are S(x) + f(x) gap intervals longer than x for each release
(docs/method.md); where the gap is long, that is f(x) for each unit of time. It never rises with x,
and is estimated as such (Grenander): the slope of the least concave majorant. The interval at x
uses the same: counts left and right of x, in windows that are chosen before the data are seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, expm1

import numpy as np
from numpy.typing import NDArray

from hardstone.event_names import KERNEL_TEST
from hardstone.model import DataValue, Result, Series, as_integer
from hardstone.stats.histogram import bins_of
from hardstone.stats.identity import edges_of, index_of, parse_layout
from hardstone.stats.join import merged
from hardstone.stats.quantiles import Quantile, is_printable, lacking, quantile, values_for


def longest_of_share(series: Series, q: float) -> int | None:
    """The length up to which sections made up the share `q` of the time of all: the upper edge of
    its bucket, at most the maximum. None without values. InputError if unreadable."""
    if series.max is None:
        return None
    bins = bins_of(series.histogram)
    middles = (bins.lower.astype(np.float64) + bins.upper) / 2
    time = np.append(middles * bins.count, float(series.max) * bins.overflow)
    ends = np.append(np.minimum(bins.upper, series.max), series.max)
    reached = np.cumsum(time)
    if reached[-1] <= 0:
        return series.max
    return int(ends[int(np.searchsorted(reached, q * reached[-1] * (1 - 1e-12)))])


_NS_PER_S = 1e9
_GRID = 240
_BEYOND_WORST = 4.0


@dataclass(frozen=True)
class SectionShare:
    """The share of the time in sections longer than x: `share` from `from_ns` on; shape (n,)."""

    from_ns: FloatArray
    share: FloatArray


@dataclass(frozen=True)
class SectionLength:
    """The length x at which the share `q` of kernel time is in sections shorter than x.

    `is_below`: it is at most `value_ns`, the shortest length that can be distinguished from the
    idle latency. `low_ns` and `high_ns` bound it at 95 %; 0: below what can be distinguished; None:
    unbounded.
    """

    q: float
    value_ns: float
    is_below: bool
    low_ns: float
    high_ns: float | None


def time_longer(rate: BlockingRate) -> SectionShare:
    """The share of the time in sections longer than x.

    Where the rate falls there are sections of that length: as many as it falls by.
    """
    falls = -np.diff(rate.per_s) / _NS_PER_S
    times = falls * rate.from_ns[1:]
    return SectionShare(
        rate.from_ns, np.append(np.cumsum(times[::-1])[::-1], 0.0)[: rate.from_ns.size]
    )


def shorter_share(longer: SectionShare, kernel_share: float) -> FloatArray:
    """The share of kernel time in sections shorter than each `from_ns`, at least 0.

    `kernel_share` is the share of the time that was spent in the kernel.
    """
    return np.maximum(1 - longer.share / kernel_share, 0.0)


def section_length(
    found: Residuals, kernel_share: float, q: float, rate: BlockingRate | None = None
) -> SectionLength | None:
    """The length below which sections made up the share `q` of kernel time; None where there are
    too few releases: at least 10 that hit the kernel must be expected beyond `q`. `rate`: that of
    `found`, where it is known already."""
    if found.releases < values_for(q, kernel_share):
        return None
    allowed = (1 - q) * kernel_share
    longer = time_longer(rate or blocking_rate(found))
    is_within = longer.share <= allowed
    is_below = not longer.share.size or bool(is_within[0])
    value = found.start_ns if is_below else float(longer.from_ns[int(np.argmax(is_within))])
    low, high = _bounds(found, allowed)
    return SectionLength(
        q, value, is_below, min(low, value), None if high is None else max(high, value)
    )


def _bounds(found: Residuals, allowed: float) -> tuple[float, float | None]:
    """The shortest and the longest length at which the share of longer sections may be `allowed`.

    The share falls with length: above the first length whose upper bound is `allowed` it is less,
    although bounds grow again at lengths that too few releases could have met.
    """
    top = max(found.worst_ns, found.start_ns) * _BEYOND_WORST
    lengths = np.geomspace(max(found.start_ns, 1.0), max(top, 2.0), _GRID)
    least, most = _longer_bounds(found, lengths)
    may_be_shorter, is_longest = least <= allowed, most <= allowed
    first = int(np.argmax(may_be_shorter)) if may_be_shorter.any() else lengths.size - 1
    high = float(lengths[int(np.argmax(is_longest))]) if is_longest.any() else None
    return (float(lengths[first - 1]) if first else 0.0), high


def _longer_bounds(found: Residuals, lengths_ns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the share of time in sections longer than each of `lengths_ns`.

    For each release that time is gap P(R > x) + E max(R - x, 0) + x (intervals longer than x). Of
    what the confidence leaves, the first and the last term have half each. The second, what was
    waited beyond x, is at least 0, and at most as many times its mean as the first allows.
    """
    error = (1 - _CONFIDENCE) / 4
    surely = count_low(counts_above(found, lengths_ns, is_sure=True), error)
    perhaps = count_high(counts_above(found, lengths_ns, is_sure=False), error)
    low = found.gap_ns * surely + lengths_ns * _longer_at_least(found, lengths_ns, error)
    each_ns = found.gap_ns + lengths_ns + _waited_each(found, lengths_ns)
    high = each_ns * perhaps + lengths_ns * _seen_at_most(found, lengths_ns, error)
    time_ns = found.releases * found.per_release_ns
    return low / time_ns, high / time_ns


def _waited_each(found: Residuals, lengths_ns: FloatArray) -> FloatArray:
    """By how much residuals above each of `lengths_ns` exceed it on average; 0 without any."""
    middles = (found.lower_ns + found.upper_ns) / 2
    above = found.blocked - np.concatenate([[0.0], np.cumsum(found.count)])
    sums = np.concatenate([[0.0], np.cumsum(found.count * middles)])
    first = np.searchsorted(middles, lengths_ns, side="right")
    waited = sums[-1] - sums[first] - above[first] * lengths_ns
    return np.asarray(np.maximum(waited, 0) / np.maximum(above[first], 1), dtype=np.float64)


_RANKED_BY = (0.99, 0.9, 0.5)


def ranking_quantile(found: Mapping[str, Series]) -> float:
    """The quantile that ranks: the first of _RANKED_BY that any operation has values for."""
    most = max((one.count for one in found.values()), default=0)
    return next((q for q in _RANKED_BY if is_printable(q, most)), _RANKED_BY[-1])


def _quantile_at(series: Series, q: float) -> Quantile | None:
    """The `q` quantile of `series`; None where it has too few values for it."""
    return quantile(series.histogram, q) if is_printable(q, series.count) else None


def ranks_of(
    found: Mapping[str, Quantile | None], reference: Quantile | None = None
) -> dict[str, int | None]:
    """The rank of each operation, worst first, from 1; None for those that are not above the
    `reference`, where there is one, and last for those without a quantile.

    An operation shares the rank of the first of a group if its interval overlaps that one's.
    """
    known = [(name, one) for name, one in found.items() if one is not None]
    known.sort(key=lambda pair: (-_height(pair[1]), pair[0]))
    able = [(name, one) for name, one in known if not _is_like(one, reference)]
    ranks: dict[str, int | None] = {}
    leader: tuple[int, Quantile] | None = None
    for number, (name, one) in enumerate(able, 1):
        if leader is None or not _overlaps(one, leader[1]):
            leader = (number, one)
        ranks[name] = leader[0]
    like_reference = [name for name, one in known if _is_like(one, reference)]
    few = [name for name, one in found.items() if one is None]
    return ranks | dict.fromkeys([*like_reference, *few], None)


def _is_like(one: Quantile | None, reference: Quantile | None) -> bool:
    """Whether the interval of `one` overlaps that of `reference` or lies below it; False where one
    of them is not known."""
    return one is not None and reference is not None and _overlaps(reference, one)


def _height(one: Quantile) -> float:
    if one.value is not None:
        return one.value
    return float("inf") if one.above is not None else 0.0


def _overlaps(lower: Quantile, upper: Quantile) -> bool:
    """Whether `lower` may be as high as `upper`."""
    return lower.high is None or upper.low is None or lower.high >= upper.low


def _share_ran(result: Result, operation: str, part: str, whole: str) -> float | None:
    """The figure `part` over the figure `whole` of all events of an operation together, at most 1.
    None where one of the two was not counted, or is 0."""
    ran = [one.data for one in result.events if one.name == "operation_ran"]
    own = [data for data in ran if data.get("operation") == operation]
    some, total = _sum(own, part), _sum(own, whole)
    return min(some / total, 1.0) if some and total else None


def _still_share(result: Result, operation: str) -> float:
    """The share of values before which the process had not run since the one before."""
    return _share_ran(result, operation, "still_count", "value_count") or 0.0


def _waited_share(result: Result, operation: str) -> float:
    """The share of its time for which the process was ready and others had the CPU."""
    return _share_ran(result, operation, "waited_ns", "elapsed_ns") or 0.0


def _sum(found: list[dict[str, DataValue]], key: str) -> int:
    """The sum of a figure of all events; 0 where one of them does not have it."""
    values = [as_integer(one.get(key)) for one in found]
    counts = [one for one in values if one is not None and one >= 0]
    return sum(counts) if len(counts) == len(values) else 0


TEST = KERNEL_TEST
ALL = "all"
REFERENCE = "none"
SHARES = (0.9, 0.99)
MOST_OPERATIONS = 64
MOST_OF_OTHERS = 0.5  # beyond, most wake-ups of the reference were from another process
_LABEL = "operation"
_LEAST_AHEAD_NS = 50_000  # from a wake-up no release is earlier than that (sections.h)


@dataclass(frozen=True)
class Blocking:
    """What the idle latency tells of an operation. `per_s` and `interval` are the rate
    above `rate_at_ns` of all operations. `lengths` has a length for each of SHARES; None where
    there are too few releases, or nobody counted the time in the kernel.

    `falls`: the rate is within its interval. Else the residuals do not fall with their length as
    those at random moments do (each wake-up has something of its own besides what blocks it), and
    neither the rate nor the lengths are figures."""

    residuals: Residuals
    rate: BlockingRate
    per_s: float
    interval: RateInterval
    lengths: Mapping[float, SectionLength | None]

    @property
    def falls(self) -> bool:
        high = self.interval.high
        return self.interval.low <= self.per_s and (high is None or self.per_s <= high)


@dataclass(frozen=True)
class Operation:
    """One operation. `kernel_share` is the share of its time that it spent in the kernel, None
    where nobody counted it, `waited_share` that for which it was ready and others had the CPU,
    `still_share` that of its values before which it had not run.
    `rank` is from 1, several may have the same; None where `quantile` is, and where the operation
    `is_like_reference`: its quantile is not above that of `none` by more than their intervals.
    `sections` are those that tracers of the kernel saw, by kind."""

    name: str
    series: Series
    kernel_share: float | None
    waited_share: float
    still_share: float
    quantile: Quantile | None
    rank: int | None
    is_like_reference: bool
    blocking: Blocking | None
    sections: list[Series]

    def lacks(self, q: float) -> str:
        """How many releases the length for the share `q` takes, where there are too few."""
        if self.blocking is None or not self.kernel_share:
            return ""
        return lacking(values_for(q, self.kernel_share), self.series.count)


@dataclass(frozen=True)
class KernelTime:
    """The operations of a result, worst first, then those that are like the reference; `whole` is
    the operation `all`, which has them in turn, or where that was not measured the releases of all
    of them.

    They are ranked by their quantile `q`. `reference` is the operation `none`. `idle` and
    `rate_at_ns` are None where it is missing or too short: then nothing is said of blocking. Nor
    is where `is_reference_of_others`: its process had the CPU before less than half of its values,
    or for less than half of its time, so its latency is more that of other processes.
    """

    idle: Idle | None
    reference: Operation | None
    operations: list[Operation]
    whole: Operation
    q: float
    rate_at_ns: float | None
    is_reference_of_others: bool = False


def kernel_time_of(result: Result, *, is_whole_only: bool = False) -> KernelTime | None:
    """What KRN-P-PRE found; None for another test, and without values. `is_whole_only` leaves out
    the operations one by one, which is most of the work. InputError if a histogram is
    unreadable."""
    if result.test != TEST:
        return None
    found = _by_operation(result)
    reference, whole = found.pop(REFERENCE, None), found.pop(ALL, None)
    together = whole or merged(list(found.values()))
    if together is None:
        return None
    of_others = max(_still_share(result, REFERENCE), _waited_share(result, REFERENCE))
    is_reference_of_others = of_others > MOST_OF_OTHERS
    idle = idle_of(reference) if reference and not is_reference_of_others else None
    q = ranking_quantile(found or {ALL: together})
    floor = _quantile_at(reference, q) if reference else None
    maker = _Maker(result, idle, _rate_at(together, idle) if idle else None, q, floor)
    ranked = {} if is_whole_only else found
    ranks = ranks_of({name: _quantile_at(series, q) for name, series in ranked.items()}, floor)
    shares = {name: maker.kernel_share(name) for name in found}
    share = maker.kernel_share(ALL) if whole else _share_together(found, shares)
    return KernelTime(
        idle=idle,
        reference=maker.operation(REFERENCE, reference, None, None) if reference else None,
        operations=[
            maker.operation(name, found[name], shares[name], rank) for name, rank in ranks.items()
        ],
        whole=maker.operation(ALL, together, share, None),
        q=q,
        rate_at_ns=maker.rate_at_ns,
        is_reference_of_others=is_reference_of_others,
    )


@dataclass(frozen=True)
class _Maker:
    """Makes the operations of one result. `floor` is the quantile `q` of the reference."""

    result: Result
    idle: Idle | None
    rate_at_ns: float | None
    q: float
    floor: Quantile | None

    def operation(
        self, name: str, series: Series, share: float | None, rank: int | None
    ) -> Operation:
        """The operation `name` with the figures of its dispatch latencies `series`."""
        own = _quantile_at(series, self.q)
        return Operation(
            name=name,
            series=series,
            kernel_share=share,
            waited_share=_waited_share(self.result, name),
            still_share=_still_share(self.result, name),
            quantile=own,
            rank=rank,
            is_like_reference=_is_like(own, self.floor),
            blocking=self._blocking(series, share),
            sections=[
                one
                for one in self.result.series
                if one.name == "section" and one.count and str(one.labels.get(_LABEL)) == name
            ],
        )

    def kernel_share(self, name: str) -> float | None:
        return _share_ran(self.result, name, "system_ns", "elapsed_ns")

    def _blocking(self, series: Series, share: float | None) -> Blocking | None:
        if self.idle is None or self.rate_at_ns is None:
            return None
        found = residuals_of(series, self.idle, _gap_of(self.result))
        rate = blocking_rate(found)
        lengths = {q: section_length(found, share, q, rate) if share else None for q in SHARES}
        bounds = rate_interval(found, self.rate_at_ns)
        blocking = Blocking(found, rate, rate.above(self.rate_at_ns), bounds, lengths)
        return blocking if blocking.falls else replace(blocking, lengths=dict.fromkeys(SHARES))


def _gap_of(result: Result) -> float:
    """The mean of the exponential time to a release: what the probe adds to the least time from a
    wake-up on. FAR_APART_NS where the request does not say."""
    interval_ns = result.params.get("mean_interval_ns")
    if isinstance(interval_ns, list):
        interval_ns = interval_ns[0] if interval_ns else None
    gap_ns = interval_ns - _LEAST_AHEAD_NS if isinstance(interval_ns, int) else 0
    return float(gap_ns) if gap_ns > 0 else FAR_APART_NS


def _by_operation(result: Result) -> dict[str, Series]:
    """The dispatch latencies of each operation; those of several CPUs together."""
    groups: dict[str, list[Series]] = {}
    for one in result.series:
        if one.name == "dispatch" and one.count and _LABEL in one.labels:
            groups.setdefault(str(one.labels[_LABEL]), []).append(one)
    joined = {name: merged(group) for name, group in list(groups.items())[:MOST_OPERATIONS]}
    return {name: series for name, series in joined.items() if series is not None}


def _rate_at(whole: Series, idle: Idle) -> float:
    """The first of 1, 2, 5, 10 ... that is at least twice what can be distinguished from the idle
    latency: the interval of a rate needs room to its left."""
    least = 2 * residuals_of(whole, idle).start_ns
    marks = (step * 10.0**power for power in range(12) for step in (1, 2, 5))
    return next((mark for mark in marks if mark >= least), least)


def _share_together(
    found: Mapping[str, Series], shares: Mapping[str, float | None]
) -> float | None:
    """The share of the releases of all operations that hit the kernel."""
    count = sum(one.count for one in found.values())
    known = [(one.count, shares[name]) for name, one in found.items()]
    if not count or any(share is None for _, share in known):
        return None
    return sum(number * (share or 0.0) for number, share in known) / count


FloatArray = NDArray[np.float64]
_Slope = Callable[[int, int], float]


def concave_majorant(points: int, slope: _Slope) -> list[int]:
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


LEAST_IDLE = 100  # fewer releases give no standard deviation worth the name
FAR_APART_NS = 1e15  # releases so far apart that no interval could meet two
_DEVIATIONS = 3
_MOST_NS = 2**62  # of a damaged document


@dataclass(frozen=True)
class Idle:
    """The idle latency. `limit_ns`: nothing at or below it is taken for blocking."""

    count: int
    mean_ns: float
    stddev_ns: float

    @property
    def limit_ns(self) -> float:
        return self.mean_ns + _DEVIATIONS * self.stddev_ns


@dataclass(frozen=True)
class Residuals:
    """The residuals of the blocked releases among `releases`, by bucket: shape (n,), ascending.

    A residual of a bucket is at least `lower_ns` and below `upper_ns`, of which `count` were seen.
    `start_ns` is the shortest that can be distinguished from the idle latency. `worst_ns` is the
    largest. `gap_ns` is the mean of the exponential time to a release, `mean_ns` that of the
    latency that follows: both together are the time for one release.
    """

    releases: int
    start_ns: float
    worst_ns: float
    lower_ns: FloatArray
    upper_ns: FloatArray
    count: FloatArray
    gap_ns: float = FAR_APART_NS
    mean_ns: float = 0.0

    @property
    def blocked(self) -> int:
        return int(self.count.sum())

    @property
    def per_release_ns(self) -> float:
        return self.gap_ns + self.mean_ns


def idle_of(series: Series) -> Idle | None:
    """The idle latency from the series of the reference; None where it has too few values."""
    if series.count < LEAST_IDLE or series.mean is None or series.stddev is None:
        return None
    found = Idle(series.count, series.mean, series.stddev)
    is_possible = 0 <= found.mean_ns <= found.limit_ns < _MOST_NS
    return found if is_possible else None


def residuals_of(series: Series, idle: Idle, gap_ns: float = FAR_APART_NS) -> Residuals:
    """The residuals of `series`, which has the dispatch latencies. InputError if unreadable.

    `gap_ns`: the mean of the exponential time to the next release. The limit is rounded up to the
    end of its bucket, so that the count above it is exact. Values beyond all buckets stand at the
    maximum.
    """
    bins = bins_of(series.histogram)
    bits = parse_layout(series.histogram.layout)
    first = edges_of(index_of(max(ceil(idle.limit_ns), 0), bits), bits)[1] + 1
    above = bins.lower >= first
    lower, count = bins.lower[above].astype(np.float64), bins.count[above].astype(np.float64)
    upper = bins.upper[above].astype(np.float64) + 1
    top = float(max(series.max or 0, first))
    if bins.overflow:
        last = float(upper[-1]) if upper.size else float(first)
        lower, count = np.append(lower, last), np.append(count, float(bins.overflow))
        upper = np.append(upper, max(top, last) + 1)
    return Residuals(
        releases=bins.total,
        start_ns=first - idle.mean_ns,
        worst_ns=top - idle.mean_ns,
        lower_ns=lower - idle.mean_ns,
        upper_ns=upper - idle.mean_ns,
        count=count,
        gap_ns=gap_ns,
        mean_ns=min(max(series.mean or 0.0, 0.0), float(_MOST_NS)),
    )


_CONFIDENCE = 0.95
_WINDOWS = (1 / 4, 3 / 4)  # of x
_PARTS = 10
_SURE = 3  # 1 - exp(-3) is 95 %


@dataclass(frozen=True)
class BlockingRate:
    """Intervals longer than x, per second: `per_s` from `from_ns` on, up to the next; shape (n,).

    The last rate is 0, from the largest residual on. Empty where no release was blocked.
    """

    from_ns: FloatArray
    per_s: FloatArray

    def above(self, length_ns: float) -> float:
        """The rate of intervals longer than `length_ns`, which is not below the start."""
        place = int(np.searchsorted(self.from_ns, length_ns, side="right")) - 1
        return float(self.per_s[place]) if place >= 0 else 0.0


@dataclass(frozen=True)
class RateInterval:
    """Bounds of a rate; `high` is None where nothing bounds it."""

    low: float
    high: float | None


def blocking_rate(found: Residuals) -> BlockingRate:
    """The rate of blocking intervals of every length from `start_ns` of the residuals on."""
    if not found.blocked:
        return BlockingRate(np.zeros(0), np.zeros(0))
    x = [found.start_ns, *found.upper_ns.tolist()]
    beyond = ((found.blocked - _summed(found)) / found.releases).tolist()

    def slope(first: int, last: int) -> float:
        """Intervals longer than the stretch, for each release: those that end beyond it were hit,
        and in it as many were hit as the stretch is long."""
        hit = -expm1(-(x[last] - x[first]) / found.gap_ns)
        return float(beyond[last] + (beyond[first] - beyond[last]) / hit)

    corners = concave_majorant(len(x), slope)
    slopes = [slope(*pair) for pair in pairwise(corners)]
    per_s = np.array([*slopes, 0.0]) / found.per_release_ns * _NS_PER_S
    return BlockingRate(np.array([x[place] for place in corners]), per_s)


def rate_interval(found: Residuals, length_ns: float) -> RateInterval:
    """Bounds of the rate of intervals longer than `length_ns`, if releases are independent."""
    low, high = rate_bounds(found, np.array([length_ns]))
    return RateInterval(float(low[0]), float(high[0]) if np.isfinite(high[0]) else None)


def rate_bounds(found: Residuals, lengths_ns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the rate at each of `lengths_ns`, all above 0; infinite where nothing bounds it.

    Right of x the rate is at most that at x, left of it at least, however wide the window. Each of
    the windows has its share of what the confidence leaves, and of that the part beyond a tenth.
    """
    side = (1 - _CONFIDENCE) / 2
    beyond = count_high(counts_above(found, lengths_ns, is_sure=False), side / _PARTS)
    low = _longer_at_least(found, lengths_ns, side)
    high = beyond + _seen_at_most(found, lengths_ns, side - side / _PARTS)
    seconds = max(found.releases, 1) * found.per_release_ns / _NS_PER_S
    return low / seconds, high / seconds


def _longer_at_least(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """The least number of intervals longer than each of `lengths_ns`, except with the probability
    `error`: those that are longer than the window, and those hit in it."""
    each = error / len(_WINDOWS)
    low = np.zeros(lengths_ns.shape)
    for part in _WINDOWS:
        width = part * lengths_ns
        beyond = counts_above(found, lengths_ns + width, is_sure=True)
        inside = _counts(found, lengths_ns, lengths_ns + width, is_sure=True)
        seen = count_low(inside, each - each / _PARTS) / _hit(found, width)
        low = np.maximum(low, count_low(beyond, each / _PARTS) + seen)
    return low


def _seen_at_most(found: Residuals, lengths_ns: FloatArray, error: float) -> FloatArray:
    """The largest number of intervals longer than each of `lengths_ns`, less those hit beyond it,
    except with the probability `error`; infinite where nothing bounds it."""
    each = error / len(_WINDOWS)
    high = np.full(lengths_ns.shape, np.inf)
    for part in _WINDOWS:
        width = part * lengths_ns
        inside = _counts(found, lengths_ns - width, lengths_ns, is_sure=False)
        bound = count_high(inside, each) / _hit(found, width)
        high = np.where(lengths_ns - width >= found.start_ns, np.minimum(high, bound), high)
    return high


def _hit(found: Residuals, width_ns: FloatArray) -> FloatArray:
    """The probability that a release comes within `width_ns`."""
    return np.asarray(-np.expm1(-width_ns / found.gap_ns), dtype=np.float64)


def unseen_per_s(found: Residuals, length_ns: float) -> float | None:
    """The rate below which intervals of `length_ns` may have come without a release that saw one.

    A release sees it in the part of it that is longer than `start_ns`. At this rate 3 are expected
    to be seen: about 3 / (N length) for N releases. None where it is too short to be seen at all.
    """
    visible = length_ns - found.start_ns
    if visible <= 0 or not found.releases:
        return None
    hit = -expm1(-visible / found.gap_ns)
    return _SURE / found.releases / found.per_release_ns / hit * _NS_PER_S


def count_low(count: FloatArray, error: float) -> FloatArray:
    """Lower bounds of the expected counts (Poisson), each with probability 1 - `error`."""
    from scipy import special

    return np.where(count > 0, special.gammaincinv(np.maximum(count, 1.0), error), 0.0)


def count_high(count: FloatArray, error: float) -> FloatArray:
    """Upper bounds of the expected counts (Poisson), each with probability 1 - `error`."""
    from scipy import special

    return np.asarray(special.gammaincinv(count + 1, 1 - error), dtype=np.float64)


def counts_above(found: Residuals, lengths_ns: FloatArray, *, is_sure: bool) -> FloatArray:
    """Residuals above each of `lengths_ns`: those that surely are, or those that may be."""
    below = np.searchsorted(found.lower_ns if is_sure else found.upper_ns, lengths_ns, side="right")
    return found.blocked - _summed(found)[below]


def _counts(
    found: Residuals, low_ns: FloatArray, high_ns: FloatArray, *, is_sure: bool
) -> FloatArray:
    """Residuals above `low_ns` up to `high_ns`, without or with buckets that lie partly within."""
    begins, ends = found.lower_ns, found.upper_ns
    first = np.searchsorted(begins if is_sure else ends, low_ns, side="right")
    past = np.searchsorted(ends - 1 if is_sure else begins, high_ns, side="right")
    summed = _summed(found)
    return np.maximum(summed[past] - summed[first], 0.0)


def _summed(found: Residuals) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(found.count)])
