"""Messages between two threads or processes on one CPU, against the tools that pass some.

`perf bench sched pipe` makes round trips of 4 bytes through two pipes, without stamps in its loop:
twice the latency of MSG-P-LAT is the same thing, with the stamps. pmqtest of rt-tests sends 8
bytes through a POSIX queue and stamps before mq_send and after mq_receive of the other thread, at
equal priority on one CPU: one direction, of which MSG-P-LAT has half of two. It cuts each value to
whole microseconds, so the values of MSG-P-LAT are cut too, and only means can be compared.
MSG-P-THR stands against a loop of the same calls that reads the clock only at its ends.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench import processes
from bench.handover import LOOPS, PRIORITY, USECS, on_cpu
from bench.rounds import Metrics

SAMPLES = 50_000
WINDOWS = 4
PIPE_BYTES = 4
QUEUE_BYTES = 8
STREAM_BYTES = 8192
DEPTH = 10
LOOPED = 60_000  # messages of a round of the plain loop
ROUNDS = 2
KINDS = ("mq", "pipe", "unix", "sysv")
SUB_BITS = 10  # of the histograms in a stream


def lines_of(probe: Path, test: str, samples: int, params: dict[str, str]) -> list[dict[str, Any]]:
    """The series with values of one run."""
    command = [str(probe), "run", test, "--json", "--samples", str(samples)]
    command += [word for name, text in params.items() for word in ("-p", f"{name}={text}")]
    command += ["--cpu", str(processes.other_cpu()), "--policy", "fifo"]
    command += ["--priority", str(PRIORITY)]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"{test}: {result['status']}: {result['reason']}")
    return [line for line in lines if line["type"] == "series" and line["count"]]


def latency(probe: Path, kind: str, scope: str, size_bytes: int) -> dict[str, Any]:
    params = {"kinds": kind, "scopes": scope, "sizes_bytes": str(size_bytes)}
    (series,) = lines_of(probe, "MSG-P-LAT", SAMPLES, params)
    return series


def round_trip(probe: Path, scope: str) -> Metrics:
    return {"pipe_ns": 2 * float(latency(probe, "pipe", scope, PIPE_BYTES)["mean"])}


def perf(scope: str) -> Metrics:
    """One operation of the benchmark is a round trip; it prints their mean."""
    program = processes.require("perf", "linux-perf")
    command = [*on_cpu(), program, "bench", "sched", "pipe", "-l", str(LOOPS)]
    command += ["-T"] if scope == "thread" else []
    found = USECS.search(processes.run(command).stdout)
    if found is None:
        raise processes.Missing("perf bench sched pipe says no usecs/op")
    return {"pipe_ns": float(found[1]) * 1000}


def _lowest(index: int) -> int:
    """Smallest value of a bucket."""
    shift = max((index >> SUB_BITS) - 1, 0)
    return (index - (shift << SUB_BITS)) << shift


def cut_mean_ns(series: dict[str, Any]) -> float:
    """The mean of the values, each cut to whole microseconds."""
    buckets = series["histogram"]["buckets"]
    total = sum(count for _, count in buckets)
    return 1000 * sum((_lowest(index) // 1000) * count for index, count in buckets) / total


def queue(probe: Path) -> Metrics:
    return {"mq_ns": cut_mean_ns(latency(probe, "mq", "thread", QUEUE_BYTES))}


def pmqtest() -> Metrics:
    """Without a pause between two messages: MSG-P-LAT has none."""
    program = processes.require("pmqtest", "rt-tests")
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        result = Path(folder) / "result.json"
        command = [program, "-a", str(processes.other_cpu()), "-p", str(PRIORITY), "-i", "1"]
        command += ["-l", str(LOOPS // 2), "-q", f"--json={result}"]
        processes.run(command)
        receiver = json.loads(result.read_text())["thread"]["0"]["receiver"]
    return {"mq_ns": float(receiver["avg"]) * 1000}


def throughput(probe: Path) -> Metrics:
    params = {
        "kinds": ",".join(KINDS),
        "scopes": "thread",
        "sizes_bytes": str(STREAM_BYTES),
        "depth": str(DEPTH),
    }
    found = lines_of(probe, "MSG-P-THR", WINDOWS, params)
    return {f"{one['labels']['kind']}_bytes_per_s": float(one["mean"]) for one in found}


def loop(program: Path) -> Metrics:
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    metrics = {}
    for kind in KINDS:
        numbers = (STREAM_BYTES, DEPTH, processes.other_cpu(), PRIORITY, LOOPED, ROUNDS)
        done = processes.run([str(program), kind, *map(str, numbers)])
        metrics[f"{kind}_bytes_per_s"] = statistics.mean(map(float, done.stdout.split()))
    return metrics
