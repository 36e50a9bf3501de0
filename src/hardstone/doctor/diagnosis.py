"""`hardstone.doctor/1`: what the rules found on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hardstone.model import Scalar

DOCTOR_SCHEMA = "hardstone.doctor/1"

Level = Literal["blocks", "hurts", "note"]
State = Literal["found", "fine", "unknown"]


class Step(msgspec.Struct, kw_only=True, frozen=True):
    """One thing to do: a command or, when `command` is null, instructions in words.

    `undo` is the command that reverts it. `lasts` says how long it stays in force.
    """

    command: str | None = None
    words: str = ""
    undo: str | None = None
    needs_reboot: bool = False
    lasts: str = ""


class Brings(msgspec.Struct, kw_only=True, frozen=True):
    """The published effect of a change, and who measured it.

    `is_history`: measured on a system of another time. It shows the kind of effect, not its size
    on this machine.
    """

    text: str
    source: str
    is_history: bool = False


def brings_texts(brings: Brings | None, settings: Sequence[str]) -> list[tuple[str, str]]:
    """The effect of a change as labels and texts; old systems are labelled "history"."""
    said = f"{brings.text} ({brings.source})" if brings else ""
    if brings is not None and not brings.is_history:
        return [("brings", said)]
    here = "unknown; measure it" if settings else "unknown"
    return [("brings", here), *([("history", said)] if said else [])]


class Finding(msgspec.Struct, kw_only=True):
    """One rule on one machine.

    `facts` are the known facts that the rule compares or quotes, `missing` the unknown ones.
    `found` says in every state what was seen. `steps` are for state "found" only.
    """

    rule: str
    title: str
    level: Level
    state: State
    found: str
    why: str
    steps: list[Step] = []
    brings: Brings | None = None
    settings: list[str] = []
    facts: dict[str, Scalar] = {}
    missing: list[str] = []


class Diagnosis(msgspec.Struct, kw_only=True):
    """All rules on one machine; `counts` has blocks, hurts, note, fine and unknown."""

    schema: str
    target: str
    probe_version: str
    conclusion: str
    counts: dict[str, int]
    findings: list[Finding]
