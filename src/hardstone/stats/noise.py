"""Adds to a result with windows what its gaps are: `tick`, `other`, and the combs found.

Pure: the windows stay in the result, so that another version of the analysis can be applied to
them. Without windows a result is returned as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from hardstone.model import CombMark, Event, Noise, NoiseComb, Result, Series, Window
from hardstone.stats.comb import TOLERANCES_NS, hit_share
from hardstone.stats.comb_names import TICK, Counted, NamedComb, named_combs
from hardstone.stats.comb_search import find_combs
from hardstone.stats.identity import has_observed
from hardstone.stats.made_series import made_series
from hardstone.stats.noise_gaps import BoolArray, Gaps, gaps_of, merged_gaps
from hardstone.stats.noise_words import is_mostly_away, no_tick_words, notes_of
from hardstone.stats.throttled_gaps import Budget, throttled_gaps

METHOD = "periodic-noise/1"
TICK_SERIES, OTHER_SERIES = "tick", "other"
_DERIVED = {TICK_SERIES: "gaps at the ticks found", OTHER_SERIES: "gaps at no tick"}
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
    watch = _watch_data(result)
    kernel = _counted(whole, watch.get("tick_ns"))
    if is_mostly_away(int(raw.length.sum()), gaps.watched_ns):
        # The kernel counts for the CPU, which idles without a tick, or runs others, meanwhile.
        kernel = Counted(kernel.tick_ns, None, None)
    budget = _budget(result)
    is_throttled = throttled_gaps(gaps, budget)
    if result.conditions.policy == _TIME_SHARED:
        is_throttled &= False
    named = named_combs(gaps, find_combs(gaps, kernel.tick_hz, is_throttled), kernel)
    combs = [_described(gaps, one, named) for one in named]
    if is_throttled.any():
        combs.append(_throttling(gaps, is_throttled, budget))
    tick = next((one for one in named if one.name == TICK), None)
    period_ns = tick.comb.line.period_ns if tick is not None else None
    noise = Noise(
        method=METHOD,
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
    noise.no_tick = no_tick_words(noise) if tick is None else None
    noise.notes = notes_of(noise, result)
    return noise, _series(gaps, tick)


def _series(gaps: Gaps, tick: NamedComb | None) -> list[Series]:
    is_tick: BoolArray = np.zeros(gaps.begin.size, dtype=np.bool_)
    if tick is not None:
        is_tick[tick.comb.gap[tick.comb.gap >= 0]] = True
    return [
        made_series(name, _DERIVED[name], gaps.length[chosen], gaps.end[chosen])
        for name, chosen in ((TICK_SERIES, is_tick), (OTHER_SERIES, ~is_tick))
    ]


# ---- what is known of the kernel ----


def _event(result: Result) -> Event | None:
    return next((one for one in result.events if one.name == _WATCH), None)


def _watch_data(result: Result) -> dict[str, int]:
    """The positive integers of the event in which the probe says how it watched."""
    event = _event(result)
    data = event.data if event is not None else {}
    return {
        key: value
        for key, value in data.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
    }


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


def _budget(result: Result) -> Budget:
    watch, event = _watch_data(result), _event(result)
    data = event.data if event is not None else {}
    numbers = str(data.get("release", "")).split("-")[0].split(".")
    is_linux = data.get("system") == "Linux" and len(numbers) >= 2
    is_linux = is_linux and all(one.isascii() and one.isdigit() for one in numbers[:2])
    release = (int(numbers[0][:9]), int(numbers[1][:9])) if is_linux else None
    is_of_group = data.get("is_budget_of_group") is True
    return Budget(watch.get("rt_runtime_ns"), watch.get("rt_period_ns"), release, is_of_group)


# ---- combs as the document has them ----


def _described(gaps: Gaps, named: NamedComb, all_named: Sequence[NamedComb]) -> NoiseComb:
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
