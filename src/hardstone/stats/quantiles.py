"""Quantiles, exceedances and shares above a deadline, each with an interval that claims no more
than the histogram knows.

Interval by order statistics: the ranks come from the binomial distribution, the
ends are the lower edge of the lower bucket and the upper edge of the upper one.
It holds for independent samples; samples of one run are not, and a report says so.

Clopper and Pearson 1934: the shares under which a count as high, or as low, as the one seen is
not too rare. It covers at least as often as it says for independent values. Values of one run
depend on each other, and their true interval is wider.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import ceil, expm1, log, log1p
from typing import TYPE_CHECKING, Protocol

import msgspec

from hardstone.errors import InputError
from hardstone.model import Histogram, Instrument, Series, Unit
from hardstone.stats.identity import (
    NO_DISTRIBUTION,
    has_quantiles,
    highest_of,
    parse_layout,
    ranked_counts_of,
    top_of,
    total_count,
)
from hardstone.units import COARSE_NS, format_cost, format_count, format_ns

if TYPE_CHECKING:  # numpy, which few screens need, takes as long to load as a short run to read
    from hardstone.stats.histogram import Above, IntArray

# Of every largest value.
PATH_NOT_TAKEN = "No statistical test detects a code path that did not run."

LADDER = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
DEEPEST_BY_PROFILE = {"quick": 0.999, "standard": 0.9999, "soak": 0.999999}
CONFIDENCE = 0.95
_LEAST_BEYOND = 10


class RankedValues(Protocol):
    """Values in buckets: `Bins`, or `RankedCounts` for a few quantiles of many histograms."""

    @property
    def total(self) -> int: ...
    @property
    def underflow(self) -> int: ...
    @property
    def overflow(self) -> int: ...
    @property
    def least(self) -> int: ...
    @property
    def top(self) -> int: ...
    @property
    def has_quantiles(self) -> bool: ...
    def edges_at(self, inside: int) -> tuple[int, int]: ...


def deepest_of(profile: str) -> float:
    """The deepest quantile that a run of `profile` shows."""
    return DEEPEST_BY_PROFILE.get(profile, LADDER[-1])


class Quantile(msgspec.Struct, kw_only=True, frozen=True):
    """A quantile of a series, in its unit.

    `value` is the upper edge of the bucket, None when the quantile lies outside of
    all buckets: then it is above `above` (overflow) or below `below` (underflow).
    `low` and `high` are the interval at `confidence`; None means unbounded there.
    """

    q: float
    value: int | None
    low: int | None
    high: int | None
    above: int | None = None
    below: int | None = None
    confidence: float = CONFIDENCE


def is_printable(q: float, count: int) -> bool:
    """Whether at least 10 of `count` values are expected beyond the quantile `q`."""
    return count * (1 - q) >= _LEAST_BEYOND * (1 - 1e-9)


def values_for(q: float, share: float = 1.0) -> int:
    """The fewest values of which 10 are expected beyond `q`, where only `share` of them count."""
    return ceil(_LEAST_BEYOND * (1 - 1e-9) / (1 - q) / share)


def lacking(needed: int, count: int) -> str:
    """What stands in the place of a missing figure: "needs 1000 values, has 100"; "" where there
    are enough."""
    return f"needs {format_count(needed)} values, has {format_count(count)}" * (count < needed)


def why_no_quantile(series: Series) -> str:
    """Why a series has no quantile, and nothing else that needs ranks: its source gives none, or
    the values in its histogram are not those that it counts. "" where it has."""
    histogram = series.histogram
    if not _is_whole(series):
        held, count = format_count(total_count(histogram)), format_count(series.count)
        return f"the histogram has {held} of {count} values, so no quantile"
    if has_quantiles(histogram):
        return ""
    layout = parse_layout(histogram.layout)
    if layout.last >= 0:
        end = top_of(histogram.buckets, layout) + 1
        shown = format_ns(end) if series.unit == "ns" else format_count(end)
        return f"the file has no count of the values above {shown}, so no quantile"
    figures = {"minimum": series.min, "mean": series.mean, "maximum": series.max}
    has = [name for name, value in figures.items() if value is not None]
    if not has:
        return "the file has no distribution, so no quantile"
    named = f"{', '.join(has[:-1])} and {has[-1]}" if len(has) > 1 else f"a {has[0]}"
    return f"the file has {named} only, so no quantile"


def _is_whole(series: Series) -> bool:
    """Whether every value that is counted is in the histogram: ranks are known only then."""
    return total_count(series.histogram) == series.count


def is_count_known(series: Series) -> bool:
    """Whether the source of an imported series says, at least, how many values it kept: with none
    and without a distribution there is nothing that could have counted them."""
    histogram = series.histogram
    return not (histogram.is_cut is True and histogram.layout == NO_DISTRIBUTION)


def count_text(series: Series) -> str:
    """The number of values: "8 000", "8 000 or more" where the source dropped some, "-" where it
    does not say."""
    if not is_count_known(series):
        return "-"
    more = " or more" if series.histogram.is_cut is True else ""
    return f"{format_count(series.count)}{more}"


def lacking_quantile(q: float, series: Series) -> str:
    """What stands in the place of the quantile `q`: "needs 1000 values, has 100", or why the source
    gives none; "" where it can be shown."""
    return why_no_quantile(series) or lacking(values_for(q), series.count)


def quantiles_of(series: Series, deepest: float = LADDER[-1]) -> list[float]:
    """The quantiles of `series` that may be shown, up to `deepest`, ascending."""
    if not (_is_whole(series) and has_quantiles(series.histogram)):
        return []
    return printable_quantiles(series.count, deepest)


def printable_quantiles(count: int, deepest: float = LADDER[-1]) -> list[float]:
    """The quantiles worth printing for `count` values, up to `deepest`, ascending."""
    return [q for q in LADDER if q <= deepest and is_printable(q, count)]


@lru_cache(maxsize=1 << 12)  # systems of one comparison have the same counts
def rank_interval(count: int, q: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Ranks, from 1, whose values enclose the quantile; 0 or count + 1 means no bound."""
    tail = (1 - confidence) / 2
    ranks_of = _ranks_by_sum if count <= _MOST_SUMMED else _ranks_by_beta
    first, last = ranks_of(count, q, (tail, 1 - tail))
    return first, last + 1


def quantile(histogram: Histogram, q: float, *, confidence: float = CONFIDENCE) -> Quantile | None:
    """The `q` quantile (nearest rank) with its interval; None for an empty histogram, and where the
    ranks of its values are not known.

    ValueError unless 0 < q < 1 and 0 < confidence < 1; InputError if unreadable.
    """
    if not (0 < q < 1 and 0 < confidence < 1):
        raise ValueError(f"q and confidence must lie between 0 and 1, not {q} and {confidence}")
    return quantile_of_bins(ranked_counts_of(histogram), q, confidence)


def quantile_of_bins(
    bins: RankedValues, q: float, confidence: float = CONFIDENCE
) -> Quantile | None:
    """The same as `quantile`, for bins of a histogram."""
    if bins.total == 0 or not bins.has_quantiles:
        return None
    return quantile_between(bins, q, rank_interval(bins.total, q, confidence), confidence)


def quantile_between(
    bins: RankedValues, q: float, ranks: tuple[int, int], confidence: float
) -> Quantile:
    """The quantile of bins that are not empty, and have quantiles. Its interval at `confidence` are
    the values of `ranks`, which `rank_interval` gives."""
    rank = nearest_rank(bins.total, q)
    top = bins.top
    value = _edge(bins, rank, upper=True)
    first, last = ranks
    is_overflow = first > bins.total - bins.overflow
    is_underflow = 0 < last <= bins.underflow
    return Quantile(
        q=q,
        value=value,
        low=top if is_overflow else _edge(bins, first, upper=False),
        high=bins.least if is_underflow else _edge(bins, last, upper=True),
        above=top if value is None and rank > bins.underflow else None,
        below=bins.least if value is None and rank <= bins.underflow else None,
        confidence=confidence,
    )


def nearest_rank(count: int, q: float) -> int:
    """Smallest rank, from 1, at or below which the share `q` of `count` values lies."""
    return min(max(ceil(count * q * (1 - 1e-15)), 1), count)


def _edge(bins: RankedValues, rank: int, *, upper: bool) -> int | None:
    """Edge of the bucket that holds the value of `rank`, None outside of the buckets."""
    inside = rank - bins.underflow
    if inside < 1 or rank > bins.total - bins.overflow:
        return None
    return bins.edges_at(inside)[upper]


_MOST_SUMMED = 10**8  # of more values the sum takes longer than loading scipy
_NEGLIGIBLE = 1e-18  # of the largest term
_ROUNDING = 1e-13


def _ranks_by_sum(count: int, q: float, probabilities: Sequence[float]) -> list[int]:
    """For each probability the smallest k with P(Binomial(count, q) <= k) >= probability.

    From the terms of the distribution relative to the largest one: each is the one next to it times
    a ratio. Far from the largest they are too small to count. As exact as scipy.stats.binom.ppf,
    whose import takes longer than everything else that a screen does.
    """
    odds, mode = q / (1 - q), min(int((count + 1) * q), count)
    first, terms = mode, [1.0]
    while first > 0 and terms[-1] > _NEGLIGIBLE:
        terms.append(terms[-1] * first / ((count - first + 1) * odds))
        first -= 1
    terms.reverse()
    last = mode
    while last < count and terms[-1] > _NEGLIGIBLE:
        last += 1
        terms.append(terms[-1] * (count - last + 1) * odds / last)
    reached = list(accumulate(terms))
    total = reached[-1] * (1 - _ROUNDING)
    return [first + bisect_left(reached, one * total) for one in probabilities]


def _ranks_by_beta(count: int, q: float, probabilities: Sequence[float]) -> list[int]:
    """The same by bisection of the beta integral: scipy.stats.binom.ppf is undefined from 2**31."""
    from scipy import special

    ranks = []
    for probability in probabilities:
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if float(special.betainc(count - middle, middle + 1, 1 - q)) >= probability:
                high = middle
            else:
                low = middle + 1
        ranks.append(low)
    return ranks


class ExceedancePoint(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of the values, a share of `probability`, lie above `value`. Exact, no binning."""

    value: int
    count: int
    probability: float


def exceedance(histogram: Histogram) -> list[ExceedancePoint]:
    """The complementary distribution function at the upper edge of each used bucket.

    It starts below the first bucket; without underflow that first point has probability 1. Every
    count includes the values that overflowed, so the last point is above 0 if there are any. Empty
    where the ranks of the values are not known.
    """
    if not has_quantiles(histogram):
        return []
    values, above, total = counts_above(histogram)
    if total == 0:
        return []
    edges = [
        (parse_layout(histogram.layout).least - 1, total - histogram.underflow),
        *zip(values.tolist(), above.tolist(), strict=True),
    ]
    return [
        ExceedancePoint(value=value, count=count, probability=count / total)
        for value, count in edges
    ]


def counts_above(histogram: Histogram) -> tuple[IntArray, IntArray, int]:
    """The upper edge of each used bucket, ascending, how many values lie above each, both shape
    (n,), and the number of all. Only where the ranks of the values are known. InputError if the
    histogram is unreadable."""
    from hardstone.stats.histogram import bins_of

    bins = bins_of(histogram)
    return bins.upper, bins.total - bins.underflow - bins.reached, bins.total


def values_to_bound(share: float) -> int:
    """The fewest values that, none of them above, bound the share above by `share`: see
    `upper_bound`. About 3/share at 95 %."""
    return ceil(log1p(-CONFIDENCE) / log1p(-share) * (1 - 1e-12))


def upper_bound(events: int, total: int) -> float:
    """The bound, at 95 %, on the probability of an event seen `events` times in `total` samples.

    Without an event: 1 - 0.05**(1/total), about 3/total. Otherwise chi2.ppf(0.95, 2(events + 1)) /
    (2 total) (Poisson). Never above 1.
    """
    if not 0 <= events <= total:
        raise ValueError(f"{events} events in {total} samples")
    if total == 0:
        return 1.0
    if events == 0:
        return -expm1(log1p(-CONFIDENCE) / total)
    from scipy import special

    return min(1.0, float(special.gammaincinv(events + 1, CONFIDENCE)) / total)


AT_LIMIT_RATIO = 5
NEAR_LIMIT_RATIO = 10


class SeriesSummary(msgspec.Struct, kw_only=True, frozen=True):
    """Figures of one series in its unit, None if it has no value.

    `quantiles` are only those that the count supports. `why_no_quantile`: why the source of an
    imported series gives none; "". `count_text` is the count for people. `p_exceed_bound` is the
    upper bound, at 95 % confidence, of the probability that a value exceeds `max`. It assumes
    independent samples.
    """

    name: str
    labels: dict[str, int | str]
    unit: Unit
    count: int
    min: int | None
    mean: float | None
    stddev: float | None
    max: int | None
    quantiles: list[Quantile]
    p_exceed_bound: float
    overflow: int
    underflow: int
    derived: str | None
    count_text: str
    why_no_quantile: str = ""


def summarise(series: Series, *, deepest: float = LADDER[-1]) -> SeriesSummary:
    """The summary of `series`, with no quantile beyond `deepest`. InputError if its histogram is
    unreadable."""
    bins = ranked_counts_of(series.histogram)
    has_any = bins.has_quantiles and bins.total == series.count
    levels = printable_quantiles(bins.total, deepest) if has_any else []
    quantiles = [quantile_of_bins(bins, q) for q in levels]
    return SeriesSummary(
        name=series.name,
        labels=series.labels,
        unit=series.unit,
        count=series.count,
        min=series.min,
        mean=series.mean,
        stddev=series.stddev,
        max=series.max,
        quantiles=[_within_extremes(one, series) for one in quantiles if one is not None],
        p_exceed_bound=upper_bound(0, max(series.count, 0) if is_count_known(series) else 0),
        overflow=series.histogram.overflow,
        underflow=series.histogram.underflow,
        derived=series.derived,
        count_text=count_text(series),
        why_no_quantile=why_no_quantile(series),
    )


def median_of(series: Series) -> int | None:
    """Upper edge of the bucket of the median, at most the maximum; None if out of range."""
    found = quantile_of_series(series, 0.5)
    return found.value if found else None


_OF_CLOCK = "step"  # differences between readings in a row: the steps themselves


def quantum_of(series: Series, instrument: Instrument | None) -> float:
    """The step of the clock that timed each value of `series`, in ns, if it is coarse; else 1, as
    values are whole ns."""
    if instrument is None or instrument.quantum_ns < COARSE_NS or series.unit != "ns":
        return 1.0
    return 1.0 if series.derived or series.name == _OF_CLOCK else instrument.quantum_ns


def instrument_limit(series: Series, instrument: Instrument | None) -> str | None:
    """A note for a series of durations close to the cost of reading the clock.

    Below 5 times the median cost of a pair of time stamps the series is at the instrument's
    limit. Below 10 times both figures are shown together. None: neither, or not timed.
    """
    is_timed = series.unit == "ns" and series.derived is None
    median = median_of(series) if instrument is not None and is_timed else None
    return median_limit(median, instrument)


def median_limit(median: float | None, instrument: Instrument | None) -> str | None:
    """The same note, for a median in ns that is already known."""
    if instrument is None or median is None:
        return None
    cost_ns, quantum_ns = instrument.pair.median, instrument.quantum_ns
    cost = format_cost(cost_ns, quantum_ns)
    if quantum_ns >= COARSE_NS:
        cost_ns = max(cost_ns, round(quantum_ns))
    if median < AT_LIMIT_RATIO * cost_ns:
        return f"at the instrument's limit: a pair of time stamps costs {cost}"
    if median < NEAR_LIMIT_RATIO * cost_ns:
        return f"within 10 times the cost of the clock: a pair of time stamps costs {cost}"
    return None


def quantile_of_series(series: Series, q: float, confidence: float = CONFIDENCE) -> Quantile | None:
    """The `q` quantile of `series`, no further out than its exact minimum and maximum; None without
    values, and where their ranks are not known. InputError if its histogram is unreadable."""
    found = quantile_of_bins(ranked_counts_of(series.histogram), q, confidence)
    return None if found is None or not _is_whole(series) else _within_extremes(found, series)


def _within_extremes(entry: Quantile, series: Series) -> Quantile:
    """Limits a quantile to the minimum and the maximum, which are tighter than bucket edges. A
    maximum of whole steps stands for all values of its step: the quantile is at most the maximum as
    its source has it, the end of the interval at most what that stands for."""
    low = entry.low
    if low is not None and series.min is not None:
        low = max(low, series.min)
    value, high = _at_most(entry.value, series.max), _at_most(entry.high, highest_of(series))
    return msgspec.structs.replace(entry, value=value, low=low, high=high)


def _at_most(value: int | None, limit: int | None) -> int | None:
    return value if value is None or limit is None else min(value, limit)


INDEPENDENT = (
    "The interval is exact for independent values. Values of one run depend on each other, so "
    "the true interval is wider."
)


class ShareInterval(msgspec.Struct, kw_only=True, frozen=True):
    """`count` of `total`, and the share that fits: from `low` to `high`, both ends included.

    `least_count`: where a bucket leaves open how many are above, `count` is the most of them and
    this is the least; None: `count` is exact.
    """

    count: int
    total: int
    low: float
    high: float
    confidence: float
    least_count: int | None = None


def misses_of(series: Series, deadline: int, confidence: float = CONFIDENCE) -> ShareInterval:
    """The share of values above `deadline`, in the unit of the series. Where its bucket leaves the
    count open, the interval holds for the least and for the most that it can be.

    ValueError for an empty series, and unless 0 < confidence < 1; InputError if it is unreadable,
    and if its source does not say how many values are above.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
    from hardstone.stats.histogram import above

    error = (1 - confidence) / 2
    found = above(series, deadline)
    why = why_no_share(series, found)
    if why or found.high is None:
        raise InputError(why, "measure with hardstone, or with the tool's histogram")
    return ShareInterval(
        count=found.high,
        total=series.count,
        low=share_low(found.low, series.count, error),
        high=share_high(found.high, series.count, error),
        confidence=confidence,
        least_count=None if found.is_exact else found.low,
    )


def why_no_share(series: Series, found: Above) -> str:
    """Why the share of the values in `found` is not known; "" where it is.

    Without a distribution it is where minimum or maximum decide it.
    """
    why = why_no_quantile(series).replace("so no quantile", "so no share above a deadline")
    is_decided = found.is_exact and is_count_known(series)
    return "" if is_decided else why


def share_low(count: int, total: int, error: float) -> float:
    """What the share is at least, except with the probability `error`: one-sided."""
    from scipy import special

    _check(count, total)
    return float(special.betaincinv(count, total - count + 1, error)) if count else 0.0


def share_high(count: int, total: int, error: float) -> float:
    """What the share is at most, except with the probability `error`: one-sided.

    Without a miss it is 1 - error**(1 / total), about 3 / total at 95 %.
    """
    _check(count, total)
    if count == total:
        return 1.0
    if not count:
        return -expm1(log(error) / total)
    from scipy import special

    return float(special.betaincinv(count + 1, total - count, 1 - error))


def _check(count: int, total: int) -> None:
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"{count} of {total} cannot be missed")
