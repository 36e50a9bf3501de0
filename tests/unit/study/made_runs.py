"""Made-up runs for the layout of a study: a few series at published addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hardstone.model import Conditions, Event, Result, RunDocument, Series, Verdict
from hardstone.study.exhibits import Cell, Row, StudyView
from hardstone.study.layout import lay_out
from hardstone.study.papers import paper_named
from tests.unit.stats import make

EMULATED = {"virtual.emulated": True, "virtual.hypervisor": "TCGTCGTCGTCG"}
COUNTED = EMULATED | {"virtual.time": "instructions"}
LINUX = {"kernel.name": "Linux", "kernel.release": "6.12.0-rt"}
OBENLAND, DEDICATED, HP = "obenland-2000", "dedicated-systems-2012", "hp-1987"
LATSTAT, GARRE = "latstat-2007", "garre-2014"


def conditions(load: str = "none", **changed: Any) -> Conditions:
    fields = {"load": load, "cpu_config": "shared", "policy": "fifo", "priority": 98}
    return Conditions(**({**fields, "realtime": True} | changed))


def labelled(name: str, *values: int, **labels: int | str) -> Series:
    return msgspec.structs.replace(make.series(values, name), labels=labels)


def response(ms: float = 10, **changed: Any) -> Result:
    """RSP-P-FIX with blocks of `ms`."""
    ns = round(ms * 1_000_000)
    fields = {
        "series": [labelled("time", ns, kind=kind) for kind in ("add", "copy")],
        "params": {"block_ns": 10_000_000},
        "conditions": conditions(),
    }
    return make.result("RSP-P-FIX", **(fields | changed))


def behaviour(test: str, *failed: str, events: Sequence[Event] = (), **changed: Any) -> Result:
    names = dict.fromkeys(["other", *failed])
    verdicts = [Verdict(name=one, passed=one not in failed, evidence="seen") for one in names]
    fields = {"conditions": conditions(), "events": list(events), "series": []}
    return make.result(test, verdicts=verdicts, **(fields | changed))


def ring(*, threads: int = 128, **changed: Any) -> Result:
    series = [labelled("switch", 1_000, 2_000, 3_000, threads=threads)]
    return make.result("THR-P-SLS", series=series, conditions=conditions(**changed))


def run(*results: Result, number: int = 1, **changed: Any) -> RunDocument:
    """A run of minute `number`."""
    fields: dict[str, Any] = {
        "run_id": f"20261121T03{number:02d}00Z-00000{number % 10}",
        "started_utc": f"2026-11-21T03:{number:02d}:00Z",
        "results": list(results),
        "system": LINUX,
        "plan": make.plan_of([], loads=list(dict.fromkeys(one.conditions.load for one in results))),
    }
    return make.document(**(fields | changed))


def view_of(paper: str, *documents: RunDocument, only_tests: Sequence[str] = ()) -> StudyView:
    return lay_out(paper_named(paper), documents, only_tests)


def rows_at(view: StudyView, address: str, load: str = "", statistic: str = "") -> list[Row]:
    """The rows of an address, each once though a figure draws those of a table."""
    return [
        row
        for one in view.exhibits
        if not one.exhibit.plots
        for row in one.rows
        if row.address == address and load in ("", row.load) and statistic in ("", row.statistic)
    ]


def cell_at(
    view: StudyView, address: str, load: str = "", statistic: str = "", own: int = 0
) -> Cell:
    """The cell of the measured system `own` in the first row of an address."""
    return rows_at(view, address, load, statistic)[0].cells[view.own[own][0]]
