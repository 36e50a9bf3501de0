"""However a measurement ends, and at any moment: what was measured is kept, and the end is told.

What stays on the machine: test_leftovers.py. Between any two instructions:
probe/tests/test_arena_moves.c and test_record_recover.c.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import termios
import time
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
    children,
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
            return [one for one in stream.of(StreamEvent) if one.name == "sustained_limit"]
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
        (
            "-p",
            "masses=16,20,24,28",
            "-p",
            "threads=2",
            "-p",
            "block_steps=3",
            "-p",
            "policy=other",
        ),
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


def test_a_deadline_within_the_calibration_is_told(probe: Path, quick: list[str]) -> None:
    stream = run(probe, "RSP-P-FIX", "--deadline-ns", "100ms", *LONG, *quick)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.complete
    assert result.status == "timeout" and stream.sample_count == 0
    assert "whetstone_operations" not in result.calibrated


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
        assert all(new.count >= old.count for new, old in zip(after, before, strict=False))
    elif case.kind is StreamWindow:
        assert windows_problem(after) is None
        assert [one.begin_ns for one in after[: len(before)]] == [one.begin_ns for one in before]
    elif case.kind is StreamTable:  # the last one was being filled
        assert after[: len(before) - 1] == before[:-1]
    elif case.kind is StreamEvent:
        assert [one.data["source"] for one in after] == ["ipi"]
        (period,) = [one for one in left.of(StreamSeries) if one.count and one.name != "loss"]
        assert period.labels == {"source": "ipi"} and period.min == 100_000


def test_a_killed_party_is_told_with_a_remedy(probe: Path, quick: list[str]) -> None:
    words = ("-p", "kinds=unnamed", "-p", "scopes=process", *LONG, *quick)

    with measuring(probe, "SEM-P-RTP", *words) as running:
        machine.wait_for_wakeups(running.pid, SOME_COUNT)
        # the guard leads a session of its own
        (party,) = [one for one in children(running.pid) if os.getsid(one) != one]
        os.kill(party, signal.SIGKILL)
        stream = running.rest()
    assert (stream.result.status, stream.code) == ("failed", 3)
    assert stream.result.reason == "the process of the second party ended early"
    assert stream.result.remedy == "run the test again, and find out what kills processes"


# ---- the file ----


@pytest.fixture
def backing(tmp_path: Path) -> Path:
    return tmp_path / "records"


def test_a_copy_made_at_work_is_read(
    probe: Path, quick: list[str], backing: Path, tmp_path: Path
) -> None:
    """Of a test that records all the time, so that most copies hold parts of several moments: what
    a power cut leaves. The file itself is read at work too."""
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


def test_a_backing_file_is_private_and_whole(probe: Path, quick: list[str], backing: Path) -> None:
    options = ["--samples", "500", *ONE_FORM, *quick]
    stream = run(probe, "SEM-P-SIG", *options, "--backing", str(backing))
    assert backing.stat().st_mode & 0o777 == 0o600
    assert dumped(probe, backing, "SEM-P-SIG").sample_count == stream.sample_count == 500


def test_a_backing_file_that_exists_is_refused(
    probe: Path, quick: list[str], backing: Path
) -> None:
    backing.write_bytes(b"mine")
    stream = run(probe, "SEM-P-SIG", "--samples", "5", "--backing", str(backing), *quick)
    assert stream.result.status == "failed" and stream.code == 3
    assert str(backing)[:60] in (stream.result.reason or "")
    assert backing.read_bytes() == b"mine"


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root can make a small file system, with unshare",
)
def test_a_full_file_system_is_told(probe: Path, tmp_path: Path) -> None:
    words = f"mount -t tmpfs -o size=128k tmpfs {tmp_path} && exec "
    words += f"{probe} run SEM-P-SIG --json --samples 5 --backing {tmp_path}/records"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", words], capture_output=True, check=False
    )
    if not done.stdout:
        pytest.skip(f"no small file system: {done.stderr.decode().strip()}")
    stream = Stream("SEM-P-SIG", done.returncode, done.stdout)
    assert stream.result.status == "denied"
    assert "No space left" in (stream.result.reason or "")
    assert stream.read_by_the_toolkit()[1] is None


def test_a_file_of_nobody_is_no_recording(probe: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"not a recording" * 20000)
    done = dumped(probe, path, "TMR-P-LAT")
    assert (done.code, done.raw) == (2, b"")
    assert "not a record file" in done.stderr and done.stderr.count("\n") == 1


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


# ---- at any moment of a run of many short variants ----

# They share records: each has its place in the file when the next one begins.
MOMENTS = 6
Counts = dict[tuple[str, ...], list[int]]


def counts_of(stream: Stream) -> Counts:
    """Of each variant, in the order of measuring."""
    found: Counts = {}
    for series in stream.of(StreamSeries):
        buckets = sum(count for _, count in series.histogram.buckets)
        outside = series.histogram.underflow + series.histogram.overflow
        assert buckets + outside == series.count
        variant = tuple(f"{name}={value}" for name, value in series.labels.items())
        found.setdefault(variant, []).append(series.count)
    return found


def check(counts: Counts, whole: Counts) -> None:
    """All variants before the one at work are whole, all behind it empty."""
    assert list(counts) == list(whole)
    begun = [name for name, found in counts.items() if any(found)]
    for name in begun[:-1]:
        assert counts[name] == whole[name]
    for name in begun[-1:]:
        assert all(got <= most for got, most in zip(counts[name], whole[name], strict=True))


@pytest.mark.parametrize("test", ["SEM-P-SIG", "SEM-P-ARN"])
def test_a_kill_keeps_every_finished_variant(
    probe: Path, quick: list[str], tmp_path: Path, test: str
) -> None:
    """A copy that the journal made before has no more than the file of the killed one."""
    words = ("--samples", "3000", *quick)
    stream = run(probe, test, *words)
    whole = counts_of(stream)
    assert sum(map(any, whole.values())) > 2
    moments = random.Random(9)
    for i in range(MOMENTS):
        file, copy = tmp_path / f"{i}.arena", tmp_path / f"{i}.copy"
        with measuring(probe, test, *words, "--backing", str(file)) as running:
            time.sleep(moments.uniform(0, stream.result.duration_ns / 1e9))
            SlotCopier(HostMemory("", tmp_path), str(file), [copy, copy]).copy()
            running.process.kill()
            running.process.wait()
        left, copied = (counts_of(dumped(probe, one, test)) for one in (file, copy))
        check(left, whole)
        check(copied, whole)
        for name, found in copied.items():
            assert all(now >= then for now, then in zip(left[name], found, strict=True))
