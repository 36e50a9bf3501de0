"""The next maximum of a series in words, for terminal and page: a projection, or why there is none.

It is never the headline: the worst observed is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hardstone.catalogue import kind_of
from hardstone.errors import InputError
from hardstone.model import Result, RunDocument, Series
from hardstone.present.overview import decisive_series
from hardstone.stats.contradictions import contradictions, is_contradictory
from hardstone.stats.projection import (
    PATH_NOT_TAKEN,
    REASONS,
    Projection,
    Refusal,
    maxima_of,
    project,
)
from hardstone.stats.tail import LEAST_BLOCKS, LEAST_EXCEEDANCES, SHARE
from hardstone.units import format_count, format_ns
from hardstone.wording import range_text, series_text, shorten

__all__ = ["LEAST_VALUES", "PATH_NOT_TAKEN", "ProjectionText", "decisive_projection", "projections"]

LEAST_VALUES = round(LEAST_EXCEEDANCES / SHARE)
_LABEL_CHARACTERS = 120
_UNREADABLE = "the histogram is not readable"
_RUN_CONTRADICTORY = "other figures of the run cannot be true"
_CONTRADICTORY = "figures of the series cannot be true"


@dataclass(frozen=True)
class ProjectionText:
    """What is said of one series. `lines`: the interval and what it holds for, or every reason for
    which nothing is projected; `meaning` has why each of these matters, as many as there are, or
    none."""

    label: str
    worst: str
    is_projected: bool
    lines: list[str]
    meaning: list[str]

    @property
    def outcome(self) -> str:
        return "projection, not observed" if self.is_projected else "no projection"


def projections(result: Result, document: RunDocument) -> list[ProjectionText]:
    """One for each series of durations with at least LEAST_VALUES values."""
    return [_text_of(one, result, document) for one in result.series if _has_enough(one)]


def decisive_projection(result: Result, document: RunDocument) -> ProjectionText | None:
    """That of the decisive series of a timing test; None where it is too short to be judged: fewer
    than LEAST_VALUES values, or maxima of fewer than LEAST_BLOCKS intervals."""
    if kind_of(result.test) == "behaviour":
        return None
    series = decisive_series(result)
    if series is None or not _has_enough(series) or maxima_of(series).size < LEAST_BLOCKS:
        return None
    return _text_of(series, result, document)


def _has_enough(series: Series) -> bool:
    return series.unit == "ns" and series.count >= LEAST_VALUES


def _text_of(series: Series, result: Result, document: RunDocument) -> ProjectionText:
    reasons, meaning, lines = [], [], []
    if is_contradictory(series):
        reasons.append(_CONTRADICTORY)
    else:
        try:
            found = project(series, result, document)
        except InputError:
            reasons.append(_UNREADABLE)
        else:
            if isinstance(found, Refusal):
                reasons = [one.text for one in found.reasons]
                meaning = [REASONS[one.code] for one in found.reasons]
            elif any(contradictions(document)):  # what is stored of its trust does not know them
                reasons.append(_RUN_CONTRADICTORY)
            else:
                lines = list(_projected(found))
    return ProjectionText(
        label=shorten(series_text(series), _LABEL_CHARACTERS),
        worst=f"{format_ns(series.max)} in {format_count(series.count)} values",
        is_projected=not reasons,
        lines=reasons or lines,
        meaning=meaning,
    )


def _projected(found: Projection) -> Iterator[str]:
    interval = range_text(format_ns(found.low_ns), format_ns(found.high_ns))
    yield (
        f"largest of the next {format_count(found.next_count)} values: {interval} "
        f"({found.confidence:.0%} interval), middle {format_ns(found.median_ns)}"
    )
    yield "if nothing changes: same system, state and load, values that are independent"
    yield (
        f"from the {format_count(found.exceedances_count)} values above "
        f"{format_ns(found.threshold_ns)}: shape {found.shape:.2f}, "
        f"scale {format_ns(found.scale_ns)}"
    )
