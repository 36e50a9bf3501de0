"""A run of four tests under three CPU configurations with and without load."""

from __future__ import annotations

import msgspec
import numpy as np

from hardstone.model import Event, LoadReached, Result, RunDocument
from hardstone.stats.conditions import Condition
from hardstone.stats.trust import grade_run
from tests.unit.report import sample

LOADS = ("none", "heavy")
CONFIGS = ("shared", "single", "shielded")
CONDITIONS = [Condition(load, config) for load in LOADS for config in CONFIGS]
SLOWER = {"none": 1.0, "heavy": 3.0}
QUIETER = {"shared": 1.0, "single": 1.4, "shielded": 0.5}
NOT_MOVED = "2 interrupts stay on CPU 1 (EIO): 0, 2"


def reached(share: float = 0.0998) -> list[LoadReached]:
    figures = [
        ("cpu", "10ms/100ms", 0.1, share, "share", {"busy_ns": 5}),
        ("network", "4000/s", 4000, 3991.2, "per_s", {}),
        ("search", "", None, 5.21, "rounds_per_s", {}),
    ]
    names = ("element", "degree", "asked", "reached", "unit", "counters")
    return [LoadReached(**dict(zip(names, one, strict=True)), processes=2) for one in figures]


def result(base: Result, under: Condition, rng: np.random.Generator) -> Result:
    factor = SLOWER[under.load] * QUIETER[under.cpu_config]
    found = [
        sample.series(
            one.name,
            sample.latencies(rng, max(one.count, 1), 5_000 * factor, 2e-3),
            derived=one.derived,
            **one.labels,
        )
        for one in base.series
    ]
    is_shielded = under.cpu_config == "shielded"
    told = {"shielded": "143 processes", "not_moved": NOT_MOVED} if is_shielded else {}
    conditions = msgspec.structs.replace(
        base.conditions,
        load=under.load,
        cpu_config=under.cpu_config,
        settings=["cpuset"] * is_shielded,
    )
    return msgspec.structs.replace(
        base,
        series=found,
        conditions=conditions,
        events=[Event(name=name, text=text) for name, text in told.items()],
        load=reached() if under.load != "none" else [],
    )


def document(*, count: int = 3_000) -> RunDocument:
    """24 results; TMR-P-LAT had too little load once and was denied its shield once."""
    whole = sample.document(count=count)
    tests = ("TMR-P-JIT", "RSP-P-FIX", "CLK-P-BIN", "TMR-P-LAT")
    bases = {one.test: one for one in whole.results}
    rng = np.random.default_rng(3)
    results = [result(bases[test], under, rng) for test in tests for under in CONDITIONS]
    short = results[-2]
    short.load = reached(0.05)
    short.events.append(Event(name="load_short", text="cpu: 10 % asked, 5 % reached"))
    results[-1] = Result(
        test="TMR-P-LAT",
        status="denied",
        reason="cpusets cannot be made: EPERM",
        remedy="run as root",
        conditions=results[-1].conditions,
    )
    planned = [
        msgspec.structs.replace(
            sample.planned(one), load=one.conditions.load, cpu_config=one.conditions.cpu_config
        )
        for one in results
    ]
    plan = msgspec.structs.replace(
        whole.plan,
        tests=planned,
        load=",".join(LOADS),
        cpu_config=",".join(CONFIGS),
        loads=list(LOADS),
        cpu_configs=list(CONFIGS),
    )
    found = msgspec.structs.replace(whole, name="three configurations", plan=plan, results=results)
    found.trust = grade_run(found)
    return found
