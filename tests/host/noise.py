"""A test that fails beside a witness of noise is run again; one that fails without a witness fails.

A test of a real kernel can fail because others took the CPU. Only what others did excuses it: a
test that loads the machine must not excuse itself. So cpu pressure alone is no witness, since the
hogs and loads of the test cause it too: it counts up to the CPU time that processes outside of the
test used meanwhile. Who has used CPU time without anybody waiting for a CPU has disturbed nobody.
The same holds for the disk. Steal, and what the probe says of its runs, come from others anyway.

Processes of the test are the descendants of this process, and orphans that carry its mark in their
environment. Kernel threads are left out: they work for the test as well.

No noise excuses a probe that crashes or hangs.

LIMITS has the threshold of each witness. A test gets three attempts, each from fixtures that are
set up anew; one that fails in all of them, each with a witness, is inconclusive. More than 5 %
inconclusive tests, and at least two, fail the session: such a machine can judge nothing.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests import running

ATTEMPTS = 3
MOST_INCONCLUSIVE = 0.05
MARK = "HARDSTONE_HOST_SUITE"
INCONCLUSIVE = "inconclusive"
NO_NOISE = ("subprocess.TimeoutExpired", "TypeError", "NameError", "AttributeError", "ImportError")
KERNEL_THREAD = 0x00200000  # PF_KTHREAD
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Limit:
    """From which value on a witness counts: a share of the test's time, but at least so much."""

    share: float
    least: float
    text: str

    def said(self, value: float, duration_s: float) -> Iterator[str]:
        if value >= max(self.least, self.share * duration_s):
            yield f"{self.text.format(value)} in {duration_s:.2f} s"


# Sixty seconds of a virtual machine with two CPUs, on which others built and tested. The quietest
# tenth: others used 2 to 4 % of a CPU, somebody waited for a CPU 0.2 % of the time at most, nothing
# was stolen. The median: 100 % and 15 %, and 0.2 % of waiting for a disk.
LIMITS = {
    # The kernel counts it in ticks: one is the least that can be seen, and lasts as long as the
    # lost burst of most tests. In the long run this host stole 0.1 %.
    "steal_s": Limit(0.005, TICK_S, "the host stole {:.3f} s"),
    # Ten times what is quiet. Each process counts in ticks as well, and rounds.
    "cpu_s": Limit(0.02, 2 * TICK_S, "others kept processes from a CPU for {:.3f} s"),
    # A test that writes waits for the disk by itself; the busiest second had 5 %.
    "disk_s": Limit(0.05, 2 * TICK_S, "others kept processes from the disk for {:.3f} s"),
}
MOVED_PER_S = 1 << 20  # of others, from which on disk pressure counts: in the quietest 0.1 MiB


@dataclass
class Group:
    """A process that has nothing to do with the test, with its descendants."""

    ticks: int = 0
    moved_bytes: int = 0


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    start: int
    is_kernel: bool
    ticks: int
    children_ticks: int


@dataclass
class Machine:
    """The counters of noise, in a folder like /proc."""

    proc: Path = Path("/proc")
    mark: str = field(default_factory=lambda: f"{MARK}={uuid.uuid4().hex}")
    own_pid: int = field(default_factory=os.getpid)

    def steal_s(self) -> float:
        return int((self.proc / "stat").read_text().split(None, 9)[8]) * TICK_S

    def pressure_s(self, name: str) -> float | None:
        """How long at least one task waited; None: the kernel does not count it."""
        with suppress(OSError):
            some = (self.proc / "pressure" / name).read_text().splitlines()[0]
            return int(some.rpartition("=")[2]) / 1e6
        return None

    def processes(self) -> dict[int, Process]:
        found = {}
        for path in self.proc.glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                words = (path / "stat").read_text().rpartition(")")[2].split()
                if words[0] in "ZX":  # its parent has its time, or soon
                    continue
                own, children = (sum(map(int, words[at : at + 2])) for at in (11, 13))
                is_kernel = bool(int(words[6]) & KERNEL_THREAD)
                pid, parent, start = int(path.name), int(words[1]), int(words[19])
                found[pid] = Process(pid, parent, start, is_kernel, own, children)
        return found

    def others(self) -> dict[tuple[int, int], Group]:
        """By process id and start of the uppermost process of each group: it is a child of one of
        our ancestors, or has no parent. An ancestor is a group of its own, without the time of its
        children, which has our orphans in it."""
        processes = self.processes()
        ancestors = set()
        at = self.own_pid
        while at in processes and (at := processes[at].parent) in processes:
            ancestors.add(at)
        groups: dict[tuple[int, int], Group] = defaultdict(Group)
        for one in processes.values():
            if one.is_kernel:
                continue
            top = one
            while not (top.pid in ancestors or top.pid == self.own_pid):
                if top.parent in ancestors or top.parent not in processes:
                    break
                top = processes[top.parent]
            if top.pid == self.own_pid or self.is_marked(top):
                continue
            group = groups[top.pid, top.start]
            group.ticks += one.ticks + (0 if one.pid in ancestors else one.children_ticks)
            group.moved_bytes += self.moved_bytes(one.pid)
        return groups

    def is_marked(self, process: Process) -> bool:
        with suppress(OSError):
            return self.mark.encode() in (self.proc / str(process.pid) / "environ").read_bytes()
        return False

    def moved_bytes(self, pid: int) -> int:
        with suppress(OSError):
            lines = (self.proc / str(pid) / "io").read_text().splitlines()
            values = dict(line.split(": ") for line in lines)
            return int(values["read_bytes"]) + int(values["write_bytes"])
        return 0

    def watch(self) -> Callable[[], list[str]]:
        """Gives a call that tells the witnesses since then."""
        begun_s, stolen_s, others = time.monotonic(), self.steal_s(), self.others()
        waited_s = {name: self.pressure_s(name) for name in ("cpu", "io")}

        def more_waiting_s(name: str) -> float | None:
            before, after = waited_s[name], self.pressure_s(name)
            return None if before is None or after is None else after - before

        def witnesses() -> list[str]:
            duration_s = time.monotonic() - begun_s
            pairs = [(others.get(key, Group()), now) for key, now in self.others().items()]
            used_s = sum(max(0, now.ticks - was.ticks) for was, now in pairs) * TICK_S
            moved = sum(max(0, now.moved_bytes - was.moved_bytes) for was, now in pairs)
            cpu_s, disk_s = more_waiting_s("cpu"), more_waiting_s("io")
            values = {
                "steal_s": self.steal_s() - stolen_s,
                "cpu_s": used_s if cpu_s is None else min(used_s, cpu_s),
                "disk_s": disk_s if disk_s and moved >= MOVED_PER_S * max(1, duration_s) else 0,
            }
            return [
                text
                for name, value in values.items()
                for text in LIMITS[name].said(value, duration_s)
            ]

        return witnesses


class Noise:
    """The plugin, for tests in one folder: elsewhere a second attempt would hide races. `watch`
    begins to look for witnesses, and gives a call that tells them."""

    def __init__(self, folder: Path, watch: Callable[[], Callable[[], list[str]]]) -> None:
        self.folder, self.watch = folder, watch
        self.ran_count = 0
        self.inconclusive: dict[str, str] = {}
        self.repeated: dict[str, str] = {}

    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        if self.folder not in item.path.parents:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self.ran_count += 1
        said: list[str] = []
        while len(said) < ATTEMPTS:
            running.witnesses.clear()
            running.crashes.clear()
            witnesses = self.watch()
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            failures = [report for report in reports if report.failed]
            is_excusable = failures and all(map(raised, failures)) and not running.crashes
            is_excusable = is_excusable and not any(map(no_noise, failures))
            found = [*witnesses(), *running.witnesses] if is_excusable else []
            if not found:
                break
            said.append(f"{raised(failures[0])} ({'; '.join(dict.fromkeys(found))})")
            # Of every scope: what a noisy attempt has recorded is not judged again.
            item.session._setupstate.teardown_exact(None)
        if len(said) == ATTEMPTS:
            self.inconclusive[item.nodeid] = said[-1]
            for report in failures:
                report.outcome = INCONCLUSIVE  # type: ignore[assignment]
        elif said:
            ending = "failed without a witness" if failures else "passed"
            self.repeated[item.nodeid] = f"{ending} in attempt {len(said) + 1}, after {said[-1]}"
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        if str(report.outcome) == INCONCLUSIVE:
            return INCONCLUSIVE, "I", ("INCONCLUSIVE", {"yellow": True})
        return None

    @property
    def is_too_noisy(self) -> bool:
        count = len(self.inconclusive)
        return count >= 2 and count > MOST_INCONCLUSIVE * self.ran_count

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_too_noisy and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for title, tests in (("repeated", self.repeated), (INCONCLUSIVE, self.inconclusive)):
            if tests:
                terminalreporter.section(f"{title}: {len(tests)} of {self.ran_count}")
                for name, text in tests.items():
                    terminalreporter.line(f"{name}: {text}")
        if self.is_too_noisy:
            limit = f"{MOST_INCONCLUSIVE:.0%}"
            terminalreporter.line(f"More than {limit} are inconclusive: this machine is too noisy.")


def no_noise(report: pytest.TestReport) -> bool:
    """Whatever was raised next: a process did not end within the time that only a hang takes, or
    the code is wrong."""
    chain = getattr(report.longrepr, "chain", ())
    texts = [crash.message for _, crash, _ in chain if crash is not None]
    return any(text.startswith(NO_NOISE) for text in texts)


def raised(report: pytest.TestReport) -> str:
    """What was raised; empty where the test could not even begin, as without one of its fixtures:
    noise is no reason for that."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message.strip().partition("\n")[0] if crash else ""
