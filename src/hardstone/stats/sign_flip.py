"""The exact sign-flip test of pairs, and the interval that inverts it.

Under the hypothesis that the terms are symmetric about 0, each of the 2**n choices of their signs
is as likely as the one seen (Fisher 1935). A sum at most as large as the one seen, with some signs
flipped, means that the flipped terms add up to at least 0: so p is the share of all sets of pairs,
the empty one included, whose terms add up to at least (or at most) 0. Written with the ratio of the
pairs in the terms, that share falls (or rises) with the ratio, and the interval follows from it
(Hartigan 1969).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

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
