"""Made-up results of SIM-S-RT and SIM-P-RF."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Conditions, DataValue, Event, Result, RunDocument, Series
from hardstone.simulation.sweep import Curve
from tests.unit.stats.make import document, result, series


def labels(masses: int, threads: int, solver: str, policy: str) -> dict[str, int | str]:
    return {"masses": masses, "threads": threads, "solver": solver, "policy": policy}


def labelled(name: str, unit: str, values: Sequence[int], own: dict[str, int | str]) -> Series:
    found = series(values, name)
    found.unit = unit
    found.labels = dict(own)
    return found


def simulation(masses: int, threads: int, **changed: DataValue) -> Event:
    data: dict[str, DataValue] = {
        "masses_count": masses,
        "threads_count": threads,
        "solver": "semaphore",
        "policy": "fifo",
        "code": "c",
        "steps_count": 100,
        "cpu_ns": 50_000_000,
        "voluntary_count": 200,
        "involuntary_count": 4,
        "semaphore_operations_count": 0 if threads == 1 else 400 * masses,
        "semaphore_blocked_count": 0 if threads == 1 else 40,
        "cpus_count": 2,
    }
    known = {name: value for name, value in (data | changed).items() if value is not None}
    return Event(name="simulation", text="made up", data=known)


def conditions(load: str, cpu_config: str = "shared") -> Conditions:
    return Conditions(load=load, cpu_config=cpu_config, policy="fifo", priority=98, realtime=True)


def real_time(
    masses: int = 400,
    threads: int = 2,
    *,
    missed: int = 0,
    released: int = 100,
    step_ns: int = 0,
    policy: str = "fifo",
    solver: str = "semaphore",
    load: str = "none",
    cpu_config: str = "shared",
    data: dict[str, DataValue] | None = None,
    **changed: object,
) -> Result:
    """One variant. A missed step was 1 ms late; a step takes 1 us a mass, or `step_ns`."""
    own = labels(masses, threads, solver, policy)
    seen: dict[str, DataValue] = {"steps_count": released, "released_count": released}
    seen |= {"missed_count": missed, "first_missed_count": 3 if missed else None}
    seen |= {"solver": solver, "policy": policy}
    params = {name: [value] for name, value in own.items()}
    fields: dict[str, object] = {
        "test": "SIM-S-RT",
        "params": params | {"step_ns": 10_000_000, "period_ns": 0},
        "conditions": conditions(load, cpu_config),
        "series": [
            labelled("missed", "count", [missed], own),
            labelled("lateness", "ns", [1_000_000] * missed, own),
            labelled("step_time", "ns", [step_ns or 1000 * masses] * released, own),
        ],
        "events": [simulation(masses, threads, **(seen | (data or {})))],
    }
    return result(**(fields | changed))


def real_fast(
    masses: int = 400,
    threads: int = 2,
    *,
    totals: Sequence[int] = (),
    policy: str = "fifo",
    solver: str = "semaphore",
    load: str = "none",
    data: dict[str, DataValue] | None = None,
    **changed: object,
) -> Result:
    own = labels(masses, threads, solver, policy)
    seen: dict[str, DataValue] = {"solver": solver, "policy": policy, "steps_count": 6000}
    fields: dict[str, object] = {
        "test": "SIM-P-RF",
        "params": {"masses": [masses], "threads": [threads], "step_ns": 10_000_000},
        "conditions": conditions(load),
        "series": [labelled("total_time", "ns", totals or [6_000_000 * masses], own)],
        "events": [simulation(masses, threads, **(seen | (data or {})))],
    }
    return result(**(fields | changed))


def sweep(*results: Result) -> RunDocument:
    return document(results=list(results))


def costs(spring_ns: float = 40.0, mass_ns: float = 12.0) -> Event:
    data = {"spring_ns": spring_ns, "mass_ns": mass_ns, "semaphore_ns": 22.0, "masses_count": 128}
    return Event(name="tire_costs", text="made up", data=data)


def timed_costs(
    masses: int, threads: int, policy: str = "fifo", *, loop_ns: float = 10.0, **changed: DataValue
) -> Event:
    """What the threads of a variant timed. Its accesses take 20 ns for each mass of a thread, a
    tenth less or more; it has 50 us from a release to the first thread."""
    access_ns = 20.0 * masses / threads
    data: dict[str, DataValue] = {
        "masses_count": masses,
        "threads_count": threads,
        "policy": policy,
        "spring_ns": 4.0,
        "mass_ns": loop_ns - (6.0 if threads == 1 else 8.0),
        "loop_ns": loop_ns,
        "loop_low_ns": 0.9 * loop_ns,
        "loop_high_ns": 1.1 * loop_ns,
        "semaphore_ns": 5.0,
        "access_ns": access_ns,
        "access_low_ns": 0.9 * access_ns,
        "access_high_ns": 1.1 * access_ns,
        "dispatch_ns": 50_000.0,
        "dispatch_high_ns": 100_000.0,
        "steps_count": 20,
        "cpus_count": 2,
    }
    known = {name: value for name, value in (data | changed).items() if value is not None}
    return Event(name="tire_costs", text="made up", data=known)


def costs_only(*events: Event, load: str = "none", **changed: object) -> Result:
    """A result of costs, as it is before a sweep."""
    fields: dict[str, object] = {
        "test": "SIM-S-RT",
        "params": {"masses": [400, 10_000], "threads": [1, 2], "costs_only": 1}
        | {"solver": ["semaphore"], "policy": ["fifo"], "step_ns": 10_000_000, "period_ns": 0},
        "conditions": conditions(load),
        "series": [],
        "events": list(events),
    }
    return result(**(fields | changed))


def planned_curves(*threads: int, policy: str = "fifo", load: str = "none") -> list[Curve]:
    return [Curve("SIM-S-RT", "semaphore", policy, one, load, "shared") for one in threads]


def parts_of(one: Result, *, dispatch_ns: int, idle_ns: int, count: int = 100) -> list[Series]:
    """The other two parts of its periods."""
    own = {name: value for name, value in one.series[0].labels.items() if value is not None}
    return [
        labelled("dispatch", "ns", [dispatch_ns] * count, own),
        labelled("idle", "ns", [idle_ns] * count, own),
    ]


def opening() -> list[Result]:
    """What the cost model needs beside the points."""
    where = Conditions(load="none", cpu_config="shared")
    switch = [labelled("switch", "ns", [900, 1000, 1100], {"threads": 2})]
    shuffle = [labelled("shuffle", "ns", [4000, 4200], {"kind": "unnamed", "scope": "thread"})]
    return [
        result("THR-P-SLS", series=switch, conditions=where),
        result("SEM-P-SHF", series=shuffle, conditions=where),
    ]


def whole_sweep(loads: Sequence[str] = ("none", "heavy")) -> RunDocument:
    """fifo and other with 1, 2 and 4 threads. `other` is faster, and misses more under load."""
    found = opening()
    for load in loads:
        for policy, factor in (("fifo", 1.0), ("other", 0.8)):
            is_late = policy == "other" and load == "heavy"
            for threads in (1, 2, 4):
                for masses in (400, 1200, 4000, 12000, 40000):
                    missed = 100 if masses == 40000 else 7 + threads if is_late else 0
                    found.append(
                        real_time(masses, threads, missed=missed, policy=policy, load=load)
                    )
                for masses in (400, 800, 1000):
                    total = round(1e6 * masses * factor / min(threads, 2))
                    found.append(
                        real_fast(masses, threads, totals=[total], policy=policy, load=load)
                    )
    for one in found[2:]:
        one.events.append(costs())
    return sweep(*found)
