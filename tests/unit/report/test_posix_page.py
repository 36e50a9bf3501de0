"""The POSIX inventory in a report: HTML and PDF, beside the coverage of 2000."""

from __future__ import annotations

import html
import json
from importlib import resources
from io import BytesIO

import pytest
from pypdf import PdfReader

from hardstone.model import RunDocument
from hardstone.present.posix_table import posix_tables
from hardstone.report.pdf import render_pdf
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.sketches import Sketches, no_descriptor, sketched
from tests.unit.stats import inventories, make


def text_of(document: RunDocument | None = None) -> str:
    return sketched(document or inventories.document())


def pages() -> list[str]:
    data = render_pdf(inventories.document(), no_descriptor, drawer=Sketches())
    return [" ".join(one.extract_text().split()) for one in PdfReader(BytesIO(data)).pages]


def test_the_page_has_every_part_and_no_raw_events() -> None:
    text = text_of()
    assert '<a href="#posix">POSIX inventory</a>' in text
    for part in ("1003.1a base: 20 of 20", "1003.1b real-time: 11 of 14", "1003.1j advanced"):
        assert part in text
    assert "claimed, but fails" in text and "mq_open: Function not implemented" in text
    assert "16 (too low)" in text and "PSE54" in text and "SCHED_FIFO 99" in text
    assert "posix_options in words" not in text


def test_other_runs_have_no_such_section() -> None:
    text = text_of(make.document())
    assert "POSIX inventory" not in text and 'id="posix"' not in text


def test_it_comes_first_where_nothing_else_was_measured() -> None:
    alone, after = text_of(), text_of(inventories.document(make.result()))
    assert alone.index('id="posix"') < alone.index('id="findings"')
    assert after.index('id="posix"') > after.index('id="figures"')
    assert alone.count('href="#posix"') == after.count('href="#posix"') == 1


def test_a_feature_links_to_the_test_that_answers_it() -> None:
    held = make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("levels", "x")])
    assert '<a class="test" href="#result-1">THR-B-PRI</a>' in text_of(inventories.document(held))
    assert "PWR-B-SIG</span>" in text_of()


def test_the_coverage_of_2000_is_that_of_the_study() -> None:
    found = json.loads(
        resources.files("hardstone.published").joinpath("published.json").read_bytes()
    )
    published = found["studies"]["obenland-2000"]["posix_coverage"]
    (table,) = posix_tables(inventories.document())
    own, *others = table.coverage.rows
    assert table.coverage.columns == published["columns"]
    assert {row.system: row.cells for row in others} == published["rows"]
    assert own.is_own and not any(row.is_own for row in others)
    assert "2000" in table.coverage.study and found["studies"]["obenland-2000"]["title"] in (
        table.coverage.study
    )
    text = html.unescape(text_of())
    for cells in published["rows"].values():
        assert all(f"<td>{cell}</td>" in text for cell in cells)


def test_the_own_column_follows_the_rule() -> None:
    (table,) = posix_tables(inventories.document())
    assert table.coverage.rows[0].cells == [
        "full (20 options)",
        "partial: no message passing; prioritized io in part; not known: memlock",
        "full (11 options)",
    ]
    few = inventories.result([inventories.options("1003.1b", {"timers": inventories.WORKS})])
    (table,) = posix_tables(inventories.document(found=few))
    assert table.coverage.rows[0].cells[1].startswith("not known: ")
    assert table.coverage.rows[0].cells[1].endswith("; 1 of 14 options work")


@pytest.mark.slow
def test_the_pdf_has_pages_of_it() -> None:
    found = pages()
    options = " ".join(one for one in found if "POSIX inventory, options" in one)
    (limits,) = [one for one in found if "POSIX inventory, limits and profiles" in one]
    (features,) = [one for one in found if "as HP listed them in 1987" in one]
    assert "claimed, but fails" in options and "xsi threads ext" in options
    assert not any("more in the HTML report" in one for one in found)
    assert "16 (too low)" in limits and "PSE53" in limits
    assert "power-fail notice" in features and "Solaris 8" in features and "IRIX" in features


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_text_is_text(attack: str) -> None:
    events = [
        *inventories.events(),
        inventories.event("posix_option_why", option="spin_locks", call=attack, why=attack),
        inventories.options("1003.1b", {attack: attack}),
        inventories.event("posix_profile", profile="PSE51", is_satisfied=False, missing=attack),
        inventories.event("posix_named_only", parts=attack),
    ]
    other = make.result("THR-B-PRI", series=[], status="denied", reason=attack)
    claims = [inventories.claim(attack, attack, is_true=False)]
    found = inventories.result(events, verdicts=claims)
    text = text_of(inventories.document(other, found=found))
    assert attack not in text or "<" not in attack
    assert "<script>window" not in text and "<img src=x" not in text
