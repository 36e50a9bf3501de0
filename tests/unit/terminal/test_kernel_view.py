"""The operations of the kernel on a terminal of 80 columns, and preemption off beside on."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len

from hardstone.model import Result, Scalar
from hardstone.present.kernel_table import kernel_table
from hardstone.present.preemption_table import preemption_table
from hardstone.terminal.beside_published import print_beside_published
from hardstone.terminal.console import make_console
from hardstone.terminal.kernel_view import show_table
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.preemption_view import print_preemption
from hardstone.terminal.whole_run import print_whole
from tests.unit.stats import make
from tests.unit.stats.blocked import dispatch, kernel_result

Facts = dict[str, Scalar]
HARDWARE: Facts = {"kernel.preemption": "none"}


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def whole(result: Result, system: Facts = HARDWARE) -> str:
    stream = io.StringIO()
    print_whole(make.document(results=[result], system=system), stream)
    text = stream.getvalue()
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= 80
    return text


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_the_ranked_table_and_hps_figures_are_shown() -> None:
    text = whole(kernel_result())
    assert "kernel time by operation, KRN-P-PRE" in text
    places = [text.index(f"\n{rank}") for rank in ("1   exit", "2=  exec", "2=  fork")]
    assert places == sorted(places)
    assert "HP 1987, HP-UX/RT on HP 9000 Series 800: preemption off 90 % 40 ms" in words(text)
    assert "Too rare to have been seen" in words(text)


@pytest.mark.slow
def test_hps_figures_do_not_stand_beside_an_emulated_machine() -> None:
    text = words(whole(kernel_result(), HARDWARE | {"virtual.emulated": True}))
    assert "HP 1987 is not shown: emulated: not beside figures of hardware." in text
    assert "40 ms" not in text


def test_other_tests_have_no_such_table() -> None:
    assert "kernel time by operation" not in whole(make.result())


@pytest.mark.slow
def test_hostile_names_of_operations_are_escaped() -> None:
    found = kernel_result()
    found.series.append(dispatch("\x1b[31m[red]exec\n" * 40, [10**6] * 4_000))
    text = whole(found)
    assert "\x1b" not in text


def test_an_unreadable_histogram_leaves_the_table_out() -> None:
    found = kernel_result()
    found.series[1].histogram.layout = "odd"
    assert "kernel time by operation" not in whole(found)


@pytest.mark.slow
def test_traced_sections_are_shown_with_what_differs() -> None:
    section = dispatch("exit", [1_000] * 90, "section")
    section.labels["kind"] = "preempt"
    found = kernel_result()
    found.series.append(section)
    text = words(whole(found))
    assert "A tracer times sections of its kind" in text
    assert "Under the models none and voluntary it also waits for a system call to end" in text


def test_one_screen_has_a_line_of_it() -> None:
    stream = io.StringIO()
    print_screen(make.document(results=[kernel_result()]), stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) <= MOST_LINES
    assert any(line.startswith("kernel time KRN-P-PRE worst at p99: exit (") for line in lines)


@pytest.mark.slow
def test_hps_figures_have_ours_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_beside_published(make.document(results=[kernel_result()], system=HARDWARE))
    out = words(capsys.readouterr().out)
    assert "time_90 40, time_99 129, max" in out
    assert "this run, shared time_90 " in out and "to unbounded" not in out


@pytest.mark.slow
def test_hps_figures_without_ours_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    for found, why in (
        (kernel_result(share=None), "the time in the kernel was not counted"),
        (kernel_result(count=300), "900 releases are too few for time_99"),
    ):
        print_beside_published(make.document(results=[found], system=HARDWARE))
        assert why in words(capsys.readouterr().out)


def compared(off: list[Result], on: list[Result], system: Facts = HARDWARE) -> str:
    stream = io.StringIO()
    print_preemption(
        preemption_table(off, on, (system, system | {"kernel.preemption": "full"})), stream
    )
    text = stream.getvalue()
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= 80
    return text


@pytest.mark.slow
def test_off_and_on_stand_beside_hps_off_and_on() -> None:
    text = compared([kernel_result()], [kernel_result(2, is_short=True)])
    assert "kernel preemption off (none) and on (full)" in text
    assert "beside HP 1987: HP-UX/RT on HP 9000 Series 800" in text
    (line,) = [one for one in text.splitlines() if "129 ms" in one]
    assert line.split()[-5:] == ["129", "ms", "3.4", "ms", "37"]
    assert line.startswith("99 %") and " us " in line


@pytest.mark.slow
def test_the_range_of_the_improvement_stands_below_it() -> None:
    text = words(compared([kernel_result()], [kernel_result(2)]))
    found = preemption_table([kernel_result()], [kernel_result(2)])
    exits = [row for row in found.rows if row.operation == "exit" and row.doubt]
    assert exits and all(row.improvement_interval in text for row in exits)
    assert "within the intervals" in text and "no interval" in text


def shown_words(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.parametrize("columns", ["80", "60", "40"])
def test_cells_wrap_whole_words(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    found = kernel_table(kernel_result(count=300))
    assert found is not None
    rows = [
        replace(row, rate=f"{place}00000 /s", rate_interval=f"{place}5000 /s to unbounded")
        for place, row in enumerate(found.rows, 1)
    ]
    wide = replace(found, rows=rows)
    stream = io.StringIO()
    show_table(make_console(stream), wide, "")
    for row in rows:
        cells = (row.quantile, row.interval, row.length_90, row.interval_90)
        for cell in (*cells, row.rate, row.rate_interval, row.worst):
            assert shown_words(cell) <= shown_words(stream.getvalue()), cell


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["80", "60", "40"])
def test_cells_of_off_and_on_wrap_whole_words(
    columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    found = preemption_table([kernel_result()], [kernel_result(2)])
    stream = io.StringIO()
    print_preemption(found, stream)
    for row in found.rows:
        for cell in (row.off, row.off_interval, row.on, row.on_interval, *row.limits):
            assert shown_words(cell) <= shown_words(stream.getvalue()), cell


@pytest.mark.slow
def test_what_differs_between_off_and_on_is_shown() -> None:
    loaded = kernel_result(2)
    loaded.conditions.load = "storm"
    assert "differs: load: heavy off, storm on" in words(compared([kernel_result()], [loaded]))
    assert "neither side has figures" in compared([], [])
