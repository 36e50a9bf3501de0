"""Searches and thresholds while measuring goes on: the steps of IRQ-S-SUS, and breaches of a
watched threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, log2

from hardstone.event_names import THRESHOLD
from hardstone.model import Event, Result, as_integer
from hardstone.stats.causes import cpu_of

SUSTAINED = "IRQ-S-SUS"
STEP = "sustained_step"
LIMIT = "sustained_limit"
NOT_SENT = "sustained_not_sent"
_CLOSE = 1.02  # the search ends where the two periods differ by less
_REST_SHARE = 1.35  # the thread rests for a quarter of the time
_USUAL_NS = 30_000  # per interrupt, over all steps of a source of which nothing is known


@dataclass(frozen=True)
class Step:
    """Interrupts of one source at one period, and what became of them."""

    source: str
    period_ns: int
    interrupts: int
    lost: int
    late: int
    merged: int
    is_source_limited: bool
    passed: bool


@dataclass(frozen=True)
class Bracket:
    """What is known of one source: 0 where no period is.

    `source_failed_ns` instead of `failed_ns` where the source did not hold that period.
    """

    passed_ns: int = 0
    failed_ns: int = 0
    source_failed_ns: int = 0


def steps_of(results: Sequence[Result]) -> list[Step]:
    """All finished steps, in the order of time; malformed events are left out."""
    steps = (_step(event) for result in results for event in result.events if event.name == STEP)
    return [step for step in steps if step is not None]


def ended_sources(results: Sequence[Result]) -> set[str]:
    """Sources whose search has ended, with a period or without one."""
    return {
        str(event.data.get("source"))
        for result in results
        for event in result.events
        if event.name in (LIMIT, NOT_SENT)
    }


def bracket_of(steps: Sequence[Step], source: str) -> Bracket:
    """The shortest period that was sustained, and the longest below it that was not."""
    own = [step for step in steps if step.source == source]
    passed = min((step.period_ns for step in own if step.passed), default=0)
    failed = [step for step in own if not step.passed and (passed == 0 or step.period_ns < passed)]
    last = max(failed, key=lambda step: step.period_ns, default=None)
    if last is None:
        return Bracket(passed)
    if last.lost == 0 and last.is_source_limited:
        return Bracket(passed, source_failed_ns=last.period_ns)
    return Bracket(passed, last.period_ns)


def _step(event: Event) -> Step | None:
    data = event.data
    source = data.get("source")
    period_ns, interrupts = _count(data, "period_ns"), _count(data, "interrupts_count")
    lost, late = _count(data, "lost_count"), _count(data, "late_count")
    merged = _count(data, "merged_count")
    if not isinstance(source, str) or min(period_ns, interrupts, lost, late, merged) < 0:
        return None
    limited, passed = data.get("is_source_limited") is True, data.get("passed") is True
    return Step(source, period_ns, interrupts, lost, late, merged, limited, passed)


def _count(data: Mapping[str, object], name: str) -> int:
    """-1: it is not there, or no count."""
    value = as_integer(data.get(name))
    return -1 if value is None else value


def time_left_ns(steps: Sequence[Step], params: Mapping[str, object], samples: int) -> int:
    """About how long the search will still take, by the bracket that each source has."""
    asked, count = params.get("source"), params.get("interrupts")
    interrupts = count if isinstance(count, int) and count else samples
    names = [str(name) for name in asked] if isinstance(asked, list) else []
    begun = list(dict.fromkeys(step.source for step in steps))
    later = [name for name in names if name not in begun and name != "external"]
    spans = [_span_ns(bracket_of(steps, name)) for name in begun[-1:]]
    return round(interrupts * _REST_SHARE * (sum(spans) + _USUAL_NS * len(later)))


def _span_ns(bracket: Bracket) -> float:
    """Time per interrupt that the steps of a source still take."""
    failed = bracket.failed_ns or bracket.source_failed_ns
    if not failed:
        return 0.0 if bracket.passed_ns else float(_USUAL_NS)
    passed = bracket.passed_ns or 2 * failed
    halvings = max(0.0, log2(log(passed / failed) / log(_CLOSE)))
    return passed * ceil(halvings) + (0 if bracket.passed_ns else passed)


_WAKEUP = "wakeup"


@dataclass(frozen=True)
class Breach:
    """A latency above a threshold. `cpu` is None where the thread was bound to none."""

    value_ns: int
    threshold_ns: int
    at_ns: int
    cpu: int | None


def worst_breach(result: Result, threshold_ns: int) -> Breach | None:
    """The largest latency of a wake-up above the threshold."""
    found = [
        Breach(one.value_ns, threshold_ns, one.at_ns, cpu_of(series, result))
        for series in result.series
        if series.name == _WAKEUP
        for one in series.worst[:1]
        if one.value_ns > threshold_ns
    ]
    return max(found, key=lambda one: one.value_ns, default=None)


def reported_breach(result: Result) -> Breach | None:
    """The first breach that is an event of `result`."""
    for event in result.events:
        value, limit = event.data.get("value_ns"), event.data.get("threshold_ns")
        if event.name == THRESHOLD and isinstance(value, int) and isinstance(limit, int):
            cpu = event.data.get("cpu")
            return Breach(value, limit, event.at_ns or 0, cpu if isinstance(cpu, int) else None)
    return None


def mark_breach(result: Result, threshold_ns: int | None) -> None:
    """Adds the event of a breach that has none: the probe did not know the threshold."""
    breach = None if threshold_ns is None else worst_breach(result, threshold_ns)
    if breach is None or any(event.name == THRESHOLD for event in result.events):
        return
    result.events.append(
        Event(
            name=THRESHOLD,
            at_ns=breach.at_ns,
            text=f"{breach.value_ns} ns is above the threshold of {threshold_ns} ns",
            data={"value_ns": breach.value_ns, "threshold_ns": threshold_ns, "cpu": breach.cpu},
        )
    )
