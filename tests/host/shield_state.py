"""All that a shield may touch on this machine, read without the probe's help."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.running import children

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
    for _ in range(1000):
        for child in children(pid):
            with suppress(OSError):
                if os.getsid(child) == child:
                    return child
        time.sleep(0.005)
    raise AssertionError(f"process {pid} has no guard")
