"""A program that somebody stops: the values that were under way are kept apart, whoever stops it,
and what the system did itself stays in the figures."""

from __future__ import annotations

import gc
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hardstone.model import PlannedTest, Stopped, StreamSeries
from hardstone.stats.identity import series_problem
from hardstone.targets.base import ProbeTimeoutError, RunOptions, Stop
from hardstone.targets.local import local_target
from hardstone.targets.transport import Limits
from tests import machine
from tests.host.hogs import Bursts, hogging
from tests.host.place import group_of
from tests.running import Running, Stream, children, has_ended, measuring, state_of
from tests.waiting import wait_until

STOP_S = 0.6
MS = 1_000_000
STOP_NS = round(STOP_S * 1000) * MS
WAKEUPS = 300
TEN_MS = ("-p", "interval_ns=10ms", "--samples", str(WAKEUPS))


def is_stopped(pid: int) -> bool:
    return state_of(pid) in "Tt"


def by_signal(running: Running) -> None:
    running.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: is_stopped(running.pid))
    time.sleep(STOP_S)
    running.process.send_signal(signal.SIGCONT)


def by_freezer(group: Path) -> None:
    state = group / "freezer.state"
    freeze, frozen, thaw = ("FROZEN", "FROZEN", "THAWED")
    if not state.exists():
        state, freeze, frozen, thaw = group / "cgroup.freeze", "1", "1", "0"
    state.write_text(freeze)
    wait_until(lambda: state.read_text().strip() == frozen)
    time.sleep(STOP_S)
    state.write_text(thaw)


@contextmanager
def while_measuring(
    probe: Path, test: str, *words: str, group: Path | None = None
) -> Iterator[Running]:
    with measuring(probe, test, *words) as running:
        if group is not None:
            (group / "cgroup.procs").write_text(str(running.pid))
        machine.wait_for_wakeups(running.pid, 20)
        yield running


def stopped_of(series: StreamSeries) -> Stopped:
    assert isinstance(series.stopped, Stopped), series
    return series.stopped


def check_recording(stream: Stream) -> None:
    """Of TMR-P-LAT: one wake-up, and each release that it missed, are apart and in nothing else."""
    (wakeup,) = [one for one in stream.named("wakeup") if one.labels["part"] == "total"]
    (release,), (missed,) = stream.named("release"), stream.named("missed")
    apart = stopped_of(wakeup)
    assert stream.result.status == "measured", stream.result
    assert apart.count == 1 and apart.worst > STOP_NS - 20 * MS
    assert stopped_of(release).count == apart.worst // (10 * MS) + 1
    assert stopped_of(missed).worst == apart.worst // (10 * MS)
    assert wakeup.count == WAKEUPS
    for series in (wakeup, release, missed):
        assert series_problem(series) is None
        assert series.max is None or series.max < apart.worst
    (event,) = stream.told("stopped")
    others = [series.max for series in (wakeup, release) if series.max is not None]
    assert apart.worst - min(others) <= event.data["least_ns"] <= apart.worst


def is_bound(pid: int) -> bool:
    """Whether a thread of the probe, other than its first, may use the measured CPU alone."""
    for thread in machine.thread_ids(pid)[1:]:
        with suppress(*machine.HAS_GONE):
            if os.sched_getaffinity(thread) == {machine.cpu()}:
                return True
    return False


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="all threads are bound to one CPU")
def test_a_calibration_that_is_stopped_is_made_again(probe: Path, quick: list[str]) -> None:
    """A stop of it was told as a wake-up of the system that was slow, and lengthened or shortened
    all blocks."""
    words = ("--samples", "5", "--cpu", str(machine.cpu()), *quick)
    with measuring(probe, "RSP-P-FIX", *words) as running:
        wait_until(lambda: is_bound(running.pid))
        by_signal(running)
        stream = running.rest()
    assert stream.events["calibration_repeated"].data == {"what": "work"}
    assert not stream.told("stopped")
    assert all(one.data["gap_ns"] < STOP_NS for one in stream.told("idle_gap"))
    assert stream.result.calibrated


def test_a_stop_by_a_signal_is_kept_apart(probe: Path, quick: list[str]) -> None:
    with while_measuring(probe, "TMR-P-LAT", *TEN_MS, *quick) as running:
        by_signal(running)
        check_recording(running.rest())


def written_bytes(pid: int) -> int:
    return int(re.search(r"wchar: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])


def test_a_file_in_which_the_program_was_stopped_is_in_no_rate(
    probe: Path, quick: list[str], tmp_path: Path
) -> None:
    """1500 MiB are one file of 2 GiB that is not whole: it was the rate, with the stop in it."""
    words = ("-p", "mode=buffered", "--samples", "1500", "--dir", str(tmp_path), *quick)
    with measuring(probe, "FIO-P-STR", *words) as running:
        wait_until(lambda: written_bytes(running.pid) > 50 << 20)
        by_signal(running)
        stream = running.rest()
    (total,) = stream.named("total")
    assert stopped_of(total).count == 1 and stopped_of(total).worst > STOP_NS
    assert not stream.told("streamed")


def test_ctrl_z_does_not_stop_a_recording(probe: Path, quick: list[str]) -> None:
    with while_measuring(probe, "TMR-P-LAT", *TEN_MS, *quick) as running:
        running.process.send_signal(signal.SIGTSTP)
        stream = running.rest()
    assert stream.result.status == "measured"
    assert stream.told("stopped") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a control group")
def test_a_frozen_group_is_kept_apart(probe: Path, quick: list[str]) -> None:
    with (
        group_of("freezer") as group,
        while_measuring(probe, "TMR-P-LAT", *TEN_MS, *quick, group=group) as running,
    ):
        by_freezer(group)
        check_recording(running.rest())


def test_a_stop_does_not_cross_the_threshold(probe: Path, quick: list[str]) -> None:
    words = (*TEN_MS, "-p", f"threshold_ns={STOP_NS // 2}")
    with while_measuring(probe, "TMR-P-LAT", *words, *quick) as running:
        by_signal(running)
        check_recording(running.rest())


def test_a_signal_to_go_on_is_no_stop(probe: Path, quick: list[str]) -> None:
    """Nobody hides a late value by sending one."""
    with while_measuring(probe, "TMR-P-LAT", *TEN_MS, *quick) as running:
        for _ in range(20):
            running.process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
        stream = running.rest()
    assert stream.told("stopped") == []
    assert all(not isinstance(one.stopped, Stopped) for one in stream.named("wakeup"))


@machine.needs(machine.no_realtime())
def test_starvation_is_no_stop(probe: Path, hog: Path, quick: list[str]) -> None:
    """A thread of higher priority takes the CPU: that is what is measured."""
    bursts = Bursts(length_ns=100 * MS, period_ns=1000 * MS, count=1)
    with (
        while_measuring(probe, "TMR-P-LAT", *TEN_MS, *quick) as running,
        hogging(hog, bursts),
    ):
        stream = running.rest()
    assert stream.told("stopped") == []


def published_masses_text(probe: Path, limits: Limits, on_told: Callable[[str], None]) -> Stream:
    """What the tool reads of a recording that it has started; `on_told` hears what is said."""
    target = local_target(probe, limits=limits)
    planned = PlannedTest(
        test="TMR-P-LAT",
        params={"interval_ns": 10 * MS},
        samples=WAKEUPS,
        duration_ns=0,
        deadline_ns=60_000 * MS,
        expected_ns=WAKEUPS * 10 * MS,
    )
    is_stopped_once = False

    def on_idle(said: str = "") -> None:
        nonlocal is_stopped_once
        if not is_stopped_once:
            (pid,) = children(os.getpid())
            machine.wait_for_wakeups(pid, 20)
            is_stopped_once = True
            on_told(str(pid))
        elif said:
            on_told(said)

    lines = list(target.run(planned, RunOptions(), None, Stop(), on_idle))
    return Stream("TMR-P-LAT", 0, b"\n".join(lines))


def test_the_tool_tells_of_a_stop_and_of_its_end(probe: Path) -> None:
    told: list[str] = []

    def on_told(said: str) -> None:
        told.append(said)
        if len(told) == 1:
            os.kill(int(said), signal.SIGSTOP)
        if len(told) == 2:
            os.kill(int(told[0]), signal.SIGCONT)

    stream = published_masses_text(probe, Limits(300.0), on_told)
    assert f"kill -CONT {told[0]}; " in told[1]
    assert [one.partition(" for about")[0] for one in told[2:]] in (
        [],  # it had sent all before the next look
        ["the probe continues; it was stopped"],
    )
    assert stream.result.status == "measured"
    (event,) = stream.told("stopped")
    assert isinstance(event.data["least_ns"], int) and event.data["least_ns"] > 500 * MS


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a control group")
@pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")  # nobody waits for what is left
def test_the_tool_tells_of_a_frozen_group_and_leaves_what_it_cannot_end(probe: Path) -> None:
    """SIGKILL does not end what a group of version 1 has frozen."""
    told: list[str] = []
    with group_of("freezer") as group:
        state = group / "freezer.state"
        is_v1 = state.exists()
        state = state if is_v1 else group / "cgroup.freeze"

        def on_told(said: str) -> None:
            told.append(said)
            if len(told) == 1:
                (group / "cgroup.procs").write_text(said)
                state.write_text("FROZEN" if is_v1 else "1")

        try:
            with pytest.raises(
                ProbeTimeoutError, match=r"was stopped .* is frozen.*was ended"
            ) as one:
                published_masses_text(probe, Limits(4.0, halted_s=1.0, end_s=1.0), on_told)
            is_left = f"process {told[0]} survived SIGKILL" in one.value.cause
            del one
        finally:
            state.write_text("THAWED" if is_v1 else "0")
        assert is_left == is_v1
        wait_until(lambda: has_ended(int(told[0])))
        gc.collect()
        with suppress(ChildProcessError):
            os.waitpid(int(told[0]), 0)
    assert f"{group.name} is frozen); thaw it with echo " in told[1] and f" > {state}; " in told[1]


def test_a_deadline_does_not_pass_while_stopped(probe: Path, quick: list[str]) -> None:
    words = (*TEN_MS, *quick, "--deadline-ns", "4500ms")
    with while_measuring(probe, "TMR-P-LAT", *words) as running:
        running.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(running.pid))
        time.sleep(4.0)
        running.process.send_signal(signal.SIGCONT)
        stream = running.rest()
    assert stream.result.status == "measured", stream.result
