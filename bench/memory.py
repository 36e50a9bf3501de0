"""Locked memory of each test of the register, with default parameters and few samples.

Read from /proc while the test runs; the largest of all readings counts. VmLck is of one process;
the sum over the probe and the processes that it makes counts shared pages once (`Locked` of
smaps_rollup, which the kernel gives in proportion).
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    """The largest readings of one test, in bytes, and its number of processes then."""

    test: str
    largest: int = 0  # of one process
    stack: int = 0  # of the main thread of that process
    total: int = 0  # of all, shared pages once
    processes: int = 0

    @property
    def limit(self) -> int:
        return WAKEUP_LIMIT_BYTES if self.test == "TMR-P-LAT" else LIMIT_BYTES


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
        try:
            while process.poll() is None and time.monotonic() < give_up_s:
                _look(process.pid, locked)
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


def _look(pid: int, locked: Locked) -> None:
    family = processes.family(pid)
    total = 0
    for one in family:
        status = processes.sizes(Path(f"/proc/{one}/status"))
        if status.get("VmLck", 0) > locked.largest:
            locked.largest, locked.stack = status["VmLck"], status["VmStk"]
        if status.get("VmLck", 0) > 0:
            total += processes.sizes(Path(f"/proc/{one}/smaps_rollup")).get("Locked", 0)
    if total > locked.total:
        locked.total, locked.processes = total, len(family)


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:.0f} KiB"
