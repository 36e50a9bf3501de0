"""Made-up tires: the tests of the simulation as a probe declares them, and kernels of any kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hardstone.catalogue import load_catalogue
from hardstone.model import (
    Conditions,
    Descriptor,
    Plan,
    PlannedTest,
    Register,
    Result,
    Series,
)
from hardstone.plan.make import Request
from hardstone.simulation.request import SweepRequest, make_sweep_plan
from hardstone.simulation.sweep import SIMULATIONS, single
from tests.process.targets import sample
from tests.unit.simulation.tires import timed_costs
from tests.unit.stats import make

SECOND_NS = 1_000_000_000
# Whether a point misses: (masses, its planned test, how often it was asked before).
Kernel = Callable[[int, PlannedTest, int], bool]


def register() -> Register:
    """The golden register; a simulation has its parameters only, and takes no time beside them."""
    known = sample.register()
    tests = [bare(one) if one.id in SIMULATIONS else one for one in known.tests]
    return msgspec.structs.replace(known, tests=tests)


def bare(one: Descriptor) -> Descriptor:
    return Descriptor(
        id=one.id,
        title="made up",
        source="made up",
        params=one.params,
        needs=[],
        series=[],
        verdicts=[],
        default_samples=100,
        default_duration_ns=0,
    )


def facts(**changed: Any) -> dict[str, Any]:
    return {"cpu.allowed": "0-1", "cpu.count": 2, "cpu.smt": False, **changed}


def plan_of(mode: str = "realtime", *, load: Sequence[str] = ("none",), **request: Any) -> Plan:
    """The plan of a sweep on a machine of two CPUs."""
    asked = SweepRequest(mode=mode, base=Request(load=tuple(load)), **request)
    return make_sweep_plan(asked, register(), load_catalogue(), facts(), sample.loads())


def result_of(planned: PlannedTest, *, missed: int = 0, **changed: Any) -> Result:
    """What a probe says of a planned point."""
    is_realtime = planned.test == "SIM-S-RT"
    names = ("masses", "threads", "solver", "policy")
    labels = {name: single(planned.params.get(name)) for name in names}
    series: Series = msgspec.structs.replace(
        make.series((missed if is_realtime else 700_000_000,)),
        name="missed" if is_realtime else "total_time",
        unit="count" if is_realtime else "ns",
        labels={name: value for name, value in labels.items() if value is not None},
    )
    found = Result(
        test=planned.test,
        status="measured",
        params=dict(planned.params),
        conditions=Conditions(load=planned.load, cpu_config=planned.cpu_config),
        series=[series],
        duration_ns=SECOND_NS,
        started_uptime_ns=SECOND_NS,
    )
    return msgspec.structs.replace(found, **changed)


def threshold(most: int) -> Kernel:
    """Misses above `most` masses."""
    return lambda masses, planned, before: masses > most


def stream(planned: PlannedTest | None, test: str, missed: int) -> list[str]:
    """The lines of a probe for a point; a fake target puts in what was requested."""
    lines = [json.loads(line) for line in sample.stream(test, values=(missed,))]
    is_realtime = test == "SIM-S-RT"
    for line in lines:
        if line["type"] == "series":
            line |= {"name": "missed" if is_realtime else "total_time"}
            line |= {"unit": "count" if is_realtime else "ns"}
            line["labels"] = {"masses": 4, "threads": 1, "solver": "x", "policy": "x"}
        if line["type"] == "result":
            line["started_uptime_ns"] = 100 * SECOND_NS
    return [json.dumps(line) for line in lines]


def scenario(folder: Path, most: int, under: Sequence[dict[str, Any]] = (), **changed: Any) -> str:
    """A target that misses deadlines above `most` masses; `under` has entries of its own."""
    own = [
        {"test": "SIM-S-RT", "params": {"costs_only": "1.."}, "steps": timed()},
        {"test": "SIM-S-RT", "params": {"masses": f"..{most}"}, "steps": held()},
        {"test": "SIM-S-RT", "params": {"masses": f"{most + 1}.."}, "steps": missing()},
        {"test": "SIM-P-RF", "params": {"masses": "1.."}, "steps": stream(None, "SIM-P-RF", 7)},
    ]
    tests = {one: [*sample.stream(one)] for one in ("THR-P-SLS", "SEM-P-SHF")}
    known = json.loads((sample.GOLDEN / "facts.json").read_text())
    known["facts"] |= facts(**{"os.boot_id": "one-boot"})
    path = sample.scenario(
        folder,
        tests,
        register=msgspec.to_builtins(register()),
        facts=known,
        under=[*own, *under],
        **changed,
    )
    return f"fake:{path}"


def timed() -> list[str]:
    """The costs of a step, and no step."""
    lines = [json.loads(line) for line in stream(None, "SIM-S-RT", 0)]
    lines = [one for one in lines if one["type"] != "series"]
    place = next(at for at, one in enumerate(lines) if one["type"] == "result")
    for threads in (1, 2):
        event = timed_costs(10_000, threads)
        data = {"type": "event", "name": event.name, "at_ns": None, "data": event.data}
        lines.insert(place, data | {"text": "made up"})
    lines[-1] |= {"lines": len(lines) - 1, "events": 2, "series": 0}
    return [json.dumps(one) for one in lines]


def held() -> list[str]:
    return stream(None, "SIM-S-RT", 0)


def missing(count: int = 3) -> list[str]:
    return stream(None, "SIM-S-RT", count)
