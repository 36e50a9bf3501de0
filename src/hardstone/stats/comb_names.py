"""What the combs of a record are: this kernel's tick, a host's, a timer, or not known.

The kernel counts its own interrupts. A comb with more gaps than it counted in the same time does
not come from it: an interrupt of a virtual machine's host, or of firmware, is in no count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardstone.stats.comb import Comb, is_comb
from hardstone.stats.comb_search import FoundComb, Mark, marked
from hardstone.stats.noise_gaps import Gaps

TICK, HOST_TICK, TIMER = "tick", "host tick", "timer"
PERIODIC, UNCOUNTED, IRREGULAR = "periodic", "uncounted", "irregular"
USUAL_TICKS_HZ = (100, 250, 300, 1000)
_SAME_RATE = 400e-6
_COUNTED = 0.9  # of a comb's slots, by the kernel


@dataclass(frozen=True)
class Counted:
    """What is known of the kernel: the period of its tick, and the interrupts that it counted on
    the CPU, a second of watching. None: not known."""

    tick_ns: int | None
    timer_hz: float | None
    all_hz: float | None

    @property
    def tick_hz(self) -> float | None:
        return 1e9 / self.tick_ns if self.tick_ns else None


@dataclass(frozen=True)
class NamedComb:
    """`mark`: it is the marked slots of another comb, whose place in the list is `on_top_of`."""

    name: str
    comb: Comb
    marks: list[Mark]
    mark: Mark | None = None
    on_top_of: int | None = None


def named_combs(gaps: Gaps, found: Sequence[FoundComb], kernel: Counted) -> list[NamedComb]:
    """Each comb with its name; the tick that comes at slots of another comb is one more."""
    tick = _tick(gaps, found, kernel)
    others = [one.comb for place, one in enumerate(found) if tick is None or tick[0] != place]
    left = _left(gaps, others, kernel, has_tick=tick is not None)
    named = []
    for place, one in enumerate(found):
        if tick is not None and tick[0] == place and tick[1] is None:
            named.append(NamedComb(TICK, one.comb, one.marks))
            continue
        marks = [mark for mark in one.marks if tick is None or mark is not tick[1]]
        named.append(NamedComb(_name(gaps, one.comb, left), one.comb, marks))
    if tick is not None and tick[1] is not None:
        place, mark = tick[0], tick[1]
        named.append(NamedComb(TICK, marked(found[place].comb, mark), [], mark, place))
    return named


@dataclass(frozen=True)
class _Left:
    """What the kernel counted beside its tick, a second; None: not known. `is_enough`: its timer
    interrupts are enough for all combs that they might be."""

    timer_hz: float | None
    all_hz: float | None
    is_enough: bool


def _left(gaps: Gaps, others: Sequence[Comb], kernel: Counted, *, has_tick: bool) -> _Left:
    if kernel.timer_hz is None or kernel.all_hz is None:
        return _Left(None, None, is_enough=False)
    ticks_hz = (kernel.tick_hz or 0.0) if has_tick else 0.0
    timer_hz = kernel.timer_hz - ticks_hz
    rates = [seen_hz(gaps, one) for one in others]
    rates = [hz for hz in rates if timer_hz >= _COUNTED * hz]
    return _Left(timer_hz, kernel.all_hz - ticks_hz, is_enough=timer_hz >= _COUNTED * sum(rates))


def seen_hz(gaps: Gaps, comb: Comb) -> float:
    """Gaps of a comb a second: fewer than its rate where long gaps hide slots. A kernel that was
    away for many periods of a timer counts one interrupt too."""
    return float((comb.gap >= 0).sum()) * 1e9 / max(gaps.watched_ns, 1)


def _tick(
    gaps: Gaps, found: Sequence[FoundComb], kernel: Counted
) -> tuple[int, Mark | None] | None:
    """Place of the comb that is the tick, and the mark whose slots are it if not all are."""
    rates = [kernel.tick_hz] if kernel.tick_hz else [float(hz) for hz in USUAL_TICKS_HZ]
    steady = [(place, one) for place, one in enumerate(found) if is_comb(one.comb)]
    whole = [
        place
        for place, one in steady
        if _is_one_of(one.comb.rate_hz, rates) and _may_count(seen_hz(gaps, one.comb), kernel)
    ]
    if whole:
        return max(whole, key=lambda place: _likelihood(gaps, found[place].comb)), None
    parts = [
        (place, mark)
        for place, one in steady
        for mark in one.marks
        if _is_one_of(one.comb.rate_hz / mark.every, rates)
        and _may_count(seen_hz(gaps, marked(one.comb, mark)), kernel)
    ]
    return parts[0] if parts else None


def _likelihood(gaps: Gaps, comb: Comb) -> float:
    """Of several combs of the tick's rate the one with the longer gaps is taken for it: which one
    is this kernel's cannot be told, and a figure must not flatter."""
    return float(np.median(gaps.length[comb.gap[comb.gap >= 0]]))


def _is_one_of(rate_hz: float, rates: Sequence[float]) -> bool:
    return any(abs(rate_hz / one - 1) <= _SAME_RATE for one in rates)


def _may_count(seen: float, kernel: Counted) -> bool:
    """Whether the kernel counted at least as many timer interrupts."""
    return kernel.timer_hz is None or kernel.timer_hz >= _COUNTED * seen


def _name(gaps: Gaps, comb: Comb, left: _Left) -> str:
    """Of a comb that is not the tick. Where the timer interrupts are too few for all combs that
    might be timers, none is called one."""
    if not is_comb(comb):
        return IRREGULAR
    if left.timer_hz is None or left.all_hz is None:
        return PERIODIC
    least_hz = _COUNTED * seen_hz(gaps, comb)
    if left.timer_hz >= least_hz:
        return TIMER if left.is_enough else PERIODIC
    if left.all_hz >= least_hz:
        return PERIODIC
    usual = _is_one_of(comb.rate_hz, [float(hz) for hz in USUAL_TICKS_HZ])
    return HOST_TICK if usual else UNCOUNTED
