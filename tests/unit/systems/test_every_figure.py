"""Every published figure on its way to people: subjects, rows, comparison. That a page has what its
comparison has is in tests/unit/report/test_compare_page.py. The figures themselves are held against
the papers in tests/unit/study/test_literature.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import NamedTuple

import pytest

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, CompareView
from hardstone.systems.published import Figure, all_figures
from hardstone.systems.subjects import (
    Amount,
    PublishedSeries,
    PublishedSystem,
    published_ids,
    published_system,
)

FILE = json.loads(resources.files("hardstone.systems").joinpath("published.json").read_bytes())
SCALES = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "MB/s": 1_000_000, "masses": 1}


class Number(NamedTuple):
    """`kind` is "value", "below" or "above"; `value` is in ns, bytes per second or a count."""

    study: str
    system: str
    address: str
    statistic: str
    load: str
    kind: str
    value: Decimal


def published(one: Figure) -> Number:
    ((kind, value),) = (one.value if isinstance(one.value, dict) else {"value": one.value}).items()
    load = one.address.conditions.get("load", "")
    number = Decimal(str(value)) * SCALES[one.unit or ""]
    return Number(
        one.study, one.system or "", str(one.address), one.statistic or "", load, kind, number
    )


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
        one.address,
        amount.statistic,
        one.figures[0].address.conditions.get("load", ""),
        kind,
        Decimal(str(getattr(amount, kind))),
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


def test_every_figure_comes_out_as_it_was_published_and_none_is_added() -> None:
    wanted = [published(one) for one in all_figures() if one.system and one.statistic]
    assert len(wanted) > 250
    assert sorted(held()) == sorted(wanted)
    assert {one.system for one in wanted} == set(published_ids())


@pytest.mark.parametrize("key", published_ids())
def test_what_is_no_figure_of_a_test_stands_with_its_system(key: str) -> None:
    (body,) = [one["systems"][key] for one in FILE["studies"].values() if key in one["systems"]]
    system = published_system(key)
    described = system.study.systems[key]
    for name, value in body.items():
        if isinstance(value, int | float):
            assert getattr(described, name) == value, name
        elif isinstance(value, dict):
            assert {one: list(two) for one, two in getattr(described, name).items()} == value
    assert system.stars == (float(body["stars"]) if "stars" in body else None)


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


def test_the_yardsticks_are_those_of_the_study() -> None:
    said = FILE["studies"]["solaris-latstat-2007"]["yardsticks"].values()
    assert {one.value_ns for one in view("none").yardsticks} == {value * 1_000 for value in said}
