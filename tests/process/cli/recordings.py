"""A made-up target with one recording, and the runs that `hardstone latstat` stores of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hardstone.event_names import THRESHOLD
from hardstone.model import RunDocument
from hardstone.store.store import Store
from tests.process.cli.conftest import Hardstone, facts_with
from tests.process.targets import sample

TEST = "TMR-P-LAT"
SECOND_NS = 1_000_000_000
BOOT = "0b1f7d3e-boot"


def lines(
    *,
    begin_s: float = 100,
    seconds: int = 60,
    values: tuple[int, ...] = (1000, 2000, 3000),
    is_cut: bool = False,
    crossed_ns: int | None = None,
    **result: Any,
) -> list[str]:
    """A recording of `seconds` that began `begin_s` after boot."""
    found = [json.loads(line) for line in sample.stream(TEST, values=values)]
    series = next(one for one in found if one["type"] == "series")
    series["worst"] = [{"value_ns": max(values), "at_ns": 5 * SECOND_NS, "index": len(values) - 1}]
    ending = next(one for one in found if one["type"] == "result")
    ending |= {"duration_ns": seconds * SECOND_NS, "started_uptime_ns": int(begin_s * SECOND_NS)}
    ending |= result
    if crossed_ns is not None:
        data = {"value_ns": max(values), "threshold_ns": crossed_ns, "cpu": 1}
        event = {"type": "event", "name": THRESHOLD, "text": "above", "at_ns": 7, "data": data}
        found.insert(1, event)
        found[-1] |= {"events": 1, "lines": found[-1]["lines"] + 1}
    return [json.dumps(one) for one in (found[:-1] if is_cut else found)]


def play(
    folder: Path, steps: list[Any], *, test: str = TEST, boot: str = BOOT, **changed: Any
) -> str:
    """A target of always the same name, which plays `steps`."""
    facts = facts_with({"os.boot_id": boot})
    return f"fake:{sample.scenario(folder, {test: steps}, facts=facts, **changed)}"


def last() -> RunDocument:
    return Store().load("last")


def cut_off(hardstone: Hardstone, folder: Path, *options: str) -> RunDocument:
    """A recording of 1 of 10 minutes."""
    target = play(folder, lines(is_cut=True))
    hardstone("latstat", "--target", target, "-q", *options)
    return last()
