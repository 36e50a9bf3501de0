"""Real wake-up latencies: the sample in tests/unit/stats/samples, and runs drawn from it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Histogram, Series
from hardstone.stats.histogram import bins_of
from tests.unit.stats.make import series

SAMPLE = Path(__file__).parent / "samples" / "wakeups.json"


@cache
def sample() -> dict[str, Any]:
    return json.loads(SAMPLE.read_text())  # type: ignore[no-any-return]


@cache
def stored(name: str) -> list[Series]:
    """The runs of one set, in the order in which they were measured."""
    return [_series(one) for one in sample()["sets"][name]]


def _series(stored_run: dict[str, Any]) -> Series:
    flat = stored_run["buckets"]
    indices = np.cumsum(flat[::2]).tolist()
    return Series(
        name="wakeup",
        labels={"part": "total"},
        unit="ns",
        count=stored_run["count"],
        min=stored_run["min"],
        mean=None,
        stddev=None,
        max=stored_run["max"],
        histogram=Histogram(
            layout=sample()["layout"], buckets=list(zip(indices, flat[1::2], strict=True))
        ),
    )


def values_of(one: Series) -> NDArray[np.int64]:
    bins = bins_of(one.histogram)
    return np.repeat((bins.lower + bins.upper) // 2, bins.count)


def drawn(
    values: NDArray[np.int64], together: int, draw: np.random.Generator, scale: float = 1.0
) -> Series:
    """A run as long as the stored one, of values of it. Each comes `together` times, so that an
    interval for independent values would be the square root of that too narrow."""
    picked = np.repeat(draw.choice(values, values.size // together), together)
    return series((picked * scale).astype(np.int64))  # type: ignore[arg-type]
