"""However a measurement ends, and at any moment: what was measured is kept, and the end is told.

What stays on the machine: test_leftovers.py. Between any two instructions:
probe/tests/test_recovery.c.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import termios
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hardstone.model import (
    StreamEvent,
    StreamHeader,
    StreamInterval,
    StreamSeries,
    StreamTable,
    StreamWindow,
)
from hardstone.stats.identity import windows_problem
from hardstone.store.slots import SlotCopier, slot_paths
from hardstone.targets.host_memory import HostMemory
from tests import machine
from tests.host.place import dumped
from tests.running import (
    GIVE_UP_S,
    Running,
    Stream,
    command,
    has_ended,
    measuring,
    run,
)
from tests.waiting import wait_until

LONG = ("--duration-ns", "60s", "--samples", "0")
SOME_COUNT = 100  # of wake-ups before the end
ONE_FORM = ("-p", "kinds=unnamed", "-p", "scopes=thread")


def measured_and_labelled(stream: Stream) -> None:
    assert stream.code == 0
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.interrupted
    assert result.status == "measured"
    assert "stopped early" in (result.reason or "")
    assert stream.sample_count > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, None])
def test_a_signal_or_the_end_of_input_keeps_what_was_measured(
    probe: Path, quick: list[str], number: signal.Signals | None
) -> None:
    with measuring(probe, "TMR-P-LAT", "--until-eof", *LONG, *quick) as running:
        assert running.process.stdin is not None
        running.process.stdin.write(b"still here\n" * 100)  # which ends nothing
        running.process.stdin.flush()
        machine.wait_for_wakeups(running.pid, SOME_COUNT)
        if number is None:
            running.close_input()
            measured_and_labelled(running.rest())
        else:
            measured_and_labelled(running.stopped(number))


@dataclass(frozen=True)
class Case:
    """What a test records, by the kind of line, and how many lines are waited for."""

    test: str
    words: Sequence[str] = ()
    kind: type[Any] = StreamSeries
    least: int = 1
    deadline: bool = field(default=True, kw_only=True)  # also ends by one

    def recorded(self, stream: Stream) -> list[Any]:
        if self.kind is StreamEvent:
            return stream.told("sustained_limit")
        if self.kind is StreamInterval:
            return [one for one in stream.of(StreamInterval) if not one.whole]
        return [one for one in stream.of(self.kind) if self.kind is not StreamSeries or one.count]


SMALL_TIRE = ("-p", "masses=16,20,24,28", "-p", "threads=2")
BOUNDS = ("-p", "passed_ns=100us", "-p", "failed_ns=99900")
CASES = [
    Case("TMR-P-LAT", ("-p", "interval_ns=1ms")),
    Case("SEM-P-SIG"),
    Case("CLK-P-BIN"),
    Case("TMR-P-JIT"),
    Case("SEM-P-RTP"),
    # Calibration would take all of a short deadline.
    Case("RSP-P-FIX", ("-p", "kinds=add", "-p", "add_operations=1000000")),
    Case("CLK-P-DUR", (), StreamWindow, 3),
    Case("TMR-P-LAT", ("-p", "interval_ns=1ms"), StreamInterval, deadline=False),
    Case(
        "SIM-S-RT",
        (*SMALL_TIRE, "-p", "block_steps=3", "-p", "policy=other"),
        StreamTable,
        deadline=False,
    ),
    # The search of `ipi` is over at once; that of `timer` is cut within a step, which is none then.
    Case(
        "IRQ-S-SUS",
        ("-p", "source=ipi,timer", *BOUNDS, "-p", "interrupts=1000000000"),
        StreamEvent,
        deadline=False,
    ),
]


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.deadline], ids=lambda one: str(one.test)
)
def test_a_deadline_keeps_what_was_measured(probe: Path, quick: list[str], case: Case) -> None:
    stream = run(probe, case.test, "--deadline-ns", "600ms", *case.words, *LONG, *quick)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.status == "timeout" and not result.interrupted
    assert "--deadline-ns" in (result.remedy or "")
    assert stream.sample_count > 0


@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.test} {one.kind.__name__}")
def test_a_killed_probe_leaves_what_it_recorded(
    probe: Path, quick: list[str], tmp_path: Path, case: Case
) -> None:
    file = tmp_path / "records"
    before: list[Any] = []

    def is_there() -> bool:
        if not file.exists():
            return has_ended(running.pid)
        before[:] = case.recorded(dumped(probe, file, case.test))
        return len(before) >= case.least or has_ended(running.pid)

    limits = LONG if case.kind is not StreamTable else ("--samples", "8")
    words = (*case.words, *limits, *quick, "--backing", str(file))
    with measuring(probe, case.test, *words) as running:
        wait_until(is_there)
        running.process.kill()
        assert running.rest().of(StreamSeries) == []
    left = dumped(probe, file, case.test)
    assert isinstance(left.lines[0], StreamHeader)
    result, problem = left.read_by_the_toolkit()
    assert problem is None and result.interrupted
    after = case.recorded(left)
    assert len(after) >= len(before) >= case.least
    if case.kind is StreamSeries:
        # By name: one that had no value before the kill may stand before one that had.
        counts = {(one.name, *one.labels.values()): one.count for one in after}
        assert all(counts[one.name, *one.labels.values()] >= one.count for one in before)
    elif case.kind is StreamWindow:
        assert windows_problem(after) is None
        assert [one.begin_ns for one in after[: len(before)]] == [one.begin_ns for one in before]
    elif case.kind is StreamTable:  # the last one was being filled
        assert after[: len(before) - 1] == before[:-1]
    elif case.kind is StreamEvent:
        assert [one.data["source"] for one in after] == ["ipi"]
        (period,) = [one for one in left.of(StreamSeries) if one.count and one.name != "loss"]
        assert period.labels == {"source": "ipi"} and period.min == 100_000


# ---- the file ----


def test_a_copy_made_at_work_is_read(probe: Path, quick: list[str], tmp_path: Path) -> None:
    """Of a test that records all the time, so that most copies hold parts of several moments: what
    a power cut leaves. The file itself is read at work too."""
    backing = tmp_path / "records"
    copier = SlotCopier(HostMemory("", tmp_path), str(backing), slots := slot_paths(tmp_path, 1))
    with measuring(
        probe, "SEM-P-RTP", "--backing", str(backing), *ONE_FORM, *LONG, *quick
    ) as running:
        wait_until(lambda: dumped(probe, backing, "SEM-P-RTP").sample_count)
        for _ in range(10):
            copier.copy()
            for path in (backing, *filter(Path.exists, slots)):
                result, problem = dumped(probe, path, "SEM-P-RTP").read_by_the_toolkit()
                assert problem is None and result.status == "measured"
        running.process.kill()


# ---- readers that go away or stop ----


def test_a_reader_that_goes_away_does_not_hang_it(probe: Path, quick: list[str]) -> None:
    options = ["--duration-ns", "300ms", "--samples", "0", *quick]
    with measuring(probe, "TMR-P-LAT", *options) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        code = running.process.wait(timeout=GIVE_UP_S)
    assert code in (70, -signal.SIGPIPE)


def test_a_full_disk_is_an_internal_error(probe: Path, quick: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(probe, "SEM-P-SIG", ["--samples", "100", *quick]),
            stdout=full,
            timeout=GIVE_UP_S,
            check=False,
        )
    assert done.returncode == 70


def test_a_stopped_reader_does_not_stop_the_machine(probe: Path, quick: list[str]) -> None:
    """More than a pipe holds, and nobody reads: while the probe waits to write, none of its
    threads may be one that others have to wait for. Its end is the last resort, a minute
    after the deadline, which is too long for here."""
    options = ["--duration-ns", "700ms", "--samples", "0", "-p", "via=syscall,vdso", *quick]
    with measuring(probe, "CLK-P-BIN", *options) as running:
        shrink(running)
        wait_until(lambda: has_ended(running.pid) or is_blocked(running))
        was_blocked = not has_ended(running.pid)
        policies = set(map(os.sched_getscheduler, machine.thread_ids(running.pid)))
        stream = running.rest()
    assert was_blocked
    assert policies == {os.SCHED_OTHER}
    assert stream.footer


def shrink(running: Running) -> None:
    assert running.process.stdout is not None
    fcntl.fcntl(running.process.stdout, getattr(fcntl, "F_SETPIPE_SZ", 1031), 4096)


def is_blocked(running: Running) -> bool:
    """The measuring thread has ended, and the other one has begun to write, which it does not do
    before, and sleeps."""
    assert running.process.stdout is not None
    is_alone = len(machine.thread_ids(running.pid)) == 1  # looked at first: then S is the write's
    unread = fcntl.ioctl(running.process.stdout, termios.FIONREAD, bytes(4))
    state = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return is_alone and any(unread) and state == "S"
