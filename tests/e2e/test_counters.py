"""The kernel's counters of the seconds with a worst value show what was done to the measurement.

Each cause is injected, and its counter must have grown at least as far as it was: a busy machine
adds to it, and takes nothing away. No time is asserted.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hardstone.model import StreamInterval
from tests.e2e import machine
from tests.e2e.hogs import Bursts, measure_under
from tests.e2e.running import Running, Stream, measuring, measuring_thread, run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a second CPU has to look"),
]

SECOND_NS = 1_000_000_000
TWO_SECONDS = ("-p", "interval_ns=1ms", "--samples", "0", "--duration-ns", "2500ms")
PIDFD_OPEN, PROCESS_MADVISE, MADV_PAGEOUT = 434, 440, 21
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do that to the probe")


class Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def intervals(stream: Stream, *, whole: bool = False) -> list[StreamInterval]:
    found = [one for one in stream.of(StreamInterval) if one.whole == whole]
    assert found, stream.events
    return found


def in_all(stream: Stream, counter: str) -> int:
    """The counter over the whole measurement."""
    (whole,) = intervals(stream, whole=True)
    if counter not in whole.counters:
        pytest.skip(f"this kernel does not tell {counter} of a thread or group")
    return whole.counters[counter]


def in_seconds(stream: Stream, counter: str) -> int:
    """The most that a second with a worst value has of it."""
    return max(one.counters.get(counter, 0) for one in intervals(stream))


@contextmanager
def injected(probe: Path, inject: Callable[[Running], None], *words: str) -> Iterator[Stream]:
    """A run of TMR-P-LAT to which `inject` does something."""
    with measuring(probe, "TMR-P-LAT", *words) as running:
        inject(running)
        yield running.rest()


@pytest.mark.usefixtures("alone")
@pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))
def test_a_hog_of_higher_priority_is_run_delay(probe: Path, hog: Path, quick: list[str]) -> None:
    bursts = Bursts(length_ns=250_000_000, period_ns=500_000_000, count=2)
    stream, told = measure_under(hog, bursts, probe, 1_000_000, quick)
    longest_ns = max(burst.length_ns for burst in told)
    assert in_all(stream, "run_delay_ns") >= longest_ns // 2
    assert in_seconds(stream, "run_delay_ns") >= longest_ns // 4
    assert stream.result.environment["run_delay_ns"] >= longest_ns // 2


def test_a_thread_that_is_moved_migrates(probe: Path, quick: list[str]) -> None:
    cpus = os.sched_getaffinity(0)

    def move(running: Running) -> None:
        thread = measuring_thread(running.pid)
        for _ in range(3):
            os.sched_setaffinity(thread, cpus - {machine.cpu()})
            time.sleep(0.1)
            os.sched_setaffinity(thread, {machine.cpu()})
            time.sleep(0.1)

    with injected(probe, move, *TWO_SECONDS, *quick) as stream:
        assert in_all(stream, "migrations_count") >= 3
        assert in_seconds(stream, "migrations_count") >= 1
        assert stream.result.environment["migrations_count"] >= 3
    assert in_all(run(probe, "TMR-P-LAT", *TWO_SECONDS, *quick), "migrations_count") < 3


@contextmanager
def throttled_group() -> Iterator[Path]:
    """A control group that may have 1 % of a CPU; its file of members."""
    name = f"hardstone-test-{os.getpid()}"
    for root, limits in (
        (Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"}),
        (Path("/sys/fs/cgroup"), {"cpu.max": "1000 100000"}),
    ):
        group = root / name
        if not (root / "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if all((group / file).exists() for file in limits):
                for file, limit in limits.items():
                    (group / file).write_text(limit)
                yield group / "cgroup.procs"
                return
        finally:
            time.sleep(0.1)  # until the group has lost its last member
            group.rmdir()
    pytest.skip("no control group with a limit on CPU time can be made here")


@as_root
def test_a_throttled_group_is_seen(probe: Path, quick: list[str]) -> None:
    with throttled_group() as members:
        words = ("-p", "interval_ns=100us", *TWO_SECONDS[2:], "--policy", "other", *quick)
        # the group that the probe looks at is the one that it started in
        command = ["sh", "-c", f'echo $$ > {members} && exec "$@"', "sh", str(probe)]
        done = subprocess.run(
            [*command, "run", "TMR-P-LAT", "--json", *words],
            capture_output=True,
            timeout=120,
            check=False,
        )
        stream = Stream("TMR-P-LAT", done.returncode, done.stdout)
        assert in_all(stream, "throttled_count") >= 1
        assert in_all(stream, "throttled_ns") > 0
        assert in_seconds(stream, "throttled_count") >= 1
        assert stream.result.environment["throttled_count"] >= 1


def pages_out(pid: int, program: Path) -> int:
    """Takes the pages of its program from a process; returns how many bytes were looked at."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.syscall(PIDFD_OPEN, pid, 0)
    looked_at = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        begin, _, end = line.split()[0].partition("-")
        if not line.endswith(program.name):
            continue
        span = Span(int(begin, 16), int(end, 16) - int(begin, 16))
        done = libc.syscall(PROCESS_MADVISE, handle, ctypes.byref(span), 1, MADV_PAGEOUT, 0)
        looked_at += max(done, 0)
    os.close(handle)
    return looked_at


@as_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_page_faults_are_seen(open_probe: Path, quick: list[str]) -> None:
    """Of a probe that may not lock its memory, and whose program is taken out of it."""
    words = [*TWO_SECONDS, *quick]
    command = ["prlimit", "--memlock=0:0", "setpriv", "--bounding-set=-ipc_lock"]
    command += ["--inh-caps=-ipc_lock", str(open_probe), "run", "TMR-P-LAT", "--json", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        running = Running(process, "TMR-P-LAT")
        measuring_thread(running.pid)
        if pages_out(running.pid, open_probe) == 0:
            process.kill()
            pytest.skip("pages cannot be taken from a process here")
        stream = running.rest()
    assert "memory_not_locked" in stream.events
    faults = ("minor_faults_count", "major_faults_count")
    assert sum(in_all(stream, counter) for counter in faults) >= 1
    assert sum(in_seconds(stream, counter) for counter in faults) >= 1


def test_a_flood_of_interrupts_is_seen(probe: Path, quick: list[str]) -> None:
    words = ("-p", "interval_ns=10ms", *TWO_SECONDS[2:], "--load", "interrupt=5000/s@cpu", *quick)
    stream = run(probe, "TMR-P-LAT", *words)
    wakeups = stream.series("wakeup").count
    if stream.result.environment["timer_interrupts_count"] == 0:
        pytest.skip("this kernel does not count the interrupts of its timer")
    assert in_all(stream, "timer_interrupts_count") > 4 * wakeups
    assert in_all(stream, "interrupts_count") >= in_all(stream, "timer_interrupts_count")
    assert all(one.busiest for one in intervals(stream))


def test_where_all_may_measure_nothing_is_read(probe: Path) -> None:
    """A test that looks at the clocks of all CPUs."""
    stream = run(probe, "CLK-B-RES", "--samples", "1000")
    assert "no CPU is allowed" in stream.events["not_watched"].text
    assert stream.of(StreamInterval) == []


def test_a_killed_probe_leaves_them(probe: Path, quick: list[str], tmp_path: Path) -> None:
    records = tmp_path / "records"
    words = ("-p", "interval_ns=1ms", "--samples", "0", "--duration-ns", "30s")
    with measuring(probe, "TMR-P-LAT", *words, "--backing", str(records), *quick) as running:
        measuring_thread(running.pid)
        time.sleep(2.5)  # two looks, and more where the machine is slow
        running.process.kill()
    done = subprocess.run([str(probe), "dump", str(records)], capture_output=True, check=True)
    stream = Stream("TMR-P-LAT", 0, done.stdout)
    assert in_all(stream, "minor_faults_count") == 0
    assert all(one.span_ns > 0 for one in intervals(stream))
