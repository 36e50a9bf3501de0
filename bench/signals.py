"""SIG-P-LAT against signaltest of rt-tests, and against a bare loop of the same calls.

signaltest passes a signal round a chain of threads; with two of them a thread's value is a round
trip: its pthread_kill, the other's way out of sigwait, that one's pthread_kill, and its own way out
of sigwait. Two latencies of SIG-P-LAT with sigwaitinfo between threads are the same way, but by
sigqueue, which carries a value and is sent to the process. The bare loop does either, without
stamps, so it tells what of a difference is the calls' and what the instrument's.
"""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

from bench import processes
from bench.rounds import Metrics
from bench.wakeup import median, values_of

PRIORITY = 80
SAMPLES = 50_000
TRIPS = 20_000
LOOPS = 3
ROUND_TRIPS = 3000  # signaltest sleeps for 10 ms after each 16
FIRST = 2  # of its values, which are no round trips
VALUE = re.compile(r"^\s*0:\s*\d+:\s*(\d+)\s*$", re.MULTILINE)
SCOPES = ("thread", "process")


def hardstone(probe: Path) -> Metrics:
    """Twice the latency of sigwaitinfo: its median and its mean, by scope."""
    command = [str(probe), "run", "SIG-P-LAT", "--json", "-p", "receivers=sigwaitinfo"]
    command += ["--samples", str(SAMPLES), "--cpu", str(processes.other_cpu())]
    command += ["--policy", "fifo", "--priority", str(PRIORITY)]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"SIG-P-LAT: {result['status']}: {result['reason']}")
    found = {}
    for line in lines:
        if line["type"] == "series":
            scope = line["labels"]["scope"]
            found[f"{scope}_mean_ns"] = 2 * float(line["mean"])
            found[f"{scope}_median_ns"] = 2 * median(values_of(line["histogram"]))
    return found


def bare(program: Path, hows: tuple[str, ...]) -> Metrics:
    """The mean of a round trip, by how it is made."""
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    numbers = (processes.other_cpu(), PRIORITY, TRIPS, LOOPS)
    found = {}
    for how in hows:
        done = processes.run([str(program), how, *map(str, numbers)])
        found[f"{how}_mean_ns"] = statistics.mean(map(float, done.stdout.split()))
    return found


def bare_by(how: str, program: Path) -> Metrics:
    return {"mean_ns": bare(program, (how,))[f"{how}_mean_ns"]}


def middle_ns(output: str) -> float:
    """The median of what `signaltest -v` has printed for its first thread. Its values are whole
    microseconds, cut off: within one of them the median is interpolated."""
    values = [int(found) for found in VALUE.findall(output)][FIRST:]
    if not values:
        raise processes.Missing("signaltest -v tells no values")
    return statistics.median_grouped([value + 0.5 for value in values], 1) * 1000


def signaltest() -> Metrics:
    program = processes.require("signaltest", "rt-tests")
    command = [program, "-m", "-v", "-t", "2", "-a", str(processes.other_cpu())]
    command += ["-p", str(PRIORITY), "-l", str(ROUND_TRIPS)]
    return {"thread_median_ns": middle_ns(processes.run(command).stdout)}
