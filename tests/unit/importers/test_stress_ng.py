"""stress-ng: its methods, its distribution and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.importers.reading import Reading, ReadSeries
from tests.unit.importers.one_file import read, refused

SAMPLES = Path(__file__).parents[2] / "samples"
CYCLIC = SAMPLES / "stress-ng-cyclic.stderr"
DISTRIBUTION = (SAMPLES / "made" / "stress-ng-cyclic-dist.stderr").read_text()


def one_of(reading: Reading, name: str) -> ReadSeries:
    (found,) = [one for one in reading.series if one.name == name]
    return found


def texts(reading: Reading, what: str) -> list[str]:
    return [loss.text for loss in reading.losses if loss.what == what]


@pytest.mark.parametrize(
    ("method", "name"),
    [("posix_ns", "wakeup-relative"), ("itimer", "itimer"), ("poll", "poll"), ("new", "latency")],
)
def test_methods_have_moments_of_their_own(method: str, name: str) -> None:
    one_of(read(DISTRIBUTION.replace("clock_ns", method)), name)


def test_a_distribution_that_is_cut_is_left_out() -> None:
    cut = DISTRIBUTION[: DISTRIBUTION.index("        40000")]
    reading = read(cut)
    assert one_of(reading, "wakeup-relative").buckets is None
    assert texts(reading, "distribution") == ["The distribution was left out: its end is missing."]
    assert reading.is_cut


def test_negative_values_have_no_distribution() -> None:
    reading = read(DISTRIBUTION.replace("min: 4228", "min: -12"))
    assert one_of(reading, "wakeup-relative").buckets is None
    assert one_of(reading, "wakeup-relative").min == -12
    assert "negative values" in texts(reading, "distribution")[0]


def test_a_figure_that_may_have_lost_digits_is_left_out() -> None:
    reading = read(DISTRIBUTION[: DISTRIBUTION.index("2991.73") + 4])
    assert one_of(reading, "wakeup-relative").stddev is None and reading.is_cut


def test_messages_of_two_runs_are_refused() -> None:
    assert refused(DISTRIBUTION * 2).startswith("line 31: a second run begins here, the first in")


def test_other_forms_of_messages() -> None:
    brief = "\n".join(line.partition("] ")[2] for line in DISTRIBUTION.splitlines())
    assert one_of(read(brief), "wakeup-relative").count == 1000
    stamped = DISTRIBUTION.replace("stress-ng: info: ", "stress-ng: 12:34:56.78 info: ")
    assert one_of(read(stamped), "wakeup-relative").overflow == 1
    old = "stress-ng: info:  [1] stress-ng-cyclic: sched SCHED_RR: 100000 ns delay, 5 samples\n"
    reading = read(old)
    assert (reading.conditions.policy, reading.is_cut) == ("rr", True)
    assert one_of(reading, "latency").min is None


def test_a_stressor_that_measured_nothing() -> None:
    text = "stress-ng: info:  [1] cyclic: SCHED_FIFO: no latency information available\n"
    assert "measured nothing" in refused(text)
    assert "neither latencies" in refused("stress-ng: info:  [1] dispatching hogs: 1 cpu\n")


def test_mean_times_in_other_words() -> None:
    rows = (
        "pthread 22500.50 nanosecs to start a pthread (harmonic mean of 4 instances)",
        "signal 950.00 nanosec to handle a signal (geometric mean of 1 instance)",
        "mount 1.50 microsecs per mount (geometric mean of 1 instance)",
    )
    text = "".join(f"stress-ng: metrc: [1] {row}\n" for row in rows)
    assert [(one.labels["operation"], one.mean) for one in read(text).series] == [
        ("to start a pthread", 22_500.5),
        ("to handle a signal", 950),
        ("mount", 1500),
    ]


def test_broken_yaml() -> None:
    content = (SAMPLES / "stress-ng-cyclic.yaml").read_text()
    assert "it has no metrics" in refused(content[: content.index("metrics:")])
    assert refused(content.replace("46350", "-4")).startswith("line 29: '-4' is not a count")
    assert refused(content.replace("bogo-ops: ", "bogo ops ")).startswith("line 29: '")
    assert refused(content.replace("stressor: cyclic", "stress: cyclic")).startswith("line 28: ")
    assert read(content[: content.index("...")]).is_cut
    halved = "metrics.1.wall-clock-time"
    assert halved not in read(content[: content.index("5.002383") + 3]).unknown
    assert read(content.replace("1795225461", "9" * 40)).started_utc is None
