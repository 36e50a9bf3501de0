"""A recording of the real probe that is killed ten times, and goes on: no gap without a mark."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hardstone.event_names import JOINED, NOT_RESUMED
from hardstone.model import RunDocument
from hardstone.stats.identity import series_problem
from hardstone.stats.join import measured_ns
from hardstone.store.documents import replace_document
from hardstone.store.place import open_place
from hardstone.store.store import Store
from tests.conftest import ROOT
from tests.host.place import dumped
from tests.machine import thread_ids
from tests.running import children, state_of
from tests.waiting import wait_until

TEST = "TMR-P-LAT"
KILLS = 10
# A recording that does not end by itself, however late the test comes to it. To set up tracing,
# where there is some, takes longer than BEGIN_NS.
NEVER = ("-D", "10h", "--parts", "none")
INTERVAL_NS = 1_000_000
REST_NS = 1_500_000_000
BEGIN_NS = 20_000_000  # the first release comes that long after the begin, and a little more
START = "from hardstone.cli.main import main; main()"


class Tool:
    """`hardstone latstat` in processes of its own, with a memory and a store of its own."""

    def __init__(self, folder: Path, probe: Path) -> None:
        self._probe = probe
        self.memory = folder / "memory"
        self.memory.mkdir()
        self.store = folder / "store"
        names = {"HARDSTONE_MEMORY_DIR": str(self.memory), "HARDSTONE_PROBE": str(probe)}
        self._seen: set[Path] = set()
        self._started: list[subprocess.Popen[bytes]] = []
        self._env = {**os.environ, **names, "PYTHONPATH": f"{ROOT}/src"}

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", START, "latstat", *words, "--store", str(self.store)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self._env
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        """A recording that a failed test left would go on for hours."""
        for process in self._started:
            if process.returncode is None:
                kill(process, probe_first=False)

    def wait_for_values(self, process: subprocess.Popen[bytes]) -> None:
        """Until the probe of `process`, which was started last, has recorded some."""

        def has_some() -> bool:
            assert process.poll() is None, process.communicate()[1]
            return any(map(self._has_values, self._recordings() - self._seen))

        wait_until(has_some)
        self.forget_recordings()

    def forget_recordings(self) -> None:
        """Those that are there are not of a process that is started later."""
        self._seen |= self._recordings()

    def document(self) -> RunDocument:
        return Store(self.store).load("last")

    def interrupt(self, process: subprocess.Popen[bytes]) -> None:
        self.wait_for_values(process)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1].decode()
        assert process.returncode == 130, said
        assert self.document().status == "interrupted"

    def finished(self, rest_ns: int) -> RunDocument:
        """The recording, resumed as if it had been begun for what it has and that much more."""
        document = self.document()
        (planned,) = document.plan.tests
        whole_ns = measured_ns(document) + rest_ns
        planned = msgspec.structs.replace(planned, duration_ns=whole_ns)
        document.plan = msgspec.structs.replace(document.plan, tests=[planned])
        replace_document(open_place(self.store), document)
        process = self.start("--resume", "-q")
        said = process.communicate()[1].decode()
        assert process.returncode in (0, 3), said  # 3: this machine is too busy to be trusted
        document = self.document()
        assert document.status == "complete"
        return document

    def _recordings(self) -> set[Path]:
        return set(self.memory.glob("*/*.rec"))

    def _has_values(self, recording: Path) -> bool:
        return dumped(self._probe, recording, TEST).sample_count > 0


@pytest.fixture
def tool(tmp_path: Path, probe: Path) -> Iterator[Tool]:
    made = Tool(tmp_path, probe)
    yield made
    made.end()


def stands_still(pid: int) -> bool:
    """All of its threads, or it has ended."""
    states = set()
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):
            states.add(state_of(thread))
    return states <= set("TZX")


def kill(process: subprocess.Popen[bytes], *, probe_first: bool) -> None:
    """Stopped before, so that it does not start a probe that nobody knows of meanwhile: that one
    would record for a moment, and be taken for the next."""
    os.kill(process.pid, signal.SIGSTOP)
    wait_until(lambda: stands_still(process.pid), "the tool does not stop")
    victims = [process.pid, *children(process.pid)]
    for pid in reversed(victims) if probe_first else victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()


def uptime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def check_times(document: RunDocument, begin_ns: int, end_ns: int) -> None:
    """What was recorded and the marked gaps are the whole time, and lie within that of the test."""
    (result,) = document.results
    marks = [one for one in result.events if one.name == JOINED]
    filled = [one for one in document.parts if one.result is not None]
    assert len(marks) == len(filled) - 1
    gaps_ns = sum(int(str(one.data["gap_ns"])) for one in marks)
    first, last = filled[0].started_uptime_ns, filled[-1].started_uptime_ns
    assert first is not None and last is not None
    assert begin_ns <= first and last + filled[-1].duration_ns <= end_ns
    assert result.duration_ns + gaps_ns == last + filled[-1].duration_ns - first


def check_values(document: RunDocument) -> None:
    """One value for each release: within a part nothing is missing."""
    (result,) = document.results
    release = next(one for one in result.series if one.name == "release")
    parts = [one for one in document.parts if one.result is not None]
    least = sum((one.duration_ns - BEGIN_NS) // INTERVAL_NS for one in parts)
    most = sum((one.duration_ns + one.uncertainty_ns) // INTERVAL_NS + 1 for one in parts)
    assert least <= release.count <= most + len(parts)
    assert [series_problem(series) for series in result.series] == [None] * len(result.series)


def test_killed_ten_times_it_has_no_gap_without_a_mark(tool: Tool) -> None:
    draw = random.Random(14)
    begin_ns = uptime_ns()
    process = tool.start(*NEVER, "-q")
    for number in range(KILLS):
        tool.wait_for_values(process)
        time.sleep(draw.uniform(0.1, 1.6))
        assert process.poll() is None, process.communicate()[1]
        kill(process, probe_first=number % 2 == 1)
        if number % 3 == 0:  # and again, while it recovers or begins
            process = tool.start("--resume", "-q")
            time.sleep(draw.uniform(0.1, 0.4))
            kill(process, probe_first=True)
            tool.forget_recordings()
        process = tool.start("--resume", "-q")
    tool.interrupt(process)
    document = tool.finished(REST_NS)
    assert len(Store(tool.store).runs()) == 1
    nothing = sum(one.name == NOT_RESUMED for one in document.results[0].events)
    filled = [one for one in document.parts if one.result is not None]
    assert len(filled) >= KILLS + 2
    assert nothing == sum(one.result is None for one in document.parts)
    check_times(document, begin_ns, uptime_ns())
    check_values(document)
    assert document.results[0].duration_ns >= document.plan.tests[0].duration_ns
    assert list(tool.memory.iterdir()) == []
