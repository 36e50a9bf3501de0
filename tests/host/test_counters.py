"""The kernel's counters of the seconds with a worst value show what was done to the measurement,
and the toolkit names it.

Each cause is injected, and its counter must have grown at least as far as it was: a busy machine
adds to it, and takes nothing away. No time is asserted. Where so few wake-ups are recorded that all
are among the worst values, the second of the injection is among the seconds whatever the host does.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from hardstone.model import StreamInterval, StreamSeries, StreamTrace, StreamVerdict
from hardstone.stats.causes import TICK_NS, latenesses
from tests import machine
from tests.host.hogs import (
    PRIORITY,
    TOLERANCE,
    Bursts,
    found,
    hogging,
    measure_under,
    without_an_excuse,
)
from tests.host.place import Place, group_of, within
from tests.host.shielding import read_task
from tests.running import (
    GIVE_UP_S,
    Running,
    Stream,
    has_ended,
    measuring,
    measuring_thread,
    run,
    total,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a second CPU has to look")

SECOND_NS = 1_000_000_000
TWO_SECONDS = ("-p", "interval_ns=1ms", "--samples", "0", "--duration-ns", "2500ms")
FEW = ("-p", "interval_ns=200ms", "--samples", "0", "--duration-ns", "5s")
WORST = 32
LATE = 8  # two seconds have more periods with a throttling
PIDFD_OPEN, PROCESS_MADVISE, MADV_PAGEOUT = 434, 440, 21
realtime = machine.needs(machine.no_realtime())
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


def named(stream: Stream) -> set[str]:
    """The kinds of all causes that a report names for the worst values."""
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    return {cause.kind for one in latenesses(result, WORST) for cause in one.causes}


def wait_for_wakeups(pid: int, count: int) -> int:
    """Until a thread that is bound to the measured CPU has slept so often since; its id."""
    first: dict[int, int] = {}

    def sleeper() -> int:
        assert not has_ended(pid), "the probe has ended"
        for thread in machine.thread_ids(pid)[1:]:
            with suppress(*machine.HAS_GONE):
                slept = machine.switches(pid, thread)
                is_bound = os.sched_getaffinity(thread) == {machine.cpu()}
                if is_bound and slept - first.setdefault(thread, slept) >= count:
                    return thread
        return 0

    return wait_until(sleeper)


@contextmanager
def injected(probe: Path, inject: Callable[[Running], None], *words: str) -> Iterator[Stream]:
    """A run of TMR-P-LAT to which `inject` does something."""
    with measuring(probe, "TMR-P-LAT", *words) as running:
        inject(running)
        yield running.rest()


@realtime
def test_a_hog_of_higher_priority_is_run_delay(probe: Path, hog: Path, quick: list[str]) -> None:
    bursts = Bursts(length_ns=250_000_000, period_ns=2 * SECOND_NS, count=1)
    stream, told = measure_under(hog, bursts, probe, 1_000_000, quick)
    longest_ns = max(burst.length_ns for burst in told)
    assert in_all(stream, "run_delay_ns") >= longest_ns // 2
    assert in_seconds(stream, "run_delay_ns") >= longest_ns // 4
    assert stream.result.environment["run_delay_ns"] >= longest_ns // 2
    if in_seconds(stream, "steal_ns") < longest_ns // 2 - TICK_NS:
        assert "delay" in named(stream)


def is_on(pid: int, thread: int, cpus: set[int]) -> bool:
    """One that sleeps moves when it wakes up."""
    with suppress(*machine.HAS_GONE):
        return read_task(Path(f"/proc/{pid}/task/{thread}"))[1].processor in cpus
    raise AssertionError("the probe has ended")


def kept_ns(stream: Stream, cause: str) -> int:
    """It failed, says why, and has no figure that may be of another CPU: 0, or the time that those
    which it has are of."""
    data = stream.events["cpu_was_left"].data
    assert (data["cpu"], data["cause"]) == (machine.cpu(), cause)
    assert (stream.code, stream.result.status) == (3, "failed")
    reason, kept = stream.result.reason or "", data.get("kept_ns", 0)
    assert f"CPU {machine.cpu()} " in reason
    assert not stream.of(StreamVerdict)
    if not kept:
        assert "no figures are given" in reason
        assert not stream.of(StreamSeries)
        return 0
    assert f"the figures are those of the first {kept / SECOND_NS:.1f} s" in reason
    assert stream.result.duration_ns == kept <= data["sure_until_ns"]
    worst = [one for series in stream.of(StreamSeries) for one in series.worst]
    assert worst and all(one.at_ns <= kept for one in worst)
    return int(kept)


def test_a_thread_that_is_moved_and_comes_back(probe: Path, quick: list[str]) -> None:
    cpus = os.sched_getaffinity(0)

    def move(running: Running) -> None:
        thread = wait_for_wakeups(running.pid, 10)
        for there in (cpus - {machine.cpu()}, {machine.cpu()}):
            os.sched_setaffinity(thread, there)
            wait_until(partial(is_on, running.pid, thread, there))

    with injected(probe, move, *FEW, *quick) as stream:
        kept_ns(stream, "affinity")
        assert stream.result.environment["migrations_count"] >= 2


def test_a_thread_that_is_left_unbound_fails(probe: Path, quick: list[str]) -> None:
    """As the kernel leaves the threads of a CPU that went offline, also when it is back."""

    def unbind(running: Running) -> None:
        os.sched_setaffinity(wait_for_wakeups(running.pid, 10), os.sched_getaffinity(0))

    with injected(probe, unbind, *TWO_SECONDS, *quick) as stream:
        kept_ns(stream, "affinity")


@as_root
@pytest.mark.parametrize(
    ("test", "wakeups"),
    [
        ("CLK-P-DUR", 0),
        ("MUT-P-ARN", 0),
        ("TMR-P-LAT", 0),
        ("TMR-P-LAT", 3000),
        ("TMR-P-JIT", 3000),
    ],
)
def test_a_cpu_that_the_cpuset_loses(
    test: str, wakeups: int, probe: Path, quick: list[str]
) -> None:
    """What a container's manager does to the programs in it. After 3 s there were looks."""
    everything = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    others = ",".join(map(str, sorted(os.sched_getaffinity(0) - {machine.cpu()})))
    words = ("--samples", "0", "--duration-ns", "20s", "--cpu", str(machine.cpu()), *quick)
    with (
        group_of("cpuset", mems="0", cpus=everything) as group,
        subprocess.Popen(
            [*within(group), str(probe), "run", test, "--json", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        running = Running(process, test)
        wait_until(lambda: thread_bound_to(running.pid, machine.cpu()) != 0)
        if wakeups:
            wait_for_wakeups(running.pid, wakeups)
        (group / "cpuset.cpus").write_text(others)
        stream = running.rest()
    assert kept_ns(stream, "cpuset") >= (SECOND_NS if wakeups else 0)
    assert group.name in (stream.result.reason or "")
    assert (stream.result.command or "").startswith("cat /sys/fs/cgroup")


def thread_bound_to(pid: int, cpu: int) -> int:
    """A thread of the probe, other than its first, that may use this CPU alone; 0: none yet."""
    for thread in machine.thread_ids(pid)[1:]:
        with suppress(*machine.HAS_GONE):
            if os.sched_getaffinity(thread) == {cpu}:
                return thread
    return 0


def test_what_cannot_happen_to_a_bound_thread_is_not_named(probe: Path, quick: list[str]) -> None:
    """Its memory is locked, and bandwidth limits time-shared threads; a busy machine may do all
    else to it."""
    stream = run(probe, "TMR-P-LAT", *TWO_SECONDS, *quick)
    assert in_all(stream, "migrations_count") < 2
    if {"memory_not_locked", "not_realtime"} & stream.events.keys():
        pytest.skip("this user may not lock memory, or not use SCHED_FIFO")
    assert not named(stream) & {"throttled", "major_faults", "minor_faults", "migrations"}


def set_quota(group: Path, quota_us: int, period_us: int = 100_000) -> None:
    """How much CPU time a control group may have in each period; -1: as much as it wants."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{'max' if quota_us < 0 else quota_us} {period_us}")
    elif (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:
        pytest.skip("no control group with a limit on CPU time can be made here")


@as_root
def test_a_throttled_group_is_seen(probe: Path, quick: list[str]) -> None:
    words = ("-p", "interval_ns=100us", *FEW[2:], "--policy", "other", *quick)
    with group_of("cpu") as group:
        set_quota(group, -1)
        # the group that the probe looks at is the one that it started in
        with subprocess.Popen(
            [*within(group), str(probe), "run", "TMR-P-LAT", "--json", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            running = Running(process, "TMR-P-LAT")
            measuring_thread(running.pid)
            time.sleep(2)
            set_quota(group, 1000)
            time.sleep(1)
            set_quota(group, -1)
            stream = running.rest()
    assert in_all(stream, "throttled_count") >= 1
    assert in_all(stream, "throttled_ns") > 0
    assert in_seconds(stream, "throttled_count") >= 1
    assert stream.result.environment["throttled_count"] >= 1
    assert "throttled" in named(stream)


@as_root
@pytest.mark.parametrize(("quota_us", "period_us"), [(20_000, 100_000), (1000, 10_000)])
def test_a_quota_that_is_always_used_up_is_named(
    quota_us: int, period_us: int, probe: Path, quick: list[str]
) -> None:
    """No second of the run is without it, so it is named of values that are no more than usual
    too. A tick is longer than a quota of 1 ms: what is used too much is paid back over several
    periods, each of which the kernel counts as a throttling."""
    words = ("--duration-ns", "4s", "--policy", "other", *quick)
    with without_an_excuse(), group_of("cpu") as group:
        set_quota(group, quota_us, period_us)
        stream = run(probe, "CLK-P-DUR", *words, prefix=within(group))
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.environment["throttled_ns"] > 0
    late = latenesses(result, LATE)
    assert len(late) == LATE
    assert {one.causes[-1].kind if one.causes else "none" for one in late} == {"throttled"}, late
    assert "throttling" not in {comb.name for noise in result.noise for comb in noise.combs}


@as_root
@realtime
def test_the_budget_of_a_group_is_kept(probe: Path, quick: list[str]) -> None:
    """Of 100 ms in a second, where throttling would be a gap of 900 ms."""
    words = ("--duration-ns", "5s", "--policy", "fifo", *quick)
    with group_of("cpu") as group:
        budget = group / "cpu.rt_runtime_us"
        if not budget.exists():
            pytest.skip("control groups have no real-time budget here")
        try:
            budget.write_text("100000")
        except OSError as error:
            pytest.skip(f"this group cannot be given a real-time budget: {error}")
        stream = run(probe, "CLK-P-DUR", *words, prefix=within(group))
    assert stream.result.conditions.realtime
    assert stream.events["gap_watch"].data["is_budget_of_group"] is True
    assert stream.events["gap_watch"].data["rt_runtime_ns"] == 100_000_000
    assert stream.series("gap").max < 400_000_000
    assert "throttled" not in stream.events


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
    words = [*FEW, *quick]
    command = ["prlimit", "--memlock=0:0", "setpriv", "--bounding-set=-ipc_lock"]
    command += ["--inh-caps=-ipc_lock", str(open_probe), "run", "TMR-P-LAT", "--json", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        running = Running(process, "TMR-P-LAT")
        wait_for_wakeups(running.pid, 10)
        if pages_out(running.pid, open_probe) == 0:
            process.kill()
            pytest.skip("pages cannot be taken from a process here")
        stream = running.rest()
    assert "memory_not_locked" in stream.events
    faults = ("minor_faults_count", "major_faults_count")
    assert sum(in_all(stream, counter) for counter in faults) >= 1
    assert sum(in_seconds(stream, counter) for counter in faults) >= 1
    # On a busy host a wake-up waits longer than faults can take; the unit tests decide that case.
    assert named(stream) & {"minor_faults", "major_faults", "delay"}


def test_a_flood_of_interrupts_is_seen(probe: Path, quick: list[str]) -> None:
    def flood(running: Running) -> None:
        wait_for_wakeups(running.pid, 10)
        words = ["interrupt=20000/s@cpu", "--cpus", str(machine.cpu()), "-D", "1s"]
        subprocess.run([str(probe), "load", *words], capture_output=True, check=True)

    with injected(probe, flood, *FEW, *quick) as stream:
        wakeups = stream.series("wakeup").count
    if stream.result.environment["timer_interrupts_count"] == 0:
        pytest.skip("this kernel does not count the interrupts of its timer")
    assert in_all(stream, "timer_interrupts_count") > 4 * wakeups
    assert in_all(stream, "interrupts_count") >= in_all(stream, "timer_interrupts_count")
    assert all(one.busiest for one in intervals(stream))
    rates = [one.counters["interrupts_count"] / one.span_ns for one in intervals(stream)]
    assert max(rates) > 4 * median(rates)
    assert "interrupts" in named(stream)


def test_a_breach_has_its_excerpt_of_the_trace(probe: Path, place: Place) -> None:
    """Where there are no traces: probe/tests/test_linux_tracing.c and test_wakeup_parts.c."""
    if place.no_traces:
        pytest.skip(place.no_traces)
    words = ("--duration-ns", "1h", "--samples", "0", "--trace", "-p", "threshold_ns=1")
    with place.measuring(probe, "TMR-P-LAT", *words, "--cpu", str(machine.cpu())) as running:
        stream = running.rest()
    assert stream.result.status == "failed"
    value_ns = stream.events["threshold_crossed"].data["value_ns"]
    (trace,) = [one for one in stream.of(StreamTrace) if one.value_ns == value_ns]
    assert any(line.endswith("the value ends") for line in trace.lines)
    assert not {"trace_switched_off", "trace_not_read"} & set(stream.events)


# ---- a delay of known length is found: its length, its number, what it swallowed ----

# Late wake-ups that others add are not the hog's: those are at the times that it printed.
# A host takes a CPU for half a millisecond and no steal time tells it: a tenth of a burst is more.
SHORT = Bursts(length_ns=30_000_000, period_ns=200_000_000, count=3)
LONG = Bursts(length_ns=250_000_000, period_ns=500_000_000, count=2)
CROSS = Bursts(length_ns=20_000_000, period_ns=300_000_000, count=2)  # within cyclictest's second


@realtime
@pytest.mark.parametrize(
    ("asked", "interval_ns"), [(SHORT, 100_000), (LONG, 1_000_000)], ids=["short", "long"]
)
def test_each_burst_is_found(
    probe: Path, hog: Path, quick: list[str], asked: Bursts, interval_ns: int
) -> None:
    """At its time, as long as the hog says, and with the releases that it swallowed. How all are
    counted: tests/virtual."""
    stream, bursts = measure_under(hog, asked, probe, interval_ns, quick)
    assert stream.result.status == "measured" and stream.result.conditions.realtime
    ends = found(stream.series("wakeup").worst, bursts)
    starts_ns = [burst.end_ns - end.at_ns for end, burst in zip(ends, bursts, strict=True)]
    assert max(starts_ns) - min(starts_ns) <= asked.length_ns * TOLERANCE
    swallowed = {one.at_ns: one.value_ns for one in stream.series("missed").worst}
    for end, burst in zip(ends, bursts, strict=True):
        assert end.value_ns == pytest.approx(burst.length_ns, rel=TOLERANCE)
        assert swallowed[end.at_ns] == end.value_ns // interval_ns
    wakeup, release = stream.series("wakeup"), stream.series("release")
    assert release.count == wakeup.count + total(stream.series("missed"))
    assert release.max == wakeup.max
    assert "missed_periods" in stream.events


def cyclictest_maximum_ns(hog: Path) -> int:
    """What cyclictest sees under the same hog, from the last line of its report."""
    words = ["cyclictest", "-q", "-m", "-t1", f"-p{PRIORITY}", f"-a{machine.cpu()}"]
    words += ["-i1000", "-N", f"-D{round(CROSS.duration_s)}"]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process,
        hogging(hog, CROSS) as told,
    ):
        out, _ = process.communicate(timeout=GIVE_UP_S)
        told()
    return int(out.strip().splitlines()[-1].rpartition("Max:")[2])


@realtime
@pytest.mark.skipif(shutil.which("cyclictest") is None, reason="cyclictest is not installed")
def test_cyclictest_agrees(probe: Path, hog: Path, quick: list[str]) -> None:
    """Both see the injected delay; 20 ms, so that a period is small against it."""

    stream, _ = measure_under(hog, CROSS, probe, 1_000_000, quick)
    our, their = stream.series("wakeup").max or 0, cyclictest_maximum_ns(hog)
    assert min(our, their) >= CROSS.length_ns // 2
    assert our == pytest.approx(their, rel=TOLERANCE)
