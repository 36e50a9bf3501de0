"""Figures that contradict each other: one rule, the same words wherever they are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import EXIT_OK, EXIT_UNTRUSTWORTHY
from hardstone.model import RunDocument
from hardstone.stats.contradictions import TITLE, told
from hardstone.store.documents import write_document
from hardstone.store.place import open_place
from tests.process.cli.conftest import Done
from tests.unit.stats import make

Hardstone = Callable[..., Done]
Change = Callable[[RunDocument], None]


def _count(document: RunDocument) -> None:
    document.results[0].series[0].count = 7


def _extremes(document: RunDocument) -> None:
    document.results[0].series[0].min = 9


def _duration(document: RunDocument) -> None:
    document.results[0].duration_ns = -5


def _pair(document: RunDocument) -> None:
    assert document.instrument is not None
    document.instrument.pair.median = 1000


CASES: list[tuple[Change, str]] = [
    (
        _count,
        "TMR-P-LAT wakeup [part total]: the histogram holds 3 values but the count is 7",
    ),
    (_extremes, "TMR-P-LAT wakeup [part total]: the minimum 9 is above the maximum 3"),
    (_duration, "TMR-P-LAT: a duration of -5 ns is negative"),
    (
        _pair,
        "instrument: minimum, median, 99 % and maximum of the time-stamp pairs do not ascend",
    ),
]


def _stored(document: RunDocument, store: Path) -> str:
    write_document(open_place(store), document)
    return document.id


def _flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("change", "said"), CASES, ids=[case[0].__name__ for case in CASES])
def test_show_and_report_say_the_same(
    hardstone: Hardstone, tmp_path: Path, change: Change, said: str
) -> None:
    document = make.document()
    change(document)
    assert told(document) == [said]
    run_id = _stored(document, tmp_path / "store")
    shown = hardstone("show", run_id, "--store", str(tmp_path / "store"))
    assert shown.code == EXIT_UNTRUSTWORTHY
    head = _flat(shown.out)
    assert head.startswith(f"{TITLE} {said}")
    assert "trust untrustworthy" in head
    page = tmp_path / "page.html"
    done = hardstone("report", run_id, "--store", str(tmp_path / "store"), "-o", str(page))
    assert done.code == EXIT_UNTRUSTWORTHY
    assert TITLE in page.read_text() and said in page.read_text()
    for quiet in (("show", run_id, "--json"), ("report", run_id, "-o", str(page))):
        told_there = hardstone(*quiet, "--store", str(tmp_path / "store"))
        assert said in told_there.err and told_there.code == EXIT_UNTRUSTWORTHY
    (row,) = hardstone("runs", "--json", "--store", str(tmp_path / "store")).document
    assert row["grade"] == "untrustworthy"


def test_a_clock_that_was_set_back_contradicts_no_figure(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    run_id = _stored(make.document(finished_utc="2026-11-21T03:21:00Z"), tmp_path)
    assert hardstone("show", run_id, "--store", str(tmp_path)).code == EXIT_OK


def test_the_figures_themselves_are_marked(hardstone: Hardstone, tmp_path: Path) -> None:
    document = make.document()
    _extremes(document)
    document.results[0].duration_ns = -5
    run_id = _stored(document, tmp_path)
    out = hardstone("show", run_id, "--all", "--store", str(tmp_path)).out
    assert "3!" in out and "9 ns!" in out and "3 ns!" in out
    assert "-5 ns! of measuring" in out


def test_one_of_several_conditions_is_marked(hardstone: Hardstone, tmp_path: Path) -> None:
    document = make.document()
    whole, other = make.result(), make.result()
    other.conditions = msgspec.structs.replace(other.conditions, load="none")
    other.series[0].max = 2
    document.results = [whole, other]
    run_id = _stored(document, tmp_path)
    shown = hardstone("show", run_id, "--store", str(tmp_path))
    assert shown.code == EXIT_UNTRUSTWORTHY
    assert "3 ns " in shown.out and "2 ns!" in shown.out


def test_published_figures_stand_beside_marked_ones(hardstone: Hardstone, tmp_path: Path) -> None:
    document = make.document()
    document.results = [make.result("CLK-P-BIN", series=[make.series([1, 2, 3], "call")])]
    document.results[0].series[0].min = 9
    run_id = _stored(document, tmp_path)
    shown = hardstone("show", run_id, "--published", "--store", str(tmp_path))
    if "no test of this run has published figures" in shown.err:
        pytest.fail("choose a test that has published figures")
    assert shown.code == EXIT_UNTRUSTWORTHY
    assert _flat(shown.out).startswith(f"{TITLE} CLK-P-BIN call [part total]: the minimum 9")


def test_a_run_without_any_is_as_it_was(hardstone: Hardstone, tmp_path: Path) -> None:
    run_id = _stored(make.document(), tmp_path)
    shown = hardstone("show", run_id, "--store", str(tmp_path))
    assert shown.code == EXIT_OK
    assert TITLE not in shown.out and "!" not in shown.out


def test_many_are_counted(tmp_path: Path) -> None:
    document = make.document(results=[make.result(duration_ns=-1) for _ in range(50)])
    lines = told(document)
    assert len(lines) == 21
    assert lines[-1] == "and 30 more"
