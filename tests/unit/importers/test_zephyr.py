"""Zephyr's benchmarks: its rows, other forms, and what is left out."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import read, sample, told

MEASURE = sample("zephyr-latency_measure.stdout").decode()
FAILED, CSV = sample("made/zephyr-failed.txt").decode(), sample("made/zephyr-csv.txt").decode()
CYCLES = sample("made/zephyr-1.13-tcs.txt").decode()
ROWS = [line.rstrip(",") for line in CSV.splitlines() if line.endswith("1,")]
TEXTS = {
    "cycles without time need the clock": FAILED.replace("Clock Frequency", "Clock"),
    "CSV that is cut in a number": CSV[: CSV.index("4116") + 2],
    "CSV that twister recorded": "\n".join(["metric,cycles,nanoseconds", *ROWS, ""]),
    "a row with a slower clock": MEASURE.replace("4116 ns", "41160 ns"),
    "a row with a faster clock": MEASURE.replace("4116 ns", "411 ns"),
    "each row twice": MEASURE + MEASURE,
    "a row that is cut": MEASURE[: MEASURE.index("5225 ns")],
    "no figures": CYCLES[: CYCLES.index("| switching")],
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "zephyr.txt", {name: told(text) for name, text in TEXTS.items()})


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


def test_console_that_twister_logged() -> None:
    logged = "".join(f"DEBUG   - DEVICE: {line}\n" for line in MEASURE.splitlines())
    assert read(logged).series == read(MEASURE).series


@pytest.mark.slow
def test_a_line_of_a_megabyte_is_no_row() -> None:
    reading = read(MEASURE + ":" * 2**20 + " : 1 cycles , 2 ns\n")
    assert len(reading.series) == 15
