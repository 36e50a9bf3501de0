"""Recorded runs of every version are shown, with what a probe really sent."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hardstone import schema
from hardstone.model import RunDocument
from hardstone.present.overview import families, stands_out
from hardstone.store.documents import read_document
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.sketches import sketched

RUNS = sorted((schema.FOLDER / "golden").glob("run-*.json"))
PROCESSOR = "Intel(R) Xeon(R) Processor"


@pytest.fixture
def troubled() -> RunDocument:
    return read_document(schema.FOLDER / "golden" / "run-3-troubled.json")


def screen(document: RunDocument) -> str:
    stream = io.StringIO()
    print_screen(document, stream)
    return stream.getvalue()


def whole(document: RunDocument) -> str:
    stream = io.StringIO()
    print_whole(document, stream)
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_each_recorded_run_is_shown(path: Path) -> None:
    document = read_document(path)
    assert 5 < len(screen(document).splitlines()) <= MOST_LINES
    page = sketched(document)
    for result in document.results:
        assert result.test in whole(document) and result.test in page


@pytest.mark.slow
def test_the_processor_stands_in_the_headline(troubled: RunDocument) -> None:
    assert PROCESSOR in screen(troubled) and PROCESSOR in whole(troubled)
    page = sketched(troubled)
    assert page.index(PROCESSOR) < page.index('id="glance"')


def test_failed_claims_come_first_in_words(troubled: RunDocument) -> None:
    (failed,) = [one for one in families(troubled) if one.name == "threads"]
    assert [one.name for one in failed.failed[:2]] == ["rotates", "fair"]
    assert failed.unseen_count == 2
    assert "FAIL  THR-B-RR rotates: a spinning SCHED_RR thread can keep the CPU" in screen(troubled)
    page = sketched(troubled)
    glance = page[page.index('id="glance"') : page.index('id="findings"')]
    assert "<strong>Failed: THR-B-RR rotates.</strong>" in glance
    assert f'<dt>threads</dt><dd class="failed">{failed.text}</dd>' in glance
    assert "measured, 2 claims failed" in page


def test_a_load_that_fell_short_and_skipped_tests_stand_out(troubled: RunDocument) -> None:
    said = [one.text for one in stands_out(troubled)]
    assert said[0].startswith("2 claims failed: THR-B-RR rotates, THR-B-RR fair")
    assert "RSP-P-FIX, MUT-P-ARC skipped: not run: the run was interrupted" in said
    assert any(text.startswith("load: network reached") for text in said)


def test_what_the_register_says_of_the_tests_is_in_the_run(troubled: RunDocument) -> None:
    known = {one.id: one for one in troubled.descriptors}
    assert set(known) == {one.test for one in troubled.plan.tests}
    page = sketched(troubled, known.get)
    assert known["TMR-P-LAT"].title in page
    assert known["TMR-P-LAT"].series[0].begin in page
