"""What this machine lets a test do; each answer is a reason to skip, or None."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.waiting import wait_until

NOBODY_ID = 65534
WAIT_S = 30
HAS_GONE = (FileNotFoundError, ProcessLookupError)  # opened too late, and read too late


def needs(reason: str | None) -> pytest.MarkDecorator:
    """Skips where there is a reason."""
    return pytest.mark.skipif(reason is not None, reason=str(reason))


def cpu() -> int:
    """The CPU that is measured. Not the last one: a probe of somebody else, who leaves the
    choice to it, would be there at the same priority."""
    return min(os.sched_getaffinity(0))


def cpu_beside() -> int:
    """Another one than `cpu`, if there is one: tests of other workers leave it alone."""
    return max(os.sched_getaffinity(0))


BELOW_OTHERS = ("--priority", "30")


def allowed() -> set[int]:
    return set(os.sched_getaffinity(0))


def share_of_others() -> float | None:
    """The share of the CPU that real-time threads are refused for others; None: not known."""
    with suppress(OSError, ValueError):
        period, runtime = (
            int(Path(f"/proc/sys/kernel/sched_rt_{name}_us").read_text())
            for name in ("period", "runtime")
        )
        if 0 < runtime < period:
            return (period - runtime) / period
    return None


def no_realtime() -> str | None:
    """Whether SCHED_FIFO may be had; asked in a process of its own."""
    if shutil.which("chrt") is None:
        return "chrt is not installed"
    done = subprocess.run(["chrt", "-f", "90", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 else "no right to SCHED_FIFO"


def no_kernel_threads() -> str | None:
    """Whether the threads of the kernel are to be seen: not in a PID name space of its own."""
    with suppress(OSError):
        if Path("/proc/2/comm").read_text() == "kthreadd\n":
            return None
    return "the kernel's threads are not to be seen here"


def no_other_user() -> str | None:
    """Whether an ordinary user can be taken on."""
    if os.geteuid() != 0:
        return "only root can take on an ordinary user"
    missing = [name for name in ("prlimit", "setpriv") if not shutil.which(name)]
    return f"{missing[0]} is not installed" if missing else None


def no_prlimit() -> str | None:
    return None if shutil.which("prlimit") else "prlimit is not installed"


def as_nobody(*, memlock_bytes: int | None = None) -> list[str]:
    """Words before a command that take away user, capabilities and real-time limits."""
    limits = ["--rtprio=0:0", "--nice=0:0"]
    if memlock_bytes is not None:
        limits.append(f"--memlock={memlock_bytes}:{memlock_bytes}")
    user = [f"--reuid={NOBODY_ID}", f"--regid={NOBODY_ID}", "--clear-groups"]
    return ["prlimit", *limits, "setpriv", *user, "--bounding-set=-all", "--inh-caps=-all"]


def thread_ids(pid: int) -> list[int]:
    """The main thread first; the others may have smaller ids, which begin anew at pid_max.

    Without the one that only notes when the program is stopped: it is not the test's.
    """
    ids = {int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()}
    return [pid, *sorted(one for one in ids - {pid} if not _notes_stops(pid, one))]


def _notes_stops(pid: int, thread: int) -> bool:
    with suppress(*HAS_GONE):
        return Path(f"/proc/{pid}/task/{thread}/comm").read_text() == "stop-watch\n"
    return False


def wait_for_wakeups(pid: int, count: int) -> None:
    """Until the measuring thread has slept and woken so often; its figures are there then."""

    def has_slept() -> bool:
        with suppress(*HAS_GONE):  # threads of the preparation come and go
            return sum(map(partial(switches, pid), thread_ids(pid)[1:])) >= count
        return False

    wait_until(has_slept, "the probe did not begin to measure", WAIT_S)


def switches(pid: int, thread: int) -> int:
    """How often a thread has gone to sleep."""
    path = Path(f"/proc/{pid}/task/{thread}/status")
    return status_number(path, "voluntary_ctxt_switches")


def status_number(path: Path, name: str) -> int:
    """The number on the line NAME of a status file of /proc."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise AssertionError(f"{path} has no {name}")
