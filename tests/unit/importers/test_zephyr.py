"""Zephyr's benchmarks: its rows, other forms, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers.reading import Reading
from tests.unit.importers.one_file import read

SAMPLES = Path(__file__).parents[2] / "samples"
MEASURE = (SAMPLES / "zephyr-latency_measure.stdout").read_text()


def made(name: str) -> str:
    return (SAMPLES / "made" / f"zephyr-{name}.txt").read_text()


def means(reading: Reading) -> dict[str, tuple[str, float | None]]:
    return {str(one.labels["operation"]): (one.name, one.mean) for one in reading.series}


def losses(reading: Reading) -> list[str]:
    return [loss.text for loss in reading.losses if loss.what == "values"]


def test_cycles_without_time_need_the_clock() -> None:
    reading = read(made("failed"))
    (created,) = [one for one in reading.series if one.labels["operation"] == "Thread Creation"]
    assert created.mean == 21_687.5  # 1388 cycles at 64 MHz
    assert created.derived == "cycles / clock frequency in whole MHz"
    without = read(made("failed").replace("Clock Frequency", "Clock"))
    assert "Thread Creation" not in means(without)
    assert "Rows left out, because they have cycles and no time: 1." in losses(without)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Preemptive threads ctx switch via k_yield (K -> K)", "switch"),
        ("Preemptive threads ctx switch via k_yield (K -> U)", "switch-user"),
        ("Average thread context switch using yield", "switch"),
        ("Average context switch time between threads (coop)", "switch"),
        ("Take a semaphore (no blocking) from kernel thread", "operation"),
        ("Take a semaphore (no blocking) from user thread", "operation-user"),
        ("Take a semaphore (context switch U -> K)", "semaphore"),
        ("Give a semaphore (context switch K -> U)", "semaphore-user"),
        ("Semaphore take time (context switch)", "semaphore"),
        ("Average semaphore test time", "operation"),
        ("lifo.put.wake+ctx.k_to_u", "message-user"),
        ("stack.pop.immediate.user", "operation-user"),
        ("thread.create.user.from.kernel", "operation"),
        ("thread.create.kernel.from.user", "operation-user"),
    ],
)
def test_rows_and_their_moments(name: str, key: str) -> None:
    (one,) = read(f"{name:60}:     420 cycles ,     3502 ns\n").series
    assert one.name == key


def test_a_csv_row_that_may_have_lost_digits_is_left_out() -> None:
    text = made("csv")
    assert len(read(text[: text.index("4116") + 2]).series) == 1


def test_csv_that_twister_recorded() -> None:
    rows = [line for line in made("csv").splitlines() if line.endswith("1,")]
    text = "metric,cycles,nanoseconds\n" + "".join(f"{row.rstrip(',')}\n" for row in rows)
    assert means(read(text)) == {"thread.yield.preemptive.ctx.k_to_k": ("switch", 2741)}


def test_console_that_twister_logged() -> None:
    logged = "".join(f"DEBUG   - DEVICE: {line}\n" for line in MEASURE.splitlines())
    assert means(read(logged)) == means(read(MEASURE))


def test_a_row_with_another_clock_is_left_out() -> None:
    reading = read(MEASURE.replace("4116 ns", "41160 ns"))
    assert "semaphore.take.blocking.k_to_k" not in means(reading)
    assert losses(reading) == [
        "Rows left out, because their cycles and ns do not have the clock of the others: 1 (line"
        " 12, 494 cycles and 41160 ns)."
    ]


def test_the_same_row_twice_is_two_series() -> None:
    reading = read(MEASURE + MEASURE)
    assert len(reading.series) == 30
    assert reading.series[15].labels["repeat"] == 2


def test_a_row_that_is_cut() -> None:
    reading = read(MEASURE[: MEASURE.index("5225 ns")])
    assert len(reading.series) == 14 and reading.is_cut
    assert next(iter(reading.unknown.values())).startswith('"line 16: heap.malloc.immediate')


def test_a_console_without_figures_is_refused() -> None:
    text = made("1.13-tcs")
    with pytest.raises(InputError) as caught:
        read(text[: text.index("| switching")])
    assert caught.value.cause == "it has no row with nanoseconds"


def test_a_line_of_a_megabyte_is_no_row() -> None:
    reading = read(MEASURE + ":" * 2**20 + " : 1 cycles , 2 ns\n")
    assert len(reading.series) == 15
