"""Odd values, set by hand before a shield is used; and put back to what they were."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.shield_state import cpuset_mount, read_task

SLEEP_S = "300"


@dataclass
class Odd:
    """What was made odd; `told` is for the reader of a failure."""

    reserved: int
    busy: int = 0  # a process that spins on the CPU to be reserved
    grouped: int = 0  # one in a group of its own, of that CPU alone
    pinned: int = 0  # one with an odd affinity
    kernel_thread: int = 0
    told: list[str] = field(default_factory=list)


@contextmanager
def value(odd: Odd, path: Path, wanted: str) -> Iterator[None]:
    """Writes `wanted` into a file of the kernel, where it is there and takes it."""
    try:
        before = path.read_text().strip()
        path.write_text(wanted)
    except OSError:
        yield
        return
    odd.told.append(f"{path}: {wanted}")
    try:
        yield
    finally:
        path.write_text(before)


def movable_interrupts() -> list[Path]:
    """Files of those whose affinity can be written: writing what is there says it."""
    found = []
    for path in sorted(Path("/proc/irq").glob("*/smp_affinity_list")):
        with suppress(OSError):
            path.write_text(path.read_text())
            found.append(path)
    return found


@contextmanager
def process(*words: str) -> Iterator[int]:
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield child.pid
    finally:
        child.kill()
        child.wait()


@contextmanager
def affinity(odd: Odd, task: int) -> Iterator[None]:
    before = os.sched_getaffinity(task)
    os.sched_setaffinity(task, {odd.reserved})
    try:
        yield
    finally:
        os.sched_setaffinity(task, before)


def a_kernel_thread() -> int | None:
    """One whose affinity may be changed."""
    for path in sorted(Path("/proc").glob("[0-9]*/task/[0-9]*")):
        with suppress(OSError):
            _, task = read_task(path)
            lasts = task.name.startswith(("k", "oom")) and not task.name.startswith("kworker")
            if lasts and task.is_kernel and not task.is_bound:
                return int(path.name)
    return None


@contextmanager
def group(odd: Odd, mount: Path, cpus: str | None) -> Iterator[Path]:
    """A group, and one inside of it, with `cpus` where it is a group of cpusets."""
    outer = mount / f"hardstone-odd-{os.getpid()}"
    inner = outer / "inner"
    try:
        for folder in (outer, inner):
            folder.mkdir()
            if cpus is not None:
                (folder / "cpuset.mems").write_text((mount / "cpuset.mems").read_text())
                (folder / "cpuset.cpus").write_text(cpus)
        odd.told.append(f"{inner}: {cpus}")
        yield inner
    finally:
        for folder in (inner, outer):
            with suppress(FileNotFoundError):
                folder.rmdir()


@contextmanager
def odd_values(reserved: int) -> Iterator[Odd]:
    odd = Odd(reserved)
    mask = f"{1 << reserved:x}"
    with ExitStack() as stack:
        for place, path in enumerate(movable_interrupts()):
            if place < 3:
                stack.enter_context(value(odd, path, str(reserved if place < 2 else 0)))
        for name in ("irq/default_smp_affinity", "sys/kernel/watchdog_cpumask"):
            wanted = mask if "irq" in name else str(reserved)
            stack.enter_context(value(odd, Path("/proc") / name, wanted))
        stack.enter_context(value(odd, Path("/proc/sys/kernel/timer_migration"), "0"))
        queues = Path("/sys/devices/virtual/workqueue/cpumask")
        stack.enter_context(value(odd, queues, mask))
        for path in list(Path("/sys/bus/workqueue/devices").glob("*/cpumask"))[:1]:
            stack.enter_context(value(odd, path, mask))
        _odd_processes(odd, stack)
        yield odd


def _odd_processes(odd: Odd, stack: ExitStack) -> None:
    mount = cpuset_mount()
    if mount is not None and mount[0] == "v1":
        inner = stack.enter_context(group(odd, mount[1], str(odd.reserved)))
    odd.busy = stack.enter_context(process("sh", "-c", "while :; do :; done"))
    os.sched_setaffinity(odd.busy, {odd.reserved})
    odd.grouped = stack.enter_context(process("sleep", SLEEP_S))
    odd.pinned = stack.enter_context(process("sleep", SLEEP_S))
    os.sched_setaffinity(odd.pinned, {odd.reserved})
    if mount is not None and mount[0] == "v1":
        (inner / "tasks").write_text(str(odd.grouped))
    unified = Path("/sys/fs/cgroup/unified")
    if (unified / "cgroup.procs").exists():
        other = stack.enter_context(group(odd, unified, None))
        sleeper = stack.enter_context(process("sleep", SLEEP_S))
        (other / "cgroup.procs").write_text(str(sleeper))
    thread = a_kernel_thread()
    if thread is not None:
        odd.kernel_thread = thread
        stack.enter_context(affinity(odd, thread))
