"""A series made from values that are at hand, as the probe would have recorded them."""

from __future__ import annotations

import numpy as np

from hardstone.model import Series, Worst
from hardstone.stats.histogram import histogram_of
from hardstone.stats.noise_gaps import IntArray

_WORST = 32
_SECOND_NS = 1_000_000_000


def made_series(name: str, derived: str, value: IntArray, at_ns: IntArray) -> Series:
    """Durations in ns, each with the time at which it ended, ascending; one shape (n,)."""
    count = int(value.size)
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
        maxima_per_s=_maxima(value, at_ns),
        derived=derived,
    )


def _maxima(value: IntArray, at_ns: IntArray) -> list[int | None]:
    if value.size == 0:
        return []
    second = at_ns // _SECOND_NS
    maxima = np.full(int(second[-1]) + 1, -1, dtype=np.int64)
    np.maximum.at(maxima, second, value)
    return [one if one >= 0 else None for one in maxima.tolist()]
