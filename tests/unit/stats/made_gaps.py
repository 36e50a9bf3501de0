"""Made-up records of a watching loop, in which the combs are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hardstone.model import Conditions, Event, Result, Window

S = 1_000_000_000
WATCH = {"tick_ns": 4_000_000, "rt_runtime_ns": 950_000_000, "rt_period_ns": S}
LINUX = {"system": "Linux", "release": "6.1.0-13-amd64"}


@dataclass
class Machine:
    """Draws gaps with times in ns; what overlaps is delayed, as interrupts are."""

    seed: int = 1
    seconds: float = 10
    begin: list[NDArray[np.float64]] = field(default_factory=list)
    length: list[NDArray[np.float64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def comb(
        self,
        hz: float,
        length_ns: float,
        *,
        ppm: float = 0.0,
        phase_ns: float | None = None,
        jitter_ns: float = 500.0,
        missing: float = 0.0,
        spread: float = 0.05,
        every: tuple[int, float] | None = None,
    ) -> None:
        """Gaps at `hz` x (1 - ppm), each `every`-th of another length."""
        period = 1e9 / hz * (1 + ppm / 1e6)
        phase = self.random.uniform(0, period) if phase_ns is None else phase_ns
        at = np.arange(phase, self.seconds * 1e9, period)
        length = length_ns * self.random.lognormal(0, spread, at.size)
        if every is not None:
            length[:: every[0]] *= every[1] / length_ns
        at = at + np.abs(self.random.normal(0, jitter_ns, at.size))
        kept = self.random.random(at.size) >= missing
        self.begin.append(at[kept])
        self.length.append(length[kept])

    def noise(self, hz: float, length_ns: float) -> None:
        """Gaps at random times, with exponential distances and lengths."""
        count = self.random.poisson(hz * self.seconds)
        self.begin.append(self.random.uniform(0, self.seconds * 1e9, count))
        self.length.append(300 + self.random.exponential(length_ns, count))

    def windows(
        self,
        *,
        timer_hz: float | None = None,
        all_hz: float | None = None,
        rests: bool = True,
        window_ns: int = 250_000_000,
    ) -> list[Window]:
        """Three windows of each second where the thread rests, else four, nearly back to back."""
        at = np.concatenate([np.zeros(0), *self.begin])
        order = np.argsort(at)
        at, length = at[order], np.concatenate([np.zeros(0), *self.length])[order]
        begin, end = _one_after_another(at, length)
        starts = [
            start
            for start in range(0, int(self.seconds * S), window_ns)
            if not rests or start % S < 3 * window_ns
        ]
        found = []
        for start in starts:
            # The whole record has a round number of bins: of others a spectrum takes 20 times
            # as long.
            left_ns = 1000 if start == starts[-1] else 300_000
            found.append(self._window(start + 1000, start + window_ns - left_ns, begin, end))
        for one in found:
            span_ns = one.end_ns - one.begin_ns + 100_000
            one.counted_ns = span_ns
            if timer_hz is not None:
                one.timer_interrupts_count = round(timer_hz * span_ns / 1e9)
                one.interrupts_count = round((all_hz or timer_hz) * span_ns / 1e9)
        return found

    def _window(
        self, from_ns: int, to_ns: int, begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> Window:
        inside = (begin >= from_ns) & (begin < to_ns)
        to_ns = max(to_ns, int(end[inside].max(initial=0)))
        return Window(
            begin_ns=from_ns,
            end_ns=to_ns,
            distance_ns=np.diff(begin[inside], prepend=from_ns).tolist(),
            length_ns=(end - begin)[inside].tolist(),
        )


def _one_after_another(
    at: NDArray[np.float64], length: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One that comes while another is served waits for its end; both are then one gap."""
    begin: list[int] = []
    end: list[int] = []
    for one, ns in zip(at.tolist(), length.tolist(), strict=True):
        if end and one <= end[-1] + 40:
            end[-1] += int(ns)
        else:
            begin.append(int(one))
            end.append(int(one) + max(int(ns), 300))
    return np.array(begin, dtype=np.int64), np.array(end, dtype=np.int64)


def result_of(windows: list[Window], **watch: int | str | None) -> Result:
    data = {**WATCH, **LINUX, **watch}
    event = Event(
        name="gap_watch", text="", data={key: one for key, one in data.items() if one is not None}
    )
    return Result(
        test="CLK-P-DUR",
        status="measured",
        conditions=Conditions(realtime=True, clock="tsc"),
        windows=windows,
        events=[event],
    )
