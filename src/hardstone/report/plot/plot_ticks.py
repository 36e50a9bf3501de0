"""Round marks of a linear axis, as d3 chooses them."""

from __future__ import annotations

from math import floor, log10, sqrt


def _chosen(low: float, high: float, count: float) -> tuple[int, int]:
    """The power of ten, and how many of it lie between about `count` marks: 1, 2, 5 or 10."""
    raw = (high - low) / count
    power = floor(log10(raw))
    error = raw / 10.0**power
    if error >= sqrt(50):
        return power, 10
    return power, 5 if error >= sqrt(10) else 2 if error >= sqrt(2) else 1


def tick_step(low: float, high: float, count: int) -> float:
    """The distance of about `count` marks: 1, 2 or 5 times a power of ten. `low` < `high`."""
    power, factor = _chosen(low, high, max(count, 1))
    return factor * 10.0**power


def ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round marks from `low` to `high`, ascending; `low` alone where `high` is not
    above it."""
    if high <= low:
        return [low]
    power, factor = _chosen(low, high, count)
    # Below 1 the step is kept as its inverse, which is whole.
    inverse = 10.0**-power / factor if power < 0 else 0.0
    step = factor * 10.0**power
    first, last = _ends(low, high, inverse, step)
    if last < first and 0.5 <= count < 2:
        return ticks(low, high, count * 2)
    places = range(first, last + 1)
    return [place / inverse if inverse else place * step for place in places]


def _ends(low: float, high: float, inverse: float, step: float) -> tuple[int, int]:
    """The first and the last place, in steps, within the ends."""
    if inverse:
        first, last = floor(low * inverse + 0.5), floor(high * inverse + 0.5)
        return first + (first / inverse < low), last - (last / inverse > high)
    first, last = floor(low / step + 0.5), floor(high / step + 0.5)
    return first + (first * step < low), last - (last * step > high)
