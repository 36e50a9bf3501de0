"""Differences of pairs: an exact test, an estimate with an interval, many tests at once.

Wilcoxon's signed-rank test with zeros ranked and then left out (Pratt 1959), tied ranks
averaged, and the null distribution counted exactly over all signs, ties included. The
estimate is that of Hodges and Lehmann (1963), with the interval that inverts the test.
scipy.stats.wilcoxon gives the same where there are neither ties nor zeros, and takes a
second to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec


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
