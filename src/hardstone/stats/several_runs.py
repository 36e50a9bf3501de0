"""Compares several runs of one plan, each of another target, test by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import Result, RunDocument, Series
from hardstone.stats.comparison import (
    Key,
    SeriesRow,
    VerdictRow,
    series_rows,
    verdict_rows,
    without_cpu,
)
from hardstone.stats.conditions import Condition, condition_of, conditions_in


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
