"""What a reader sees of a few runs, word for word: on a page, on paper and in the terminal.

`golden` has a file for each. Most figures come of whole numbers, so that none depends on a machine.
"""

from __future__ import annotations

import html
import os
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from hardstone import schema
from hardstone.calling import as_typed
from hardstone.comparison.page import render_compare
from hardstone.comparison.sheet import render_compare_pdf
from hardstone.comparison.view import CompareView
from hardstone.model import Conditions, Event, LoadReached, Result, RunDocument, Trust, Verdict
from hardstone.posix.screen import print_posix
from hardstone.store.documents import read_document
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.comparison import compared
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import dispatch, kernel_result
from tests.unit.posix import inventories
from tests.unit.report import matrix, sample
from tests.unit.report.media import Sketches, paper, printed, sketched, texts_of
from tests.unit.simulation.tires import real_fast, real_time, sweep, whole_sweep
from tests.unit.stats import make, recorded
from tests.unit.stats.test_sustained import step_event

pytestmark = pytest.mark.slow

LONG = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --hdd 1 --cpu 1" + "0" * 30


def posix() -> RunDocument:
    """Beside tests that answer for a feature: one holds, one fails, one was refused."""
    access = make.series([400, 3000], "access")
    access.labels = {"locked": "yes"}
    broken = [inventories.claim("a", "x", is_true=False)]
    return inventories.document(
        make.result("THR-B-PRI", series=[], verdicts=[inventories.claim("levels", "x")]),
        make.result("KRN-P-PRE", [10, 20, 9000], verdicts=broken),
        make.result("MEM-B-LCK", series=[access], verdicts=[inventories.claim("a", "x")]),
    )


def late() -> RunDocument:
    """Worst values with causes, throttling, and the steps of a search."""
    steps = [step_event(1000, limited=True), step_event(2000, lost=3), step_event(4000)]
    steps.append(step_event(900, source="timer", lost=1000))
    return make.document(
        results=[
            recorded.with_many(40),
            recorded.with_cause(run_delay_ns=2_900_000),
            make.result("IRQ-S-SUS", series=[], events=steps),
        ]
    )


def conditions() -> RunDocument:
    """A load that is cut, unequal work, claims, notes, what was refused and not restored."""
    return make.document(results=[one for load in ("none", f"{LONG}1") for one in under(load)])


def under(load: str) -> list[Result]:
    where = Conditions(load=load, cpu_config="shared", policy="fifo", priority=98, realtime=True)
    is_idle = load == "none"
    reached = [
        LoadReached(element=one, degree="", asked=0.1, reached=0.03, unit="share", processes=2)
        for one in ("cpu", "disk")
    ]
    short = "{} reached 3.0 % of a CPU (requested: 10.0 %)"
    events = [
        Event(name="load_short", text=short.format(one), data={"element": one})
        for one in ("cpu", "disk")
    ]
    events += [
        Event(name="not_put_back", text="/proc/irq/7/smp_affinity: Invalid argument"),
        Event(name="late", text="late by 5 ns", data={"kind": "sleep", "late_ns": 5}),
        Event(name="odd", text="was refused; what to type", data={"command": "hardstone doctor"}),
    ]
    block = make.series(range(10_000_000, 10_000_100), "time")
    block.labels = {"kind": "add"}
    claims = {"first_slice": False, "fair": is_idle, "rotates": True}
    verdicts = [Verdict(name=name, passed=one, evidence="seen") for name, one in claims.items()]
    work = {"add_operations": 36_696_328 if is_idle else 30_000_001}
    found = [
        make.result(values=range(1, 20_001 if is_idle else 5_001)),
        make.result("RSP-P-FIX", series=[block], calibrated=work),
        make.result("THR-B-RR", series=[], verdicts=verdicts),
        make.result("SEM-P-SIG", status="denied", series=[], reason="EPERM", remedy="run as root"),
    ]
    if not is_idle:
        found[0].events, found[0].load = events, reached
        found[0].environment = {"load_average_1min_milli": 203_110, "steal_ns": 5_000}
    for one in found:
        one.conditions = where
    return found


def kernel() -> RunDocument:
    """The operations of a kernel that switched its preemption model."""
    results = [kernel_result(), kernel_result(2, is_short=True)]
    for found, model in zip(results, ("none", "full"), strict=True):
        found.conditions.preemption = model
    section = dispatch("exit", [1_000] * 90, "section")
    section.labels["kind"] = "preempt_off"
    results[0].series.append(section)
    plan = make.plan_of([], preemption_models=["none", "full"], load="heavy")
    system = {"kernel.preemption": "none"}
    return make.document(results=results, plan=plan, system=system)


def nothing() -> RunDocument:
    """An interrupted run without a time, not to be relied on, and of which little is known."""
    untrusted = Trust(grade="untrustworthy", reasons=["the counters of CPU 0 and 1 disagree"])
    results = [
        make.result(test, status="skipped", series=[]) for test in ("CLK-P-BIN", "SEM-P-SIG")
    ]
    fields = {"instrument": None, "system": {}, "status": "interrupted", "trust": untrusted}
    return make.document(results=results, **fields)


def whole_sample() -> RunDocument:
    """Real-time was refused; one test has more series than are listed."""
    document = sample.document(realtime=False, count=500)
    values = range(1_000, 1_100)
    series = [sample.series("acquire", np.array(values) * n, waiters=n) for n in range(1, 42)]
    document.results.append(sample.measured("SEM-P-ARC", series, realtime=False))
    return document


def golden_run(name: str) -> Callable[[], RunDocument]:
    return lambda: read_document(schema.FOLDER / "golden" / f"{name}.json")


def page_lines(document: RunDocument) -> str:
    return lines_of_page(sketched(document))


def lines_of_page(page: str) -> str:
    """A line for each paragraph, row and heading."""
    body = re.sub(r"<(script|style|svg)[^>]*>.*?</\1>", " ", page, flags=re.S)
    lines = re.split(r"</?(?:p|tr|li|h\d|dt|figcaption|summary|caption|section|div)\b[^>]*>", body)
    texts = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", one)).split()) for one in lines]
    return "\n".join(filter(None, texts)) + "\n"


def beside_lines(document: RunDocument) -> str:
    """The part that compares conditions, and the loads."""
    part = page_lines(document).partition("\nSide by side\n")[2]
    return part.partition("\nThe instrument\n")[0].partition("\nTests\n")[0]


def terminal(print_it: Callable[[RunDocument, IO[str]], None]) -> Callable[[RunDocument], str]:
    return lambda document: printed(print_it, document)


def paper_lines(document: RunDocument) -> str:
    return lines_of_paper(paper(document))


def lines_of_paper(sheets: list[str]) -> str:
    return "\n\n".join(textwrap.fill(plain(one), 100) for one in sheets) + "\n"


DOCUMENTS: dict[str, Callable[[], RunDocument]] = {
    "posix": posix,
    "tire": whole_sweep,
    "battery": lambda: sweep(real_time(400, 2, missed=4), real_fast(400, 2)),
    "late": late,
    "conditions": conditions,
    "kernel": kernel,
    "matrix": lambda: matrix.document(count=200),
    "nothing": nothing,
    "sample": whole_sample,
    "troubled": golden_run("run-1-troubled"),
    "emulated": golden_run("run-1-emulated"),
    "instructions": golden_run("run-1-instructions"),
}
MEDIA: dict[str, Callable[[RunDocument], str]] = {
    "page": page_lines,
    "beside": beside_lines,
    "paper": paper_lines,
    "whole": terminal(print_whole),
    "screen": terminal(print_screen),
    "posix": terminal(print_posix),
    "tire": terminal(print_screen),
}


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be typed depends on the user, and how long it is on PATH and the folder."""
    places = (str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv("SUDO_UID", raising=False)


def plain(text: str) -> str:
    """Without the place of the program, which depends on PATH and on the folder."""
    for command in ("sudo hardstone", "hardstone"):
        text = text.replace(as_typed(command), "hardstone").replace(command, "hardstone")
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("posix", "page paper screen posix"),
        ("tire", "page paper whole tire"),
        ("battery", "screen"),
        ("late", "page paper screen whole"),
        ("conditions", "page paper screen whole"),
        ("kernel", "page paper screen whole"),
        ("matrix", "beside whole"),
        ("nothing", "page paper screen whole"),
        ("sample", "page"),
        ("troubled", "screen whole"),
        ("emulated", "screen whole"),
        ("instructions", "screen whole"),
    ],
)
def test_a_run_reads_as_before(name: str, media: str, request: pytest.FixtureRequest) -> None:
    document = DOCUMENTS[name]()
    for medium in media.split():
        shown = plain(MEDIA[medium](document))
        assert medium not in ("screen", "tire") or len(shown.splitlines()) <= MOST_LINES
        assert_as_stored(request, f"{name}-{medium}.txt", shown)


def few_rows(view: CompareView) -> CompareView:
    """The first tests of many alike."""
    rows = [*view.decisive[:3], *view.decisive[-2:-1]]
    return replace(view, decisive=rows, tests=[*view.tests[:2], view.tests[5]])


COMPARED: dict[str, Callable[[], CompareView]] = {
    "two": compared.two_systems,
    "six": lambda: few_rows(compared.six_systems()),
    "one is emulated": lambda: few_rows(compared.emulated_systems()),
    "the worst alone is grey": lambda: few_rows(
        compared.worst_alone_grey(compared.two_systems(), "why")
    ),
    "twenty": lambda: few_rows(compared.twenty_systems()),
}


@pytest.mark.parametrize("medium", ["page", "paper"])
def test_a_comparison_reads_as_before(medium: str, request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, made in COMPARED.items():
        if medium == "page":
            texts[name] = lines_of_page(render_compare(made(), bundle=lambda: None))
        else:
            sheets = texts_of(render_compare_pdf(made(), drawer=Sketches()))
            texts[name] = lines_of_paper(sheets)
    assert_as_stored(request, f"compare-{medium}.txt", texts)
