"""The score of a duration, and the duration of a score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, floor, log, log10

BEST = 5.0
_US = 1000  # in ns
Anchors = Sequence[tuple[int, float]]


def score_of_ns(duration_ns: float, anchors: Anchors) -> float:
    """0 to BEST: linear in the logarithm of the duration between the anchors (us, score).

    A duration of 0 or less has the best score.
    """
    for (low, better), (high, worse) in pairwise(anchors):
        if duration_ns <= low * _US:
            return better
        if duration_ns < high * _US:
            share = log(duration_ns / (low * _US)) / log(high / low)
            return better + share * (worse - better)
    return anchors[-1][1]


def ns_of_score(score: float, anchors: Anchors) -> float:
    """The longest duration that has at least `score`; infinite for the lowest score."""
    for (low, better), (high, worse) in pairwise(anchors):
        if score >= better:
            return float(low * _US)
        if score > worse:
            return low * _US * exp((score - better) / (worse - better) * log(high / low))
    return float("inf")


def halves(score: float) -> float:
    """`score` to the nearest half star; a quarter goes up."""
    return floor(2 * score + 0.5) / 2


def rounded_down(duration_ns: float) -> float:
    """Three significant digits, never more than the value: a limit that is said must hold."""
    if duration_ns <= 0:
        return 0.0
    digit = 10.0 ** (floor(log10(duration_ns)) - 2)
    return floor(duration_ns / digit + 1e-9) * digit
