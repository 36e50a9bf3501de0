"""The simulation of the tire by the real probe: what is late counts once, what is done is counted,
threads are those that were asked for, pictures are those of another implementation."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardstone.cli import tire
from hardstone.cli.simulate import RealtimeOptions
from hardstone.cli.simulate import command as simulate_command
from hardstone.model import Result, StreamTable
from hardstone.simulation.results import has_costs_only
from hardstone.simulation.sweep import curve_of, masses_of, missed_of, single
from hardstone.store.store import Store
from tests import machine
from tests.running import GIVE_UP_S, Stream, has_ended, measuring, run
from tests.waiting import soon, wait_until

pytestmark = machine.needs(machine.no_realtime())

RT, RF = "SIM-S-RT", "SIM-P-RF"
PERIOD_NS = 10_000_000
BOTH = ("-p", "solver=semaphore,barrier")


def simulations(stream: Stream) -> list[dict[str, object]]:
    return [one.data for one in stream.told("simulation")]


def counts(stream: Stream, name: str) -> list[int]:
    return [one.count for one in stream.named(name)]


def values(stream: Stream, name: str) -> list[int | None]:
    return [one.max for one in stream.named(name)]


@pytest.fixture
def free(quick: list[str]) -> list[str]:
    """Saves the second of calibration, and binds to nothing."""
    return quick[:2]


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
    # each of the four has missed this step, and no other
    assert stream.verdicts["late_once"]
    assert [one["missed_count"] for one in told] == values(stream, "missed") == [1] * 4
    assert counts(stream, "lateness") == [1] * 4
    assert {one.get("first_missed_count") for one in told} == {3}


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
    assert stream.result.status == "skipped"
    assert "the 50 ms were over before the first value" in str(stream.result.reason)
    assert counts(stream, "total_time") == [0]
    (told,) = simulations(stream)
    assert told["steps_count"] != 6000


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


# ---- threads ----


def test_steps_begin_at_their_release(probe: Path, free: list[str]) -> None:
    """Each thread, and the release is that of the deadline: those that are late add up to no
    drift, and a step that is early is none."""

    words = ("-p", "threads=2", "-p", "block_steps=20", "-p", "masses=400", *BOTH)
    result, problem = run(probe, RT, *free, "--samples", "20", *words).read_by_the_toolkit()
    assert problem is None
    blocks = [table for table in result.tables if table.name == "blocks"]
    assert [table.data["thread"] for table in blocks] == [0, 1, 0, 1]
    tables = [table.columns for table in blocks]
    order = ("release_ns", "begin_ns", "read_ns", "compute_ns", "write_ns")
    for one in tables:
        assert one["step"] == list(range(1, 21))
        assert one["release_ns"] == [step * PERIOD_NS for step in range(20)]
        for row in zip(*(one[name] for name in order), strict=True):
            assert list(row) == sorted(row)
    waits = [
        [begin - release for release, begin in zip(one["release_ns"], one["begin_ns"], strict=True)]
        for one in tables
    ]
    assert min(map(min, waits)) >= 0
    read_ns, write_ns = (
        sum(
            end - begin
            for one in tables[:2]
            for end, begin in zip(one[last], one[first], strict=True)
        )
        for last, first in (("read_ns", "begin_ns"), ("write_ns", "compute_ns"))
    )
    # three semaphores of each mass to read, one to write
    assert 1 <= read_ns / write_ns <= 100
    assert max(min(one[10:]) for one in waits) <= PERIOD_NS * 0.125


def test_total_time_ends_with_the_last_step_of_the_last_thread(
    probe: Path, free: list[str]
) -> None:
    words = ("-p", "threads=3", "-p", "step_ns=100ms", "-p", "block_steps=10", *BOTH)
    stream = run(probe, RF, *free, "-p", "simulated_s=1", *words)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    ends = [table.columns["write_ns"][9] for table in result.tables]
    totals = [total for total in values(stream, "total_time") if total is not None]
    lasts = [max(ends[:3]), max(ends[3:])]
    after = [total - last for total, last in zip(totals, lasts, strict=True)]
    assert min(after) >= 0
    assert max(after) <= 1_000_000


def test_cpu_time_and_switches_of_one_thread(probe: Path, free: list[str]) -> None:
    """It has no more CPU time than there is; it sleeps once a step, of its own accord."""
    words = ("-p", "threads=1", "-p", "masses=4000")

    fast = run(probe, RF, *free, *words, "-p", "simulated_s=5")
    (told,), (total,) = simulations(fast), values(fast, "total_time")
    cpu_ns = told["cpu_ns"]
    assert isinstance(cpu_ns, int) and total is not None and cpu_ns <= total + 1_000_000
    (slow,) = simulations(run(probe, RT, *free, *words, "--samples", "20"))
    willing, forced = slow.get("voluntary_count", 20), slow.get("involuntary_count", 0)
    assert isinstance(willing, int) and isinstance(forced, int)
    assert 0.6 <= cpu_ns / total <= 1.1
    assert 15 <= willing <= 25
    assert forced <= 10


def scheduling_of(pid: int) -> Counter[tuple[int, int]]:
    """Policy and priority of each thread of a process but the first, which supervises."""
    found = Counter[tuple[int, int]]()
    for one in machine.thread_ids(pid)[1:]:
        with suppress(ProcessLookupError):  # threads of the preparation come and go
            found[os.sched_getscheduler(one), priority_of(one)] += 1
    return found


def priority_of(thread: int) -> int:
    return os.sched_getparam(thread).sched_priority


POLICIES = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR, "other": os.SCHED_OTHER, "deadline": 6}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("policy", ["fifo", "rr", "other", "deadline"])
def test_threads_have_the_policy_and_their_parents_priority(
    probe: Path, free: list[str], policy: str, named: bool
) -> None:
    """Three threads and their parent, as the kernel says. With `named` the policy is the
    parameter's, else that of the run; nobody inherits SCHED_DEADLINE."""
    if policy == "deadline" and not named:
        pytest.skip("no policy of a run")
    words = ("-p", f"policy={policy}") if named else ("--policy", policy)
    long = ("--samples", "0", "--duration-ns", "30s", "-p", "threads=3", "-p", "step_ns=1ms")
    priority = 0 if policy in {"other", "deadline"} else 37
    asked = () if policy == "other" and not named else ("--priority", "37")
    with measuring(probe, RT, *free, *long, *words, *asked) as running:
        wanted = Counter({(POLICIES[policy], priority): 3 if policy == "deadline" else 4})
        if policy == "deadline":
            wanted[os.SCHED_FIFO, 37] = 1
        is_as_wanted = soon(lambda: scheduling_of(running.pid) == wanted, within_s=15)
        stream = running.stopped()
    if policy == "deadline" and stream.result.status in {"denied", "unsupported"}:
        pytest.skip(str(stream.result.reason))
    assert is_as_wanted
    (told,) = simulations(stream)
    assert told["policy"] == policy


# ---- pictures ----

MASSES, STEP_S, PICTURES = 40, 0.001, 11
Array = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def pull(place: Array, speed: Array, other: np.ndarray, rest_m: float) -> Array:
    """Acceleration of each mass by the spring to the mass `other`: its place in the circle."""
    way, difference = place[other] - place, speed[other] - speed
    stretch = 1.0 - rest_m / np.hypot(way[:, 0], way[:, 1])
    kappa = 0.1 / STEP_S**2
    return kappa * stretch[:, None] * way + kappa * 2 * STEP_S * difference


def pictures() -> list[Array]:
    """Places in a second of simulated time, by explicit Euler."""
    at = np.arange(MASSES)
    angle = 2 * np.pi * at / MASSES
    place = np.stack([0.3 * np.sin(angle), 0.8 + 0.3 * np.cos(angle)], axis=1)
    speed = np.zeros_like(place)
    kept, ring_m = [place], 0.6 * np.sin(np.pi / MASSES)
    for step in range(1, 1001):
        force = pull(place, speed, (at - 1) % MASSES, ring_m)
        force += pull(place, speed, (at + 1) % MASSES, ring_m)
        force += pull(place, speed, (at + MASSES // 2) % MASSES, 0.6)
        place, speed = place + STEP_S * speed, speed + STEP_S * (force - [0.0, 9.81])
        is_down = place[:, 1] <= 0.0
        place[is_down, 1] = 0.0
        speed[is_down, 1] = np.maximum(speed[is_down, 1], 0.0)
        if step % 100 == 0:
            kept.append(place)
    return kept


def test_pictures_are_those_of_another_implementation(probe: Path, free: list[str]) -> None:
    words = (f"masses={MASSES}", "threads=1", "simulated_s=1", "step_ns=1ms", f"frames={PICTURES}")
    options = (part for word in words for part in ("-p", word))
    tables = run(probe, RF, *free, *options).of(StreamTable)
    assert [table.data["simulated_ns"] for table in tables] == [k * 10**8 for k in range(PICTURES)]
    for table, place in zip(tables, pictures(), strict=True):
        seen = np.stack([table.columns["x_um"], table.columns["y_um"]], axis=1)
        assert np.abs(seen - 1e6 * place).max() < 1.0


# ---- a sweep ----

SWEEP = ("--threads", "1,2", "--masses", "400,404", "-D", "50ms", "--blocks", "2", "--no-fast")


def event(result: Result, name: str) -> dict[str, Any]:
    (data,) = [one.data for one in result.events if one.name == name]
    return data


def test_a_sweep_on_this_machine(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    context = simulate_command.commands["realtime"].make_context("realtime", [*SWEEP, "-q"])
    tire.simulate("realtime", RealtimeOptions(**context.params), wants_report=False)
    document = Store().load("last")
    points = [one for one in document.results if one.test == "SIM-S-RT" and curve_of(one)]
    if any(one.status == "denied" for one in points):
        pytest.skip(f"denied: {points[0].reason}")
    (costs,) = [one for one in document.results if has_costs_only(one)]
    assert costs.status == "measured" and costs.series == []
    assert [one.name for one in costs.events].count("size_predicted") == 2
    (pictures,) = [one for one in document.results if one.test == "SIM-P-RF"]
    assert sum(table.name == "frame" for table in pictures.tables) == 8
    places = [(masses_of(one), single(one.params["threads"])) for one in points]
    assert sorted(places[:4]) == [(400, 1), (400, 2), (404, 1), (404, 2)]
    assert len(places) == 6  # each curve once more, with its blocks
    for one in points:
        said = event(one, "simulation")
        assert (said["masses_count"], said["threads_count"]) == (
            masses_of(one),
            single(one.params["threads"]),
        )
        assert said["released_count"] == 5 >= said["missed_count"] == missed_of(one.series)
        blocks = [table for table in one.tables if table.name == "blocks"]
        kept = said["threads_count"] if one.params["block_steps"] else 0
        assert len(blocks) == kept
        assert all(len(table.columns["step"]) == 2 for table in blocks)
