"""A threshold at which measuring goes on: whether, and by what, it was crossed."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.event_names import THRESHOLD
from hardstone.model import Event, Result

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
        Breach(one.value_ns, threshold_ns, one.at_ns, _cpu(series.labels.get("cpu"), result))
        for series in result.series
        if series.name == _WAKEUP
        for one in series.worst[:1]
        if one.value_ns > threshold_ns
    ]
    return max(found, key=lambda one: one.value_ns, default=None)


def reported_breach(result: Result) -> Breach | None:
    """The first breach that the events of `result` tell."""
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


def _cpu(label: int | str | None, result: Result) -> int | None:
    return label if isinstance(label, int) else result.conditions.cpu
