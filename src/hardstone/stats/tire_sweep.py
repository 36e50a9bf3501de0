"""Which results are points of a sweep: then a picture of all of them stands for each one."""

from __future__ import annotations

from collections.abc import Set

from hardstone.model import Result, RunDocument
from hardstone.stats.tire_names import TESTS

_LEAST_RESULTS = 4  # of one test; a battery has one for each condition


def sweep_points(document: RunDocument) -> Set[int]:
    """The places, in `document.results`, of the points of a sweep; none where it was none.

    It was one if its plan says so, or if it has several results of one test and condition.
    """
    found = [number for number, one in enumerate(document.results) if one.test in TESTS]
    if document.plan.sweep is not None:
        return frozenset(found)
    asked = [
        (one.test, one.conditions.load, one.conditions.cpu_config, one.conditions.preemption)
        for one in (document.results[number] for number in found)
    ]
    is_sweep = len(found) >= _LEAST_RESULTS and len(set(asked)) < len(asked)
    return frozenset(found) if is_sweep else frozenset()


def listed_results(document: RunDocument) -> list[Result]:
    """The results that a page lists one by one: no points of a sweep but those that failed."""
    points = sweep_points(document)
    return [
        one
        for number, one in enumerate(document.results)
        if number not in points or any(not verdict.passed for verdict in one.verdicts)
    ]
