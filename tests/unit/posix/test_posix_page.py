"""The POSIX inventory in each medium, beside the coverage of 2000; golden/ has the usual one."""

from __future__ import annotations

import html
import json
from functools import cache
from importlib import resources

import pytest

from hardstone.model import Conditions, RunDocument
from hardstone.posix.screen import print_posix
from hardstone.posix.tables import posix_tables
from tests.unit.posix import inventories
from tests.unit.report.media import flat, printed, sketched
from tests.unit.stats import make

pytestmark = pytest.mark.slow


@cache
def usual_page() -> str:
    return sketched(inventories.document())


def shown(document: RunDocument) -> str:
    return flat(printed(print_posix, document))


def of_events(*events: object, **changed: object) -> RunDocument:
    return inventories.document(found=inventories.result([*events], **changed))  # type: ignore[arg-type]


def held() -> object:
    return make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("levels", "x")])


# On a terminal


def test_what_is_odd_is_said() -> None:
    missing = of_events(*inventories.events({"spawn": "200809 200809 missing"}))
    assert "claimed, but missing" in shown(missing)
    emulated = {"virtual.emulated": True}
    guest = inventories.document(make.result("KRN-P-PRE"), system=emulated)
    assert "(emulated)" in shown(guest)
    text = shown(of_events(status="denied", reason="no right", remedy="ask", verdicts=[]))
    assert "incomplete: denied: no right: ask" in text and "process locking not known" in text
    assert "not known: " in text and " full " not in text.partition("Solaris 8")[0][-400:]
    bad = inventories.options("1003.1b", {"bad": "\x1b[31mno [red]"})
    assert "left out: not HEADERS SYSCONF CALL" in shown(of_events(*inventories.events(), bad))


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_other_widths(columns: int) -> None:
    assert "PSE53" in printed(print_posix, inventories.document(), columns)


def test_several_results_have_a_section_each() -> None:
    results = [
        inventories.result(conditions=Conditions(load=load, cpu_config="shared"))
        for load in ("none", "heavy")
    ]
    document = make.document(results=results)
    titles = ["POS-B-INV under none", "POS-B-INV under heavy"]
    assert [one.title for one in posix_tables(document)] == titles
    assert titles[1] in shown(document)


# In a report


def test_it_comes_first_where_nothing_else_was_measured() -> None:
    alone, after = usual_page(), sketched(inventories.document(make.result(), held()))
    assert alone.index('id="posix"') < alone.index('id="tests"')
    assert after.index('id="posix"') > after.index('id="tests"')
    assert alone.count('href="#posix"') == after.count('href="#posix"') == 1
    assert '<a class="test" href="#result-2">THR-B-PRI</a>' in after
    assert '<a href="#posix">POSIX inventory</a>' in after and "PWR-B-SIG</span>" in after
    other = sketched(make.document())
    assert "POSIX inventory" not in other and 'id="posix"' not in other


def test_the_coverage_of_2000_is_that_of_the_study() -> None:
    known = resources.files("hardstone.systems").joinpath("published.json").read_bytes()
    study = json.loads(known)["studies"]["obenland-2000"]
    published = study["posix_coverage"]
    (table,) = posix_tables(inventories.document())
    own, *others = table.coverage.rows
    assert table.coverage.columns == published["columns"]
    assert {row.system: row.cells for row in others} == published["rows"]
    assert own.is_own and not any(row.is_own for row in others)
    assert "2000" in table.coverage.study and study["title"] in table.coverage.study
    text = html.unescape(usual_page())
    for cells in published["rows"].values():
        assert all(f"<td>{cell}</td>" in text for cell in cells)


def test_the_own_column_follows_the_rule() -> None:
    few = of_events(inventories.options("1003.1b", {"timers": inventories.WORKS}))
    (table,) = posix_tables(few)
    assert table.coverage.rows[0].cells[1].startswith("not known: ")
    assert table.coverage.rows[0].cells[1].endswith("; 1 of 14 options work")
