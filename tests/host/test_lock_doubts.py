"""Figures of threads, semaphores and mutexes whose event did not take place are left out, and
fail the result; what a first call costs is in none of them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests import machine
from tests.host.hogs import cut
from tests.running import Stream, children, lowest, measuring, run

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

WAIT_S = 60
MEDIUM_NS = 10_000_000
LATER_NS = 3_000_000  # of sem_later
FEW = ("--samples", "200")
BY_NAME = ("-p", "kinds=named", "-p", "scopes=thread", *FEW)
SHORT = ("-p", "medium_ns=1ms", *FEW)

DOUBTS = [
    ("sem_zero", ("SEM-P-SHF", *BY_NAME), "not_handed_over", 0),
    ("sem_zero", ("SEM-P-RTP", *BY_NAME), "not_handed_over", 0),
    ("late_wake", ("MUT-P-INV", "-p", "protocols=none", *SHORT), "not_the_case", 0),
    ("late_wake", ("MUT-P-ARC", "-p", "protocols=none", *FEW), "not_the_case", 0),
    ("late_wake", ("MUT-P-ARC", "-p", "protocols=inherit", *FEW), "not_the_case", 0),
    ("no_protocol", ("MUT-P-ARC", "-p", "protocols=protect", *FEW), "not_the_case", 0),
    ("no_protocol", ("MUT-P-INV", "-p", "protocols=protect", *SHORT), "not_the_case", 0),
]


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
    stream = run(shared_probe, *words, *quick, variables=libc).checked()
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
    words = (test, "-p", "kinds=named", "-p", "scopes=thread", "--samples", "40")
    stream = run(shared_probe, *words, *quick, variables=libc).checked()
    assert stream.result.status == "measured", stream.result.reason
    assert "idle_gap" in stream.events
    timed = [one for one in stream.of(StreamSeries) if one.name in ("round_trip", "shuffle")]
    assert all(one.count == 40 and (one.min or 0) >= LATER_NS for one in timed), timed


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
    # the hog goes on for longer than a busy machine takes to begin measuring, and ends with the run
    stream = cut(probe, hog, [*words, *options], [str(length_ns), "150000000", "40"])
    assert stream.result.status == "failed"
    assert "CPU was not given" in (stream.result.reason or "")
    assert {"throttled", "idle_gap"} & stream.events.keys() == {"throttled"}


def test_the_table_of_primitives(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "MUT-B-INV", "-p", "medium_ns=1ms", *quick).checked()
    table = {
        name: {
            str(one.labels["primitive"]): one.max
            for one in stream.of(StreamSeries)
            if one.name == name
        }
        for name in ("inverted", "ended_by_watchdog")
    }
    spared = {"inherit", "protect", "robust-inherit", "spin"}
    assert table["inverted"] == {one: int(one not in spared) for one in table["inverted"]}
    watched = table["ended_by_watchdog"]
    assert watched == {one: int(one == "spin") for one in watched}
    assert len(watched) == len(table["inverted"]) == 9
    delays = [one for one in stream.of(StreamSeries) if one.name == "delay"]
    assert [one.labels["primitive"] for one in delays if one.count == 0] == ["spin"]


def test_inheritance_and_ceilings_spare_the_delay_of_medium(probe: Path, quick: list[str]) -> None:
    """Less than a hundredth of what the same run loses without them, medium's 10 ms."""
    stream = run(probe, "MUT-P-INV", "--samples", "21", *quick).checked()
    delays = {str(one.labels["protocol"]): median(one) for one in stream.of(StreamSeries)}
    assert MEDIUM_NS <= delays["none"] < MEDIUM_NS * 1.2
    assert MEDIUM_NS <= delays["semaphore"] < MEDIUM_NS * 1.2
    assert all(0 < delays[one] * 100 < delays["none"] for one in ("inherit", "protect")), delays


def median(series: StreamSeries) -> int:
    """The lower edge of the bucket of the middle value."""
    seen = 0
    for index, count in series.histogram.buckets:
        seen += count
        if 2 * seen >= series.count:
            return lowest(index)
    raise AssertionError(series)


def test_a_set_that_somebody_removes_ends_the_test(probe: Path, quick: list[str]) -> None:
    words = ("SEM-P-RTP", "-p", "kinds=sysv", "-p", "scopes=thread")
    forever = ("--samples", "0", "--duration-ns", "20s")
    with measuring(probe, *words, *forever, *quick) as running:
        give_up_s = time.monotonic() + WAIT_S
        # one that goes between two calls is not missed: the test goes on with the next set
        while running.process.poll() is None and time.monotonic() < give_up_s:
            for one in sets_of(running.pid):
                subprocess.run(["ipcrm", "-s", one], check=False, capture_output=True)
            time.sleep(0.05)
        stream = running.rest()
    assert stream.result.status == "failed"
    assert "a V or a P failed" in (stream.result.reason or "")


BY_CONDITION = ("-p", "kinds=mutex", *FEW)


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
@pytest.mark.parametrize("scope", ["thread", "process"])
def test_a_wait_for_a_condition_variable_that_fails_ends_the_test(
    shared_probe: Path, broken_libc: Path, quick: list[str], test: str, scope: str
) -> None:
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "cond_fails"}
    words = (test, *BY_CONDITION, "-p", f"scopes={scope}")
    stream = run(shared_probe, *words, *quick, variables=libc).checked()
    assert stream.result.status == "failed"
    assert "a V or a P failed" in (stream.result.reason or "")
    assert "condition variable" in (stream.result.reason or "")
    assert ("signal_wait_mean" in stream.events) == (test == "SEM-P-RTP")


@pytest.mark.parametrize("test", ["SEM-P-RTP", "SEM-P-SHF"])
def test_a_wait_for_a_condition_variable_may_return_early(
    shared_probe: Path, broken_libc: Path, quick: list[str], test: str
) -> None:
    """As POSIX allows; the count says whether it was signalled."""
    libc = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "cond_early"}
    stream = run(shared_probe, test, *BY_CONDITION, *quick, variables=libc).checked()
    assert stream.result.status == "measured", stream.result.reason
    timed = [one for one in stream.of(StreamSeries) if one.name in ("round_trip", "shuffle")]
    assert [one.count for one in timed] == [200, 200]


def sets_of(pid: int) -> list[str]:
    """Sets of System V semaphores on which a thread of the process works."""
    lines = Path("/proc/sysvipc/sem").read_text().splitlines()[1:]
    known = [line.split()[1] for line in lines]
    return [one for one in known if last_user(one) == pid]


def last_user(semaphore_set: str) -> int:
    done = subprocess.run(
        ["ipcs", "-s", "-i", semaphore_set], capture_output=True, text=True, check=False
    )
    row = done.stdout.splitlines()[-2:-1]
    return int(row[0].split()[-1]) if row and row[0].split()[-1:][0].isdigit() else 0


LIMITED = ("-p", "kinds=unnamed,named", "--samples", "20")


@pytest.mark.parametrize(
    ("test", "limit"), [("SEM-P-NEW", 5), ("SEM-P-NEW", 6), ("SEM-P-SHF", 6), ("SEM-P-RTP", 6)]
)
def test_too_few_open_files_are_a_limit(
    probe: Path, quick: list[str], test: str, limit: int
) -> None:
    if reason := machine.no_prlimit():
        pytest.skip(reason)
    stream = run(probe, test, *LIMITED, *quick, prefix=["prlimit", f"--nofile={limit}"])
    assert stream.result.status == "denied", stream.result
    assert "ulimit -n" in (stream.result.remedy or "")
    assert "kind_unsupported" not in stream.events


def test_a_limit_on_threads_leaves_the_smaller_rings(open_probe: Path, quick: list[str]) -> None:
    if reason := machine.no_other_user() or machine.no_prlimit():
        pytest.skip(reason)
    rights = "+sys_nice,+ipc_lock"
    user = ["setpriv", f"--reuid={machine.NOBODY_ID}", f"--regid={machine.NOBODY_ID}"]
    user += ["--clear-groups", f"--inh-caps={rights}", f"--ambient-caps={rights}"]
    words = ("-p", "threads=2,1000", "--samples", "2000", *quick)
    stream = run(open_probe, "THR-P-SLS", *words, prefix=["prlimit", "--nproc=60:60", *user])
    if not stream.raw or "sys_nice" in (stream.result.remedy or ""):
        pytest.skip(f"an ordinary user cannot be given rights here: {stream.stderr.strip()}")
    counts = [(one.labels["threads"], one.count) for one in stream.of(StreamSeries)]
    assert stream.result.status == "denied"
    assert "ulimit -u" in (stream.result.remedy or "")
    assert "ulimit -v" in (stream.result.remedy or "")
    assert counts == [(2, 2000), (1000, 0)]


@pytest.mark.parametrize(
    ("test", "value"),
    [("THR-P-SLS", "threads=2,2"), ("SEM-P-SIG", "kinds=unnamed,named,unnamed")],
)
def test_what_is_there_twice_is_wrong_input(probe: Path, test: str, value: str) -> None:
    stream = run(probe, test, "-p", value)
    assert stream.code == 2 and "is there twice" in stream.stderr


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
    assert first_is_worst(run(probe, *words, "--samples", "400", *quick).checked()) == set()


SHM = Path("/dev/shm")
IN_THE_MAKING_S, LONG_IN_THE_MAKING_S = 0.05, 0.15
GUARD_S = 1.5  # it looks twice, a moment apart


@pytest.mark.skipif(not SHM.is_dir(), reason="semaphores have no files here")
def test_the_guard_spares_what_another_probe_is_making(probe: Path, quick: list[str]) -> None:
    """A file of the probe's mark that comes and goes, beside one that was left behind."""
    left, made = SHM / "sem.hslef1", SHM / "sem.hsmad1"
    words = ("-p", "kinds=named", "--samples", "0", "--duration-ns", "20s", *quick)
    try:
        with measuring(probe, "SEM-P-SIG", *words) as running:
            wait_for_name(running.pid)
            left.touch(0o700)
            running.process.kill()
            least_s = time.monotonic() + GUARD_S
            while time.monotonic() < least_s or left.exists():
                begin_s = time.monotonic()
                assert begin_s < least_s + WAIT_S, "what was left is still there"
                made.touch(0o700)
                time.sleep(IN_THE_MAKING_S)
                # fails where the guard was there before, but for one that was there for long
                made.unlink(missing_ok=time.monotonic() - begin_s > LONG_IN_THE_MAKING_S)
    finally:
        left.unlink(missing_ok=True)
        made.unlink(missing_ok=True)


def wait_for_name(pid: int) -> None:
    """Until the probe has its guard: a child of it."""
    give_up_s = time.monotonic() + WAIT_S
    while time.monotonic() < give_up_s:
        if children(pid):
            return
        time.sleep(0.01)
    raise AssertionError("the probe has no guard")
