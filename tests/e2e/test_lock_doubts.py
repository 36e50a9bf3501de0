"""Figures of threads, semaphores and mutexes whose event did not take place are left out, and
fail the result; what a first call costs is in none of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.e2e import machine
from tests.e2e.running import Stream, measuring, run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
    pytest.mark.usefixtures("alone"),
]

ATTEMPTS = 3
LATER_NS = 3_000_000  # of sem_later
FEW = ("--samples", "200")
BY_NAME = ("-p", "kinds=named", "-p", "scopes=thread", *FEW)
SHORT = ("-p", "medium_ns=1ms", *FEW)

DOUBTS = [
    ("sem_zero", ("SEM-P-SHF", *BY_NAME), "not_handed_over", 0),
    ("sem_zero", ("SEM-P-RTP", *BY_NAME), "not_handed_over", 0),
    ("late_wake", ("MUT-P-INV", "-p", "protocols=none", *SHORT), "not_the_case", 0),
    ("late_wake", ("MUT-P-INV", "-p", "protocols=semaphore", *SHORT), "not_the_case", 0),
    ("late_wake", ("MUT-P-ARC", "-p", "protocols=none", *FEW), "not_the_case", 0),
    ("late_wake", ("MUT-P-ARC", "-p", "protocols=inherit", *FEW), "not_the_case", 0),
    ("no_protocol", ("MUT-P-ARC", "-p", "protocols=protect", *FEW), "not_the_case", 0),
    ("no_protocol", ("MUT-P-INV", "-p", "protocols=protect", *SHORT), "not_the_case", 0),
]


def undisturbed(probe: Path, words: tuple[str, ...], quick: list[str], **variables: str) -> Stream:
    """The first run into which nobody else on this machine has cut."""
    for _ in range(ATTEMPTS):
        stream = run(probe, *words, *quick, variables=variables)
        assert stream.code == 0, stream.stderr
        if "throttled" not in stream.events:
            return stream
    raise AssertionError(stream.events["throttled"].text)


@pytest.mark.parametrize(
    ("breach", "words", "event", "most"), DOUBTS, ids=[f"{one[0]}-{one[1][0]}" for one in DOUBTS]
)
def test_a_figure_of_something_else_is_left_out(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    breach: str,
    words: tuple[str, ...],
    event: str,
    most: int,
) -> None:
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": breach}
    stream = undisturbed(shared_probe, words, quick, **libc)
    assert stream.result.status == "failed" and stream.result.remedy
    assert event in stream.events
    timed = [one for one in stream.of(StreamSeries) if one.name != "signal_wait"]
    assert all(one.count <= most for one in timed), timed


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_slow_wake_ups_are_the_figure(
    shared_probe: Path, broken_libc: Path, quick: list[str], test: str
) -> None:
    """Nobody of the test has the CPU for long: all sleep, which is what is to be measured."""
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "sem_later"}
    stream = undisturbed(shared_probe, (test, *BY_NAME), quick, **libc)
    assert stream.result.status == "measured", stream.result.reason
    assert "idle_gap" in stream.events
    timed = [one for one in stream.of(StreamSeries) if one.name in ("round_trip", "shuffle")]
    assert all(one.count == 200 and (one.min or 0) >= LATER_NS for one in timed), timed


@pytest.mark.parametrize("length_ns", [32_000_000, 120_000_000])
@pytest.mark.parametrize(
    "words",
    [
        ("SEM-P-RTP", "-p", "kinds=unnamed"),
        ("SEM-P-SHF", "-p", "kinds=unnamed"),
        ("MUT-P-ARC",),
        ("SEM-P-ARC", "-p", "kinds=unnamed"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_taken_is_no_slow_wake_up(
    probe: Path, hog: Path, quick: list[str], words: tuple[str, ...], length_ns: int
) -> None:
    options = ["--samples", "0", "--duration-ns", "2s", "--priority", "90", *quick]
    command = [str(hog), str(machine.cpu()), "99", str(length_ns), "150000000", "6"]
    with (
        measuring(probe, *words, *options) as running,
        subprocess.Popen(command, stdout=subprocess.DEVNULL) as above,
    ):
        stream = running.rest()
        above.wait()
    assert stream.result.status == "failed"
    assert "CPU was not given" in (stream.result.reason or "")
    assert {"throttled", "idle_gap"} & stream.events.keys() == {"throttled"}


def first_is_worst(stream: Stream) -> set[str]:
    """Series whose first value is worse than the others by more than cold caches make it."""
    return {
        f"{one.name} {one.labels}"
        for one in stream.of(StreamSeries)
        if one.worst
        and one.worst[0].index == 0
        and one.worst[0].value_ns > 3 * one.worst[-1].value_ns
    }


@pytest.mark.parametrize(
    "words",
    [
        ("MUT-P-ARC",),
        ("MUT-P-INV", "-p", "protocols=inherit,protect", "-p", "medium_ns=100us"),
        ("MUT-P-ARN",),
        ("SEM-P-ARN",),
        ("SEM-P-SIG",),
    ],
    ids=lambda words: words[0],
)
def test_the_first_calls_are_not_the_worst(
    probe: Path, quick: list[str], words: tuple[str, ...]
) -> None:
    always: set[str] | None = None
    for _ in range(ATTEMPTS):
        found = first_is_worst(undisturbed(probe, (*words, "--samples", "400"), quick))
        always = found if always is None else always & found
        if not always:
            return
    raise AssertionError(always)
