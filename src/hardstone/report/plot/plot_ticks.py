"""Round marks of a linear axis, as d3 chooses them."""

from __future__ import annotations

from math import floor, log10, sqrt


def tick_step(low: float, high: float, count: int) -> float:
    """The distance of about `count` marks: 1, 2 or 5 times a power of ten."""
    raw = (high - low) / max(count, 1)
    power = floor(log10(raw))
    error = raw / 10.0**power
    factor = 10 if error >= sqrt(50) else 5 if error >= sqrt(10) else 2 if error >= sqrt(2) else 1
    return factor * 10.0**power


def ticks(low: float, high: float, count: int) -> list[float]:
    if high <= low:
        return [low]
    raw = (high - low) / count
    power = floor(log10(raw))
    error = raw / 10.0**power
    factor = 10 if error >= sqrt(50) else 5 if error >= sqrt(10) else 2 if error >= sqrt(2) else 1
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
