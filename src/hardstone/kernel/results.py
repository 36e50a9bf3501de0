"""What KRN-P-PRE found: its operations, ranked, and what blocks them, which is computed when it is
asked for (`hardstone.kernel.analysis`).

They are ranked by the 99 % quantile of their dispatch latency: a maximum says most about how long
one looked, and a quantile with ten values beyond it hardly more. Where no operation has a thousand
values it is the 90 % quantile or the median. An operation that cannot be told from the reference,
which does nothing in the kernel, has no rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from hardstone.event_names import KERNEL_TEST
from hardstone.model import DataValue, Result, Series, as_integer
from hardstone.stats.identity import check_readable, parse_layout
from hardstone.stats.join import merged
from hardstone.stats.quantiles import Quantile, is_printable, lacking, quantile, values_for

if TYPE_CHECKING:  # which loads numpy
    from hardstone.kernel.analysis import Blocking

LEAST_IDLE = 100  # fewer releases give no standard deviation worth the name
FAR_APART_NS = 1e15  # releases so far apart that no interval could meet two
_DEVIATIONS = 3
MOST_NS = 2**62  # of a damaged document


@dataclass(frozen=True)
class Idle:
    """The idle latency. `limit_ns`: nothing at or below it is taken for blocking."""

    count: int
    mean_ns: float
    stddev_ns: float

    @property
    def limit_ns(self) -> float:
        return self.mean_ns + _DEVIATIONS * self.stddev_ns


def idle_of(series: Series) -> Idle | None:
    """The idle latency from the series of the reference; None where it has too few values."""
    if series.count < LEAST_IDLE or series.mean is None or series.stddev is None:
        return None
    found = Idle(series.count, series.mean, series.stddev)
    is_possible = 0 <= found.mean_ns <= found.limit_ns < MOST_NS
    return found if is_possible else None


def least_blocked(series: Series, idle: Idle) -> int:
    """The least latency of `series` that is taken for blocking: above the limit, which is rounded
    up to the end of its bucket, so that the count above it is exact."""
    layout = parse_layout(series.histogram.layout)
    limit_ns = max(ceil(idle.limit_ns), layout.least)
    return layout.edges_of(layout.index_of(limit_ns))[1] + 1


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
MOST_OPERATIONS = 64
MOST_OF_OTHERS = 0.5  # beyond, most wake-ups of the reference were from another process
_LABEL = "operation"
_LEAST_AHEAD_NS = 50_000  # from a wake-up no release is earlier than that (sections.h)


@dataclass(frozen=True)
class Operation:
    """One operation. `kernel_share` is the share of its time that it spent in the kernel, None
    where nobody counted it, `waited_share` that for which it was ready and others had the CPU,
    `still_share` that of its values before which it had not run.
    `rank` is from 1, several may have the same; None where `quantile` is, and where the operation
    `is_like_reference`: its quantile is not above that of `none` by more than their intervals.
    `sections` are those that tracers of the kernel saw, by kind. `idle`, `gap_ns` (the mean of the
    exponential time to a release) and `rate_at_ns` are what `blocking` is computed with."""

    name: str
    series: Series
    kernel_share: float | None
    waited_share: float
    still_share: float
    quantile: Quantile | None
    rank: int | None
    is_like_reference: bool
    sections: list[Series]
    idle: Idle | None
    gap_ns: float
    rate_at_ns: float | None

    @cached_property
    def blocking(self) -> Blocking | None:
        """None where the idle latency is not known."""
        if self.idle is None or self.rate_at_ns is None:
            return None
        from hardstone.kernel.analysis import blocking_of

        return blocking_of(self.series, self.kernel_share, self.idle, self.gap_ns, self.rate_at_ns)

    def lacks(self, q: float) -> str:
        """How many releases the length for the share `q` takes, where there are too few."""
        if self.idle is None or not self.kernel_share:
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
            sections=[
                one
                for one in self.result.series
                if one.name == "section" and one.count and str(one.labels.get(_LABEL)) == name
            ],
            idle=self.idle,
            gap_ns=_gap_of(self.result),
            rate_at_ns=self.rate_at_ns,
        )

    def kernel_share(self, name: str) -> float | None:
        return _share_ran(self.result, name, "system_ns", "elapsed_ns")


def _gap_of(result: Result) -> float:
    """The mean of the exponential time to a release: what the probe adds to the least time from a
    wake-up on. FAR_APART_NS where the request does not say."""
    interval_ns = result.params.get("mean_interval_ns")
    if isinstance(interval_ns, list):
        interval_ns = interval_ns[0] if interval_ns else None
    gap_ns = interval_ns - _LEAST_AHEAD_NS if isinstance(interval_ns, int) else 0
    return float(gap_ns) if gap_ns > 0 else FAR_APART_NS


def _by_operation(result: Result) -> dict[str, Series]:
    """The dispatch latencies of each operation; those of several CPUs together. InputError if one
    is unreadable."""
    groups: dict[str, list[Series]] = {}
    for one in result.series:
        if one.name == "dispatch" and one.count and _LABEL in one.labels:
            check_readable(one.histogram)
            groups.setdefault(str(one.labels[_LABEL]), []).append(one)
    joined = {name: merged(group) for name, group in list(groups.items())[:MOST_OPERATIONS]}
    return {name: series for name, series in joined.items() if series is not None}


def _rate_at(whole: Series, idle: Idle) -> float:
    """The first of 1, 2, 5, 10 ... that is at least twice what can be distinguished from the idle
    latency: the interval of a rate needs room to its left."""
    least = 2 * (least_blocked(whole, idle) - idle.mean_ns)
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
