"""`heavy@cpu` costs what it says: by its own lines, and by what the kernel counts of it.

Only where CPUs and disk are free: beside other programs a load cannot get what it asks for.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.host.loads import Line, RunningLoad, elements, events, loading
from tests.running import state_of, witnesses

HEAVY = {
    **dict.fromkeys(("cpu", "disk", "syscall", "memory"), 0.1),
    "interrupt": 1000.0,
    "network": 4000.0,
}
WITHOUT_INTERRUPTS = "cpu@cpu+disk@cpu+network@cpu+syscall@cpu+memory@cpu+search@cpu"
NEAR = 0.2
CPUS = sorted(os.sched_getaffinity(0))
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WINDOW_S, QUIET_S = 1.0, 0.3
SAMPLE_S = 0.002
MOST_OF_OTHERS = 0.05  # of the CPUs, without load
MOST_BESIDE = 0.1  # beside a load: threads of the kernel do what its writes ask for
MOST_STALL_S = 0.05  # in a write: five times what a period of the load has for all of them


@dataclass(frozen=True)
class Moment:
    """What the kernel had counted by then."""

    at_s: float
    busy_s: float  # of the CPUs, stolen time too
    timer: dict[int, int]  # interrupts of the local timer, by CPU
    segments: int
    process_s: dict[int, float]


def busy_s() -> float:
    """Not idle, not waiting for a device (fields 4 and 5)."""
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0] in {f"cpu{cpu}" for cpu in CPUS}:
            numbers = [int(word) for word in words[1:9]]
            ticks += sum(numbers) - numbers[3] - numbers[4]
    return ticks / TICKS_PER_S


def timer_interrupts() -> dict[int, int]:
    head, *rows = Path("/proc/interrupts").read_text().splitlines()
    row = next((row.split() for row in rows if row.split()[0] == "LOC:"), None)
    if row is None:
        pytest.skip("/proc/interrupts has no row LOC here")
    return {int(name.removeprefix("CPU")): int(row[1 + i]) for i, name in enumerate(head.split())}


def tcp_segments() -> int:
    lines = Path("/proc/net/snmp").read_text().splitlines()
    names, numbers = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(numbers[names.index("OutSegs")])


def process_s(pid: int) -> float:
    """Its CPU time; the name in field 2 may hold anything."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS_PER_S


def moment(pids: list[int]) -> Moment:
    return Moment(
        at_s=time.monotonic(),
        busy_s=busy_s(),
        timer=timer_interrupts(),
        segments=tcp_segments(),
        process_s={pid: process_s(pid) for pid in pids},
    )


def waited_s(pid: int) -> float:
    """Ready, and another had the CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


@dataclass(frozen=True)
class Seen:
    """A window of a load, from outside."""

    names: dict[int, str]
    first: Moment
    last: Moment
    disks: dict[int, float]  # shares of time within the writes
    lines: list[Line]

    @property
    def span_s(self) -> float:
        return self.last.at_s - self.first.at_s

    def shares(self, name: str) -> list[float]:
        """Of the time, of each process of the element."""
        pids = [pid for pid, known in self.names.items() if known == f"hs-load-{name}"]
        assert len(pids) == len(CPUS)
        if name == "disk":
            return [self.disks[pid] for pid in pids]
        used = [self.last.process_s[pid] - self.first.process_s[pid] for pid in pids]
        return [one / self.span_s for one in used]

    def timer_per_s(self) -> dict[int, float]:
        first, last = self.first.timer, self.last.timer
        return {cpu: (last[cpu] - first[cpu]) / self.span_s for cpu in CPUS}

    def segments_per_s(self) -> float:
        return (self.last.segments - self.first.segments) / self.span_s

    def of_others(self) -> float:
        """Share of the CPUs that neither the load nor this test took."""
        load_s = sum(self.last.process_s.values()) - sum(self.first.process_s.values())
        return (self.last.busy_s - self.first.busy_s - load_s) / self.span_s / len(CPUS)


def within_writes(pids: list[int]) -> dict[int, float]:
    """The share of looks that did not find a process asleep, less the time in which it was
    ready and another had the CPU. Looking costs timer interrupts: nothing else is measured
    meanwhile. A write that the device keeps for long is paid back after this window."""
    awake: Counter[int] = Counter()
    looks = 0
    waited = {pid: -waited_s(pid) for pid in pids}
    begin_s = time.monotonic()
    asleep_s = dict.fromkeys(pids, begin_s)
    while (now_s := time.monotonic()) < begin_s + WINDOW_S:
        working = {pid for pid in pids if state_of(pid) != "S"}
        awake.update(working)
        asleep_s |= dict.fromkeys(set(pids) - working, now_s)
        stall_s = now_s - min(asleep_s.values(), default=now_s)
        if stall_s > MOST_STALL_S:
            witnesses.append(f"the disk keeps a write for {stall_s * 1e3:.0f} ms and longer")
        looks += 1
        time.sleep(SAMPLE_S)
    span_s = time.monotonic() - begin_s
    return {pid: awake[pid] / looks - (waited[pid] + waited_s(pid)) / span_s for pid in pids}


def watch(running: RunningLoad) -> Seen:
    names = {**running.marked.all(), os.getpid(): "this test"}
    disks = within_writes([pid for pid, name in names.items() if name == "hs-load-disk"])
    first = moment(list(names))
    time.sleep(WINDOW_S)
    last = moment(list(names))
    return Seen(names, first, last, disks, running.stop())


def quiet() -> Seen:
    """Without load; the CPUs must be free."""
    first = moment([os.getpid()])
    time.sleep(QUIET_S)
    seen = Seen({}, first, moment([os.getpid()]), {}, [])
    assert seen.of_others() <= MOST_OF_OTHERS
    return seen


def under(probe: Path, load: str, folder: Path) -> Seen:
    with loading(probe, load, folder) as running:
        seen = watch(running)
    assert seen.of_others() <= MOST_BESIDE
    return seen


@pytest.fixture
def folder() -> Iterator[Path]:
    """On a disk, where the load's own choice would be too."""
    path = Path(f"/var/tmp/hardstone-test-perturbation-{os.getpid()}")
    path.mkdir()
    yield path
    path.rmdir()


def test_heavy_costs_what_it_says(probe: Path, folder: Path) -> None:
    before, other = quiet(), under(probe, WITHOUT_INTERRUPTS, folder)
    heavy = under(probe, "heavy@cpu", folder)
    quiet()
    check_lines(heavy.lines)
    check_from_outside(before, other, heavy)


def check_lines(lines: list[Line]) -> None:
    reached = elements(lines)
    assert {name: reached[name]["asked"] for name in HEAVY} == pytest.approx(HEAVY)
    assert {name: reached[name]["reached"] for name in HEAVY} == pytest.approx(HEAVY, rel=NEAR)
    assert reached["search"]["reached"] > 0
    assert not {"load_short", "load_unseen"} & set(events(lines)), events(lines)


def check_from_outside(before: Seen, other: Seen, heavy: Seen) -> None:
    """Search keeps the ticks of its CPU going and the others set timers too, so interrupts are
    those of `heavy@cpu` less those of the same load without the element."""
    for name in ("cpu", "syscall", "memory", "disk"):
        shares = heavy.shares(name)
        assert shares == pytest.approx([HEAVY[name]] * len(CPUS), rel=NEAR), name
    more = {cpu: rate - other.timer_per_s()[cpu] for cpu, rate in heavy.timer_per_s().items()}
    assert more == pytest.approx(dict.fromkeys(CPUS, HEAVY["interrupt"]), rel=NEAR)
    packets = heavy.segments_per_s() - before.segments_per_s()
    assert packets == pytest.approx(HEAVY["network"] * len(CPUS), rel=NEAR)
