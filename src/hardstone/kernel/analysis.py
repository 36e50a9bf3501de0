"""KRN-P-PRE: each operation of the kernel with the blocking that its releases met, and HP's share
of kernel time.

With R the residual of a moment in the kernel (0 where it is not blocked), F its distribution and f
its density, the share is F(x) - x f(x) (docs/method.md). It is computed from its complement, the
share of the time in sections longer than x, which needs only the rates of longer ones.

They are ranked by the 99 % quantile of their dispatch latency: a maximum says most about how long
one looked, and a quantile with ten values beyond it hardly more. Where no operation has a thousand
values it is the 90 % quantile or the median. An operation that cannot be told from the reference,
which does nothing in the kernel, has no rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from hardstone.kernel.blocking import (
    CONFIDENCE,
    FAR_APART_NS,
    BlockingRate,
    FloatArray,
    Idle,
    RateInterval,
    Residuals,
    blocking_rate,
    count_high,
    count_low,
    counts_above,
    idle_of,
    longer_at_least,
    rate_interval,
    residuals_of,
    seen_at_most,
)
from hardstone.model import DataValue, Result, Series
from hardstone.stats.histogram import bins_of
from hardstone.stats.joined_series import merged
from hardstone.stats.quantiles import Quantile, is_printable, lacking, quantile, values_for


def longest_of_share(series: Series, q: float) -> int | None:
    """The length at which sections up to it made up the share `q` of the time of all: the upper
    edge of its bucket, at most the maximum. None without values. InputError if unreadable."""
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
class LongerThan:
    """The share of the time in sections longer than x: `share` from `from_ns` on; shape (n,)."""

    from_ns: FloatArray
    share: FloatArray


@dataclass(frozen=True)
class SectionLength:
    """The length x at which the share `q` of kernel time is in sections shorter than x.

    `is_below`: it is at most `value_ns`, the shortest length that is told from the idle latency.
    `low_ns` and `high_ns` bound it at 95 %; 0: below what can be told; None: unbounded.
    """

    q: float
    value_ns: float
    is_below: bool
    low_ns: float
    high_ns: float | None


def time_longer(rate: BlockingRate) -> LongerThan:
    """The share of the time in sections longer than x.

    Where the rate falls there are sections of that length: as many as it falls by.
    """
    falls = -np.diff(rate.per_s) / _NS_PER_S
    times = falls * rate.from_ns[1:]
    return LongerThan(
        rate.from_ns, np.append(np.cumsum(times[::-1])[::-1], 0.0)[: rate.from_ns.size]
    )


def shorter_share(longer: LongerThan, kernel_share: float) -> FloatArray:
    """The share of kernel time in sections shorter than each `from_ns`, at least 0.

    `kernel_share` is the share of the time that was spent in the kernel.
    """
    return np.maximum(1 - longer.share / kernel_share, 0.0)


def is_sayable(found: Residuals, kernel_share: float, q: float) -> bool:
    """Whether at least 10 of the releases that hit the kernel are expected beyond the share `q`."""
    return found.releases >= values_for(q, kernel_share)


def section_length(
    found: Residuals, kernel_share: float, q: float, rate: BlockingRate | None = None
) -> SectionLength | None:
    """The length below which sections made up the share `q` of kernel time; None where there are
    too few releases. `rate`: that of `found`, where it is known already."""
    if not is_sayable(found, kernel_share, q):
        return None
    allowed = (1 - q) * kernel_share
    longer = time_longer(rate or blocking_rate(found))
    held = longer.share <= allowed
    is_below = not longer.share.size or bool(held[0])
    value = found.start_ns if is_below else float(longer.from_ns[int(np.argmax(held))])
    low, high = _bounds(found, allowed)
    return SectionLength(q, value, is_below, min(low, value), _at_least(high, value))


def _at_least(high: float | None, value: float) -> float | None:
    return None if high is None else max(high, value)


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
    error = (1 - CONFIDENCE) / 4
    surely = count_low(counts_above(found, lengths_ns, is_sure=True), error)
    perhaps = count_high(counts_above(found, lengths_ns, is_sure=False), error)
    low = found.gap_ns * surely + lengths_ns * longer_at_least(found, lengths_ns, error)
    each_ns = found.gap_ns + lengths_ns + _waited_each(found, lengths_ns)
    high = each_ns * perhaps + lengths_ns * seen_at_most(found, lengths_ns, error)
    time_ns = found.releases * found.per_release_ns
    return low / time_ns, high / time_ns


def _waited_each(found: Residuals, lengths_ns: FloatArray) -> FloatArray:
    """The mean of what residuals above each of `lengths_ns` have above it; 0 without any."""
    middles = (found.lower_ns + found.upper_ns) / 2
    above = found.blocked - np.concatenate([[0.0], np.cumsum(found.count)])
    sums = np.concatenate([[0.0], np.cumsum(found.count * middles)])
    first = np.searchsorted(middles, lengths_ns, side="right")
    waited = sums[-1] - sums[first] - above[first] * lengths_ns
    return np.asarray(np.maximum(waited, 0) / np.maximum(above[first], 1), dtype=np.float64)


RANKED_BY = (0.99, 0.9, 0.5)


def ranking_quantile(found: Mapping[str, Series]) -> float:
    """The quantile that ranks: the first of RANKED_BY that any operation has values for."""
    most = max((one.count for one in found.values()), default=0)
    return next((q for q in RANKED_BY if is_printable(q, most)), RANKED_BY[-1])


def quantile_at(series: Series, q: float) -> Quantile | None:
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
    able = [(name, one) for name, one in known if not is_like(one, reference)]
    ranks: dict[str, int | None] = {}
    leader: tuple[int, Quantile] | None = None
    for number, (name, one) in enumerate(able, 1):
        if leader is None or not _overlaps(one, leader[1]):
            leader = (number, one)
        ranks[name] = leader[0]
    alike = [name for name, one in known if is_like(one, reference)]
    few = [name for name, one in found.items() if one is None]
    return ranks | dict.fromkeys([*alike, *few], None)


def is_like(one: Quantile | None, reference: Quantile | None) -> bool:
    """Whether the interval of `one` overlaps that of `reference` or lies below it; not where one
    of them is not known."""
    return one is not None and reference is not None and _overlaps(reference, one)


def _height(one: Quantile) -> float:
    if one.value is not None:
        return one.value
    return float("inf") if one.above is not None else 0.0


def _overlaps(lower: Quantile, upper: Quantile) -> bool:
    """Whether `lower` may be as high as `upper`."""
    return lower.high is None or upper.low is None or lower.high >= upper.low


RAN = "operation_ran"


def share_ran(result: Result, operation: str, part: str, whole: str) -> float | None:
    """The figure `part` over the figure `whole` of an operation, of all its events together, at
    most 1. None where one of the two was not counted, or is 0."""
    ran = [one.data for one in result.events if one.name == RAN]
    own = [data for data in ran if data.get("operation") == operation]
    some, total = _sum(own, part), _sum(own, whole)
    return min(some / total, 1.0) if some and total else None


def still_share(result: Result, operation: str) -> float:
    """The share of values before which the process had not run since the one before."""
    return share_ran(result, operation, "still_count", "value_count") or 0.0


def waited_share(result: Result, operation: str) -> float:
    """The share of its time for which the process was ready and others had the CPU."""
    return share_ran(result, operation, "waited_ns", "elapsed_ns") or 0.0


def _sum(found: list[dict[str, DataValue]], key: str) -> int:
    """The sum of a figure of all events; 0 where one of them does not have it."""
    values = [one.get(key) for one in found]
    return sum(v for v in values if isinstance(v, int)) if all(map(_is_count, values)) else 0


def _is_count(value: DataValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


TEST = "KRN-P-PRE"
DISPATCH = "dispatch"
SECTION = "section"
ALL = "all"
REFERENCE = "none"
SHARES = (0.9, 0.99)
MOST_OPERATIONS = 64
MOST_OF_OTHERS = 0.5  # beyond, most wake-ups of the reference were from another process
_LABEL = "operation"
_LEAST_AHEAD_NS = 50_000  # from a wake-up no release is earlier than that (random_release.h)


@dataclass(frozen=True)
class Blocking:
    """What is said of an operation beside the idle latency. `per_s` and `interval` are the rate
    above `rate_at_ns` of all operations. `lengths` has a length for each of SHARES; None where
    there are too few releases, or nobody counted the time in the kernel.

    `falls`: the rate is within its interval. Else the residuals do not fall with their length as
    those at random moments do (each wake-up has something of its own beside what blocks it), and
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
    is_reference_of_others = _most_of_others(result) > MOST_OF_OTHERS
    idle = idle_of(reference) if reference and not is_reference_of_others else None
    q = ranking_quantile(found or {ALL: together})
    floor = quantile_at(reference, q) if reference else None
    maker = _Maker(result, idle, _rate_at(together, idle) if idle else None, q, floor)
    ranked = {} if is_whole_only else found
    ranks = ranks_of({name: quantile_at(series, q) for name, series in ranked.items()}, floor)
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
        own = quantile_at(series, self.q)
        return Operation(
            name=name,
            series=series,
            kernel_share=share,
            waited_share=waited_share(self.result, name),
            still_share=still_share(self.result, name),
            quantile=own,
            rank=rank,
            is_like_reference=is_like(own, self.floor),
            blocking=self._blocking(series, share),
            sections=[
                one
                for one in self.result.series
                if one.name == SECTION and one.count and str(one.labels.get(_LABEL)) == name
            ],
        )

    def kernel_share(self, name: str) -> float | None:
        return share_ran(self.result, name, "system_ns", "elapsed_ns")

    def _blocking(self, series: Series, share: float | None) -> Blocking | None:
        if self.idle is None or self.rate_at_ns is None:
            return None
        found = residuals_of(series, self.idle, gap_of(self.result))
        rate = blocking_rate(found)
        lengths = {q: section_length(found, share, q, rate) if share else None for q in SHARES}
        bounds = rate_interval(found, self.rate_at_ns)
        blocking = Blocking(found, rate, rate.above(self.rate_at_ns), bounds, lengths)
        return blocking if blocking.falls else replace(blocking, lengths=dict.fromkeys(SHARES))


def gap_of(result: Result) -> float:
    """The mean of the exponential time to a release: what the probe adds to the least time from a
    wake-up on. Far apart where the request does not say."""
    interval_ns = result.params.get("mean_interval_ns")
    if isinstance(interval_ns, list):
        interval_ns = interval_ns[0] if interval_ns else None
    gap_ns = interval_ns - _LEAST_AHEAD_NS if isinstance(interval_ns, int) else 0
    return float(gap_ns) if gap_ns > 0 else FAR_APART_NS


def _by_operation(result: Result) -> dict[str, Series]:
    """The dispatch latencies of each operation; those of several CPUs together."""
    groups: dict[str, list[Series]] = {}
    for one in result.series:
        if one.name == DISPATCH and one.count and _LABEL in one.labels:
            groups.setdefault(str(one.labels[_LABEL]), []).append(one)
    joined = {name: merged(group) for name, group in list(groups.items())[:MOST_OPERATIONS]}
    return {name: series for name, series in joined.items() if series is not None}


def _rate_at(whole: Series, idle: Idle) -> float:
    """The first of 1, 2, 5, 10 ... that is at least twice what can be told from the idle latency:
    the interval of a rate needs room to its left."""
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


def _most_of_others(result: Result) -> float:
    """The larger of the shares of the reference that other processes had."""
    return max(still_share(result, REFERENCE), waited_share(result, REFERENCE))
