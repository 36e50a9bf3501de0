"""Exact tests of pairs: signed ranks and sign flips, with the intervals that invert them.

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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec
import numpy as np
from numpy.typing import NDArray


def mean_ranks(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """From 1; equal values share the mean of theirs."""
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
    ranks = _doubled_ranks([abs(one) for one in differences])
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
    """In how many of all choices of signs the positive ranks add up to each value."""
    counts = [1]
    for rank in ranks:
        grown = counts + [0] * rank
        for value, ways in enumerate(counts):
            grown[value + rank] += ways
        counts = grown
    return counts


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, so that averaged ranks stay whole."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    ranks = [0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for at in order[first : last + 1]:
            ranks[at] = first + last + 2
        first = last + 1
    return ranks


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
    """Where `is_beyond` becomes true, by bisection; None where it is so nowhere or everywhere."""
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
    sums = np.zeros(1 << terms.size)
    for at, term in enumerate(terms.tolist()):
        np.add(sums[: 1 << at], term, out=sums[1 << at : 2 << at])
    return sums
