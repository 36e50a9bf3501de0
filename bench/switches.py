"""How much of a switch in THR-P-SLS is the instrument: the mean of the test with two
threads against a bare sched_yield loop of two threads, without any stamps."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

PRIORITY = 80
SAMPLES = 100_000
SWITCHES = 50_000
LOOPS = 3


def hardstone(probe: Path) -> Metrics:
    command = [str(probe), "run", "THR-P-SLS", "--json", "-p", "threads=2"]
    command += ["--samples", str(SAMPLES), "--cpu", str(processes.other_cpu())]
    command += ["--policy", "fifo", "--priority", str(PRIORITY)]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"THR-P-SLS: {result['status']}: {result['reason']}")
    (series,) = (line for line in lines if line["type"] == "series")
    return {"switch_ns": float(series["mean"])}


def bare(program: Path) -> Metrics:
    """The program also counts what interrupts take, as the mean of the test does."""
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    numbers = (processes.other_cpu(), PRIORITY, SWITCHES, LOOPS)
    done = processes.run([str(program), *map(str, numbers)])
    return {"switch_ns": statistics.mean(map(float, done.stdout.split()))}
