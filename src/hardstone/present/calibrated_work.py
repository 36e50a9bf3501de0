"""Calibrated work of a series under several conditions, as text."""

from __future__ import annotations

from hardstone.present.wording import work_text
from hardstone.stats.comparison import Comparison, SeriesRow


def works_of(one: Comparison, row: SeriesRow) -> list[str]:
    """Calibrated work per value under each condition: "36 696 328 operations", or empty."""
    pairs = zip(one.results, row.found, strict=True)
    return [
        work_text(series, result.calibrated) if result is not None and series is not None else ""
        for result, series in pairs
    ]


def common_work(works: list[str]) -> str:
    """The work if it is equal under all conditions; empty if it differs or there is none."""
    found = list(dict.fromkeys(work for work in works if work))
    return found[0] if len(found) == 1 else ""
