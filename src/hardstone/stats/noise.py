"""Adds to a result with windows what its gaps are: `tick`, `other`, and the combs found.

Both take a share of each period, by default 50 ms of a second.

Pure: the windows stay in the result, so that another version of the analysis can be applied to
them. Without windows a result is returned as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from hardstone.model import (
    MOST_MAXIMA,
    CombMark,
    DataValue,
    Noise,
    NoiseComb,
    Result,
    Series,
    Window,
    Worst,
    as_integer,
)
from hardstone.stats.comb import (
    IRREGULAR,
    MOST_SLOTS,
    TICK,
    TOLERANCES_NS,
    BoolArray,
    Counted,
    Gaps,
    NamedComb,
    find_combs,
    gaps_of,
    hit_share,
    merged_gaps,
    named_combs,
)
from hardstone.stats.histogram import IntArray, histogram_of
from hardstone.stats.identity import has_observed
from hardstone.units import format_ns

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


MOST_POINTS = 1_200


@dataclass(frozen=True)
class GapPoint:
    """`at_ns` is after the nearest slot of the tick, up to half a period before or after it, or,
    where no tick was found, since the start. `is_tick`: it begins at a slot."""

    at_ns: float
    length_ns: int
    is_tick: bool


def gap_points(result: Result, most: int = MOST_POINTS) -> list[GapPoint]:
    """The longest gaps, and of the others every so many, so that there are `most` at most."""
    if len(result.noise) != 1:
        return []
    noise = result.noise[0]
    gaps = merged_gaps(gaps_of([one for one in result.windows if one.dropped_count == 0]))
    tick = next((one for one in noise.combs if one.name == "tick"), None)
    at = gaps.begin.astype(np.float64)
    is_tick = np.zeros(at.size, dtype=np.bool_)
    if tick is not None and noise.tick_period_ns:
        period = noise.tick_period_ns
        at = (at - tick.phase_ns + period / 2) % period - period / 2
        is_tick = np.abs(at) <= tick.tolerance_ns
    order = np.argsort(-gaps.length, kind="stable")
    longest, rest = order[: most // 3], order[most // 3 :]
    stride = max(1, -(-rest.size // max(most - longest.size, 1)))
    return [
        GapPoint(float(at[one]), int(gaps.length[one]), bool(is_tick[one]))
        for one in (*longest.tolist(), *np.sort(rest)[::stride].tolist())
    ]


_TICK_GONE = 0.5
_AWAY = 0.5
_USUAL_NS = 10_000_000  # the longest period of a usual tick


def _is_mostly_away(noise_ns: int, watched_ns: int) -> bool:
    """Whether gaps took more than half of the time: a quota, a budget, other tasks."""
    return noise_ns > _AWAY * watched_ns


def _no_tick_words(noise: Noise) -> str:
    """Why the series `tick` has no values."""
    if noise.watched_ns == 0:
        return "no window recorded all its gaps: raise gaps_count"
    kernel = noise.kernel_tick_ns
    if noise.watched_ns > MOST_SLOTS * (kernel or _USUAL_NS):
        return f"the recorded gaps do not cover {format_ns(noise.watched_ns)} of watching"
    text = "no gaps recur with "
    text += f"the kernel's tick ({format_ns(kernel)})" if kernel else "any usual tick"
    near = next((one for one in noise.combs if one.name == IRREGULAR), None)
    if near is not None:
        text += f" in nine of ten slots; at {near.rate_hz:.2f} Hz "
        return f"{text}{near.coverage:.0%} of them have one"
    if kernel is None or noise.timer_interrupts_count is None or not noise.counted_ns:
        return f"{text}, and the kernel does not report how many timer interrupts it had"
    expected = noise.counted_ns / kernel
    text += f": the kernel counted {noise.timer_interrupts_count} timer interrupts in "
    text += f"{format_ns(noise.counted_ns)}, a tick would have made {expected:.0f}"
    if _is_mostly_away(noise.noise_ns, noise.watched_ns):
        return (
            f"{text}. The loop had the CPU for less than half of the time, so nothing can be said "
            "about the tick"
        )
    if noise.timer_interrupts_count < _TICK_GONE * expected:
        text += ". It stops the tick on this CPU (nohz_full)"
    else:
        text += ". They are shorter than the threshold, or have no steady period"
    return text


def _notes_of(noise: Noise, result: Result) -> list[str]:
    """What makes these figures doubtful, or narrower than they seem."""
    notes = []
    if noise.left_out_windows:
        notes.append(
            f"{noise.left_out_windows} windows, the busiest, had more gaps than could be recorded "
            f"and are left out: tick and other cover {format_ns(noise.watched_ns)} of watching"
        )
    if result.conditions.realtime is False:
        notes.append("the thread was not real-time: gaps include other tasks of the CPU")
    if _is_mostly_away(noise.noise_ns, noise.watched_ns):
        notes.append(
            "gaps took more than half of the time: a recurring gap may come from a quota, a "
            "budget or other tasks, so it is not checked against the kernel's counts"
        )
    if result.conditions.clock == "monotonic":
        notes.append("the loop read clock_gettime, not the counter: short gaps are missed")
    steal_ns = result.environment.get("steal_ns", 0)
    if steal_ns > 0:
        notes.append(f"the hypervisor took {format_ns(steal_ns)} of the CPU: the gaps include it")
    instrument = result.instrument
    if instrument is not None and not instrument.trusted and result.conditions.clock != "monotonic":
        notes.append(f"the counter is not trusted ({instrument.reason}): periods may be wrong")
    return notes


_THROTTLING, _FAIR_SERVER = "throttling", "fair server"
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
            return _THROTTLING
        is_new = self.release is not None and self.release >= _FAIR_SINCE
        return _FAIR_SERVER if is_new or self.runtime_ns is None else _THROTTLING


def _throttled_gaps(gaps: Gaps, budget: Budget) -> BoolArray:
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


_METHOD = "periodic-noise/1"
_TICK_SERIES, _OTHER_SERIES = "tick", "other"
_DERIVED = {_TICK_SERIES: "gaps at a tick", _OTHER_SERIES: "gaps not at a tick"}
_WATCH = "gap_watch"
_TIME_SHARED = "other"  # a real-time budget takes nothing from such a thread


def with_noise(result: Result) -> Result:
    """`result` with the series `tick` and `other`, and `noise`. What it had of them is replaced."""
    if not result.windows or not has_observed(result):
        return result
    noise, series = _analysed(result)
    kept = [one for one in result.series if one.name not in _DERIVED]
    return msgspec.structs.replace(result, series=[*kept, *series], noise=[noise])


def _analysed(result: Result) -> tuple[Noise, list[Series]]:
    # an empty slot means nothing where gaps were dropped: the loop counts as not watching then
    whole = [one for one in result.windows if one.dropped_count == 0]
    raw = gaps_of(whole)
    gaps = merged_gaps(raw)
    # The event in which the probe says how it watched.
    watch = next((one.data for one in result.events if one.name == _WATCH), {})
    kernel = _counted(whole, _positive(watch.get("tick_ns")))
    if _is_mostly_away(int(raw.length.sum()), gaps.watched_ns):
        # The kernel counts for the CPU, which idles without a tick, or runs others, meanwhile.
        kernel = Counted(kernel.tick_ns, None, None)
    budget = _budget(watch)
    is_throttled = _throttled_gaps(gaps, budget)
    if result.conditions.policy == _TIME_SHARED:
        is_throttled &= False
    named = named_combs(gaps, find_combs(gaps, kernel.tick_hz, is_throttled), kernel)
    combs = [_described(gaps, one) for one in named]
    if is_throttled.any():
        combs.append(_throttling(gaps, is_throttled, budget))
    tick = next((one for one in named if one.name == TICK), None)
    period_ns = tick.comb.line.period_ns if tick is not None else None
    noise = Noise(
        method=_METHOD,
        watched_ns=gaps.watched_ns,
        noise_ns=int(raw.length.sum()),
        gaps_count=int(raw.begin.size),
        merged_count=int(gaps.begin.size),
        left_out_windows=len(result.windows) - len(whole),
        kernel_tick_ns=kernel.tick_ns,
        tick_period_ns=period_ns,
        tick_ppm=(period_ns / kernel.tick_ns - 1) * 1e6 if period_ns and kernel.tick_ns else None,
        counted_ns=_sum(whole, "counted_ns"),
        interrupts_count=_sum(whole, "interrupts_count"),
        timer_interrupts_count=_sum(whole, "timer_interrupts_count"),
        combs=combs,
    )
    noise.no_tick = _no_tick_words(noise) if tick is None else None
    noise.notes = _notes_of(noise, result)
    return noise, _series(gaps, tick)


def _series(gaps: Gaps, tick: NamedComb | None) -> list[Series]:
    is_tick: BoolArray = np.zeros(gaps.begin.size, dtype=np.bool_)
    if tick is not None:
        is_tick[tick.comb.gap[tick.comb.gap >= 0]] = True
    return [
        made_series(name, _DERIVED[name], gaps.length[chosen], gaps.end[chosen])
        for name, chosen in ((_TICK_SERIES, is_tick), (_OTHER_SERIES, ~is_tick))
    ]


# ---- what is known of the kernel ----


def _positive(value: DataValue) -> int | None:
    number = as_integer(value)
    return number if number is not None and number > 0 else None


def _counted(windows: Sequence[Window], tick_ns: int | None) -> Counted:
    span_ns = _sum(windows, "counted_ns")
    timer, every = (_sum(windows, name) for name in ("timer_interrupts_count", "interrupts_count"))
    if not span_ns:
        return Counted(tick_ns, None, None)
    return Counted(
        tick_ns,
        None if timer is None else timer * 1e9 / span_ns,
        None if every is None else every * 1e9 / span_ns,
    )


def _sum(windows: Sequence[Window], name: str) -> int | None:
    values = [getattr(one, name) for one in windows]
    known = [int(value) for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _budget(data: Mapping[str, DataValue]) -> Budget:
    numbers = str(data.get("release", "")).split("-")[0].split(".")
    is_linux = data.get("system") == "Linux" and len(numbers) >= 2
    is_linux = is_linux and all(one.isascii() and one.isdigit() for one in numbers[:2])
    release = (int(numbers[0][:9]), int(numbers[1][:9])) if is_linux else None
    return Budget(
        runtime_ns=_positive(data.get("rt_runtime_ns")),
        period_ns=_positive(data.get("rt_period_ns")),
        release=release,
        is_of_group=data.get("is_budget_of_group") is True,
    )


# ---- combs as the document has them ----


def _described(gaps: Gaps, named: NamedComb) -> NoiseComb:
    comb = named.comb
    length = gaps.length[comb.gap[comb.gap >= 0]]
    mark = named.mark
    return NoiseComb(
        name=named.name,
        rate_hz=comb.rate_hz,
        phase_ns=round(comb.line.phase_ns % comb.line.period_ns),
        slots=int(comb.is_clear.sum()),
        count=int(length.size),
        coverage=comb.coverage,
        chance=comb.chance,
        tolerance_ns=comb.tolerance_ns,
        median_ns=round(float(np.median(length))) if length.size else 0,
        max_ns=int(length.max()) if length.size else 0,
        total_ns=int(length.sum()),
        within={str(one): hit_share(gaps, comb, one) for one in TOLERANCES_NS},
        marks=[
            CombMark(
                every=one.every,
                median_ns=round(one.median_ns),
                rest_median_ns=round(one.rest_median_ns),
            )
            for one in named.marks
        ],
        on_top_of=named.on_top_of,
        beyond_ns=round(mark.median_ns - mark.rest_median_ns) if mark is not None else None,
    )


def _throttling(gaps: Gaps, chosen: BoolArray, budget: Budget) -> NoiseComb:
    length, begin = gaps.length[chosen], gaps.begin[chosen]
    _, period_ns = budget.left_ns
    steps = np.rint(np.diff(begin) / period_ns)
    steps = steps[steps > 0]
    slots = int(steps.sum()) + 1
    apart_ns = float(np.diff(begin).sum() / steps.sum()) if steps.size else float(period_ns)
    return NoiseComb(
        name=budget.name,
        rate_hz=1e9 / apart_ns,
        phase_ns=int(begin[0] % round(apart_ns)),
        slots=slots,
        count=int(length.size),
        coverage=min(1.0, length.size / slots),
        chance=0.0,
        tolerance_ns=period_ns // 10,
        median_ns=round(float(np.median(length))),
        max_ns=int(length.max()),
        total_ns=int(length.sum()),
    )
