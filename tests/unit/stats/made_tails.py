"""Series with the order that a document keeps: maxima of intervals, and the largest values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Series, Worst
from hardstone.stats.identity import DEFAULT_LAYOUT, MAX_VALUE
from tests.unit.stats.make import series

PER_INTERVAL = 1000
WORST = 32

Values = NDArray[np.int64]


def ordered(
    values: Values,
    *,
    per_interval: int = PER_INTERVAL,
    layout: str = DEFAULT_LAYOUT,
    limit: int = MAX_VALUE,
) -> Series:
    """`values`, shape (n,), in the order in which they were measured."""
    made = series(values, layout=layout, limit=limit)
    begins = np.arange(0, values.size, per_interval)
    made.maxima_per_s = np.maximum.reduceat(values, begins).tolist()
    large = (
        np.flatnonzero(values >= np.partition(values, -WORST)[-WORST])
        if values.size > WORST
        else np.arange(values.size)
    )
    places = large[np.argsort(values[large], kind="stable")][::-1][:WORST]
    made.worst = [
        Worst(value_ns=int(values[at]), at_ns=int(at) * 1_000_000, index=int(at)) for at in places
    ]
    return made


def latencies(seed: int, seconds: int = 120, *, shape: float = 0.0) -> Values:
    """Independent values with a tail that is generalised Pareto from the 98 % quantile on."""
    draw = np.random.default_rng(seed)
    count = seconds * PER_INTERVAL
    body = draw.uniform(8_000, 20_000, count)
    is_tail = draw.random(count) < 0.02
    u = draw.random(count)
    excess = -np.log(u) if shape == 0 else (u**-shape - 1) / shape
    return np.asarray(np.where(is_tail, 20_000 + 5_000 * excess, body), dtype=np.int64)
