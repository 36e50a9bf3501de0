"""The pages of TMR-P-LAT: each part and view, all CPUs and each, with counts above limits."""

from __future__ import annotations

import html
import re

import msgspec
import pytest

from bench.long_recording import recording
from hardstone.model import Event, Result, RunDocument, Worst
from hardstone.report.drawing import Drawer
from hardstone.report.figures import figures_of
from hardstone.report.latency_pages import above_text, default_limits, has_pages, pages_of
from hardstone.report.page import settings_of
from hardstone.report.results import section_of
from hardstone.stats.above import Above
from tests.unit.report import sample
from tests.unit.report.sketches import sketched
from tests.unit.stats import make, recorded


def pages(result: Result, *limits: int) -> list[object]:
    return list(pages_of(result, "r", limits, Drawer(), live=True))


def words(page: str) -> str:
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture(scope="module")
def night() -> RunDocument:
    return recording(points=200_000, cpus=(0, 1))


@pytest.mark.slow
def test_there_is_a_page_for_each_part_and_view(night: RunDocument) -> None:
    found = pages_of(night.results[0], "r", (), Drawer(), live=False)
    assert [one.title for one in found] == [
        "Total, per wake-up",
        "Total, per release",
        "Interrupt, per wake-up",
        "Dispatch, per wake-up",
        "Return, per wake-up",
    ]
    for one in found:
        assert [row.label for row in one.rows] == ["all CPUs", "CPU 0", "CPU 1"]
        assert len(one.figures) == 2


def test_all_cpus_are_their_sum(night: RunDocument) -> None:
    (total, *_) = pages_of(night.results[0], "r", [3_000_000], Drawer(), live=False)
    series = [
        one
        for one in night.results[0].series
        if one.name == "wakeup" and one.labels["part"] == "total"
    ]
    assert total.limits == ["3 ms"]
    assert total.rows[0].points.replace("\N{NO-BREAK SPACE}", "") == "400000"
    counts = [sum(one.value_ns > 3_000_000 for one in each.worst) for each in series]
    assert [row.above for row in total.rows] == [[str(n)] for n in (sum(counts), *counts)]


def test_what_one_cpu_decides_is_decided_for_all() -> None:
    found = []
    for cpu, times, kept in ((0, 1, 4), (1, 5, 3)):
        values = sorted([1000, 1030, 1090, 5000] * times, reverse=True)
        series = make.series(values, layout="log-linear/3")
        series.labels = {"part": "total", "cpu": cpu}
        series.worst = [Worst(value_ns=one, at_ns=0, index=0) for one in values[:kept]]
        found.append(series)
    (page,) = pages_of(make.result(series=found), "r", [1050], Drawer(), live=False)
    assert [row.above for row in page.rows] == [["between 7 and 17"], ["2"], ["between 5 and 15"]]


def test_other_layouts_stay_apart(night: RunDocument) -> None:
    result = msgspec.convert(msgspec.to_builtins(night.results[0]), Result)
    changed = [one for one in result.series if one.labels == {"part": "return", "cpu": 1}]
    other = make.series([1000, 2000, 3000], layout="log-linear/7")
    other.labels = changed[0].labels
    result.series[result.series.index(changed[0])] = other
    last = pages_of(result, "r", (), Drawer(), live=False)[-1]
    assert [row.label for row in last.rows] == ["CPU 0", "CPU 1"]
    assert "not joined" in last.note


def test_limits_are_around_the_data_unless_chosen(night: RunDocument) -> None:
    result = night.results[0]
    worst = max(one.max or 0 for one in result.series)
    found = default_limits(result)
    assert found == sorted(found) and found[-1] >= worst and len(found) == 4
    crossed = msgspec.structs.replace(result, params={"threshold_ns": 150_000})
    assert 150_000 in default_limits(crossed)
    assert 170_000 in default_limits(result, 170_000)


def test_a_threshold_at_which_measuring_went_on_is_a_limit() -> None:
    """--go-on: the probe does not know it, and the count of the breaches is what it is for."""
    document = make.document(results=[make.result(values=[1000] * 300 + [2500] * 7)])
    document.plan = msgspec.structs.replace(document.plan, watched_ns=2000)
    settings = settings_of(document, sample.SPECS.get, Drawer(), (), [], live=False)
    (page,) = section_of(document.results[0], "r", settings).parts
    place = page.limits.index("2 us")
    assert [row.above[place] for row in page.rows] == ["7"]
    document.plan = msgspec.structs.replace(document.plan, watched_ns=None)
    settings = settings_of(document, sample.SPECS.get, Drawer(), (), [], live=False)
    assert "2 us" not in section_of(document.results[0], "r", settings).parts[0].limits


def test_a_count_that_is_not_known_is_said_so() -> None:
    assert above_text(Above(5, 3, 3)) == "3"
    assert above_text(Above(5, 3, 1700)) == "between 3 and 1\N{NO-BREAK SPACE}700"


def test_another_test_has_none() -> None:
    assert not has_pages(make.result("SEM-P-SIG"))
    assert pages(make.result("SEM-P-SIG")) == []
    assert not has_pages(make.result(series=[]))


def test_a_limit_outside_of_the_axis_is_not_drawn_on_it(night: RunDocument) -> None:
    (total, *_) = pages_of(night.results[0], "r", [20_000, 10**9], Drawer(), live=True)
    drawn = str(total.figures[0].data)
    assert '"20 us"' in drawn and '"1 s"' not in drawn
    assert total.limits == ["20 us", "1 s"]


def drawn_characters(points: int) -> int:
    """How much data the charts of a recording have; a sketch tells that of its chart."""
    page = sketched(recording(points=points), sample.SPECS.get)
    return sum(map(int, re.findall(r"<!-- (\d+) -->", page)))


@pytest.mark.slow
def test_the_charts_do_not_grow_with_the_points() -> None:
    """What is drawn is thinned: a night has charts as small as a few minutes."""
    assert drawn_characters(300_000_000) < 1.3 * drawn_characters(10_000_000)


def joined_run() -> RunDocument:
    document = sample.document(count=6000)
    result = next(one for one in document.results if one.test == "TMR-P-LAT")
    event = Event(
        name="joined", text="resumed", at_ns=3_000_000_000, data={"gap_ns": 4_500_000_000}
    )
    result.events.append(event)
    return document


def live_charts(document: RunDocument) -> list[tuple[str, str]]:
    result = next(one for one in document.results if one.test == "TMR-P-LAT")
    found = figures_of(result, "r", 4, Drawer(), live=True)
    return [(one.title, str(one.data)) for one in found]


@pytest.mark.slow
def test_joins_are_marked_in_picture_and_text() -> None:
    plain = sketched(sample.document(count=6000), sample.SPECS.get)
    page = sketched(joined_run(), sample.SPECS.get)
    assert "Resumed at 3.000 s after a gap of 4.50 s" in words(page)
    assert "Resumed" not in words(plain)
    assert [title for title, data in live_charts(joined_run()) if '["j"]' in data] == ["Over time"]
    assert [
        title for title, data in live_charts(sample.document(count=6000)) if '["j"]' in data
    ] == []


def test_the_page_says_why_values_were_late() -> None:
    document = make.document(results=[recorded.with_cause(migrations_count=1)])
    said = words(sketched(document, sample.SPECS.get))
    assert "seen in that second: 1 migration (usually 0)" in said
    assert "at 10.500 s, CPU 1" in said
    assert said.count("none seen") == 2
    without = words(sketched(make.document(), sample.SPECS.get))
    assert "Why the worst" not in without


def test_the_page_has_a_row_for_every_worst_value() -> None:
    result = recorded.with_many(40)
    result.series[0].worst[-1].before = "<script>alert(1)</script>"
    page = sketched(make.document(results=[result]), sample.SPECS.get)
    first, rest = page.split("Why the other worst values were late</summary>")
    assert "task-3 (pid 100) ran before it" in first
    assert rest.split("</table>")[0].count("<tr>") == 1 + 33
    assert "task-10 (pid 107) ran before it" in rest
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in rest


def test_a_report_of_many_conditions_draws_the_total_only(night: RunDocument) -> None:
    found = pages_of(night.results[0], "r", (), Drawer(), live=False, is_brief=True)
    assert [len(one.figures) for one in found] == [1, 0, 0, 0, 0]
    assert all(len(one.rows) == 3 for one in found)
