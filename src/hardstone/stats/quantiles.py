"""Quantiles with intervals that claim no more than the histogram knows.

Interval by order statistics: the ranks come from the binomial distribution, the
ends are the lower edge of the lower bucket and the upper edge of the upper one.
It holds for independent samples; samples of one run are not, and a report says so.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Protocol

import msgspec
import numpy as np

from hardstone.model import Histogram
from hardstone.stats.histogram import bins_of
from hardstone.units import format_count

LADDER = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
DEEPEST_BY_PROFILE = {"quick": 0.999, "standard": 0.9999, "soak": 0.999999}
CONFIDENCE = 0.95
_LEAST_BEYOND = 10


class Ranked(Protocol):
    """Values in buckets: `Bins`, or `RankedCounts` for a few quantiles of many histograms."""

    @property
    def total(self) -> int: ...
    @property
    def underflow(self) -> int: ...
    @property
    def overflow(self) -> int: ...
    @property
    def top(self) -> int: ...
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
    """What a figure says in its place that is missing: "needs 1000 values, has 100"; "" if none
    is."""
    return f"needs {format_count(needed)} values, has {format_count(count)}" * (count < needed)


def printable_quantiles(count: int, deepest: float = LADDER[-1]) -> list[float]:
    """The quantiles worth printing for `count` values, up to `deepest`, ascending."""
    return [q for q in LADDER if q <= deepest and is_printable(q, count)]


@lru_cache(maxsize=1 << 12)  # systems of one comparison have the same counts
def rank_interval(count: int, q: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Ranks, from 1, whose values enclose the quantile; 0 or count + 1 means no bound."""
    tail = (1 - confidence) / 2
    return _binomial_rank(count, q, tail), _binomial_rank(count, q, 1 - tail) + 1


def quantile(histogram: Histogram, q: float, *, confidence: float = CONFIDENCE) -> Quantile | None:
    """The `q` quantile (nearest rank) with its interval; None for an empty histogram.

    ValueError unless 0 < q < 1 and 0 < confidence < 1; InputError if unreadable.
    """
    if not (0 < q < 1 and 0 < confidence < 1):
        raise ValueError(f"q and confidence must lie between 0 and 1, not {q} and {confidence}")
    return quantile_of_bins(bins_of(histogram), q, confidence)


def quantile_of_bins(bins: Ranked, q: float, confidence: float = CONFIDENCE) -> Quantile | None:
    """As `quantile`, for bins that were taken out of a histogram before."""
    if bins.total == 0:
        return None
    return quantile_between(bins, q, rank_interval(bins.total, q, confidence), confidence)


def quantile_between(bins: Ranked, q: float, ranks: tuple[int, int], confidence: float) -> Quantile:
    """The quantile of bins that are not empty, with the values of `ranks` (as `rank_interval` has
    them) as its interval at `confidence`."""
    rank = nearest_rank(bins.total, q)
    top = bins.top
    value = _edge(bins, rank, upper=True)
    return Quantile(
        q=q,
        value=value,
        low=_low_end(bins, ranks[0], top),
        high=_high_end(bins, ranks[1]),
        above=top if value is None and rank > bins.underflow else None,
        below=0 if value is None and rank <= bins.underflow else None,
        confidence=confidence,
    )


def nearest_rank(count: int, q: float) -> int:
    """Smallest rank, from 1, at or below which the share `q` of `count` values lies."""
    return min(max(int(np.ceil(count * q * (1 - 1e-15))), 1), count)


def _low_end(bins: Ranked, rank: int, top: int) -> int | None:
    in_overflow = rank > bins.total - bins.overflow
    return top if in_overflow else _edge(bins, rank, upper=False)


def _high_end(bins: Ranked, rank: int) -> int | None:
    return 0 if 0 < rank <= bins.underflow else _edge(bins, rank, upper=True)


def _edge(bins: Ranked, rank: int, *, upper: bool) -> int | None:
    """Edge of the bucket that holds the value of `rank`, None outside of the buckets."""
    inside = rank - bins.underflow
    if inside < 1 or rank > bins.total - bins.overflow:
        return None
    return bins.edges_at(inside)[upper]


def _binomial_rank(count: int, q: float, probability: float) -> int:
    """Smallest k with P(Binomial(count, q) <= k) >= probability, by bisection.

    scipy.stats.binom.ppf gives the same up to 2**31 and takes a second to import;
    beyond, its distribution function is undefined, and the beta integral is not.
    """
    from scipy import special

    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if float(special.betainc(count - middle, middle + 1, 1 - q)) >= probability:
            high = middle
        else:
            low = middle + 1
    return low
