"""The pages of TMR-P-LAT: each part and view with counts above limits, joins, and why the worst
values were late; and the steps of IRQ-S-SUS."""

from __future__ import annotations

import re

import msgspec
import pytest

from bench.long_recording import recording
from hardstone.model import Event, Result, RunDocument, Worst
from hardstone.present.measured_tables import HEADINGS, step_line, step_rows
from hardstone.report import charts
from hardstone.report.figures import figures_of
from hardstone.report.latency_pages import above_text, default_limits, pages_of
from hardstone.report.page import settings_of
from hardstone.report.results import search_page, section_of
from hardstone.stats.histogram import Above
from hardstone.stats.sustained import Step, steps_of, time_left_ns
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report import sample
from tests.unit.report.media import Sketches, printed, sketched, words
from tests.unit.stats import make, recorded
from tests.unit.stats.test_sustained import step_event


def pages(result: Result, *limits: int, **options: bool) -> list[object]:
    return list(pages_of(result, "r", limits, Sketches(), **options))


@pytest.fixture(scope="module")
def night() -> RunDocument:
    return recording(points=200_000, cpus=(0, 1))


@pytest.mark.slow
def test_there_is_a_page_for_each_part_and_view(night: RunDocument) -> None:
    found = pages_of(night.results[0], "r", (), Sketches())
    views = ("Total, per wake-up", "Total, per release", "Interrupt, per wake-up")
    assert [one.title for one in found] == [*views, "Dispatch, per wake-up", "Return, per wake-up"]
    for one in found:
        assert [row.label for row in one.rows] == ["all CPUs", "CPU 0", "CPU 1"]
        assert len(one.figures) == 2
    brief = pages_of(night.results[0], "r", (), Sketches(), is_brief=True)
    assert [len(one.figures) for one in brief] == [1, 0, 0, 0, 0]
    assert all(len(one.rows) == 3 for one in brief)


def test_all_cpus_are_their_sum(night: RunDocument) -> None:
    (total, *_) = pages_of(night.results[0], "r", [3_000_000], Sketches())
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
    (page,) = pages_of(make.result(series=found), "r", [1050], Sketches())
    assert [row.above for row in page.rows] == [["between 7 and 17"], ["2"], ["between 5 and 15"]]
    assert above_text(Above(5, 3, 3)) == "3"
    assert above_text(Above(5, 3, 1700)) == "between 3 and 1\N{NO-BREAK SPACE}700"


def test_other_layouts_stay_apart(night: RunDocument) -> None:
    result = msgspec.convert(msgspec.to_builtins(night.results[0]), Result)
    changed = [one for one in result.series if one.labels == {"part": "return", "cpu": 1}]
    other = make.series([1000, 2000, 3000], layout="log-linear/7")
    other.labels = changed[0].labels
    result.series[result.series.index(changed[0])] = other
    last = pages_of(result, "r", (), Sketches())[-1]
    assert [row.label for row in last.rows] == ["CPU 0", "CPU 1"]
    assert "not joined" in last.note


def test_what_has_too_few_values_for_a_distribution_is_named() -> None:
    found = []
    counts = (("total", 0, 9), ("total", 1, 1), ("dispatch", 0, 9), ("return", 0, 0))
    for part, cpu, count in counts:
        series = make.series([1000 + at for at in range(count)])
        series.labels = {"part": part, "cpu": cpu}
        found.append(series)
    total, dispatch = pages_of(make.result(series=found), "r", (), Sketches())
    assert total.note == (
        "Not shown, fewer than 2 values: total, per wake-up, CPU 1 (1); "
        "return, per wake-up, CPU 0 (0)."
    )
    assert not dispatch.note
    assert total.figures == dispatch.figures == []  # 9 values are no distribution


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
    for watched_ns in (2000, None):
        document.plan = msgspec.structs.replace(document.plan, watched_ns=watched_ns)
        settings = settings_of(document, sample.SPECS.get, Sketches(), (), [])
        (page,) = section_of(document.results[0], "r", settings).parts
        assert ("2 us" in page.limits) == (watched_ns is not None)
        if watched_ns:
            assert [row.above[page.limits.index("2 us")] for row in page.rows] == ["7"]


def test_a_limit_outside_of_the_axis_is_not_drawn_on_it(night: RunDocument) -> None:
    (total, *_) = pages_of(night.results[0], "r", [20_000, 10**9], Sketches(has_scripts=True))
    drawn = str(total.figures[0].drawing.data)
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


@pytest.mark.slow
@pytest.mark.parametrize("is_joined", [True, False])
def test_joins_are_marked_in_picture_and_text(is_joined: bool) -> None:
    document = sample.document(count=6000)
    result = next(one for one in document.results if one.test == "TMR-P-LAT")
    gap = {"gap_ns": 4_500_000_000}
    if is_joined:
        result.events.append(Event(name="joined", text="resumed", at_ns=3_000_000_000, data=gap))
    text = words(sketched(document, sample.SPECS.get))
    assert ("Resumed at 3.000 s after a gap of 4.50 s" in text) == is_joined
    found = figures_of(result, "r", 4, Sketches(has_scripts=True))
    marked = [one.title for one in found if '["j"]' in str(one.drawing.data)]
    assert marked == ["Over time"] * is_joined


# Why the worst values were late


# In each medium word for word: golden/late-*.txt


def test_a_run_without_counters_says_nothing_of_causes() -> None:
    plain = make.document()
    assert "Why the worst" not in sketched(plain)
    assert "why late" not in printed(print_screen, plain)
    assert "why the worst" not in printed(print_whole, plain)


def test_the_screen_stays_within_its_lines() -> None:
    document = make.document(results=[recorded.with_cause(migrations_count=1)] * 12)
    text = printed(print_screen, document)
    assert len(text.splitlines()) <= MOST_LINES
    assert "why       likely: 1 migration in that second (normally 0)" in text


@pytest.mark.slow
def test_every_worst_value_has_its_cause() -> None:
    result = recorded.with_many(40)
    document = make.document(results=[result])
    assert "task-" not in printed(print_screen, document)
    result.series[0].worst[-1].before = "<script>alert(1)</script>"
    page = sketched(document, sample.SPECS.get)
    first, rest = page.split("more causes of worst values</summary>")
    assert "before it, task-3 (pid 100) ran" in first
    assert "before it, task-12 (pid 109) ran" in rest
    assert rest.split("</table>")[0].count("<tr>") == 1 + 32
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in rest


# The steps of IRQ-S-SUS


def searched(*events: Event) -> Result:
    return make.result("IRQ-S-SUS", series=[], events=list(events))


STEPS = (
    step_event(1000, limited=True),
    step_event(2000, lost=3),
    step_event(4000),
    step_event(900, source="timer", lost=1000),
)


def test_the_chart_of_the_steps() -> None:
    """The rows are in golden/late-page.txt."""
    assert {len(row) for row in step_rows([searched(*STEPS)])} == {len(HEADINGS)}
    page = search_page(searched(*STEPS), "r", Sketches(has_scripts=True))
    assert page is not None and "Loss by period" in page.figures[0].alt
    assert search_page(searched(), "r", Sketches(has_scripts=True)) is None


def test_the_chart_has_the_share_that_was_lost() -> None:
    rows = [charts.row_of(step) for step in steps_of([searched(*STEPS)])]
    assert [(row["v"], row["l"], row["b"]) for row in rows] == [
        (1000, 0.0, 0.0),
        (2000, 0.003, 0.0),
        (4000, 0.0, 1.0),
        (900, 1.0, 0.0),
    ]
    assert charts.loss_chart(steps_of([searched(step_event(1000))]))
    assert charts.loss_chart([Step("ipi", 1000, 0, 0, 0, 0, False, False)])


def test_a_line_tells_a_step_and_the_time_left() -> None:
    (step,) = steps_of([searched(step_event(2000, lost=3))])
    line = step_line(step, 90_000_000_000)
    assert line.startswith("ipi, 2 us: 3 lost of 1") and "not sustained" in line
    assert line.endswith("left")


def test_the_time_left_shrinks_with_the_bracket() -> None:
    params = {"source": ["ipi", "timer", "external"], "interrupts": 1000}
    first = steps_of([searched(step_event(1000, lost=9), step_event(2000))])
    later = steps_of([searched(step_event(1000, lost=9), step_event(2000), step_event(1980))])
    left = [time_left_ns(steps, params, 5) for steps in (first, later)]
    assert left[0] > left[1] > 1000 * 30_000  # the timer has not begun
    assert time_left_ns(steps_of([searched(*STEPS)]), params, 5) > 0
    # the samples are the interrupts where the parameter says none
    assert time_left_ns(first, {**params, "interrupts": 0}, 1000) == left[0]
