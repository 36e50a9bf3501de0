"""Gaps in which the kernel gave the CPU to others: real-time throttling, and the fair server.

Both take a share of each period, by default 50 ms of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardstone.stats.noise_gaps import BoolArray, Gaps

THROTTLING, FAIR_SERVER = "throttling", "fair server"
_DEFAULT_NS = (950_000_000, 1_000_000_000)
_SHORTEST, _LONGEST = 0.8, 1.3  # of what the period leaves to others
_BESIDE = 0.05  # of a period, for each period between two
_MOST_APART = 3  # periods: at ten _BESIDE would let any distance pass
_FAIR_SINCE = (6, 12)


@dataclass(frozen=True)
class Budget:
    """Real-time threads may run `runtime_ns` of each `period_ns`; the kernel's default where that
    is not known. `release` of Linux, None on other systems."""

    runtime_ns: int | None
    period_ns: int | None
    release: tuple[int, int] | None
    is_of_group: bool = False

    @property
    def left_ns(self) -> tuple[int, int]:
        """What is left to others in each period, and the period."""
        runtime, period = self.runtime_ns, self.period_ns
        if runtime is None or period is None or not 0 < runtime < period:
            runtime, period = _DEFAULT_NS
        return period - runtime, period

    @property
    def name(self) -> str:
        """From Linux 6.12 on only the fair server, and the budget of a control group, take CPU time
        from real-time threads."""
        if self.is_of_group:
            return THROTTLING
        is_new = self.release is not None and self.release >= _FAIR_SINCE
        return FAIR_SERVER if is_new or self.runtime_ns is None else THROTTLING


def throttled_gaps(gaps: Gaps, budget: Budget) -> BoolArray:
    """The gaps as long as what the budget leaves to others, if two or more are a whole number of
    periods apart. They often begin in a tick, which counts what the thread used."""
    left_ns, period_ns = budget.left_ns
    is_long = (gaps.length >= _SHORTEST * left_ns) & (gaps.length <= _LONGEST * left_ns)
    at = gaps.begin[is_long].astype(np.float64)
    if at.size < 2:
        return is_long & False
    periods = np.diff(at) / period_ns
    whole = np.rint(periods)
    recurs = (whole >= 1) & (whole <= _MOST_APART)
    recurs &= np.abs(periods - whole) <= _BESIDE * whole
    is_paired = np.append(recurs, False) | np.append(False, recurs)
    found = np.zeros(gaps.begin.size, dtype=np.bool_)
    found[np.flatnonzero(is_long)[is_paired]] = True
    return found
