"""Starts the programs that are compared and reads what they cost from outside."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CPUCLOCK_SCHED = 2
EXIT_WAIT_S = 30


class Missing(Exception):
    """Why a row cannot be measured here, and what to type."""


@dataclass(frozen=True)
class Finished:
    """`cpu_ns`: the CPU time of the program and of all that it waited for."""

    stdout: str
    wall_ns: int
    cpu_ns: int


def require(program: str, package: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise Missing(f"{program} is not installed: sudo apt-get install {package}")
    return path


def run(
    command: list[str], environment: dict[str, str] | None = None, fine: tuple[int, ...] = (0,)
) -> Finished:
    """Runs `command` to its end; Missing where it ends with a code that is not in `fine`."""
    begin_ns, begin_cpu_ns = time.perf_counter_ns(), _cpu_of_children_ns()
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wall_ns = time.perf_counter_ns() - begin_ns
    if done.returncode not in fine:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Missing(f"{Path(command[0]).name} ended with {done.returncode}: {''.join(last)}")
    return Finished(done.stdout, wall_ns, _cpu_of_children_ns() - begin_cpu_ns)


def _cpu_of_children_ns() -> int:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def run_observed(command: list[str], observe: Callable[[int], None]) -> str:
    """Standard output of `command`; `observe(pid)` runs meanwhile."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            observe(process.pid)
            stdout, _ = process.communicate(timeout=EXIT_WAIT_S)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise Missing(f"{' '.join(command)} ended with {process.returncode}")
    return stdout.decode()


def locked_bytes(pid: int) -> int:
    """Memory that process `pid` has locked now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmLck:"):
            return int(line.split()[1]) * 1024
    raise Missing("this kernel does not tell locked memory in /proc/PID/status")


def cpu_time_ns(pid: int) -> int:
    """CPU time of all threads of process `pid`, by the kernel's clock of that process."""
    return time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)


def other_cpu() -> int:
    """The last CPU that we may use: the first one serves most interrupts."""
    return max(os.sched_getaffinity(0))


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for one in found:
        try:
            for thread in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (thread / "children").read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
    return found


def sizes(path: Path) -> dict[str, int]:
    """Sizes in bytes by name; empty where the process has ended."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    words = [text.split() for text in lines if text.endswith(" kB")]
    return {word[0].rstrip(":"): int(word[1]) * 1024 for word in words}
