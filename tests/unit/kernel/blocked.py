"""Dispatch latencies of made-up systems: blocked intervals of known lengths at a known rate."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Event, Result, Series
from tests.unit.stats import make

IDLE_NS, JITTER_NS = 5_000, 200
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
EXPONENTIAL: Draw = lambda rng, n: rng.exponential(50_000.0, n)  # noqa: E731
UNIFORM: Draw = lambda rng, n: rng.uniform(0.0, 200_000.0, n)  # noqa: E731
TWO_POINT: Draw = lambda rng, n: np.where(rng.random(n) < 0.9, 20_000.0, 300_000.0)  # noqa: E731


class System:
    """Alternates between open times (exponential) and blocked intervals (`draw`)."""

    def __init__(
        self, draw: Draw, rng: np.random.Generator, *, open_ns: float = 100_000, count: int = 30_000
    ) -> None:
        self.lengths = draw(rng, count)
        opens = rng.exponential(open_ns, self.lengths.size)
        both = np.empty(2 * self.lengths.size)
        both[0::2], both[1::2] = opens, self.lengths
        self.ends = np.cumsum(both)
        self.total_ns = float(self.ends[-1])

    def rate(self, x: float) -> float:
        """Intervals longer than x, per second."""
        return float((self.lengths > x).sum()) / self.total_ns * 1e9

    def shorter(self, x: float) -> float:
        """The share of blocked time in intervals up to x."""
        return float(self.lengths[self.lengths <= x].sum() / self.lengths.sum())

    @property
    def blocked_share(self) -> float:
        return float(self.lengths.sum()) / self.total_ns

    def latencies(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Releases at random moments: the idle latency, and what is left of an interval."""
        at = rng.uniform(0.0, self.total_ns, count)
        place = np.searchsorted(self.ends, at)
        left = np.where(place % 2 == 1, self.ends[place] - at, 0.0)
        return np.asarray(idle(rng, count) + left, dtype=np.int64)

    def woken(
        self, rng: np.random.Generator, count: int, gap_ns: float, least_ns: float = 0.0
    ) -> NDArray[np.int64]:
        """As the probe: the next release is `least_ns` and an exponential time after a wake-up."""
        ends = self.ends.tolist()
        ahead = (least_ns + rng.exponential(gap_ns, count)).tolist()
        waits, now = [], 0.0
        for time in ahead:
            now += time
            place = bisect_right(ends, now)
            if place >= len(ends):
                raise ValueError("the system is too short")
            left = ends[place] - now if place % 2 == 1 else 0.0
            waits.append(left)
            now += left
        return np.asarray(idle(rng, count) + np.array(waits), dtype=np.int64)


def idle(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    return np.asarray(rng.normal(IDLE_NS, JITTER_NS, count), dtype=np.int64)


def dispatch(
    operation: str, values: Sequence[int] | NDArray[np.int64], name: str = "dispatch"
) -> Series:
    found = make.series(values, name)
    found.labels = {"operation": operation}
    return found


def ran(operation: str, share: float | None) -> Event:
    elapsed_ns = 10_000_000_000
    data: dict[str, int | str] = {"operation": operation, "elapsed_ns": elapsed_ns}
    if share is not None:
        data |= {"system_ns": int(share * elapsed_ns), "cpu_ns": elapsed_ns}
    return Event(name="operation_ran", text=f"{operation} ran", data=dict(data))


def result(
    found: Mapping[str, NDArray[np.int64]],
    shares: Mapping[str, float | None],
    *,
    reference: NDArray[np.int64] | None,
    sections: Sequence[Series] = (),
) -> Result:
    """A result of KRN-P-PRE; `all` has the values of all operations, and half of its time in the
    kernel unless all have the same share."""
    series = [dispatch(name, values) for name, values in found.items()]
    series.append(dispatch("all", np.concatenate(list(found.values()))))
    if reference is not None:
        series.insert(0, dispatch("none", reference))
    whole = set(shares.values())
    events = [ran(name, share) for name, share in shares.items()]
    events.append(ran("all", whole.pop() if len(whole) == 1 else 0.5))
    # Releases of made-up systems are far apart.
    params = {"mean_interval_ns": 10**15}
    return make.result("KRN-P-PRE", series=[*series, *sections], events=events, params=params)


KINDS: dict[str, Draw] = {"exit": TWO_POINT, "fork": EXPONENTIAL, "exec": UNIFORM}
SHORT: Draw = lambda rng, n: rng.exponential(3_000.0, n)  # noqa: E731


def kernel_result(
    seed: int = 1, *, count: int = 4_000, is_short: bool = False, share: float | None = 0.95
) -> Result:
    """Three operations, of which `exit` blocks longest; `is_short`: all block for 3 us."""
    rng = np.random.default_rng(seed)
    found = {
        name: System(SHORT if is_short else draw, rng).latencies(rng, count)
        for name, draw in KINDS.items()
    }
    return result(found, dict.fromkeys(KINDS, share), reference=idle(rng, count))


def with_reference_at_work(
    found: Result, *, still: float = 0.0, waited: float = 0.0, count: int = 1_000
) -> Result:
    """Of the values of the reference its process had not run before the share `still`, and others
    had the CPU for the share `waited` of its time."""
    event = ran("none", None)
    event.data |= {"value_count": count, "still_count": round(still * count)}
    event.data["waited_ns"] = int(waited * 10_000_000_000)
    found.events.append(event)
    return found
