"""What the maxima of a series in their order say: the only order that a stored series has.

Whether they are stationary, whether large values come in clusters, and whether a tail fitted to
some of them foresees the others.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

from hardstone.stats.mean_ranks import mean_ranks
from hardstone.stats.pareto_tail import next_maximum

LEAST_BLOCKS = 100
FOLDS = 10
LEAST_FOLDS_HELD = 8
_PARTS = 4
_BACK_TEST_QUANTILE = 0.7
_MOST_ABOVE = 1000  # more say no more, and a fit takes memory for each

IntArray = NDArray[np.int64]


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


def neighbour_p(maxima: IntArray | NDArray[np.float64]) -> float:
    """p of "neighbours do not depend on each other": rank correlation of each with the next."""
    from scipy import special

    ranks = mean_ranks(maxima)
    one, two = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    spread = sqrt(float((one**2).sum() * (two**2).sum()))
    if not spread:
        return 1.0
    return float(special.erfc(abs(float(one @ two)) / spread * sqrt(one.size / 2)))


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


def folds_held(maxima: IntArray, confidence: float) -> int:
    """In how many of FOLDS tenths the maximum lies where the other nine foresee it.

    The tail is fitted to the maxima above the 70 % quantile of the nine tenths, at most 1000. Each
    tenth is left out once, so that the ten outcomes hardly depend on each other: a cut into first
    part and rest would ask for the same few maxima again and again.
    """
    held = 0
    side = (1 - confidence) / 2
    for number, fold in enumerate(np.array_split(maxima, FOLDS)):
        parts = np.array_split(maxima, FOLDS)
        rest = np.concatenate(parts[:number] + parts[number + 1 :])
        threshold = float(np.quantile(rest, max(_BACK_TEST_QUANTILE, 1 - _MOST_ABOVE / rest.size)))
        above = np.asarray(rest[rest > threshold] - threshold, dtype=np.float64)
        if above.size < 2:
            continue
        foreseen = next_maximum(above, fold.size / rest.size)
        held += side <= foreseen.below(max(float(fold.max()) - threshold, 0.0)) <= 1 - side
    return held
