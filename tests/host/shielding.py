"""Shields that tests start, and all that they may touch on this machine, read without the probe's
help: nothing of it is left."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.running import children, has_ended, note_crash
from tests.waiting import wait_until

RESERVED = max(os.sched_getaffinity(0))
GIVE_UP_S = 30
QUICK = ("--samples", "200", "--cpu", str(RESERVED))
FOREVER = ("sh", "-c", "echo ready; exec sleep 60")

Shield = subprocess.Popen[bytes]
SHIELD_MARKS = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can reserve a CPU"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU: none can be reserved"),
]

# ---- the state of the machine ----

KERNEL_THREAD = 0x00200000
EXITING = 0x4
PROBES = "hardstone-"  # those that measure; of their loads each process is bound once
BOUND = 0x04000000  # the kernel keeps the affinity for itself, and changes it at will
FILES = (
    "proc/irq/*/smp_affinity_list",
    "proc/irq/default_smp_affinity",
    "proc/sys/kernel/watchdog_cpumask",
    "proc/sys/kernel/timer_migration",
    "proc/sys/kernel/nmi_watchdog",
    "sys/devices/virtual/workqueue/cpumask",
    "sys/bus/workqueue/devices/*/cpumask",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_m*_freq",
    "sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "sys/devices/system/cpu/cpu*/online",
)
GROUP_FILES = ("cpuset.cpus", "cpuset.mems", "cpuset.cpu_exclusive", "cgroup.subtree_control")
LATENCY = "/dev/cpu_dma_latency"  # reads as the request that holds, in microseconds
JOURNAL = Path("/run/hardstone-shield.journal")


@dataclass(frozen=True)
class Task:
    name: str
    processor: int
    is_kernel: bool
    is_bound: bool
    affinity: frozenset[int]
    groups: tuple[str, ...]  # of the hierarchies that may hold cpusets
    is_ending: bool


@dataclass
class State:
    files: dict[str, str] = field(default_factory=dict)
    tasks: dict[tuple[int, int], Task] = field(default_factory=dict)  # id and start


def cpuset_mount() -> tuple[str, Path] | None:
    """("v1" or "v2", where the groups with cpusets are)."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup" and "cpuset" in options.split(","):
            return "v1", Path(place)
        controllers = Path(place) / "cgroup.controllers"
        if kind == "cgroup2" and "cpuset" in controllers.read_text().split():
            return "v2", Path(place)
    return None


def read_state() -> State:
    state = State()
    for path in _files():
        with suppress(OSError):
            state.files[str(path)] = path.read_text().strip()
    with suppress(OSError):
        state.files[LATENCY] = str(*struct.unpack("=i", Path(LATENCY).read_bytes()[:4]))
    for path in threads():
        with suppress(OSError):
            start, task = read_task(path)
            state.tasks[int(path.name), start] = task
    return state


def threads() -> Iterator[Path]:
    """Of all processes; some end while they are listed."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield from list((process / "task").iterdir())


def read_task(path: Path) -> tuple[int, Task]:
    name, _, rest = (path / "stat").read_text().partition("(")[2].rpartition(")")
    words = rest.split()
    flags = int(words[6])
    return int(words[19]), Task(
        name=name,
        processor=int(words[36]),
        is_kernel=bool(flags & KERNEL_THREAD),
        is_bound=bool(flags & BOUND),
        affinity=frozenset(os.sched_getaffinity(int(path.name))),
        groups=tuple(
            line
            for line in (path / "cgroup").read_text().splitlines()
            if line.startswith("0:") or "cpuset" in line.split(":")[1].split(",")
        ),
        is_ending=words[0] in "ZX" or bool(flags & EXITING),
    )


def _files() -> Iterator[Path]:
    for pattern in FILES:
        yield from Path("/").glob(pattern)
    mount = cpuset_mount()
    if mount is None:
        return
    for folder, _, names in os.walk(mount[1]):  # which bears that groups come and go
        yield from (Path(folder) / name for name in GROUP_FILES if name in names)


def differences(before: State, after: State) -> list[str]:
    """What is not as it was; of threads those that are still there."""
    found = [
        f"{path}: {before.files.get(path)} -> {after.files.get(path)}"
        for path in sorted(before.files.keys() | after.files.keys())
        if before.files.get(path) != after.files.get(path)
    ]
    for key in sorted(before.tasks.keys() & after.tasks.keys()):
        old, new = before.tasks[key], after.tasks[key]
        if new.is_ending:
            continue
        # one that is just made gets its CPU, and is bound to it, a moment later
        is_bound = old.is_kernel and (old.is_bound or new.is_bound)
        # so does a probe of another worker, that goes from CPU to CPU
        goes_by_itself = old.name.startswith(PROBES)
        if old.affinity != new.affinity and not is_bound and not goes_by_itself:
            found.append(f"{key} {old.name}: {set(old.affinity)} -> {set(new.affinity)}")
        if old.groups != new.groups:
            found.append(f"{key} {old.name}: {old.groups!r} -> {new.groups!r}")
    return found


def guard_of(pid: int) -> int:
    """The child of a probe that leads a session of its own, which takes it a moment."""

    def guard() -> int:
        for child in children(pid):
            with suppress(OSError):
                if os.getsid(child) == child:
                    return child
        return 0

    return wait_until(guard, f"process {pid} has no guard")


# ---- shields ----


def command(probe: Path, *words: str) -> list[str]:
    return [str(probe), "shield", "--cpu", str(RESERVED), "--", *words]


@contextmanager
def shielded(words: list[str], *, is_session: bool = True) -> Iterator[Shield]:
    """Returns when COMMAND runs on the reserved CPU; as a session, or as a job of this one."""
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=is_session,
        process_group=None if is_session else 0,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == b"ready\n", process.stderr.read()
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
            note_crash(words[0], process.returncode)


def journal_lines() -> int:
    """-1 without a journal."""
    with suppress(FileNotFoundError):
        return JOURNAL.read_bytes().count(b"\n")
    return -1


def wait_for_moment(process: Shield, has_come: Callable[[], bool]) -> None:
    """Or for the end, should the moment have passed unseen."""
    give_up_s = time.monotonic() + GIVE_UP_S
    while not has_come() and process.poll() is None:
        assert time.monotonic() < give_up_s, "the moment does not come"


def all_is_back(before: State) -> None:
    wait_until(lambda: not JOURNAL.exists(), "the journal is still there")
    assert_same(before)


def assert_same(before: State) -> None:
    """For a moment an interrupt that moves shows CPUs that it had before: looked at twice."""
    left = differences(before, read_state())
    if left:
        time.sleep(0.01)
        left = [one for one in differences(before, read_state()) if one in left]
    assert left == [], left  # told here: pytest does so for the files of tests only


def kill_both(process: Shield) -> None:
    """Owner and guard at one moment: nobody is left to put things back."""
    guard = guard_of(process.pid)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=GIVE_UP_S)
    wait_until(lambda: has_ended(guard), "the guard does not end")  # it holds the journal till then
    assert JOURNAL.exists()
