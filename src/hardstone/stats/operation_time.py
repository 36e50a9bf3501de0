"""What the probe counted of the process that does an operation: the event `operation_ran`."""

from __future__ import annotations

from hardstone.model import DataValue, Result

RAN = "operation_ran"


def share_ran(result: Result, operation: str, part: str, whole: str) -> float | None:
    """The figure `part` over the figure `whole` of an operation, of all its events together, at
    most 1. None where one of the two was not counted, or is 0."""
    ran = [one.data for one in result.events if one.name == RAN]
    own = [data for data in ran if data.get("operation") == operation]
    some, total = _sum(own, part), _sum(own, whole)
    return min(some / total, 1.0) if some and total else None


def still_share(result: Result, operation: str) -> float:
    """The share of values before which the process had not run since the one before."""
    return share_ran(result, operation, "still_count", "value_count") or 0.0


def waited_share(result: Result, operation: str) -> float:
    """The share of its time for which the process was ready and others had the CPU."""
    return share_ran(result, operation, "waited_ns", "elapsed_ns") or 0.0


def _sum(found: list[dict[str, DataValue]], key: str) -> int:
    """The sum of a figure of all events; 0 where one of them does not have it."""
    values = [one.get(key) for one in found]
    return sum(v for v in values if isinstance(v, int)) if all(map(_is_count, values)) else 0


def _is_count(value: DataValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
