"""A libc whose calls cost what a test chooses: a figure is then the sum of the calls in it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.model import StreamSeries
from tests import machine
from tests.running import Stream, preloaded, run

READ_NS = 1  # of the clock: what spins until a time sees each ns
DAY_NS = 86_400_000_000_000  # waits for the host pass at once, each in virtual time
NAMES = (
    *("sem_init", "sem_destroy", "sem_open", "sem_close", "sem_unlink", "sem_post", "sem_wait"),
    *("sem_timedwait", "semget", "semctl", "semop_signal", "semop_wait", "eventfd", "close"),
    *("read", "write", "futex_wake", "futex_wait", "lock_none", "lock_inherit", "lock_protect"),
    *("unlock_none", "unlock_inherit", "unlock_protect", "sched_yield", "pthread_create"),
    *("pthread_cancel", "pthread_join", "pthread_setschedprio", "pthread_setschedparam"),
    *("clock_nanosleep", "sem_init_shared", "mutex_init", "mutex_init_shared"),
    *("cond_init", "cond_init_shared", "cond_signal", "cond_wait"),
    *("sigqueue", "sigwaitinfo", "sigsuspend"),
)


@dataclass(frozen=True)
class Cost:
    """Of a call: before it takes effect, after it, and more where the caller had to block."""

    enter: int
    leave: int
    blocked: int

    @property
    def whole(self) -> int:
        return self.enter + self.leave

    @property
    def woken(self) -> int:
        return self.leave + self.blocked


def draw(seed: int) -> dict[str, Cost]:
    """Costs that differ, so that no two sums of a few calls are the same."""
    numbers = random.Random(seed).sample(range(1_000, 30_000), 3 * len(NAMES))
    return {name: Cost(*three) for name, *three in zip(NAMES, *[iter(numbers)] * 3, strict=True)}


COST = draw(seed=3)


@dataclass(frozen=True)
class Call:
    """One call's beginning or end, by a thread of a priority."""

    thread: int
    priority: int
    name: str
    object: str
    is_leave: bool


def in_words(cost: dict[str, Cost], read_ns: int = READ_NS) -> str:
    costs = ",".join(f"{name} {c.enter} {c.leave} {c.blocked}" for name, c in cost.items())
    return f"clock_gettime {read_ns} 0 0,{costs}"


def measure(
    probe: Path, libc: Path, test: str, *words: str, read_ns: int = READ_NS, **variables: str
) -> Stream:
    """A run on virtual time; nothing that happens on the machine can change its figures."""
    words = ("--clock", "monotonic", "--deadline-ns", str(DAY_NS), *words)
    words = ("--cpu", str(machine.cpu_beside()), *words)
    variables = {
        "LD_PRELOAD": preloaded(libc),
        "HARDSTONE_COSTS": in_words(COST, read_ns),
        **variables,
    }
    # Two probes with the same id, in two name spaces, read the same time: their files' names, too.
    with tempfile.TemporaryDirectory() as own:
        stream = run(probe, test, *words, variables={"TMPDIR": own, **variables})
    assert stream.code == stream.told_code, stream.stderr
    return stream


def measure_with_calls(
    probe: Path, libc: Path, folder: Path, test: str, *words: str, read_ns: int = READ_NS
) -> tuple[Stream, list[Call]]:
    """The same, and all calls that were made, in their order."""
    file = folder / "calls"
    stream = measure(probe, libc, test, *words, read_ns=read_ns, HARDSTONE_CALLS=str(file))
    return stream, list(read_calls(file))


def read_calls(file: Path) -> Iterator[Call]:
    for line in file.read_text().splitlines():
        thread, priority, name, place, sign = line.split()
        yield Call(int(thread), int(priority), name, place, sign == "-")


def figures(stream: Stream) -> dict[tuple[str, ...], list[int]]:
    """Of each series, by its name and labels: count, least and greatest value."""
    return {
        (one.name, *map(str, one.labels.values())): [one.count, one.min or 0, one.max or 0]
        for one in stream.of(StreamSeries)
    }
