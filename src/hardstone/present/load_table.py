"""What a load reached, and the work that a test calibrated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hardstone.model import LoadReached, Result, RunDocument
from hardstone.stats.conditions import Comparison, SeriesRow, condition_of, conditions_in, names_in
from hardstone.units import format_count
from hardstone.wording import shorten, work_text

ENOUGH = 0.8
_SIGNIFICANT = 3
_MOST_COUNT = 1e15  # larger numbers of others are shown with an exponent
_ALIKE = 0.95
_AVERAGE = "load_average_1min_milli"
_UNITS = {
    "share": " %",
    "per_s": "/s",
    "processes": " processes",
    "jobs": " jobs",
    "groups": " groups",
    "rounds_per_s": " rounds/s",
}


@dataclass(frozen=True)
class LoadRow:
    """An element of a load; `reached` has its range over all tests, by CPU configuration."""

    load: str
    name: str
    element: str
    asked: str
    reached: list[str]
    is_short: list[bool]


@dataclass(frozen=True)
class LoadTable:
    cpu_configs: list[str]
    rows: list[LoadRow]


def load_table(document: RunDocument) -> LoadTable | None:
    """Requested and reached load by element; None if the run had no load."""
    conditions = conditions_in(document)
    configs = list(dict.fromkeys(one.cpu_config for one in conditions))
    labels = names_in(document)
    rows = [
        row
        for load in dict.fromkeys(one.load for one in conditions)
        for row in _rows(document, load, configs, labels.load(load))
    ]
    return LoadTable(configs, rows) if rows else None


def reached_text(result: Result) -> str:
    """All elements in one line: "cpu 9.97 % of 10 %, search 5.2 rounds/s"."""
    return ", ".join(map(_element_text, result.load))


def is_short(one: LoadReached) -> bool:
    """Whether any process reached less than 80 % of the request, or no round at all."""
    least = _least(one)
    return least <= 0 if one.asked is None else least < ENOUGH * one.asked


def _least(one: LoadReached) -> float:
    """The lowest figure of any process: a mean would hide a CPU without load."""
    return one.reached if one.least is None else min(one.least, one.reached)


def _element_text(one: LoadReached) -> str:
    text = f"{shorten(one.element)} {load_figure(one.reached, one.unit)}"
    if _least(one) < _ALIKE * one.reached:
        text += f" (lowest {load_figure(_least(one), one.unit)})"
    return text if one.asked is None else f"{text} of {load_figure(one.asked, one.unit)}"


def _rows(document: RunDocument, load: str, configs: list[str], label: str) -> Iterable[LoadRow]:
    cells: dict[tuple[str, str], dict[str, list[LoadReached]]] = {}
    for result in document.results:
        under = condition_of(result)
        for one in result.load if under.load == load else ():
            by_config = cells.setdefault((one.element, one.degree), {})
            by_config.setdefault(under.cpu_config, []).append(one)
    for (element, _), by_config in cells.items():
        found = [by_config.get(config, []) for config in configs]
        first = next(one for part in found for one in part)
        asked = "continuous" if first.asked is None else load_figure(first.asked, first.unit)
        yield LoadRow(
            load=label,
            name=shorten(f"{element}, {first.how}" if first.how else element),
            element=_full_name(first),
            asked=asked,
            reached=[_range(part) for part in found],
            is_short=[any(map(is_short, part)) for part in found],
        )
    if cells:
        yield from _average_row(document, load, configs, label)


def _full_name(one: LoadReached) -> str:
    """ "network=4000/s, to target:7", "search@cpu"."""
    equals = "=" if one.degree and not one.degree.startswith("@") else ""
    how = f", {one.how}" if one.how else ""
    return shorten(f"{one.element}{equals}{one.degree}{how}")


def _average_row(
    document: RunDocument, load: str, configs: list[str], label: str
) -> Iterable[LoadRow]:
    """The kernel's 1-minute load average at the end of each test, if it was read."""
    averages: dict[str, list[float]] = {}
    for result in document.results:
        milli = result.environment.get(_AVERAGE)
        if condition_of(result).load == load and milli is not None:
            averages.setdefault(condition_of(result).cpu_config, []).append(milli / 1000)
    if averages:
        yield LoadRow(
            load=label,
            name="load average",
            element="1-minute load average at the end of the test",
            asked="-",
            reached=[_span(averages.get(config, [])) for config in configs],
            is_short=[False] * len(configs),
        )


def _span(found: list[float]) -> str:
    if not found:
        return "-"
    low, high = _number(min(found), ""), _number(max(found), "")
    return low if low == high else f"{low} to {high}"


def _range(found: list[LoadReached]) -> str:
    """From the lowest figure of any CPU to the highest mean of any test; one figure if equal."""
    if not found:
        return "-"
    unit = found[0].unit
    low = _number(min(map(_least, found)), unit)
    high = _number(max(one.reached for one in found), unit)
    return (low if low == high else f"{low} to {high}") + _spoken(unit)


def load_figure(value: float | None, unit: str) -> str:
    """10 %, 4 000/s, 240 processes; "-" if the request has no figure."""
    return "-" if value is None else _number(value, unit) + _spoken(unit)


def _spoken(unit: str) -> str:
    return _UNITS.get(unit, f" {shorten(unit, 20)}")


def _number(value: float, unit: str) -> str:
    value = 100 * value if unit == "share" else value
    is_count = 100 <= value < _MOST_COUNT
    return format_count(round(value)) if is_count else f"{value:.{_SIGNIFICANT}g}"


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
