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
    """One thing to do: a command or, where `command` is null, what to do in words.

    `undo` is the command that takes it back. `lasts` says for how long it holds.
    """

    command: str | None = None
    words: str = ""
    undo: str | None = None
    needs_reboot: bool = False
    lasts: str = ""


class Brings(msgspec.Struct, kw_only=True, frozen=True):
    """How much a change is known to bring, and who measured that.

    `is_history`: another system of another time, which says what kind of thing a change is and
    not how much it brings here.
    """

    text: str
    source: str
    is_history: bool = False


def brings_texts(brings: Brings | None, settings: Sequence[str]) -> list[tuple[str, str]]:
    """What a change brings, as labels and texts; figures of other systems are history."""
    said = f"{brings.text} ({brings.source})" if brings else ""
    if brings is not None and not brings.is_history:
        return [("brings", said)]
    here = "not known; measure it" if settings else "not known"
    return [("brings", here), *([("history", said)] if said else [])]


class Finding(msgspec.Struct, kw_only=True):
    """One rule on one machine.

    `facts` are those that the rule looked at and that are known, `missing` those that are
    not. `found` says what was seen, in every state. `steps` are for state "found" only.
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
