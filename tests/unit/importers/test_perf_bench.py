"""perf bench: parts of its output, and what is refused."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.importers import perf_bench
from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

PIPE = sample("perf-sched-pipe.stdout").decode()
ALL = sample("made/perf-bench-all.txt").decode()
WAKE = ALL[ALL.index("# Running 'futex/wake'") : ALL.index("# Running 'futex/wake-parallel'")]
HASH, MEMORY = "# Running 'futex/hash' benchmark:\n", "# Running 'mem/memcpy' benchmark:\n"
TEXTS = {
    "a rate is no time": (f"{HASH}Averaged 620544 operations/sec (+- 1.98%), total secs = 1\n"),
    "the simple format of several benchmarks lacks their rounds": (
        "# Running sched/messaging benchmark...\n0.461\n\n"
        "# Running sched/pipe benchmark...\n5.183\n"
    ),
    "without the first line": PIPE[PIPE.index("# Executed") :],
    "cut before the time": PIPE[: PIPE.index("15.12")],
    "cut in a number: 0.041 is not the seconds of a benchmark": WAKE[: WAKE.index("0.0410") + 5],
    "cut before the summary": WAKE[: WAKE.index("\nWokeup") + 1],
    "a run is missing": WAKE.replace("[Run 2]", "[Run 3]"),
    "no figures": MEMORY,
    "figures of a benchmark that is not read": f"{MEMORY}      12.3 GB/sec\n",
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "perf-bench.txt", {name: told(text) for name, text in TEXTS.items()})


def test_a_lone_number_is_read_only_where_the_tool_is_named() -> None:
    content = sample("perf-sched-pipe-simple.stdout")
    assert not any(one.recognises(content) for one in perf_bench.FORMATS)
    reading = perf_bench.FORMATS[1].read(content)
    (one,) = reading.series
    assert (one.name, one.values, one.labels) == ("total", [461_000_000], {"benchmark": "unknown"})
    assert "neither which benchmark" in reading.losses[0].text
    with pytest.raises(InputError):
        perf_bench.FORMATS[1].read(b"0.461\n0.462\n")
