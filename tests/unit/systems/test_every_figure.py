"""Every number of published.json, read by walking the file, on its way to people: subjects, rows,
comparison. That a page has what its comparison has is in tests/unit/report/test_compare_page.py.

What each number is follows from the words beside it: the system, test, statistic and load of the
row and column that it stands in, or, for a single number, reading.toml. Nothing of the package is
used to read it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, CompareView
from hardstone.systems.published import load_studies
from hardstone.systems.subjects import (
    Amount,
    PublishedSeries,
    PublishedSystem,
    figure_rows,
    published_ids,
    published_system,
)

FOLDER = Path(__file__).resolve().parents[3] / "src" / "hardstone" / "systems"
SCALES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "MB/s": 1_000_000, "masses": 1}
BOUNDS = {"below", "above"}
# Numbers that are no figure of a system, by path; what holds each is tested by name.
CONDITIONS = (
    "*/systems/*",  # stars, priorities, classes, tick: of the system
    "*/*/at/*",  # label values
    "*/exhibits/*/low",  # ranges of axes
    "*/exhibits/*/high",
    "obenland-2000/response_worst_case/calibrated_block",
    "dedicated-systems-2012/sustained_interrupt_period/interrupts",
    "hp-ux-rt-1987/non_preemptable_kernel_time/preemption_points",
    "hp-ux-rt-1987/non_preemptable_kernel_time/preemption_regions",
    "hp-ux-rt-1987/non_preemptable_kernel_time/rows/*/2",  # the improvement: the ratio of the two
    "hp-ux-rt-1987/clock/*",  # of no one system: reading.toml gives it none
)
WORDS = {"avg": "mean", "worst": "max", "minimal": "min"}
_ADDRESS = re.compile(r"[A-Z]{3}-[A-Z]-[A-Z]+")


class Number(NamedTuple):
    """`kind` is "value", "below" or "above"; `value` is in ns, bytes per second or a count. `said`
    are the words of row and column that stand in the address of the figure: "thread", "128"."""

    study: str
    system: str
    test: str
    statistic: str
    load: str
    kind: str
    value: Decimal
    said: frozenset[str] = frozenset()


def raw_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        FOLDER.joinpath("published.json").read_text("utf-8"), parse_float=Decimal
    )
    return found


def raw_readings() -> dict[str, Any]:
    return tomllib.loads(FOLDER.joinpath("reading.toml").read_text("utf-8"))


def leaves(node: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each number with its path; a bound is one number, with its word at the end of the path."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, *path, key)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from leaves(value, *path, str(place))
    elif isinstance(node, int | Decimal) and not isinstance(node, bool):
        yield path, node


def numbers_of(file: Mapping[str, Any]) -> tuple[list[Number], list[str]]:
    """The figures of systems, and the paths of numbers that nothing explains."""
    found: list[Number] = []
    unexplained: list[str] = []
    readings = raw_readings()
    for path, value in leaves(file["studies"]):
        text = "/".join(path)
        if any(fnmatchcase(text, one) for one in CONDITIONS):
            continue
        number = _number(file["studies"][path[0]], readings[path[0]], path, value)
        if number is not None:
            found.append(number)
        elif not _is_unread(readings[path[0]], path):
            unexplained.append(text)
    return found, unexplained


def _is_unread(reading: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    inner = "/".join(path[1:])
    return any(f"{inner}/".startswith(f"{one}/") for one in reading.get("unread", {}))


def _number(
    study: Mapping[str, Any], reading: Mapping[str, Any], path: tuple[str, ...], value: Any
) -> Number | None:
    kind, inner = ("value", path[1:]) if path[-1] not in BOUNDS else (path[-1], path[1:-1])
    for single in reading.get("figures", []):
        if tuple(single["path"]) == inner:
            test = single["address"].partition("/")[0]
            words = (single["system"], test, single["statistic"], "")
            return Number(path[0], *words, kind, value * SCALES[single["unit"]])
    if len(inner) < 3 or inner[1] != "rows":
        return None
    return _cell(path[0], study, inner, kind, value)


def _cell(
    name: str, study: Mapping[str, Any], inner: tuple[str, ...], kind: str, value: Any
) -> Number:
    """A number in the rows of a table: what it is stands in its row, its column and the table."""
    table = study[inner[0]]
    column = table["columns"][int(inner[3])] if len(inner) > 3 else ""
    row = inner[2]
    words = re.split(r"[ /]", f"{row} {column}")
    tests = _ADDRESS.findall(f"{row} {column}") or _ADDRESS.findall(table["test"])
    test = tests[0]
    if len(tests) > 1:  # "MSG-P-LAT and MSG-P-THR": which one says the column
        test = tests[["latency", "throughput"].index(words[2])]
    statistic = next((WORDS.get(one, one) for one in words if one in _STATISTICS), "")
    statistic = statistic or _OF_TITLE[inner[0]]
    if test == "MSG-P-THR" and statistic == "max":
        statistic = "min"  # of a rate the worst is the least
    unit = column.rpartition(" ")[2]
    unit = unit if unit in SCALES else table["unit"]
    load = next((one for one in words if one in ("none", "heavy")), table.get("load") or "")
    system = _system(study, row, column)
    said = frozenset(words) - _NO_LABELS - {test, system}
    return Number(name, system, test, statistic, load, kind, value * SCALES[unit], said)


_STATISTICS = {"avg", "max", "worst", "time_90", "time_99"}
_NO_LABELS = {*_STATISTICS, "", "none", "heavy", "preemption", "off", "on", "us", "MB", "s"}
# Tables that say in their title which statistic they hold: worst cases, and the shortest period.
_OF_TITLE = {"response_worst_case": "max", "worst_case": "max", "sustained_interrupt_period": "min"}


def _system(study: Mapping[str, Any], row: str, column: str) -> str:
    known = study["systems"]
    said = {row, *column.split(), column.replace("preemption ", "hpux-")}
    (found,) = said & set(known)
    return found


FILE = raw_file()
NUMBERS, UNEXPLAINED = numbers_of(FILE)


def systems() -> list[PublishedSystem]:
    """Each published system; one that was measured under several loads once for each."""
    found = []
    for key in published_ids():
        one = published_system(key)
        found += [replace(one, load=load) for load in one.loads or [""]]
    return found


def amounts(one: PublishedSeries) -> list[Amount]:
    found = [one.amount(statistic) for statistic in one.statistics()]
    assert all(isinstance(amount, Amount) for amount in found)
    return [amount for amount in found if isinstance(amount, Amount)]


def number(system: PublishedSystem, one: PublishedSeries, amount: Amount) -> Number:
    (kind,) = [kind for kind in ("value", "below", "above") if getattr(amount, kind) is not None]
    return Number(
        system.study.key,
        system.key,
        one.test,
        amount.statistic,
        one.figures[0].address.conditions.get("load", ""),
        kind,
        Decimal(str(getattr(amount, kind))),
        frozenset(one.address.split("/")),
    )


@cache
def held() -> tuple[Number, ...]:
    """The figures of all subjects. One that two loads share counts once."""
    found = {}
    for system in systems():
        for one in system.held():
            for amount in amounts(one):
                found[amount.source] = number(system, one, amount)
    return tuple(found.values())


def lost(numbers: Iterable[Number], there: Iterable[Number]) -> list[Number]:
    """Those of the file that are not there, and those that are there and not in the file."""
    rest, missing = list(there), []
    for one in numbers:
        alike = [other for other in rest if other[:-1] == one[:-1] and one.said <= other.said]
        if alike:
            rest.remove(alike[0])
        else:
            missing.append(one)
    return missing + rest


def test_every_number_of_the_file_is_a_figure_of_a_system_or_says_why_not() -> None:
    assert UNEXPLAINED == []
    assert len(NUMBERS) > 250
    assert {one.system for one in NUMBERS} == set(published_ids())


def test_every_figure_comes_out_as_it_is_in_the_file_and_none_is_added() -> None:
    assert lost(NUMBERS, held()) == []


@pytest.mark.parametrize("key", published_ids())
def test_what_is_no_figure_of_a_test_stands_with_its_system(key: str) -> None:
    (body,) = [one["systems"][key] for one in FILE["studies"].values() if key in one["systems"]]
    system = published_system(key)
    described = system.study.systems[key]
    for name, value in body.items():
        if isinstance(value, int | Decimal):
            assert Decimal(str(getattr(described, name))) == value, name
        elif isinstance(value, dict):
            assert {one: list(two) for one, two in getattr(described, name).items()} == value
    assert system.stars == (float(body["stars"]) if "stars" in body else None)


def test_what_a_study_fixes_is_with_its_figures() -> None:
    studies = load_studies()
    block = FILE["studies"]["obenland-2000"]["response_worst_case"]["calibrated_block"]
    asked = FILE["studies"]["dedicated-systems-2012"]["sustained_interrupt_period"]["interrupts"]
    tables = studies["obenland-2000"].reading.tables
    assert tables["response_worst_case"].params == {"block_ns": block * 1_000_000}
    tables = studies["dedicated-systems-2012"].reading.tables
    assert tables["sustained_interrupt_period"].params == {"interrupts": asked}
    label = FILE["studies"]["dedicated-systems-2012"]["timings"]["at"]["SEM-P-ARC"]["waiters"]
    contended = [one for one in published_system("qnx").held() if one.test == "SEM-P-ARC"]
    assert contended and all(str(label) in one.labels.values() for one in contended)


@pytest.mark.parametrize("system", systems(), ids=lambda one: f"{one.key} {one.load}".strip())
def test_every_figure_stands_in_a_row_beside_all_others(system: PublishedSystem) -> None:
    for others in ([], [published_system("xenomai"), *systems()[:15]]):
        there = [row.found[-1] for row in figure_rows([*others, system])]
        assert [one for one in system.held() if not any(one is cell for cell in there)] == []


LOADS = ("none", "heavy")
BOTH = [(load, place) for load in LOADS for place in range(len(published_ids()))]


@cache
def under(load: str) -> tuple[PublishedSystem, ...]:
    """All systems, those that were measured under several loads under `load`."""
    return tuple(published_system(key, load) for key in published_ids())


@cache
def view(load: str) -> CompareView:
    return compare_view(under(load))


def figures_of_cell(cell: ComparedCell) -> Iterator[Amount]:
    for one in (cell.mean, cell.worst, *cell.more.values()):
        if isinstance(one, Amount):
            yield one


def compared(load: str, place: int) -> dict[str, Amount]:
    """The figures in the column of one system, by source."""
    return {
        amount.source: amount
        for test in view(load).tests
        for row in test.rows
        for amount in figures_of_cell(row.cells[place])
    }


def known(system: PublishedSystem) -> dict[str, Amount]:
    return {amount.source: amount for one in system.held() for amount in amounts(one)}


@pytest.mark.parametrize(("load", "place"), BOTH)
def test_every_figure_stands_in_the_comparison(load: str, place: int) -> None:
    assert compared(load, place) == known(under(load)[place])


def test_the_two_comparisons_have_every_figure() -> None:
    sources = {source for load, place in BOTH for source in compared(load, place)}
    assert sources == {source for system in systems() for source in known(system)}


def test_the_yardsticks_are_those_of_the_study() -> None:
    said = FILE["studies"]["solaris-latstat-2007"]["yardsticks"].values()
    assert {one.value_ns for one in view("none").yardsticks} == {value * 1_000 for value in said}
