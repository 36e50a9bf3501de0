"""Made-up runs in which every rated figure was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from hardstone.model import Conditions, Plan, Result, RunDocument, Series, Verdict
from hardstone.rating import load_criteria
from hardstone.rating.criteria import FigureCriterion, rated_figures
from tests.unit.stats import make

FAST_NS = 1000
BLOCK_NS = 10_000_000


def conditions(load: str = "heavy", cpu_config: str = "shared") -> Conditions:
    return Conditions(load=load, cpu_config=cpu_config, policy="fifo", priority=98, realtime=True)


def labelled(name: str, labels: dict[str, str], *values: int) -> Series:
    numbers = {key: int(text) if text.isdecimal() else text for key, text in labels.items()}
    return msgspec.structs.replace(make.series(values, name), labels=numbers)


def fast(criterion: FigureCriterion) -> Iterable[int]:
    """A block of its length, no step late, all else in a microsecond."""
    if criterion.reading:
        return (BLOCK_NS, BLOCK_NS)
    return () if criterion.none_means else (FAST_NS, FAST_NS)


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
            if one.none_means:  # what it was looked for in
                result.series.append(labelled("step_time", one.labels, FAST_NS))
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
