"""Made-up runs in which every rated figure was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from hardstone.model import Conditions, Event, Plan, Result, RunDocument, Series, Verdict
from hardstone.stats.sustained import STEP
from hardstone.systems.criteria import FigureCriterion, load_criteria, rated_figures
from tests.unit.stats import make

FAST_NS = 1000
BLOCK_NS = 10_000_000


def conditions(load: str = "heavy", cpu_config: str = "shared") -> Conditions:
    return Conditions(load=load, cpu_config=cpu_config, policy="fifo", priority=98, realtime=True)


def labelled(name: str, labels: dict[str, str], *values: int) -> Series:
    numbers = {key: int(text) if text.isdecimal() else text for key, text in labels.items()}
    return msgspec.structs.replace(make.series(values, name), labels=numbers)


def fast(criterion: FigureCriterion) -> Iterable[int]:
    """A block of its length, all else in a microsecond."""
    return (BLOCK_NS, BLOCK_NS) if criterion.reading else (FAST_NS, FAST_NS)


def search(source: str, *steps: tuple[int, int], interrupts: int = 10**9) -> list[Event]:
    """Steps of IRQ-S-SUS: period and interrupts that were lost."""
    rest = {"source": source, "interrupts_count": interrupts, "is_source_limited": False}
    rest |= {"late_count": 0, "merged_count": 0}
    return [
        Event(
            name=STEP,
            text="-",
            data={**rest, "period_ns": period_ns, "lost_count": lost, "passed": lost == 0},
        )
        for period_ns, lost in steps
    ]


def results(
    values: Callable[[FigureCriterion], Iterable[int]] = fast, where: Conditions | None = None
) -> list[Result]:
    """A result of each rated test; `values` gives those of each figure's series."""
    where = where or conditions()
    found: dict[str, Result] = {}
    for name, criteria in load_criteria().categories.items():
        for one in rated_figures(name):
            result = found.setdefault(one.test, make.result(one.test, series=[], conditions=where))
            result.series.append(labelled(one.series, one.labels, *values(one)))
            if one.interrupts:
                result.events = search("external", (FAST_NS, 0))
        for test in criteria.behaviours:
            claims = [Verdict(name="claim/case", passed=True, evidence="-")]
            found[test] = make.result(test, series=[], verdicts=claims, conditions=where)
    return list(found.values())


def full_run(**changed: object) -> RunDocument:
    """A run of the profile `standard` under load."""
    fields: dict[str, object] = {"results": results(), "plan": planned(["heavy"], ["shared"])}
    return make.document(**(fields | changed))


def planned(loads: list[str], configs: list[str], **changed: object) -> Plan:
    fields: dict[str, object] = {
        "name": "evening",
        "profile": "standard",
        "target": "local",
        "tests": [],
        "load": ",".join(loads),
        "loads": loads,
        "cpu_config": ",".join(configs),
        "cpu_configs": configs,
    }
    return Plan(**(fields | changed))


def result_of(document: RunDocument, test: str) -> Result:
    return next(one for one in document.results if one.test == test)
