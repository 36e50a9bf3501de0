"""Compares one test under several conditions, and several runs of one plan, series by series."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from hardstone.event_names import TIRE_TESTS
from hardstone.model import Result, RunDocument, Series, Verdict
from hardstone.stats.conditions import Condition, condition_of, conditions_in

_LEAST_RESULTS = 4  # of one test; a battery has one for each condition


def sweep_points(document: RunDocument) -> Set[int]:
    """The places, in `document.results`, of the points of a sweep; none where it was none.

    It was one if its plan says so, or if it has several results of one test and condition.
    """
    found = [number for number, one in enumerate(document.results) if one.test in TIRE_TESTS]
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


_CPU = "cpu"
Key = tuple[str, tuple[tuple[str, int | str], ...]]


@dataclass(frozen=True)
class SeriesRow:
    """One series under each condition; None where it has no values."""

    key: Key
    found: list[Series | None]

    @property
    def first(self) -> Series:
        """The first series with values. It names the row."""
        return next(series for series in self.found if series is not None)

    @property
    def highest(self) -> int:
        return max(series.max or 0 for series in self.found if series is not None)


@dataclass(frozen=True)
class Worst:
    """The series of a row with the highest value under one condition, and the CPUs of all its
    series there; {None} where the series are of no one CPU."""

    series: Series
    cpus: frozenset[int | str | None]

    def ratio_to(self, first: Worst | None) -> float | None:
        """Worst observed relative to that of `first`; None unless both are durations."""
        return None if first is None else _ratio(self.series, first.series)


@dataclass(frozen=True)
class VerdictRow:
    """One verdict under each condition; None where there is none."""

    name: str
    found: list[Verdict | None]


@dataclass(frozen=True)
class Comparison:
    """The results of `test`, one for each of `conditions`; None where there is none."""

    test: str
    conditions: list[Condition]
    results: list[Result | None]
    series: list[SeriesRow]
    verdicts: list[VerdictRow]


def comparisons_in(document: RunDocument) -> list[Comparison]:
    """Every test of a run with several conditions, in the order of the results; else empty.

    Points of a sweep are not compared one by one.
    """
    conditions = conditions_in(document)
    if len(conditions) < 2:
        return []
    found: dict[str, dict[Condition, Result]] = {}
    points = sweep_points(document)
    for number, result in enumerate(document.results):
        if number in points:
            continue
        found.setdefault(result.test, {})[condition_of(result)] = result
    return [_comparison(test, conditions, results) for test, results in found.items()]


def decisive_row(one: Comparison) -> SeriesRow | None:
    """The timed series with the highest value under any condition; a derived one only if all
    are."""
    timed = [row for row in one.series if row.first.unit == "ns"]
    timed = [row for row in timed if row.first.derived is None] or timed
    return max(timed, key=lambda row: row.highest, default=None)


def worst_on_any_cpu(row: SeriesRow, result: Result | None) -> Worst | None:
    """The highest series of `result` that differs from `row` in nothing but its CPU.

    Under `single` a test may run on another CPU, and its series then have other labels.
    """
    alike = [
        one for key, one in _by_key(result).items() if without_cpu(key) == without_cpu(row.key)
    ]
    if not alike:
        return None
    cpus = frozenset(one.labels.get(_CPU) for one in alike)
    return Worst(max(alike, key=lambda one: one.max or 0), cpus)


def without_cpu(key: Key) -> Key:
    """The key that a series has on any CPU."""
    name, labels = key
    return name, tuple(label for label in labels if label[0] != _CPU)


def ratio_to_first(row: SeriesRow, place: int) -> float | None:
    """Worst observed relative to the first condition; None unless both are durations."""
    first, this = row.found[0], row.found[place]
    return None if place == 0 or first is None or this is None else _ratio(this, first)


def _ratio(this: Series, first: Series) -> float | None:
    if this.unit != "ns" or this.max is None or not first.max:
        return None
    return this.max / first.max


def _comparison(
    test: str, conditions: list[Condition], results: dict[Condition, Result]
) -> Comparison:
    ordered = [results.get(condition) for condition in conditions]
    return Comparison(
        test=test,
        conditions=conditions,
        results=ordered,
        series=series_rows(ordered),
        verdicts=verdict_rows(ordered),
    )


def series_rows(results: Sequence[Result | None]) -> list[SeriesRow]:
    """Each series of any of `results`, in their order."""
    found = [_by_key(result) for result in results]
    keys = dict.fromkeys(key for one in found for key in one)
    return [SeriesRow(key, [one.get(key) for one in found]) for key in keys]


def verdict_rows(results: Sequence[Result | None]) -> list[VerdictRow]:
    """Each verdict of any of `results`, in their order."""
    found = [{one.name: one for one in result.verdicts} if result else {} for result in results]
    names = dict.fromkeys(name for one in found for name in one)
    return [VerdictRow(name, [one.get(name) for one in found]) for name in names]


def _by_key(result: Result | None) -> dict[Key, Series]:
    found = result.series if result else []
    return {(one.name, tuple(sorted(one.labels.items()))): one for one in found if one.count > 0}


@dataclass(frozen=True)
class AcrossRuns:
    """The results of `test` under `condition`, one for each run; None where there is none.

    A series that each target has on one CPU only is one row, whichever CPU that is; its key then
    has no CPU if they differ.
    """

    test: str
    condition: Condition
    results: list[Result | None]
    series: list[SeriesRow]
    verdicts: list[VerdictRow]


def across_runs(documents: Sequence[RunDocument]) -> list[AcrossRuns]:
    """Every test and condition of any of `documents`, in the order of their results."""
    found = [
        {(result.test, condition_of(result)): result for result in one.results} for one in documents
    ]
    return [
        _across(test, condition, [one.get((test, condition)) for one in found])
        for test, condition in dict.fromkeys(key for one in found for key in one)
    ]


def conditions_of(documents: Sequence[RunDocument]) -> list[Condition]:
    """The conditions of all `documents`, without duplicates."""
    return list(dict.fromkeys(one for document in documents for one in conditions_in(document)))


def most_interesting_first(rows: Sequence[SeriesRow]) -> list[SeriesRow]:
    """Timed series before derived ones and counts, each with the highest values first."""
    return sorted(rows, key=lambda row: (*_rank(row.first), -row.highest))


def _rank(series: Series) -> tuple[bool, bool]:
    return series.unit != "ns", series.derived is not None


def _across(test: str, condition: Condition, results: list[Result | None]) -> AcrossRuns:
    return AcrossRuns(test, condition, results, _rows(results), verdict_rows(results))


def _rows(results: list[Result | None]) -> list[SeriesRow]:
    alike: dict[Key, list[SeriesRow]] = {}
    for row in series_rows(results):
        alike.setdefault(without_cpu(row.key), []).append(row)
    return [row for key, rows in alike.items() for row in _merged(key, rows)]


def _merged(key: Key, rows: list[SeriesRow]) -> list[SeriesRow]:
    """`rows` as one, unless a target has the series on several CPUs."""
    columns = [
        [series for series in column if series is not None]
        for column in zip(*(row.found for row in rows), strict=True)
    ]
    if len(rows) == 1 or any(len(column) > 1 for column in columns):
        return rows
    return [SeriesRow(key, [column[0] if column else None for column in columns])]
