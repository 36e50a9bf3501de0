"""Where a recording that was interrupted goes on."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone import event_names
from hardstone.model import Result


@dataclass(frozen=True)
class Join:
    """At `at_ns` a recording was resumed; nothing was recorded for `gap_ns` (None: not known)."""

    at_ns: int
    gap_ns: int | None


def joins_of(result: Result) -> list[Join]:
    """The joins of a result, in their order."""
    found = []
    for event in result.events:
        at_ns = event.data.get("at_ns", event.at_ns)
        gap_ns = event.data.get("gap_ns")
        if event.name == event_names.JOINED and isinstance(at_ns, int):
            found.append(Join(at_ns, gap_ns if isinstance(gap_ns, int) else None))
    return sorted(found, key=lambda one: one.at_ns)
