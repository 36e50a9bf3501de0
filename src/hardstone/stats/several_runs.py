"""Compares several runs of one plan, each of another target, test by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import Result, RunDocument, Series
from hardstone.stats.comparison import SeriesRow, VerdictRow, series_rows, verdict_rows
from hardstone.stats.conditions import Condition, condition_of, conditions_in


@dataclass(frozen=True)
class AcrossRuns:
    """The results of `test` under `condition`, one for each run; None where there is none."""

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
    return AcrossRuns(test, condition, results, series_rows(results), verdict_rows(results))
