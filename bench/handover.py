"""Round trips and hand-overs between two threads or processes on one CPU, against the tools
that time something of the kind.

`perf bench sched pipe` makes round trips through two pipes: two system calls a side and two
switches, as SEM-P-RTP does with eventfd. It has no stamps in its loop, so the ratio also
bounds what SEM-P-RTP's cost. rt-tests hand something over once an interval, and sleep in
between; SEM-P-SHF does it back to back, with warm caches.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

PRIORITY = 80
SAMPLES = 50_000
LOOPS = 50_000
HANDOVERS = 1000
INTERVAL_US = 500
KINDS = ("unnamed", "futex", "eventfd", "mutex")
USECS = re.compile(r"([0-9.]+) usecs/op")


def means(probe: Path, test: str, series: str, kinds: tuple[str, ...], scope: str) -> Metrics:
    """Mean of `series` by kind."""
    command = [str(probe), "run", test, "--json", "--samples", str(SAMPLES)]
    command += ["-p", f"kinds={','.join(kinds)}", "-p", f"scopes={scope}"]
    command += ["--cpu", str(processes.other_cpu()), "--policy", "fifo"]
    command += ["--priority", str(PRIORITY)]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"{test}: {result['status']}: {result['reason']}")
    return {
        f"{line['labels']['kind']}_ns": float(line["mean"])
        for line in lines
        if line["type"] == "series" and line["name"] == series and line["count"]
    }


def round_trips(probe: Path, scope: str) -> Metrics:
    return means(probe, "SEM-P-RTP", "round_trip", KINDS, scope)


def handovers(probe: Path, kind: str) -> Metrics:
    return means(probe, "SEM-P-SHF", "shuffle", (kind,), "thread")


def pipe(scope: str) -> Metrics:
    """One operation of the benchmark is a round trip."""
    perf = processes.require("perf", "linux-perf")
    command = [*on_cpu(), perf, "bench", "sched", "pipe", "-l", str(LOOPS)]
    if scope == "thread":
        command.append("-T")
    found = USECS.search(processes.run(command).stdout)
    if found is None:
        raise processes.Missing("perf bench sched pipe says no usecs/op")
    return {f"{kind}_ns": float(found[1]) * 1000 for kind in KINDS}


def rt_tests(program: str, kind: str) -> Metrics:
    """Mean of svsematest or ptsematest between two threads."""
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        result = Path(folder) / "result.json"
        command = [processes.require(program, "rt-tests"), "-a", str(processes.other_cpu())]
        command += ["-t", "1", "-p", str(PRIORITY), "-i", str(INTERVAL_US)]
        command += ["-l", str(HANDOVERS), "-q", f"--json={result}"]
        processes.run([word for word in command if word != "-q" or program == "ptsematest"])
        receiver = json.loads(result.read_text())["thread"]["0"]["receiver"]
    return {f"{kind}_ns": float(receiver["avg"]) * 1000}


def on_cpu() -> list[str]:
    """Words that bind a program to the CPU under test, at the priority of the test."""
    taskset = processes.require("taskset", "util-linux")
    chrt = processes.require("chrt", "util-linux")
    return [taskset, "-c", str(processes.other_cpu()), chrt, "-f", str(PRIORITY)]
