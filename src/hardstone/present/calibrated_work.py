"""The work of a series under several conditions, in words."""

from __future__ import annotations

from hardstone.present.wording import work_text
from hardstone.stats.comparison import Comparison, SeriesRow


def works_of(one: Comparison, row: SeriesRow) -> list[str]:
    """The calibrated work of a value under each condition: "36 696 328 operations", or empty."""
    pairs = zip(one.results, row.found, strict=True)
    return [
        work_text(series, result.calibrated) if result is not None and series is not None else ""
        for result, series in pairs
    ]


def common_work(works: list[str]) -> str:
    """The work that all conditions have; empty where it differs, or there is none."""
    found = list(dict.fromkeys(work for work in works if work))
    return found[0] if len(found) == 1 else ""
