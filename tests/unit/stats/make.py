"""Builders of model values for the tests of statistics and store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardstone.model import (
    RUN_SCHEMA,
    Conditions,
    Instrument,
    PairCost,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    Series,
    Tool,
    Trust,
)
from hardstone.stats.histogram import histogram_of
from hardstone.stats.identity import DEFAULT_LAYOUT, MAX_VALUE


def series(
    values: Sequence[int],
    name: str = "wakeup",
    *,
    layout: str = DEFAULT_LAYOUT,
    limit: int = MAX_VALUE,
) -> Series:
    raw = np.asarray(values, dtype=np.int64)
    empty = raw.size == 0
    return Series(
        name=name,
        labels={"part": "total"},
        unit="ns",
        count=int(raw.size),
        min=None if empty else int(raw.min()),
        mean=None if empty else float(raw.mean()),
        stddev=None if raw.size < 2 else float(raw.std(ddof=1)),
        max=None if empty else int(raw.max()),
        histogram=histogram_of(raw, layout=layout, limit=limit),
    )


def instrument(*, clock: str = "tsc", trusted: bool = True, median: int = 20) -> Instrument:
    return Instrument(
        clock=clock,
        trusted=trusted,
        reason=None if trusted else "it stepped back",
        counter_hz=2_400_000_000,
        calibration_ppb=120.0,
        drift_ppb=3.0,
        quantum_ns=0.42,
        pair=PairCost(count=1000, min=18, median=median, p99=25, mean=20.4, max=900),
        record_step_ns=3.4,
        perturbation_ns=55.0,
    )


def result(test: str = "TMR-P-LAT", values: Sequence[int] = (1, 2, 3), **changed: object) -> Result:
    fields: dict[str, object] = {
        "test": test,
        "status": "measured",
        "conditions": Conditions(
            load="heavy", cpu_config="shared", policy="fifo", priority=98, realtime=True
        ),
        "series": [series(values)],
        "environment": {"steal_ns": 0, "throttled_count": 0},
    }
    return Result(**(fields | changed))


def document(*, run_id: str = "20261121T032200Z-1a2b3c", **changed: object) -> RunDocument:
    fields: dict[str, object] = {
        "schema": RUN_SCHEMA,
        "id": run_id,
        "name": "evening",
        "started_utc": "2026-11-21T03:22:00Z",
        "finished_utc": "2026-11-21T03:23:00Z",
        "status": "complete",
        "trust": Trust(grade="full"),
        "tool": Tool(version="0.1.0"),
        "system": {"virtual.hypervisor": None, "kernel.release": "6.12.0-rt"},
        "plan": Plan(name="evening", profile="standard", target="local", tests=[], load="heavy"),
        "instrument": instrument(),
        "results": [result()],
    }
    return RunDocument(**(fields | changed))


def plan_of(tests: list[PlannedTest], **changed: object) -> Plan:
    fields: dict[str, object] = {"name": "evening", "profile": "standard", "target": "local"}
    return Plan(**(fields | changed), tests=tests)
