"""The calibrated work of a value stands beside its figure, and where it differs that is told."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hardstone.model import Conditions, Event, Result, RunDocument
from hardstone.store.documents import read_document
from hardstone.terminal.whole_run import print_whole
from tests.unit.report import sample
from tests.unit.report.sketches import sketched
from tests.unit.stats import make

KINDS = ("add", "copy")
UNEQUAL = "unequal work, so the times are not comparable"


def result(load: str, add: int, copy: int = 57_092, **more: object) -> Result:
    series = [sample.series("time", np.arange(10_000_000, 10_000_100), kind=kind) for kind in KINDS]
    fields: dict[str, object] = {
        "conditions": Conditions(load=load, realtime=True),
        "series": series,
        "calibrated": {"add_operations": add, "copy_operations": copy},
    }
    return make.result("RSP-P-FIX", **(fields | more))


def document(*results: Result) -> RunDocument:
    return make.document(results=list(results))


def summary(found: RunDocument) -> str:
    out = io.StringIO()
    print_whole(found, out)
    return plain(out.getvalue())


def page(found: RunDocument) -> str:
    return plain(re.sub("<[^>]*>", " ", sketched(found)))


def plain(text: str) -> str:
    return " ".join(text.split())


def test_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    found = document(result("none", 36_696_328))
    said = summary(found)
    assert "add, 36 696 328 operations 100" in said
    assert "copy, 57 092 operations 100" in said
    shown = page(found)
    assert "work per value: 36 696 328 operations" in shown
    assert "work per value: 57 092 operations" in shown
    assert "time, kind add, 36 696 328 operations" in shown or "time, add, 36 696 328" in shown


def test_equal_work_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = document(result("none", 36_696_328), result("heavy", 36_696_328))
    said = summary(found)
    for work in ("36 696 328", "57 092"):
        assert said.count(work) == 1
    assert UNEQUAL not in said
    assert "time, add, 36 696 328 operations" in page(found)
    assert UNEQUAL not in page(found).lower()


def test_unequal_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = document(result("none", 36_696_328), result("heavy", 30_000_001))
    said, shown = summary(found), page(found)
    assert f"RSP-P-FIX {UNEQUAL}: add operations" in said
    for text in (said, shown):
        assert "36 696 328" in text and "30 000 001" in text
    assert UNEQUAL in shown.lower()


def test_a_document_from_before_the_field(tmp_path: Path) -> None:
    """Its results calibrated each for itself; the numbers are in events."""
    found = document(result("none", 0), result("heavy", 0))
    found.schema = "hardstone.run/1"
    for one, count in zip(found.results, (36_696_328, 30_000_001), strict=True):
        one.calibrated = {}
        texts = (f"add: a block is {count} operations", "add: a block is many operations")
        one.events = [Event(name="calibrated", text=text) for text in texts]
    path = tmp_path / "run.json"
    path.write_bytes(msgspec.json.encode(found))
    read = read_document(path)
    assert [one.calibrated for one in read.results] == [
        {"add_operations": 36_696_328},
        {"add_operations": 30_000_001},
    ]
    assert f"RSP-P-FIX {UNEQUAL}: add operations" in summary(read)
