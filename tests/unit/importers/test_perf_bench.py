"""perf bench: parts of its output, and what is refused."""

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


def test_a_rate_is_no_time() -> None:
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


def test_broken_output_is_refused() -> None:
    assert refused(WAKE.replace("[Run 2]", "[Run 3]")) == "line 5: run 3 follows run 1"
    assert "it has no figures of a benchmark" in refused("# Running 'mem/memcpy' benchmark:\n")
    assert "mem/memcpy" in refused("# Running 'mem/memcpy' benchmark:\n      12.3 GB/sec\n")
