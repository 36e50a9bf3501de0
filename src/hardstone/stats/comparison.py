"""Compares one test under several conditions, series by series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import Result, RunDocument, Series, Verdict
from hardstone.stats.conditions import Condition, condition_of, conditions_in
from hardstone.stats.tire_sweep import sweep_points

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
