"""perf bench: figures taken from each file by hand, its benchmarks, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.importers import perf_bench
from tests.unit.importers.one_file import read, refused

SAMPLES = Path(__file__).parents[2] / "samples"
PIPE = (SAMPLES / "perf-sched-pipe.stdout").read_text()
ALL = (SAMPLES / "made" / "perf-bench-all.txt").read_text()
WAKE = ALL[ALL.index("# Running 'futex/wake'") : ALL.index("# Running 'futex/wake-parallel'")]


def test_pipe() -> None:
    reading = read(PIPE)
    (one,) = reading.series
    assert (one.name, one.count, one.mean) == ("pipe", 20_000, 15_121.95)
    assert (one.min, one.max, one.buckets, one.values) == (None, None, None, None)
    assert one.derived == "total time / operations"
    assert one.labels == {"benchmark": "sched-pipe", "between": "processes"}
    assert reading.duration_ns == 302_000_000


def test_rates_of_lock_pi_are_no_times() -> None:
    reading = read((SAMPLES / "perf-futex-lockpi.stdout").read_text())
    assert [(one.name, one.unit, one.values) for one in reading.series] == [
        ("mutex-rate", "count", [3550])
    ] * 4
    assert [one.labels["thread"] for one in reading.series] == [0, 1, 2, 3]
    assert reading.duration_ns == 3_000_000_000
    assert reading.events[0].text.endswith(
        "Averaged 3550 operations/sec (+- 0.00%), total secs = 3"
    )
    assert not reading.is_cut


def test_runs_of_wake() -> None:
    reading = read((SAMPLES / "perf-futex-wake.stdout").read_text())
    (one,) = reading.series
    assert one.values is not None and len(one.values) == 10
    assert one.values[:4] == [219_000, 120_000, 111_000, 148_000]
    assert (one.name, one.step_ns) == ("wake-all", 1000)
    assert reading.events[0].text.endswith("Wokeup 4 of 4 threads in 0.1504 ms (+-6.10%)")


def test_silent_benchmarks_print_a_mean_only() -> None:
    (one,) = read((SAMPLES / "perf-futex-wake-silent.stdout").read_text()).series
    assert (one.name, one.mean, one.count, one.values) == ("wake-all", 62_300, None, None)
    average = "Averaged 620544 operations/sec (+- 1.98%), total secs = 1\n"
    (rate,) = read("# Running 'futex/hash' benchmark:\n" + average).series
    assert (rate.name, rate.unit, rate.mean) == ("rate", "count", 620_544)


def test_a_lone_number_is_read_only_where_the_tool_is_named() -> None:
    content = (SAMPLES / "perf-sched-pipe-simple.stdout").read_bytes()
    assert not any(one.recognises(content) for one in perf_bench.FORMATS)
    reading = perf_bench.FORMATS[1].read(content)
    (one,) = reading.series
    assert (one.name, one.values, one.labels) == ("total", [461_000_000], {"benchmark": "unknown"})
    assert "neither which benchmark" in reading.losses[0].text
    with pytest.raises(InputError):
        perf_bench.FORMATS[1].read(b"0.461\n0.462\n")


def test_many_benchmarks_in_one_file() -> None:
    reading = read(ALL)
    found = {one.labels["benchmark"]: one for one in reading.series}
    messaging = found["sched-messaging"]
    assert (messaging.name, messaging.values) == ("messaging", [83_000_000])
    assert messaging.labels["groups"] == 10
    assert (found["sched-pipe"].count, found["sched-pipe"].mean) == (1_000_000, 5183.15)
    assert (found["syscall-basic"].count, found["syscall-basic"].mean) == (10_000_000, 115.237)
    assert found["futex-wake"].values == [43_000, 41_000]
    assert (found["futex-wake"].step_ns, found["futex-wake"].labels["threads"]) == (1000, 4)
    assert found["futex-wake-parallel"].values == [123_500]
    assert found["futex-wake-parallel"].derived == "mean over the waking threads"
    assert found["futex-requeue"].values == [9000]
    assert not reading.losses and not reading.is_cut


def test_simple_format_of_several_benchmarks_lacks_their_rounds() -> None:
    messaging = "# Running sched/messaging benchmark...\n0.461\n\n"
    reading = read(messaging + "# Running sched/pipe benchmark...\n5.183\n")
    assert [(one.name, one.values) for one in reading.series] == [
        ("messaging", [461_000_000]),
        ("total", [5_183_000_000]),
    ]
    (loss,) = reading.losses
    assert loss.what == "count" and "sched/pipe" in loss.text


def test_a_part_of_the_output() -> None:
    headless = PIPE[PIPE.index("# Executed") :]
    assert read(headless).series[0].labels["benchmark"] == "sched-pipe"
    assert read(PIPE[: PIPE.index("15.12")]).is_cut
    halved = WAKE[: WAKE.index("0.0410") + 5]  # "0.041" is not the seconds of a benchmark
    assert [one.values for one in read(halved).series] == [[43_000]]
    cut = WAKE[: WAKE.index("\nWokeup") + 1]
    assert read(cut).is_cut
    assert read(cut).series[0].values == [43_000, 41_000]


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("Executed 20000", "Executed 2000", "line 6: 2000 operations of 15122 ns do not take"),
        ("15.121950", "151.21950", "line 6: 20000 operations of 151220 ns do not take"),
        ("66129", "6612", "line 7: 6612 operations a second are not one in 15122 ns"),
        ("15.121950", "15.12.1", "line 6: '15.12.1' is not a number"),
        ("Executed 20000", f"Executed {10**30}", f"line 2: '{10**30}' is not a count"),
    ],
)
def test_contradictions_are_refused(old: str, new: str, cause: str) -> None:
    assert refused(PIPE.replace(old, new)).startswith(cause)


def test_broken_output_is_refused() -> None:
    assert refused(WAKE.replace("[Run 2]", "[Run 3]")) == "line 5: run 3 follows run 1"
    assert "it has no figures of a benchmark" in refused("# Running 'mem/memcpy' benchmark:\n")
    assert "mem/memcpy" in refused("# Running 'mem/memcpy' benchmark:\n      12.3 GB/sec\n")
