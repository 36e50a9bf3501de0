"""What traced a recording while it measured: its cost is in the totals."""

from __future__ import annotations

from hardstone.event_names import PARTS_NOT_SEEN, PARTS_SEEN, TRACED
from hardstone.model import Result

_NONE = "none"
_SOURCES = frozenset({"tracepoints", "timerlat"})


def other_tracing(was: Result, now: Result) -> str:
    """What traced `was` and not `now`, or the other way round, in words; empty where it was the
    same, or is not known of both."""
    one, other = _sources(was), _sources(now)
    if one and other and not one & other:
        return f"the source of the parts was {_named(one)}, is {_named(other)}"
    if _is_traced(was) != _is_traced(now):
        words = "on, is off" if _is_traced(was) else "off, is on"
        return f"--trace was {words}"
    return ""


def _sources(result: Result) -> frozenset[str]:
    """Those that may have shown the parts; empty: not known.

    The probe says at the end which one it was, and before it measures that there is none. A
    recording that was cut off tells by its values of the parts that there was one.
    """
    told = {_NONE for event in result.events if event.name == PARTS_NOT_SEEN}
    told |= {str(event.data.get("source")) for event in result.events if event.name == PARTS_SEEN}
    asked = str(result.params.get("parts", ""))
    if not told and _has_parts(result):
        told = {asked} & _SOURCES or set(_SOURCES)
    elif not told and asked == _NONE:
        told = {_NONE}
    return frozenset(told)


def _has_parts(result: Result) -> bool:
    return any(one.count and one.labels.get("part", "total") != "total" for one in result.series)


def _is_traced(result: Result) -> bool:
    """Told before memory is locked, so that a recording which was cut off has it too."""
    return any(event.name == TRACED for event in result.events)


def _named(sources: frozenset[str]) -> str:
    return " or ".join(sorted(sources))
