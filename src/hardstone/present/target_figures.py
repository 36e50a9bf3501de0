"""The figures of one series on several targets, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.errors import InputError
from hardstone.model import Result, Series
from hardstone.present.quantile_text import lacking_quantile, level_text, quantile_value
from hardstone.present.wording import format_value, ratio_text, work_text, worst_value
from hardstone.stats.comparison import SeriesRow
from hardstone.stats.contradictions import MARK
from hardstone.stats.contradictions import is_contradictory as contradicts
from hardstone.stats.quantiles import Quantile
from hardstone.stats.summary import summarise
from hardstone.units import format_count

WORST = "worst observed"
_LEVELS = (0.5, 0.99)
_UNLIKE_COUNTS = 1.1
_ABSENT = "-"


@dataclass(frozen=True)
class FigureCell:
    """A figure and its ratio to that of the first target; both may be empty.

    `look` is the name of a style: "failed", "uncounted", "passed", "lacking".
    """

    text: str
    ratio: str = ""
    look: str = ""


class SeriesFigures:
    """Count, quantiles and worst observed of the series of `row`, target by target.

    `is_comparable`: whether times of this target may be divided by those of the first one.
    """

    def __init__(
        self, row: SeriesRow, results: Sequence[Result | None], is_comparable: Sequence[bool]
    ) -> None:
        self.row = row
        self._is_comparable = is_comparable
        self._works = list(map(_work, row.found, results))
        self._quantiles = list(map(_quantiles, row.found))

    def lines(self) -> Iterator[tuple[str, list[FigureCell]]]:
        """The name of each figure that any target has, with its cells."""
        found = self.row.found
        yield "count", [FigureCell(_count(one)) for one in found]
        if self.is_work_unequal:
            yield "work", [FigureCell(work or _ABSENT) for work in self._works]
        for q in _LEVELS:
            quantiles = [one.get(q) for one in self._quantiles]
            texts = [
                _quantile_text(one, q, series) for one, series in zip(quantiles, found, strict=True)
            ]
            values = [None if one is None else one.value for one in quantiles]
            yield level_text(q), self._cells(texts, values)
            if not any(quantiles):
                break  # deeper ones need more values still
        worst = [
            one.max if one is not None and self._is_count_alike(one) else None for one in found
        ]
        yield WORST, self._cells(list(map(_worst_text, found)), worst)

    @property
    def is_work_unequal(self) -> bool:
        """Whether a value is of another amount of work on one target than on another."""
        return len(set(filter(None, self._works))) > 1

    @property
    def is_count_unlike(self) -> bool:
        """Whether a ratio of the worst observed is left out because of the counts."""
        return any(
            one is not None and self._has_ratio(place) and not self._is_count_alike(one)
            for place, one in enumerate(self.row.found)
        )

    @property
    def is_contradictory(self) -> bool:
        """Whether figures of the series contradict each other on any target."""
        return any(one is not None and contradicts(one) for one in self.row.found)

    def _cells(self, texts: Sequence[str], values: Sequence[int | None]) -> list[FigureCell]:
        return [
            FigureCell(text, self._ratio(place, values[0], value))
            for place, (text, value) in enumerate(zip(texts, values, strict=True))
        ]

    def _ratio(self, place: int, first: int | None, value: int | None) -> str:
        if not self._has_ratio(place) or value is None or not first or min(first, value) < 0:
            return ""
        return f"x{ratio_text(value / first)}"

    def _has_ratio(self, place: int) -> bool:
        pair = (self.row.found[0], self.row.found[place])
        return (
            self._is_comparable[place]
            and not self.is_work_unequal
            and all(one is not None and one.unit == "ns" and not contradicts(one) for one in pair)
        )

    def _is_count_alike(self, series: Series) -> bool:
        first = self.row.found[0]
        counts = (first.count if first is not None else 0, series.count)
        return max(counts) <= _UNLIKE_COUNTS * min(counts)


def _work(series: Series | None, result: Result | None) -> str:
    return work_text(series, result.calibrated) if series is not None and result is not None else ""


def _quantiles(series: Series | None) -> dict[float, Quantile]:
    """By level, those that the count supports; none if the histogram is unreadable."""
    if series is None:
        return {}
    try:
        return {one.q: one for one in summarise(series, deepest=max(_LEVELS)).quantiles}
    except InputError:
        return {}


def _count(series: Series | None) -> str:
    return _ABSENT if series is None else format_count(series.count)


def _quantile_text(quantile: Quantile | None, q: float, series: Series | None) -> str:
    if series is None:
        return _ABSENT
    lacks = lacking_quantile(q, series.count) if quantile is None else ""
    return lacks or quantile_value(quantile, series.unit)


def _worst_text(series: Series | None) -> str:
    if series is None:
        return _ABSENT
    return format_value(worst_value(series), series.unit) + (MARK if contradicts(series) else "")
