"""stress-ng: its methods, its distribution and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

DISTRIBUTION = sample("made/stress-ng-cyclic-dist.stderr").decode()
YAML = sample("stress-ng-cyclic.yaml").decode()
INFO, METRIC = "stress-ng: info:  [1]", "stress-ng: metrc: [1]"
TEXTS = {
    **{
        f"a method with moments of its own: {one}": DISTRIBUTION.replace("clock_ns", one)
        for one in ("posix_ns", "itimer", "poll", "new")
    },
    "a distribution that is cut": DISTRIBUTION[: DISTRIBUTION.index("        40000")],
    "negative values have no distribution": DISTRIBUTION.replace("min: 4228", "min: -12"),
    "a figure that may have lost digits": DISTRIBUTION[: DISTRIBUTION.index("2991.73") + 4],
    "messages of two runs": DISTRIBUTION * 2,
    "brief messages": "\n".join(line.partition("] ")[2] for line in DISTRIBUTION.splitlines()),
    "messages with a time": DISTRIBUTION.replace(": info: ", ": 12:34:56.78 info: "),
    "older messages": f"{INFO} stress-ng-cyclic: sched SCHED_RR: 100000 ns delay, 5 samples\n",
    "a stressor that measured nothing": (
        f"{INFO} cyclic: SCHED_FIFO: no latency information available\n"
    ),
    "neither latencies nor metrics": f"{INFO} dispatching hogs: 1 cpu\n",
    "mean times in other words": (
        f"{METRIC} pthread 22500.50 nanosecs to start a pthread (harmonic mean of 4 instances)\n"
        f"{METRIC} signal 950.00 nanosec to handle a signal (geometric mean of 1 instance)\n"
        f"{METRIC} mount 1.50 microsecs per mount (geometric mean of 1 instance)\n"
    ),
    "YAML without metrics": YAML[: YAML.index("metrics:")],
    "YAML with a negative count": YAML.replace("46350", "-4"),
    "YAML with a broken key": YAML.replace("bogo-ops: ", "bogo ops "),
    "YAML without a stressor": YAML.replace("stressor: cyclic", "stress: cyclic"),
    "YAML without its end": YAML[: YAML.index("...")],
    "YAML that is cut within a number": YAML[: YAML.index("5.002383") + 3],
    "YAML of a time that is none": YAML.replace("1795225461", "9" * 40),
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "stress-ng.txt", {name: told(text) for name, text in TEXTS.items()})
