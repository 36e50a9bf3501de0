"""Locked memory of each test of the register, with default parameters and few samples.

Read from /proc while the test runs. Of two readings in a row the smaller one is held, and the
largest that is held counts: the two copies of a checkpoint are locked for some 0.1 ms each, until
the probe unlocks them, and a reading in that time is luck. VmLck is of one process; the sum over
the probe and the processes that it makes counts shared pages once (`Locked` of smaps_rollup, which
the kernel gives in proportion).
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench import processes

SAMPLES = 50
PAUSE_S = 0.002
RUNS, MOST_RUNS = 4, 20
GIVE_UP_S = 120
# The code of all tests is locked in each: docs/decisions/0006.
LIMIT_BYTES = 5_800_000  # of one process
TOTAL_LIMIT_BYTES = 7_600_000  # of all, where it makes others
WAKEUP_LIMIT_BYTES = 3_500_000  # TMR-P-LAT, one CPU without parts
CPU_LIST_BYTES = 110_000  # a thread of its own for the first one too
FURTHER_CPU_BYTES = 740_000
BLOCK = re.compile(r"(<!-- memory -->\n).*?(<!-- end of memory -->\n)", re.DOTALL)


@dataclass
class Locked:
    """The largest of one test that is held, in bytes, and its number of processes then."""

    test: str
    largest: int = 0  # of one process
    stack: int = 0  # of the main thread of that process
    total: int = 0  # of all, shared pages once
    processes: int = 0

    @property
    def limit(self) -> int:
        return WAKEUP_LIMIT_BYTES if self.test == "TMR-P-LAT" else LIMIT_BYTES


class _Look(NamedTuple):
    """One reading, in bytes."""

    sizes: Mapping[int, int]  # VmLck by process
    total: int


def tests_of(probe: Path) -> list[str]:
    register = json.loads(subprocess.check_output([str(probe), "list", "--json"]))
    return [test["id"] for test in register["tests"]]


def measure(probe: Path, test: str, options: Sequence[str] = (), runs: int = 1) -> Locked:
    """The largest of `runs`, and of more where one was over before it was looked at. Missing
    where memory may not be locked."""
    command = [str(probe), "run", test, "--json", "--samples", str(SAMPLES), *options]
    locked = Locked(test)
    for count in range(1, MOST_RUNS + 1):
        _watch(command, locked)
        if count >= runs and locked.largest > 0 and locked.total > 0:
            return locked
    raise processes.Missing(f"{test}: no locked memory was seen")


def _watch(command: Sequence[str], locked: Locked) -> None:
    with (
        tempfile.TemporaryFile() as stream,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream) as process,
    ):
        give_up_s = time.monotonic() + GIVE_UP_S
        before = _Look({}, 0)
        try:
            while process.poll() is None and time.monotonic() < give_up_s:
                before = _look(process.pid, before, locked)
                time.sleep(PAUSE_S)
        finally:
            process.kill()


def write(path: Path, probe: Path) -> None:
    """Measures every test and puts the table into `path`."""
    rows = [measure(probe, test, runs=RUNS) for test in tests_of(probe)]
    lines = [
        "| test | locked, one process | all processes | processes |",
        "| --- | --- | --- | --- |",
    ]
    for row in rows:
        print(line(row), flush=True)
        cells = [row.test, _kib(row.largest), _kib(row.total), str(row.processes)]
        lines.append(f"| {' | '.join(cells)} |")
    body = "\n".join(lines) + "\n"
    path.write_text(BLOCK.sub(lambda match: f"{match[1]}{body}{match[2]}", path.read_text()))


def line(row: Locked) -> str:
    return (
        f"{row.test}: {_kib(row.largest)} in one process, {_kib(row.total)} in all {row.processes}"
    )


def _look(pid: int, before: _Look, locked: Locked) -> _Look:
    family = processes.family(pid)
    sizes: dict[int, int] = {}
    total = 0
    for one in family:
        status = processes.sizes(Path(f"/proc/{one}/status"))
        sizes[one] = status.get("VmLck", 0)
        held = min(sizes[one], before.sizes.get(one, 0))
        if held > locked.largest:
            locked.largest, locked.stack = held, status["VmStk"]
        if sizes[one] > 0:
            total += processes.sizes(Path(f"/proc/{one}/smaps_rollup")).get("Locked", 0)
    held = min(total, before.total)
    if held > locked.total:
        locked.total, locked.processes = held, len(family)
    return _Look(sizes, total)


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.0f} KiB"
