"""What stood in texts only before `hardstone.run/3`: data of events, commands of remedies.

Nothing else reads these texts. The patterns match the wording of the old probes.
"""

from __future__ import annotations

import re

import msgspec

from hardstone.calling import parted_text
from hardstone.model import DataValue, Event

# "cpu reached 0.4 % of 1.0 % asked", "network: 4000/s asked"
_ELEMENT = re.compile(
    r"(cpu|disk|interrupt|network|syscall|memory|search|storm|build|kernel|stress-ng)[: ]"
)
# "CPU 1: timers (new ones go to other CPUs already); interrupts (0 of 26 interrupts moved)"
_UNCHANGED = re.compile(r" ([a-z_]+) \((?:[^()]* already|0 of \d+ interrupts moved)\)", re.ASCII)
_MISSED = re.compile(r"(\d{1,18}) releases? w(?:as|ere) (?:missed|swallowed)", re.ASCII)
_BOUNDED = re.compile(r"expiries of ([^:]+):")
_LOAD_EVENTS = ("load_short", "load_unseen", "load_ended_early")


def with_data(event: Event) -> Event:
    """`event` with data taken from its text; unchanged if it has data."""
    if event.data:
        return event
    text, command = parted_text(event.text)
    data = _data(event.name, event.text)
    if command:
        data["command"] = command
    return msgspec.structs.replace(event, text=text, data=data) if data else event


def with_command(remedy: str | None) -> tuple[str | None, str | None]:
    """Words and command of a remedy that held both in one text."""
    words, command = parted_text(remedy or "")
    return words or None, command or None


def _data(name: str, text: str) -> dict[str, DataValue]:
    if name in _LOAD_EVENTS and (found := _ELEMENT.match(text)):
        return {"element": found[1]}
    if name == "shielded":
        return {"unchanged": list(_UNCHANGED.findall(text))}
    if name == "not_seen" and ":" in text:
        return {"verdict": text.partition(":")[0]}
    if name == "missed_periods" and (found := _MISSED.match(text)):
        return {"missed_count": int(found[1])}
    if name == "expiry_step_bounded" and (found := _BOUNDED.search(text)):
        return {"mechanisms": list(found[1].split(", "))}
    return {}
