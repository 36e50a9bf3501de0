"""KRN-P-PRE: each operation of the kernel with the blocking that its releases met, worst first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hardstone.model import Result, Series
from hardstone.stats.blocking_rate import BlockingRate, RateInterval, blocking_rate, rate_interval
from hardstone.stats.merged import merged
from hardstone.stats.operation_ranks import is_like, quantile_at, ranking_quantile, ranks_of
from hardstone.stats.operation_time import share_ran, still_share, waited_share
from hardstone.stats.quantiles import Quantile, lacking, values_for
from hardstone.stats.residuals import FAR_APART_NS, Idle, Residuals, idle_of, residuals_of
from hardstone.stats.section_time import SectionLength, section_length

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
