"""Texts that come from a target or a file stay texts: on the page, on paper, in a terminal and in
files of charts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.figures import compare_figures
from hardstone.comparison.page import render_compare
from hardstone.comparison.sheet import render_compare_pdf
from hardstone.comparison.view import CompareView, SystemColumn
from hardstone.model import Conditions, LoadReached, RunDocument
from hardstone.posix.screen import print_posix
from hardstone.report.drawing import Drawer
from hardstone.report.page import figures_of_run, render_html
from hardstone.report.pdf import render_pdf
from hardstone.report.sheet import write_chart_files
from hardstone.systems.subjects import published_system, subjects_of
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.comparison.compared import made_rating, made_view, two_systems
from tests.unit.kernel.blocked import dispatch, kernel_result, ran
from tests.unit.posix import inventories
from tests.unit.report.hostile import ATTACKS, hostile_document, hostile_lookup
from tests.unit.report.media import Sketches, no_descriptor, printed, texts_of
from tests.unit.report.test_compare_page import Page
from tests.unit.simulation.tires import real_time, sweep
from tests.unit.stats import make
from tests.unit.stats.test_sustained import step_event

pytestmark = pytest.mark.slow

STEERING = {"\x00", "\x1b", "\u202e"}
LOADING = {"img", "iframe", "object", "embed", "base", "form", "link"}


def assert_harmless(page: str) -> None:
    read = Page(page)
    assert not LOADING & set(read.tags)
    assert not any(name.startswith("on") for name in read.attributes)
    assert not STEERING & set(page) and "<script>window" not in page
    assert len(re.findall(r"<script\b", page)) == page.count("</script>")
    assert "\u2028" not in "".join(re.findall(r"<script.*?</script>", page, flags=re.S))


def kernel() -> RunDocument:
    found = kernel_result()
    for attack in (*ATTACKS, "\x1b[31m[red]exec\n" * 40):
        found.series.append(dispatch(attack, [10**6] * 4_000))
        found.events.append(ran(attack, 0.5))
    return make.document(results=[found])


def posix() -> RunDocument:
    found: list[Any] = [*inventories.events()]
    for attack in ATTACKS:
        found += [
            inventories.event("posix_option_why", option="spin_locks", call=attack, why=attack),
            inventories.options("1003.1b", {attack: attack}),
            inventories.options(attack, {"a": attack}),
            inventories.event("posix_profile", profile="PSE51", is_satisfied=False, missing=attack),
            inventories.event("posix_named_only", parts=attack),
        ]
    claims = [inventories.claim(one, one, is_true=False) for one in ATTACKS]
    other = make.result("THR-B-PRI", series=[], status="denied", reason=ATTACKS[0])
    return inventories.document(other, found=inventories.result(found, verdicts=claims))


def tire() -> RunDocument:
    odd = [
        real_time(n, 2, missed=n // 400, policy=attack, solver=attack, load=attack, reason=attack)
        for n, attack in zip(range(400, 2800, 400), ATTACKS, strict=True)
    ]
    document = sweep(*odd, real_time(400), real_time(400, policy="other"))
    document.system["machine.cpu_model"] = ATTACKS[1]
    return document


def long_names() -> RunDocument:
    counts = {"missed_count": -1, "released_count": "many", "semaphore_blocked_count": 2**60}
    denied = {"status": "denied", "reason": "\x1b]0;title\x07" + "why " * 400}
    long = real_time(400, 2, policy="\x1b[31m<b>", load="l" * 500, data=counts, **denied)
    return sweep(*[long] * 4)


def search() -> RunDocument:
    events = [step_event(1000, source=attack) for attack in ATTACKS]
    return make.document(results=[make.result("IRQ-S-SUS", series=[], events=events)])


def loads() -> RunDocument:
    results = [make.result(conditions=Conditions(load="none"))]
    for attack in ATTACKS:
        names = {"element": attack, "degree": attack, "unit": attack}
        reached = [LoadReached(**names, asked=0.1, reached=0.03, processes=2)]
        load = f"stress-ng:{attack}{'x' * 100}"
        results.append(make.result(conditions=Conditions(load=load), load=reached))
    return make.document(results=results)


TERMINALS = (print_whole, print_screen)
RUNS: dict[str, tuple[Callable[[], RunDocument], tuple[Any, ...]]] = {
    "kernel": (kernel, TERMINALS),
    "posix": (posix, (*TERMINALS, print_posix)),
    "tire": (tire, (*TERMINALS, print_screen)),
    "long names": (long_names, (*TERMINALS, print_screen)),
    "search": (search, TERMINALS),
    "loads": (loads, TERMINALS),
    "all": (hostile_document, TERMINALS),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run(name: str) -> None:
    made, terminals = RUNS[name]
    document, lookup = made(), hostile_lookup if name == "all" else no_descriptor
    assert_harmless(render_html(document, lookup, bundle=lambda: "live()", drawer=Sketches()))
    data = render_pdf(document, lookup, drawer=Sketches())
    assert not any(one in data for one in (b"/JavaScript", b"/URI", b"/Launch"))
    assert len(PdfReader(BytesIO(data)).pages) > 5 or name != "all"
    for print_it in terminals:
        printed(print_it, document, 140 if name in ("kernel", "tire") else 80)


def hostile(view: CompareView) -> CompareView:
    def column(number: int, one: SystemColumn) -> SystemColumn:
        reasons = {"caps": [ATTACKS[1]], "rated_as": [ATTACKS[2]], "configuration": ATTACKS[0]}
        return replace(
            one,
            label=f"{number} {ATTACKS[number % len(ATTACKS)]}\udc80\U0010ffff",
            study=ATTACKS[0],
            hardware=ATTACKS[1],
            mark=ATTACKS[2],
            apart=ATTACKS[3] if number else "",
            trust_reasons=[ATTACKS[4]],
            rating=made_rating(3.0, **reasons),
        )

    columns = [column(number, one) for number, one in enumerate(view.columns)]
    odd = ATTACKS[5] + "\udc80\U0010ffff"
    tests = [replace(one, title=odd, about=ATTACKS[0], notes=[odd]) for one in view.tests[:2]]
    return replace(view, columns=columns, tests=[*tests, *view.tests[2:]], notes=[odd])


@pytest.mark.parametrize("build", [made_view, compare_view])
def test_a_comparison(build: Callable[..., CompareView]) -> None:
    view = hostile(build([*subjects_of(hostile_document()), published_system("qnx")]))
    figures = compare_figures(view, Sketches(has_scripts=True))
    assert_harmless(render_compare(view, figures, bundle=lambda: "live()"))
    text = " ".join(texts_of(render_compare_pdf(view, drawer=Sketches())))
    assert "alert(1)" in text and not STEERING & set(text)


def test_files_of_charts(tmp_path: Path) -> None:
    figures = figures_of_run(hostile_document(), hostile_lookup, Sketches())
    named = [replace(one, title=ATTACKS[0], alt=ATTACKS[1] + "\x00\udc80") for one in figures]
    view = hostile(two_systems())
    with Drawer() as drawer:
        few = replace(view, decisive=view.decisive[:1], tests=[])
        drawn = compare_figures(few, drawer).summary
        paths = write_chart_files(
            [*named, *(replace(one, title=ATTACKS[0]) for one in drawn)], tmp_path / "f"
        )
    for path in paths:
        if path.suffix in (".svg", ".csv"):
            text = path.read_text("utf-8")
            assert not {"\x00", "\x1b"} & set(text)
        if path.suffix == ".svg":
            assert "<script" not in text
            ElementTree.fromstring(text)  # noqa: S314  our own drawing
    assert json.dumps([one.name for one in paths]).isascii()
