"""A made-up recording of TMR-P-LAT as hours at 10 kHz leave it: full histograms, long maxima."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardstone.model import (
    RUN_SCHEMA,
    Conditions,
    Histogram,
    Instrument,
    Interval,
    PairCost,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    Series,
    Tool,
    Trust,
    Worst,
)
from hardstone.stats.identity import LogLinear, edges_of, index_of

POINTS = 300_000_000
PERIOD_NS = 100_000
RUN_ID = "20261121T032200Z-3e8f0a"
_SECOND_NS = 1_000_000_000
_WORST = 32
_MEDIANS_NS = {"total": 8_200, "interrupt": 2_600, "dispatch": 4_100, "return": 1_300}
_LEAST_SHARE, _TAIL_SHARE, _TAIL_POWER = 0.4, 2e-4, 1.1
_LONGEST_NS = 4_000_000
_LAYOUT = LogLinear(10)
_STARTED = "2026-11-21T03:22:00Z"
_INSTRUMENT = Instrument(
    clock="tsc",
    trusted=True,
    reason=None,
    counter_hz=2_400_000_000,
    calibration_ppb=310.0,
    drift_ppb=-42.0,
    quantum_ns=0.83,
    pair=PairCost(count=8192, min=20, median=27, p99=41, mean=28.3, max=9120),
    record_step_ns=3.4,
    perturbation_ns=58.0,
)


def _histogram(rng: np.random.Generator, points: int, median_ns: int) -> list[tuple[int, int]]:
    """A lognormal body with a long tail, in which few values have a bucket for themselves."""
    first = index_of(int(median_ns * _LEAST_SHARE), _LAYOUT)
    last = index_of(_LONGEST_NS, _LAYOUT)
    edges = np.array([edges_of(index, _LAYOUT)[0] for index in range(first, last + 2)], dtype=float)
    middle = np.log((edges[:-1] + edges[1:]) / 2 / median_ns)
    body = np.exp(-((middle / 0.18) ** 2) / 2) * np.diff(np.log(edges))
    tail = np.where(middle > 0.2, np.exp(-_TAIL_POWER * middle), 0) * np.diff(np.log(edges))
    shares = body / body.sum() * (1 - _TAIL_SHARE) + tail / tail.sum() * _TAIL_SHARE
    counts = rng.multinomial(points, shares / shares.sum())
    used = np.flatnonzero(counts)
    return [(first + int(at), int(counts[at])) for at in used]


def _largest(buckets: Sequence[tuple[int, int]]) -> list[int]:
    """The largest values that the buckets can hold."""
    found: list[int] = []
    for index, count in reversed(buckets):
        found += [edges_of(index, _LAYOUT)[1]] * min(count, _WORST - len(found))
        if len(found) == _WORST:
            break
    return found


def _series(rng: np.random.Generator, points: int, name: str, part: str, cpu: int) -> Series:
    buckets = _histogram(rng, points, _MEDIANS_NS[part])
    largest = _largest(buckets)
    seconds = max(points * PERIOD_NS // _SECOND_NS, 1)
    maxima = np.minimum(largest[-1], (9e3 * (1 + rng.pareto(1.5, seconds)))).astype(np.int64)
    places = rng.permutation(seconds)[: len(largest)]
    maxima[places] = largest[: len(places)]
    middles = np.array([sum(edges_of(index, _LAYOUT)) / 2 for index, _ in buckets])
    counts: NDArray[np.int64] = np.array([count for _, count in buckets])
    mean = float((middles * counts).sum() / points)
    squares = float((((middles - mean) ** 2) * counts).sum())
    return Series(
        name=name,
        labels={"part": part, "cpu": cpu},
        unit="ns",
        count=points,
        min=edges_of(buckets[0][0], _LAYOUT)[0],
        mean=mean,
        stddev=(squares / max(points - 1, 1)) ** 0.5,
        max=largest[0],
        histogram=Histogram(layout=f"log-linear/{_LAYOUT.bits}", buckets=buckets),
        worst=[
            Worst(
                value_ns=value,
                at_ns=int(place) * _SECOND_NS + 500_000_000,
                index=int(place) * _SECOND_NS // PERIOD_NS,
            )
            for value, place in zip(largest, places, strict=False)
        ],
        maxima_per_s=[int(value) for value in maxima],
    )


def _intervals(rng: np.random.Generator, series: Sequence[Series], seconds: int) -> list[Interval]:
    """Counters of the second of each worst value, and of the whole."""
    found = []
    for cpu in sorted({int(one.labels["cpu"]) for one in series}):
        mine = [one for one in series if one.labels["cpu"] == cpu]
        places = {worst.at_ns // _SECOND_NS for one in mine for worst in one.worst}
        counters = {"interrupts_count": 1200, "run_delay_ns": 2_000_000, "steal_ns": 0}
        for place in sorted(places):
            more = {key: int(value * rng.uniform(0.9, 1.1)) for key, value in counters.items()}
            more["run_delay_ns"] += int(rng.integers(0, 2)) * 9_000_000
            found.append(
                Interval(
                    at_ns=place * _SECOND_NS,
                    span_ns=_SECOND_NS,
                    cpu=cpu,
                    counters=more,
                    busiest="LOC: Local timer interrupts",
                )
            )
        sums = {key: value * seconds for key, value in counters.items()}
        whole = Interval(at_ns=0, span_ns=seconds * _SECOND_NS, cpu=cpu, whole=True, counters=sums)
        found.append(whole)
    return found


def _result(points: int, cpus: Sequence[int], seed: int) -> Result:
    rng = np.random.default_rng(seed)
    kinds = [("wakeup", part) for part in _MEDIANS_NS] + [("release", "total")]
    series = [_series(rng, points, name, part, cpu) for cpu in cpus for name, part in kinds]
    seconds = max(points * PERIOD_NS // _SECOND_NS, 1)
    return Result(
        test="TMR-P-LAT",
        status="measured",
        params={"interval_ns": PERIOD_NS, "cpus": list(cpus)},
        conditions=Conditions(
            load="storm",
            cpu_config="shared",
            policy="fifo",
            priority=98,
            clock="monotonic",
            memory_locked=True,
            realtime=True,
        ),
        started_utc=_STARTED,
        duration_ns=seconds * _SECOND_NS,
        series=series,
        instrument=_INSTRUMENT,
        environment={"steal_ns": 0, "migrations_count": 0},
        intervals=_intervals(rng, series, seconds),
    )


def _plan(result: Result) -> Plan:
    planned = PlannedTest(
        test=result.test,
        params=result.params,
        samples=0,
        duration_ns=result.duration_ns,
        deadline_ns=2 * result.duration_ns,
        expected_ns=result.duration_ns,
        load="storm",
    )
    return Plan(
        name="latstat",
        profile="soak",
        target="local",
        tests=[planned],
        load="storm",
        loads=["storm"],
        cpu_configs=["shared"],
    )


def recording(points: int = POINTS, cpus: Sequence[int] = (1,), seed: int = 5) -> RunDocument:
    """A run of `points` wake-ups on each of `cpus`, in both views and all parts."""
    result = _result(points, cpus, seed)
    return RunDocument(
        schema=RUN_SCHEMA,
        id=RUN_ID,
        name="a night at 10 kHz",
        started_utc=_STARTED,
        finished_utc="2026-11-21T11:42:00Z",
        status="complete",
        trust=Trust(grade="full"),
        tool=Tool(version="0.1.0"),
        system={"kernel.name": "Linux", "kernel.release": "6.12.9-rt-amd64", "cpu.count": 2},
        plan=_plan(result),
        instrument=_INSTRUMENT,
        results=[result],
    )
