"""What took the CPU, as a table and on one line."""

from __future__ import annotations

import io
import re

import pytest

from hardstone.model import Result
from hardstone.present.noise_table import COLUMNS, noise_line, noise_tables
from hardstone.report.charts import phase_chart
from hardstone.report.svg import render
from hardstone.stats.noise import with_noise
from hardstone.stats.noise_points import gap_points
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.sketches import sketched
from tests.unit.stats import make
from tests.unit.stats.made_gaps import Machine, result_of


def guest(seconds: float = 6) -> Result:
    """A guest's tick on its host's."""
    machine = Machine(40, seconds=seconds)
    machine.comb(1000, 10_600, every=(4, 28_300))
    machine.noise(50, 2_000)
    return with_noise(result_of(machine.windows(timer_hz=250)))


def quiet() -> Result:
    machine = Machine(41, seconds=3)
    machine.noise(50, 2_000)
    return with_noise(result_of(machine.windows(timer_hz=0)))


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.slow
def test_a_row_for_each_comb_and_one_for_the_rest() -> None:
    (table,) = noise_tables(guest())
    assert [row.what for row in table.rows] == [
        "tick of the host",
        "tick of this kernel",
        "no period",
    ]
    assert all(len(row.cells) == len(COLUMNS) for row in table.rows)
    assert table.rows[0].rate == "1000 Hz"
    said = " ".join(table.remarks)
    assert "The tick of this kernel comes with the tick of the host at 1000 Hz: 17." in said
    assert "ppm against what the kernel states" in said
    assert "The kernel counted 248.4 timer interrupts a second" in said  # 62 in most windows


@pytest.mark.slow
def test_the_rows_add_up() -> None:
    result = guest()
    (table,) = noise_tables(result)
    noise = result.noise[0]
    rest = int(table.rows[-1].gaps.replace("\N{NO-BREAK SPACE}", ""))
    assert noise.combs[0].count + rest == noise.merged_count


def test_no_tick_is_said() -> None:
    result = quiet()
    (table,) = noise_tables(result)
    assert table.remarks[0].startswith("No tick: no gaps recur with the kernel's tick")
    assert noise_line(result).startswith("no tick; gaps take ")
    assert noise_line(Result(test="CLK-P-DUR", status="denied")) == ""


def test_several_recordings_have_a_table_each() -> None:
    result = guest(3)
    result.noise = [*result.noise, *result.noise]
    assert [one.title[:12] for one in noise_tables(result)] == ["recording 1:", "recording 2:"]


@pytest.mark.slow
def test_terminal_and_report_have_it() -> None:
    document = make.document(results=[guest()])
    for print_it, wanted in ((print_whole, "tick of this kernel"), (print_screen, "tick 250 Hz")):
        stream = io.StringIO()
        print_it(document, stream)
        assert wanted in flat(stream.getvalue())
    page = sketched(document)
    assert "What took the CPU: " in page
    assert "tick of the host" in page
    assert "Gaps and the tick" in page


def test_the_picture_is_drawn_with_and_without_a_tick() -> None:
    for result, has_tick in ((guest(2), True), (quiet(), False)):
        points = gap_points(result, most=200)
        assert "<svg" in render(phase_chart.chart(points, has_tick=has_tick))
