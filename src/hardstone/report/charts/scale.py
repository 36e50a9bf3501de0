"""Logarithmic axes that show few, round and honest marks."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, inf, log10

from hardstone.model import Unit
from hardstone.report.theme import LABEL_OF_UNIT, Spec

SMALLEST_DRAWN = 0.5
_FINE_RATIO = 6
_DECADES_RATIO = 200
_MOST_DECADES = 8


def drawn(value: float) -> float:
    """Where `value` stands on a logarithmic axis: 0 and below stand at 0.5."""
    return max(float(value), SMALLEST_DRAWN)


def domain(values: Iterable[float], margin: float = 1.04) -> tuple[float, float]:
    """Ends of an axis that holds all `values`, a little wider; (1, 10) for none."""
    low, high = inf, -inf
    for value in values:
        low, high = min(low, drawn(value)), max(high, drawn(value))
    if low > high:
        return 1.0, 10.0
    return low / margin, high * margin


def ticks(low: float, high: float) -> list[float]:
    """Round marks between `low` and `high`: decades, 1-2-5, or even steps where it is narrow.

    None where `high` is not above `low`.
    """
    if high <= low:
        return []
    if high / low < _FINE_RATIO:
        return _even(low, high)
    steps = (1,) if high / low > _DECADES_RATIO else (1, 2, 5)
    first, last = floor(log10(low)), ceil(log10(high))
    stride = ceil((last - first) / _MOST_DECADES)
    powers = [power for power in range(first, last + 1) if power % stride == 0]
    marks = [step * 10.0**power for power in powers for step in steps]
    return [mark for mark in marks if low <= mark <= high]


def _even(low: float, high: float) -> list[float]:
    step = 10 ** floor(log10((high - low) / 3))
    step *= 5 if (high - low) / step > 15 else 2 if (high - low) / step > 6 else 1
    return [round(n * step, 9) for n in range(ceil(low / step), floor(high / step) + 1)]


def value_scale(low: float, high: float) -> Spec:
    return {"type": "log", "domain": [low, high], "nice": False, "clamp": True}


def value_axis(low: float, high: float, unit: Unit) -> Spec:
    """Axis of the measured quantity, marked in the units that people read."""
    return {"values": ticks(low, high), "labelExpr": LABEL_OF_UNIT[unit], "grid": True}
