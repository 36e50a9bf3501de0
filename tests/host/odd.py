"""Odd values, set by hand before a shield is used; and put back to what they were."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.host.odd_keeper import Keeper, start_of
from tests.host.shielding import cpuset_mount, read_task, threads

SLEEP_S = "300"
LATENCY = "/dev/cpu_dma_latency"
IDLE_STATE = "cpuidle/state[1-9]/disable"
ODD_US = 77
ELSEWHERE, AS_IT_WAS = 2, 3  # of the interrupts: one that need not move, one for a test to change


@dataclass
class Odd:
    """What was made odd."""

    reserved: int
    keeper: Keeper
    busy: int = 0  # a process that spins on the CPU to be reserved
    grouped: int = 0  # one in a group of its own, of that CPU alone
    pinned: int = 0  # one with an odd affinity
    kernel_thread: int = 0
    files: dict[str, str] = field(default_factory=dict)  # path, value
    settings: set[str] = field(default_factory=set)  # of `shield --settings`: with an odd value


@contextmanager
def value(odd: Odd, setting: str | None, path: Path, wanted: str) -> Iterator[None]:
    """Writes `wanted` into a file of the kernel, where it is there and takes it."""
    try:
        before = path.read_text().strip()
    except OSError:
        yield
        return
    with odd.keeper.undoing("write", str(path), before):
        try:
            path.write_text(wanted)
        except OSError:
            yield
            return
        odd.files[str(path)] = wanted
        odd.settings |= {setting} if setting else set()
        try:
            yield
        finally:
            path.write_text(before)


@contextmanager
def latency(odd: Odd, wanted_us: int) -> Iterator[None]:
    """A request as a user would make it: the least of all holds."""
    try:
        file = os.open(LATENCY, os.O_RDWR)
    except OSError:
        yield
        return
    try:
        os.write(file, struct.pack("=i", wanted_us))
        odd.settings.add("dma_latency")
        yield
    finally:
        os.close(file)


def an_odd_governor(cpu: int) -> tuple[Path, str] | None:
    """One that it does not have now, and that a shield does not want."""
    folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq")
    with suppress(OSError):
        now = (folder / "scaling_governor").read_text().strip()
        for name in (folder / "scaling_available_governors").read_text().split():
            if name not in (now, "performance"):
                return folder / "scaling_governor", name
    return None


def odd_timers(cpu: int) -> str:
    """What a shield does not want."""
    with suppress(OSError):
        for part in Path("/sys/devices/system/cpu/nohz_full").read_text().strip().split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and int(first) <= cpu <= int(last or first):
                return "0"
    return "1"


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
def kept_process(odd: Odd, *words: str) -> Iterator[int]:
    """One that ends with the tests, however they end."""
    with process(*words) as pid, odd.keeper.undoing("kill", str(pid), start_of(pid)):
        yield pid


@contextmanager
def affinity(odd: Odd, task: int) -> Iterator[None]:
    before = os.sched_getaffinity(task)
    cpus = ",".join(str(cpu) for cpu in sorted(before))
    with odd.keeper.undoing("affinity", str(task), cpus):
        os.sched_setaffinity(task, {odd.reserved})
        try:
            yield
        finally:
            os.sched_setaffinity(task, before)


def a_kernel_thread() -> int | None:
    """One whose affinity may be changed."""
    for path in sorted(threads()):
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
    with (
        odd.keeper.undoing("remove", str(outer)),
        odd.keeper.undoing("remove", str(inner)),
        _made(odd, mount, outer, inner, cpus),
    ):
        yield inner


@contextmanager
def _made(odd: Odd, mount: Path, outer: Path, inner: Path, cpus: str | None) -> Iterator[None]:
    try:
        for folder in (outer, inner):
            folder.mkdir()
            if cpus is not None:
                (folder / "cpuset.mems").write_text((mount / "cpuset.mems").read_text())
                (folder / "cpuset.cpus").write_text(cpus)
        if cpus is not None:
            odd.files |= {str(place / "cpuset.cpus"): cpus for place in (outer, inner)}
            odd.settings.add("cpuset")
        yield
    finally:
        for folder in (inner, outer):
            with suppress(FileNotFoundError):
                folder.rmdir()


@contextmanager
def odd_values(reserved: int) -> Iterator[Odd]:
    odd = Odd(reserved, Keeper())
    mask = f"{1 << reserved:x}"
    with ExitStack() as stack:
        stack.callback(odd.keeper.dismiss)
        for place, path in enumerate(movable_interrupts()):
            if place != AS_IT_WAS:
                wanted = "0" if place == ELSEWHERE else str(reserved)
                stack.enter_context(value(odd, "interrupts", path, wanted))
        kernel = Path("/proc/sys/kernel")
        for setting, path, wanted in (
            ("interrupts", Path("/proc/irq/default_smp_affinity"), mask),
            ("watchdog", kernel / "watchdog_cpumask", str(reserved)),
            ("timers", kernel / "timer_migration", odd_timers(reserved)),
            ("workqueues", Path("/sys/devices/virtual/workqueue/cpumask"), mask),
        ):
            stack.enter_context(value(odd, setting, path, wanted))
        for path in list(Path("/sys/bus/workqueue/devices").glob("*/cpumask"))[:1]:
            stack.enter_context(value(odd, "workqueues", path, mask))
        for path in list(Path(f"/sys/devices/system/cpu/cpu{reserved}").glob(IDLE_STATE))[:1]:
            stack.enter_context(value(odd, None, path, "1"))
        governor = an_odd_governor(reserved)
        if governor is not None:
            stack.enter_context(value(odd, "governor", *governor))
        stack.enter_context(latency(odd, ODD_US))
        _odd_processes(odd, stack)
        yield odd


def _odd_processes(odd: Odd, stack: ExitStack) -> None:
    mount = cpuset_mount()
    if mount is not None and mount[0] == "v1":
        inner = stack.enter_context(group(odd, mount[1], str(odd.reserved)))
    odd.busy = stack.enter_context(kept_process(odd, "sh", "-c", "while :; do :; done"))
    os.sched_setaffinity(odd.busy, {odd.reserved})
    odd.grouped = stack.enter_context(kept_process(odd, "sleep", SLEEP_S))
    odd.pinned = stack.enter_context(kept_process(odd, "sleep", SLEEP_S))
    os.sched_setaffinity(odd.pinned, {odd.reserved})
    if mount is not None and mount[0] == "v1":
        (inner / "tasks").write_text(str(odd.grouped))
    unified = Path("/sys/fs/cgroup/unified")
    if (unified / "cgroup.procs").exists():
        other = stack.enter_context(group(odd, unified, None))
        sleeper = stack.enter_context(kept_process(odd, "sleep", SLEEP_S))
        (other / "cgroup.procs").write_text(str(sleeper))
    thread = a_kernel_thread()
    if thread is not None:
        odd.kernel_thread = thread
        stack.enter_context(affinity(odd, thread))
