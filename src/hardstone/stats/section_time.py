"""HP's figure: the share of kernel time in sections shorter than x, from residuals.

With R the residual of a moment in the kernel (0 where it is not blocked), F its distribution and f
its density, the share is F(x) - x f(x) (docs/method.md). It is computed from its complement, the
share of the time in sections longer than x, which needs only the rates of longer ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardstone.stats.blocking_rate import (
    CONFIDENCE,
    BlockingRate,
    blocking_rate,
    count_high,
    count_low,
    counts_above,
    longer_at_least,
    seen_at_most,
)
from hardstone.stats.concave_majorant import FloatArray
from hardstone.stats.quantiles import values_for
from hardstone.stats.residuals import Residuals

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
