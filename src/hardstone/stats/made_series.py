"""A series made from values that are at hand, as the probe would have recorded them."""

from __future__ import annotations

import numpy as np

from hardstone.model import MOST_MAXIMA, Series, Worst
from hardstone.stats.histogram import histogram_of
from hardstone.stats.noise_gaps import IntArray

_WORST = 32
_SECOND_NS = 1_000_000_000
_MOST_MAXIMA = MOST_MAXIMA // 2


def made_series(name: str, derived: str, value: IntArray, at_ns: IntArray) -> Series:
    """Durations in ns, each with the time at which it ended, ascending; one shape (n,)."""
    count = int(value.size)
    maxima, interval_ns = _maxima(value, at_ns)
    order = np.lexsort((at_ns, -value))[:_WORST]
    return Series(
        name=name,
        labels={},
        unit="ns",
        count=count,
        min=int(value.min()) if count else None,
        mean=float(value.mean()) if count else None,
        stddev=float(value.std(ddof=1)) if count > 1 else 0.0 if count else None,
        max=int(value.max()) if count else None,
        histogram=histogram_of(value),
        worst=[
            Worst(value_ns=int(value[one]), at_ns=int(at_ns[one]), index=int(one)) for one in order
        ],
        maxima_per_s=maxima,
        maxima_interval_ns=interval_ns,
        derived=derived,
    )


def _maxima(value: IntArray, at_ns: IntArray) -> tuple[list[int | None], int]:
    """The largest value of each interval, and its length: a second, or what keeps them few."""
    interval_ns = _SECOND_NS
    if value.size == 0:
        return [], interval_ns
    while at_ns[-1] // interval_ns >= _MOST_MAXIMA:
        interval_ns *= 2
    number = at_ns // interval_ns
    maxima = np.full(int(number[-1]) + 1, -1, dtype=np.int64)
    np.maximum.at(maxima, number, value)
    return [one if one >= 0 else None for one in maxima.tolist()], interval_ns
