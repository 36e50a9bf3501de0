"""Streams, scenarios and executables of fake probes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from hardstone.model import (
    STREAM_SCHEMA,
    Conditions,
    Facts,
    Loads,
    ParamValue,
    PlannedTest,
    Register,
    StreamEvent,
    StreamFooter,
    StreamHeader,
    StreamInstrument,
    StreamResult,
    StreamSeries,
    StreamVerdict,
)
from tests.unit.stats import make

GOLDEN = Path(__file__).parent / "golden"


def register() -> Register:
    return msgspec.json.decode((GOLDEN / "register.json").read_bytes(), type=Register)


def loads() -> Loads:
    return msgspec.json.decode((GOLDEN / "loads.json").read_bytes(), type=Loads)


def shield_look(**unavailable: str) -> dict[str, Any]:
    """What the probe says of every setting of its shield, by name why it is not there."""
    settings = ("cpuset", "interrupts", "workqueues", "timers", "watchdog", "governor")
    return {
        "schema": "hardstone.shield/1",
        "state": "free",
        "settings": [
            {"name": one, "available": one not in unavailable, "now": unavailable.get(one, "1")}
            for one in (*settings, "dma_latency")
        ],
    }


def selftest(**failed: str) -> list[str]:
    """The lines of a self-test of three checks; by name what was seen of those that fail."""
    names = ("clock_conversion", "record_moments", "tire_rest")
    checks = [
        {"type": "check", "name": one, "passed": one not in failed, "claim": "it is so"}
        | {"why": failed.get(one, "it was so")}
        for one in names
    ]
    header = {"type": "header", "schema": "hardstone.selftest/1", "probe_version": "0.1.0"}
    footer = {"type": "footer", "checks": len(names), "failed": len(failed)}
    return [json.dumps(one, separators=(",", ":")) for one in (header, *checks, footer)]


def facts(**changed: Any) -> Facts:
    found = msgspec.json.decode((GOLDEN / "facts.json").read_bytes(), type=Facts)
    found.facts.update({name.replace("__", "."): value for name, value in changed.items()})
    return found


def planned(test: str = "TMR-P-LAT", **changed: Any) -> PlannedTest:
    fields: dict[str, Any] = {
        "params": {"interval_ns": 1_000_000},
        "samples": 0,
        "duration_ns": 1_000_000_000,
        "deadline_ns": 60_000_000_000,
        "expected_ns": 1_500_000_000,
    }
    return PlannedTest(test=test, **(fields | changed))


def stream(
    test: str = "TMR-P-LAT",
    *,
    values: tuple[int, ...] = tuple(range(1000, 3000)),
    status: str = "measured",
    reason: str | None = None,
    events: tuple[str, ...] = (),
    verdicts: tuple[tuple[str, bool, str], ...] = (),
    params: dict[str, ParamValue] | None = None,
    calibrated: dict[str, int] | None = None,
    **conditions: Any,
) -> list[str]:
    """The lines of a whole stream."""
    series = make.series(values)
    has_series = status in ("measured", "failed")
    asked: dict[str, Any] = {"policy": "fifo", "priority": 98, "cpu": 1, "realtime": True}
    body: list[Any] = [
        StreamHeader(
            schema=STREAM_SCHEMA,
            probe_version="0.1.0",
            test=test,
            params=params or {},
            started_utc_ns=1_795_000_000_000_000_000,
        ),
        StreamInstrument(**msgspec.structs.asdict(make.instrument())),
        *(StreamEvent(name=name, text=f"text of {name}") for name in events),
    ]
    if has_series:
        body.append(StreamSeries(**msgspec.structs.asdict(series)))
    body += [StreamVerdict(name=a, passed=b, evidence=c) for a, b, c in verdicts]
    body.append(
        StreamResult(
            status=status,  # type: ignore[arg-type]
            reason=reason,
            remedy=None,
            interrupted=False,
            duration_ns=1_000_000_000,
            conditions=Conditions(**(asked | conditions)),
            environment={},
            calibrated=calibrated or {},
        )
    )
    footer = StreamFooter(
        lines=len(body), events=len(events), series=int(has_series), verdicts=len(verdicts)
    )
    return [msgspec.json.encode(line).decode() for line in [*body, footer]]


def scenario(folder: Path, tests: dict[str, list[Any]], **changed: Any) -> Path:
    """A scenario file with the golden register and facts."""
    document: dict[str, Any] = {
        "schema": "hardstone.scenario/1",
        "register": json.loads((GOLDEN / "register.json").read_text()),
        "facts": json.loads((GOLDEN / "facts.json").read_text()),
        "loads": json.loads((GOLDEN / "loads.json").read_text()),
        "tests": {name: {"steps": steps} for name, steps in tests.items()},
    }
    path = folder / "scenario.json"
    path.write_text(json.dumps(document | changed))
    return path


def executable(folder: Path, body: str, name: str = "hardstone-probe") -> Path:
    """A probe in Python that does `body`; `lines(...)`, `time`, `sys`, `os` are there."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable} -S\n"
        "import os, signal, sys, time\n"
        "def lines(*texts):\n"
        "    for text in texts:\n"
        "        print(text, flush=True)\n" + body
    )
    path.chmod(0o755)
    return path
