"""A comparison as PDF: every figure and its place is there. The words are in
golden/compare-paper.txt."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from hardstone.comparison.sheet import MOST_SERIES, render_compare_pdf, source_rows
from hardstone.comparison.view import CompareView, PlainTable
from hardstone.report.drawing import Drawer
from hardstone.report.sheet import Sheet
from hardstone.systems.subjects import Amount
from tests.unit.comparison.compared import (
    six_systems,
    twenty_systems,
    two_systems,
)
from tests.unit.report.media import Sketches, texts_of

pytestmark = pytest.mark.slow

VIEWS = {"2": two_systems, "6": six_systems, "20": twenty_systems}


def pages(view: CompareView, drawer: Drawer | None = None) -> list[str]:
    return texts_of(render_compare_pdf(view, drawer=drawer or Sketches()))


@cache
def usual(name: str) -> list[str]:
    return pages(VIEWS[name]())


def test_a_page_goes_on_after_what_the_stars_mean() -> None:
    view = six_systems()
    found = pages(replace(view, notes=["a note " * 12] * 48))
    (at,) = (at for at, text in enumerate(found) if "result of 0" in text)
    assert at == 1 and "Decisive figures" in found[at] and "2.2 us / 10 us" in found[at]


@pytest.mark.parametrize("name", VIEWS)
def test_the_place_of_every_figure_is_told(name: str) -> None:
    """A row names the series of a run; what is from elsewhere is among the sources."""
    view = VIEWS[name]()
    told = {
        (where, number, address)
        for where, numbers, addresses in source_rows(view)
        for number in numbers.split(", ")
        for address in addresses.split(", ")
    }
    elsewhere = 0
    for row in (row for test in view.tests for row in test.rows):
        for column, cell in zip(view.columns, row.cells, strict=True):
            figures = (cell.mean, cell.worst, *cell.more.values())
            for one in filter(lambda one: isinstance(one, Amount), figures):
                before, _, address = one.source.partition(f"{column.id} ")
                address = address.removesuffix(f" {one.statistic}")
                place = before.strip() or column.id, str(column.number), address
                if column.is_published or address != row.address:
                    elsewhere += 1
                    assert place in told, one.source
    assert elsewhere or name != "6"
    numbered = [numbers.split(", ") for _, numbers, _ in source_rows(view)]
    assert all(len(set(numbers)) == len(numbers) for numbers in numbered)
    paper = "".join("".join(usual(name)).split())
    assert all("".join(address.split()) in paper for _, _, address in told)


def test_series_without_room_are_counted() -> None:
    view = two_systems()
    test = view.tests[0]
    many = replace(test, rows=[test.rows[0]] * (MOST_SERIES + 3))
    assert "3 more series in the HTML report" in " ".join(pages(replace(view, tests=[many])))
    assert "more series" not in " ".join(usual("2"))


def test_a_long_table_goes_on_on_the_next_page() -> None:
    view = two_systems()
    rows = [[f"system {n}", "words " * 6] for n in range(150)]
    table = PlainTable("long", "A long table", "about", ["system", "says"], rows)
    found = pages(replace(view, tables=[table]))
    text = " ".join(found)
    assert sum("A long table, continued" in one for one in found) >= 2
    assert all(f"system {n} " in text for n in range(150))
    assert "continued, continued" not in text


def test_a_row_that_is_longer_than_a_page_ends() -> None:
    table = PlainTable("long", "A table", "", ["system", "says"], [["one", "word " * 4000]])
    assert len(pages(replace(two_systems(), tables=[table]))) > 3


def test_charts_are_drawn() -> None:
    view = two_systems()
    only = replace(view, decisive=view.decisive[:1], tests=[], tables=[])
    with Drawer() as drawer:
        text = " ".join(pages(only, drawer))
    assert "CLK-P-DUR/tick: average and worst" in text and "duration (log)" in text


def test_a_sheet_says_how_many_rows_had_room() -> None:
    sheet = Sheet()
    assert sheet.fill_table(["a", "b"], [["1", "2"]] * 3) == 3
    assert 0 < sheet.fill_table(["a", "b"], [["1", "2"]] * 500) < 500
    assert sheet.fill_table(["a", "b"], [["1", "2"]]) == 0
    assert sheet.fill_table([], []) == 0
