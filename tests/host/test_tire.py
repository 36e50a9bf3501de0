"""The simulation by the real probe: a step that is made late counts once and only once, one that is
far too large ends in time and counts, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests import machine
from tests.host.tire import BOTH, PERIOD_NS, RF, RT, counts, simulations, values
from tests.running import GIVE_UP_S, Stream, has_ended, measuring, run
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)


@pytest.fixture
def free(quick: list[str]) -> list[str]:
    """Saves the second of calibration, and binds to nothing."""
    return quick[:2]


def check_missed(stream: Stream, missed: int) -> None:
    """Each of the four simulations has missed the steps that were made late, and no others."""
    told = simulations(stream)
    assert stream.verdicts["late_once"]
    assert [one["missed_count"] for one in told] == [missed] * 4
    assert values(stream, "missed") == [missed] * 4
    assert counts(stream, "lateness") == [missed] * 4


def test_a_step_that_is_made_late_counts_once_and_only_once(probe: Path, free: list[str]) -> None:
    stream = run(probe, RT, *free, "--samples", "6", *BOTH, "-p", "delay_step=3")
    assert stream.result.status == "measured"
    assert stream.events["delayed_on_purpose"].data == {
        "step_count": 3,
        "delay_ns": PERIOD_NS * 3 // 2,
    }
    told = simulations(stream)
    assert [one["steps_count"] for one in told] == [6] * 4
    assert all(
        isinstance(late, int) and late >= PERIOD_NS // 2 for late in values(stream, "lateness")
    )
    check_missed(stream, 1)
    assert {one.get("first_missed_count") for one in told} == {3}


def test_a_delay_within_the_period_does_not_count(probe: Path, free: list[str]) -> None:
    stream = run(
        probe, RT, *free, "--samples", "4", *BOTH, "-p", "delay_step=2", "-p", "delay_ns=5ms"
    )
    assert stream.result.status == "measured"
    longest = [late for late in values(stream, "step_time") if isinstance(late, int)]
    assert min(longest) >= PERIOD_NS // 2
    check_missed(stream, 0)


def test_a_delay_of_two_and_a_half_periods_counts_for_each_deadline(
    probe: Path, free: list[str]
) -> None:
    words = ("-p", "delay_step=2", "-p", "delay_ns=25ms")
    stream = run(probe, RT, *free, "--samples", "6", *BOTH, *words)
    assert stream.result.status == "measured"
    check_missed(stream, 2)


@pytest.mark.parametrize("solver", ["semaphore", "barrier"])
def test_what_is_far_too_large_ends_in_time_and_counts(
    probe: Path, free: list[str], solver: str
) -> None:
    began_s = time.monotonic()
    words = ("-p", "masses=400000", "-p", f"solver={solver}", "-p", "step_ns=200us")
    stream = run(probe, RT, *free, "--samples", "200", *words)
    assert stream.result.status == "measured"
    assert time.monotonic() - began_s < GIVE_UP_S / 2
    for one, steps in zip(simulations(stream), counts(stream, "step_time"), strict=True):
        assert one["released_count"] == 200 and one["missed_count"] == 200
        assert one["first_missed_count"] == 1
        assert one["steps_count"] == steps < 200  # those that were never done count too
    assert counts(stream, "lateness") == counts(stream, "step_time")


def test_a_thread_that_stays_far_behind_ends_its_simulation(probe: Path, free: list[str]) -> None:
    """There are slots for 4096 steps, 41 ms here."""
    words = ("-p", "masses=8", "-p", "threads=2", "-p", "step_ns=10us")
    late = ("-p", "delay_step=1", "-p", "delay_ns=400ms")
    stream = run(probe, RT, *free, "--samples", "100000", *words, *late)
    assert stream.result.status == "measured"
    assert stream.events["simulation_out_of_step"].data["steps_count"] == 4096
    (told,) = simulations(stream)
    released, missed = told["released_count"], told["missed_count"]
    assert isinstance(released, int) and isinstance(missed, int)
    assert 4096 <= missed <= released <= 100_000
    assert stream.verdicts["late_once"]


def test_every_step_is_counted_once(probe: Path, free: list[str]) -> None:
    """More threads than CPUs, and a load of their own making: whatever is missed adds up."""
    words = ("-p", "threads=1,7", "-p", "masses=20000", "-p", "step_ns=500us")
    stream = run(probe, RT, *free, "--samples", "40", *BOTH, *words, "-p", "policy=fifo,rr,other")
    assert stream.result.status == "measured"
    told = simulations(stream)
    assert len(told) == 12
    for one, steps, late in zip(
        told, counts(stream, "step_time"), counts(stream, "lateness"), strict=True
    ):
        assert one["released_count"] == 40 and one["steps_count"] == steps
        assert one["missed_count"] == late + 40 - steps
    assert values(stream, "missed") == [one["missed_count"] for one in told]
    assert {one["policy"] for one in told} == {"fifo", "rr", "other"}


def test_operations_on_semaphores_add_up(probe: Path, free: list[str]) -> None:
    stream = run(
        probe, RF, *free, "-p", "masses=44", "-p", "threads=1,7", "-p", "simulated_s=1", *BOTH
    )
    assert stream.result.status == "measured"
    told = simulations(stream)
    done = {(one["solver"], one["threads_count"]): one for one in told}
    assert {one["steps_count"] for one in told} == {100}
    operations = {key: one["semaphore_operations_count"] for key, one in done.items()}
    assert operations.pop(("semaphore", 7)) == 4 * 44 * 100
    assert set(operations.values()) == {0}
    assert counts(stream, "total_time") == [1] * 4
    costs = stream.events["tire_costs"].data
    assert all(isinstance(costs[key], float) for key in ("spring_ns", "mass_ns", "semaphore_ns"))


def test_time_is_up_before_the_simulation(probe: Path, free: list[str]) -> None:
    words = ("-p", "masses=40000", "-p", "threads=2", "--samples", "0", "--duration-ns", "50ms")
    stream = run(probe, RF, *free, *words)
    assert stream.result.status == "measured"
    assert counts(stream, "total_time") == [0]
    (told,) = simulations(stream)
    assert told["steps_count"] != 6000


def test_blocks_of_each_thread(probe: Path, free: list[str]) -> None:
    words = ("-p", "threads=3", "-p", "block_steps=2", *BOTH)
    result, problem = run(probe, RT, *free, "--samples", "3", *words).read_by_the_toolkit()
    assert problem is None
    blocks = [table for table in result.tables if table.name == "blocks"]
    assert [table.data["thread"] for table in blocks] == [0, 1, 2, 0, 1, 2]
    for table in blocks:
        columns = table.columns
        assert columns["step"] == [1, 2] and columns["release_ns"] == [0, PERIOD_NS]
        order = ["release_ns", "begin_ns", "read_ns", "compute_ns", "write_ns"]
        for row in zip(*(columns[name] for name in order), strict=True):
            assert list(row) == sorted(row)


SOME_WAKEUPS = 500  # of two threads in real time: more than a step takes


def until_threads_work(pid: int, wakeups: int = 0) -> None:
    """Two of them, beside the one that supervises and their parent."""
    wait_until(lambda: len(machine.thread_ids(pid)) >= 4 or has_ended(pid))
    machine.wait_for_wakeups(pid, wakeups)
    time.sleep(0.05)  # of work, for what makes no wake-ups


LONG = ("--samples", "0", "--duration-ns", "30s", "-p", "threads=2")


@pytest.mark.parametrize("solver", ["semaphore", "barrier"])
@pytest.mark.parametrize("test", [RT, RF])
def test_it_ends_on_request(probe: Path, free: list[str], test: str, solver: str) -> None:
    size = ("-p", "masses=4000000") if test == RF else ("-p", "step_ns=1ms")
    with measuring(probe, test, *free, *LONG, *size, "-p", f"solver={solver}") as running:
        until_threads_work(running.pid, SOME_WAKEUPS if test == RT else 0)
        began_s = time.monotonic()
        stream = running.stopped()
        assert time.monotonic() - began_s < GIVE_UP_S / 2
    assert stream.result.interrupted
    if test == RT:
        (told,) = simulations(stream)
        assert isinstance(told["released_count"], int) and isinstance(told["steps_count"], int)
        assert told["released_count"] >= told["steps_count"] > 0


def test_a_kill_leaves_nothing(probe: Path, free: list[str]) -> None:
    with measuring(probe, RT, *free, *LONG, "-p", "step_ns=1ms") as running:
        until_threads_work(running.pid)
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
        assert not Path(f"/proc/{running.pid}").exists()
        assert not list(Path("/dev/shm").glob(f"hardstone-{running.pid}-*"))
