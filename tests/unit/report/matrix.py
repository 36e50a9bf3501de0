"""A run of four tests under three CPU configurations with and without load."""

from __future__ import annotations

import msgspec
import numpy as np

from hardstone.model import Event, LoadReached, Result, RunDocument, Verdict
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
    return [
        LoadReached(
            element="cpu",
            degree="10ms/100ms",
            asked=0.1,
            reached=share,
            unit="share",
            processes=2,
            counters={"busy_ns": 5},
        ),
        LoadReached(
            element="network",
            degree="4000/s",
            asked=4000,
            reached=3991.2,
            unit="per_s",
            processes=2,
        ),
        LoadReached(
            element="search", degree="", asked=None, reached=5.21, unit="rounds_per_s", processes=2
        ),
    ]


def result(base: Result, under: Condition, rng: np.random.Generator) -> Result:
    factor = SLOWER[under.load] * QUIETER[under.cpu_config]
    found = [
        sample.series(
            one.name,
            (sample.latencies(rng, max(one.count, 1), 5_000 * factor, 2e-3)),
            derived=one.derived,
            **one.labels,
        )
        for one in base.series
    ]
    events = []
    if under.cpu_config == "shielded":
        events = [
            Event(name="shielded", text="143 processes"),
            Event(name="not_moved", text=NOT_MOVED),
        ]
    conditions = msgspec.structs.replace(
        base.conditions,
        load=under.load,
        cpu_config=under.cpu_config,
        settings=["cpuset"] if under.cpu_config == "shielded" else [],
    )
    return msgspec.structs.replace(
        base,
        series=found,
        conditions=conditions,
        events=events,
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


def verdict(passed: bool) -> Verdict:
    return Verdict(name="never_early", passed=passed, evidence="seen")
