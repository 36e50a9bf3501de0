"""IRQ-S-SUS in a report and on a terminal: each step is a row, whatever its source is called."""

from __future__ import annotations

import io

import pytest

from hardstone.model import Event, Result
from hardstone.present.search_steps import HEADINGS, step_line, step_rows
from hardstone.report.charts import loss_chart
from hardstone.report.search_page import search_page
from hardstone.stats.sustained import Step, steps_of, time_left_ns
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.sketches import Sketches
from tests.unit.stats import make
from tests.unit.stats.test_sustained import step_event


def searched(*events: Event) -> Result:
    return make.result("IRQ-S-SUS", series=[], events=list(events))


STEPS = (
    step_event(1000, limited=True),
    step_event(2000, lost=3),
    step_event(4000),
    step_event(900, source="timer", lost=1000),
)


def test_each_step_is_a_row_longest_period_first() -> None:
    rows = step_rows([searched(*STEPS)])
    assert [row[:2] for row in rows] == [
        ("ipi", "4 us"),
        ("ipi", "2 us"),
        ("ipi", "1 us"),
        ("timer", "900 ns"),
    ]
    assert [row[-1] for row in rows] == ["yes", "no", "not by the source", "no"]
    assert {len(row) for row in rows} == {len(HEADINGS)}


def test_the_page_has_table_and_chart() -> None:
    page = search_page(searched(*STEPS), "r", Sketches(), live=True)
    assert page is not None and len(page.rows) == 4
    (figure,) = page.figures
    assert "Loss by period" in figure.alt


def test_a_result_without_steps_has_no_page() -> None:
    assert search_page(searched(), "r", Sketches(), live=True) is None


def test_the_chart_has_the_share_that_was_lost() -> None:
    rows = [loss_chart.row_of(step) for step in steps_of([searched(*STEPS)])]
    assert [(row["v"], row["l"], row["b"]) for row in rows] == [
        (1000, 0.0, 0.0),
        (2000, 0.003, 0.0),
        (4000, 0.0, 1.0),
        (900, 1.0, 0.0),
    ]


def test_nothing_lost_is_drawn_too() -> None:
    assert loss_chart.chart(steps_of([searched(step_event(1000))]))
    assert loss_chart.chart([Step("ipi", 1000, 0, 0, 0, 0, False, False)])


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_source_is_text(attack: str) -> None:
    page = search_page(searched(step_event(1000, source=attack)), "r", Sketches(), live=True)
    assert page is not None
    assert all("</script" not in str(one.data) for one in page.figures)
    out = io.StringIO()
    print_whole(make.document(results=[searched(step_event(1000, source=attack))]), out)
    assert "\x1b[2J" not in out.getvalue()


def test_the_terminal_shows_the_steps() -> None:
    out = io.StringIO()
    print_whole(make.document(results=[searched(*STEPS)]), out)
    assert "steps of IRQ-S-SUS" in out.getvalue()


def test_a_line_tells_a_step_and_the_time_left() -> None:
    (step,) = steps_of([searched(step_event(2000, lost=3))])
    line = step_line(step, 90_000_000_000)
    assert line.startswith("ipi, 2 us: 3 lost of 1") and "not sustained" in line
    assert line.endswith("left")


def test_the_time_left_shrinks_with_the_bracket() -> None:
    params = {"source": ["ipi", "timer", "external"], "interrupts": 1000}
    first = steps_of([searched(step_event(1000, lost=9), step_event(2000))])
    later = steps_of([searched(step_event(1000, lost=9), step_event(2000), step_event(1980))])
    begun = steps_of([searched(*STEPS)])
    left = [time_left_ns(steps, params, 5) for steps in (first, later)]
    assert left[0] > left[1] > 1000 * 30_000  # the timer has not begun
    assert time_left_ns(begun, params, 5) > 0
    # the samples are the interrupts where the parameter says none
    assert time_left_ns(first, {**params, "interrupts": 0}, 1000) == left[0]
