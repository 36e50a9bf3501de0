"""Every test of the register, with a few samples: what it sends holds together."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import HardstoneError
from hardstone.model import (
    Descriptor,
    Register,
    Series,
    StreamEvent,
    StreamHeader,
    StreamInstrument,
    StreamSeries,
)
from hardstone.targets.find import find_probe
from tests.host import few
from tests.running import Stream, lowest, run, total

ONE_FORM = ("-p", "kinds=unnamed", "-p", "scopes=thread")
SLACK_NS = 1_000_000_000  # of times counted from the start against the whole duration
# sched(7): a thread whose priority is lowered goes to the head of its new queue, whatever the
# call; POSIX says to the tail for pthread_setschedparam.
KNOWN_FINDINGS = {"lowered_setschedparam", "base_limits_at_least_posix_minimum"}


def registered() -> list[Descriptor]:
    try:
        probe = find_probe()
    except HardstoneError:
        return []
    done = subprocess.run([str(probe), "list", "--json"], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=Register).tests


@pytest.mark.parametrize("descriptor", registered(), ids=lambda one: one.id)
def test_a_run_holds_together(
    probe: Path, quick: list[str], recorded: Callable[..., Stream], descriptor: Descriptor
) -> None:
    stream = recorded(probe, descriptor.id, *few.options(descriptor.id), *quick).checked()
    check_frame(stream)
    check_declared(stream, descriptor)
    for series in stream.of(StreamSeries):
        check_series(series, stream.result.duration_ns)
    assert stream.result.status in ("measured", "unsupported", "denied"), stream.result.reason
    if stream.result.status == "measured":
        assert stream.sample_count or stream.verdicts
    assert broken_promises(stream) == set()


def broken_promises(stream: Stream) -> set[str]:
    """Claims that do not hold, but for those that are known not to on Linux."""
    failed = {name.partition("/")[0] for name, holds in stream.verdicts.items() if not holds}
    return failed - KNOWN_FINDINGS


def check_frame(stream: Stream) -> None:
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    assert result.complete and not result.interrupted
    assert stream.stderr == ""
    assert isinstance(stream.lines[0], StreamHeader)
    assert stream.lines[-2:] == [stream.result, stream.footer]
    assert stream.footer.lines == len(stream.lines) - 1
    assert stream.footer.events == len(stream.of(StreamEvent))
    assert stream.footer.series == len(stream.of(StreamSeries))
    assert stream.footer.verdicts == len(stream.verdicts)
    assert stream.result.status != "measured" or len(stream.of(StreamInstrument)) == 1


def check_declared(stream: Stream, descriptor: Descriptor) -> None:
    declared = {one.name: one for one in descriptor.series}
    for series in stream.of(StreamSeries):
        assert set(series.labels) <= set(declared[series.name].labels)
        assert series.unit == declared[series.name].unit
        assert series.derived == declared[series.name].derived
    claims = {one.name for one in descriptor.verdicts}
    assert {name.partition("/")[0] for name in stream.verdicts} <= claims
    assert set(stream.of(StreamHeader)[0].params) <= {one.name for one in descriptor.params}


def check_series(series: Series, duration_ns: int) -> None:
    held = sum(count for _, count in series.histogram.buckets)
    assert held + series.histogram.underflow + series.histogram.overflow == series.count
    if series.count == 0:
        assert (series.min, series.mean, series.stddev, series.max) == (None,) * 4
        return
    assert series.min is not None and series.max is not None and series.mean is not None
    assert series.min <= series.mean <= series.max
    assert series.stddev is not None and 0 <= series.stddev <= series.max - series.min
    check_range(series)
    check_worst(series, duration_ns)
    assert max(one for one in series.maxima_per_s if one is not None) == series.max


def check_range(series: Series) -> None:
    """The extremes lie in the first and last bucket, or are counted outside of them."""
    assert series.min is not None and series.max is not None
    indices = [index for index, _ in series.histogram.buckets]
    if series.min >= 0 and indices:
        assert lowest(indices[0]) <= series.min < lowest(indices[0] + 1)
    if series.max >= 0 and not series.histogram.overflow:
        assert lowest(indices[-1]) <= series.max < lowest(indices[-1] + 1)
    assert (series.min < 0) == (series.histogram.underflow > 0)


def check_worst(series: Series, duration_ns: int) -> None:
    values = [worst.value_ns for worst in series.worst]
    assert values == sorted(values, reverse=True)
    assert values[0] == series.max
    assert len(values) == min(series.count, 32)
    assert len({worst.index for worst in series.worst}) == len(values)
    assert all(0 <= worst.index < series.count for worst in series.worst)
    assert all(0 <= worst.at_ns <= duration_ns + SLACK_NS for worst in series.worst)


def test_every_release_is_accounted_for(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "TMR-P-LAT", "--duration-ns", "700ms", "-p", "interval_ns=50us", *quick)
    wakeup, release = stream.series("wakeup"), stream.series("release")
    assert release.count == wakeup.count + total(stream.series("missed"))
    assert release.max == wakeup.max


def test_samples_are_what_was_asked(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "SEM-P-SIG", "--samples", "777", *ONE_FORM, *quick)
    assert [series.count for series in stream.of(StreamSeries)] == [777]


def test_one_sample_is_enough(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "SEM-P-SIG", "--samples", "1", *ONE_FORM, *quick)
    (series,) = stream.of(StreamSeries)
    assert series.min == series.mean == series.max
    assert series.stddev == 0
    assert stream.read_by_the_toolkit()[1] is None


def test_a_huge_count_ends_at_the_deadline(probe: Path, quick: list[str]) -> None:
    options = ["--samples", str(2**63 - 1), "--deadline-ns", "300ms", *quick]
    stream = run(probe, "TMR-P-LAT", *options)
    assert stream.result.status == "timeout"
    assert stream.sample_count > 0


def test_a_context_switch_is_half_a_round_trip_less_the_calls(
    probe: Path, quick: list[str]
) -> None:
    words = ("-p", "kinds=unnamed", "-p", "scopes=thread")
    stream = run(probe, "SEM-P-RTP", "--samples", "500", *words, *quick)
    round_trip, calls = stream.series("round_trip"), stream.series("signal_wait")
    switch = stream.series("context_switch")
    assert round_trip.mean is not None and calls.mean is not None and switch.mean is not None
    assert switch.count == round_trip.count
    # whole ns: half of an odd one is cut off, and the mean of the calls is rounded
    assert switch.mean == pytest.approx(round_trip.mean / 2 - calls.mean, abs=1.0)
    assert len({worst.at_ns for worst in calls.worst}) > 1
