"""TMR-P-LAT against cyclictest: same interval, priority, CPU and clock, both memory
locked, both with a histogram in ns, both leaving idle states as they find them."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import processes
from bench.rounds import Metrics
from hardstone.stats.identity import edges_of, parse_layout

PRIORITY = 80
INTERVAL_US = 1000
RECORDER_US = 100
HISTOGRAM_NS = 500_000
SETTLE_S = 1.6
WINDOW_S = 2.0
TAIL_S = 0.4


class Observer:
    """CPU time over a window in which the process does nothing but wake up."""

    def __init__(self, interval_us: int = INTERVAL_US) -> None:
        self._interval_us = interval_us
        self.metrics: Metrics = {}

    def __call__(self, pid: int) -> None:
        time.sleep(SETTLE_S)
        locked_bytes = processes.locked_bytes(pid)
        begin_ns, begin_cpu_ns = time.monotonic_ns(), processes.cpu_time_ns(pid)
        time.sleep(WINDOW_S)
        spent_ns = processes.cpu_time_ns(pid) - begin_cpu_ns
        wakeups = (time.monotonic_ns() - begin_ns) / (self._interval_us * 1000)
        self.metrics = {"locked_bytes": locked_bytes, "cpu_ns": spent_ns / wakeups}


def hardstone(probe: Path, interval_us: int = INTERVAL_US) -> Metrics:
    duration_ns = round((SETTLE_S + WINDOW_S + TAIL_S) * 1e9)
    command = [str(probe), "run", "TMR-P-LAT", "--json", "--duration-ns", str(duration_ns)]
    command += ["--cpu", str(processes.other_cpu()), "--policy", "fifo"]
    command += ["--priority", str(PRIORITY), "--clock", "monotonic"]
    command += ["-p", f"interval_ns={interval_us * 1000}"]
    observer = Observer(interval_us)
    stream = processes.run_observed(command, observer)
    lines = [json.loads(line) for line in stream.splitlines()]
    series = [line for line in lines if line["type"] == "series" and line["name"] == "wakeup"]
    if not series:
        (result,) = (line for line in lines if line["type"] == "result")
        raise processes.Missing(f"TMR-P-LAT: {result['status']}: {result['reason']}")
    return {**observer.metrics, "median_ns": median(values_of(series[0]["histogram"]))}


def cyclictest(interval_us: int = INTERVAL_US) -> Metrics:
    # -D takes whole seconds.
    duration_s = round(SETTLE_S + WINDOW_S + TAIL_S)
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        result = Path(folder) / "result.json"
        command = [*cyclictest_command(duration_s, interval_us), "-h", str(HISTOGRAM_NS)]
        command += [f"--json={result}"]
        observer = Observer(interval_us)
        processes.run_observed(command, observer)
        thread = json.loads(result.read_text())["thread"]["0"]
    values = {float(value): count for value, count in thread["histogram"].items()}
    return {**observer.metrics, "median_ns": median(values)}


def bare(program: Path, poll_ns: int) -> Metrics:
    """The same sleep, clock and interval with one array; `poll_ns`: beside an ordinary thread that
    wakes up so often, 0 for none."""
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    count = round((SETTLE_S + WINDOW_S + TAIL_S) * 1e6 / INTERVAL_US)
    numbers = (processes.other_cpu(), PRIORITY, INTERVAL_US * 1000, count, poll_ns)
    observer = Observer()
    text = processes.run_observed([str(program), *map(str, numbers)], observer)
    return {**observer.metrics, "median_ns": float(text)}


def cyclictest_lean() -> Metrics:
    """Without a histogram: the least memory that it can do with."""
    observer = Observer()
    processes.run_observed(cyclictest_command(round(SETTLE_S + WINDOW_S + TAIL_S)), observer)
    return observer.metrics


def cyclictest_command(duration_s: int, interval_us: int = INTERVAL_US) -> list[str]:
    program = processes.require("cyclictest", "rt-tests")
    command = [program, "-m", "-q", "-N", "--laptop", "-t", "1", "-p", str(PRIORITY)]
    command += ["-a", str(processes.other_cpu()), "-i", str(interval_us)]
    return [*command, "-D", str(duration_s)]


def values_of(histogram: Mapping[str, Any]) -> dict[float, int]:
    """Counts by the middle of their bucket, of a series as the probe sends it."""
    layout = parse_layout(histogram["layout"])
    return {sum(edges_of(index, layout)) / 2: count for index, count in histogram["buckets"]}


def median(values: dict[float, int]) -> float:
    half = sum(values.values()) / 2
    seen = 0
    for value in sorted(values):
        seen += values[value]
        if seen >= half:
            return value
    raise processes.Missing("no values were recorded")
