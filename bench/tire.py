"""The tire's solvers: a mass and step of `barrier` against the same step in numpy, two threads
against one, `semaphore` against its semaphore operations and its arithmetic, each measured alone;
CPU time against the kernel's count for the whole process."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import processes, table
from bench.comparison import Comparison
from bench.rounds import Metrics

PRIORITY = 80
LARGE, PUBLISHED = 57_000, 5904  # the largest tire of the paper, and that of its real-fast runs
SIMULATED_S = 20
STEPS_PER_S = 100
_NUMPY_STEPS = 100
_TASK_CLOCK = re.compile(r"^([0-9.]+),msec,task-clock", re.MULTILINE)


def comparisons(probe: Path) -> list[Comparison]:
    program = probe.parent / "tests" / "hardstone-tire-operations-bench"
    size = f"{LARGE:,} masses"
    step = f"a mass and step of the tire, {{}}, {size}"
    return [
        Comparison(
            "tire",
            {"mass_ns": (step.format("one thread"), "ns")},
            lambda: barrier(probe),
            numpy_step,
            "numpy",
        ),
        Comparison(
            "tire-threads",
            {"mass_ns": (step.format("two threads"), "ns")},
            lambda: barrier(probe, threads=2),
            lambda: barrier(probe),
            "one thread",
        ),
        Comparison(
            "tire-semaphore",
            {"mass_ns": (f"CPU time of a mass and step, semaphores, {PUBLISHED:,} masses", "ns")},
            lambda: semaphore(probe),
            lambda: operations_and_sums(probe, program),
            "its operations and its arithmetic alone",
            reading=table.agreement,
        ),
        Comparison(
            "tire-cpu",
            {"cpu_ns": ("CPU time that SIM-P-RF counts, two threads", "s")},
            lambda: own_cpu_time(probe),
            lambda: task_clock(probe),
            "perf stat, all of the probe",
            reading=table.agreement,
        ),
    ]


def _command(probe: Path, masses: int, threads: int, solver: str, simulated_s: int) -> list[str]:
    words = [f"masses={masses}", f"threads={threads}", f"solver={solver}"]
    words += [f"simulated_s={simulated_s}"]
    command = [str(probe), "run", "SIM-P-RF", "--json", "--samples", "1"]
    command += ["--policy", "fifo", "--priority", str(PRIORITY)]
    return [*command, *(word for one in words for word in ("-p", one))]


def _lines(told: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"SIM-P-RF: {result['status']}: {result['reason']}")
    return lines


def _event(lines: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (one["data"] for one in lines if one["type"] == "event" and one["name"] == name)
    return dict(found)


def _total_ns(lines: list[dict[str, Any]]) -> float:
    (series,) = (one for one in lines if one["type"] == "series" and one["name"] == "total_time")
    return float(series["mean"])


def barrier(probe: Path, threads: int = 1) -> Metrics:
    """Wall time over masses and steps at 57,000 masses."""
    lines = _lines(processes.run(_command(probe, LARGE, threads, "barrier", SIMULATED_S)).stdout)
    return {"mass_ns": _total_ns(lines) / (LARGE * SIMULATED_S * STEPS_PER_S)}


def numpy_step() -> Metrics:
    """The step of SPEC's model in numpy: whole arrays, two dimensions, no floor."""
    angle = 2 * np.pi * np.arange(LARGE) / LARGE
    place = np.column_stack([np.sin(angle), np.cos(angle) + 1])
    speed = np.zeros_like(place)
    rest = 2 * np.sin(np.pi / LARGE)
    begin_ns = time.perf_counter_ns()
    for _ in range(_NUMPY_STEPS):
        pull = np.zeros_like(place)
        for shift, length in ((1, rest), (-1, rest), (LARGE // 2, 2.0)):
            apart = np.roll(place, shift, 0) - place
            pull += 1000 * (1 - length / np.hypot(apart[:, 0], apart[:, 1]))[:, None] * apart
            pull += 20 * (np.roll(speed, shift, 0) - speed)
        place, speed = place + 0.01 * speed, speed + 0.01 * pull
    return {"mass_ns": (time.perf_counter_ns() - begin_ns) / (LARGE * _NUMPY_STEPS)}


def semaphore(probe: Path) -> Metrics:
    """CPU time of two threads over masses and steps."""
    lines = _lines(processes.run(_command(probe, PUBLISHED, 2, "semaphore", SIMULATED_S)).stdout)
    cpu_ns = float(_event(lines, "simulation")["cpu_ns"])
    return {"mass_ns": cpu_ns / (PUBLISHED * SIMULATED_S * STEPS_PER_S)}


def operations_and_sums(probe: Path, program: Path) -> Metrics:
    """The four operations of a mass by the program, the springs and sums as the test times them:
    a thread has (2e + 1) springs and e masses."""
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    words = [str(PUBLISHED), "2", str(SIMULATED_S * STEPS_PER_S), str(PRIORITY)]
    operations_ns = float(processes.run([str(program), *words]).stdout)
    lines = _lines(processes.run(_command(probe, PUBLISHED, 1, "barrier", 1)).stdout)
    costs = _event(lines, "tire_costs")
    each = PUBLISHED // 2
    springs_ns = (2 * each + 1) / each * float(costs["spring_ns"])
    return {"mass_ns": operations_ns + springs_ns + float(costs["mass_ns"])}


def own_cpu_time(probe: Path) -> Metrics:
    lines = _lines(processes.run(_command(probe, LARGE, 2, "barrier", SIMULATED_S)).stdout)
    return {"cpu_ns": float(_event(lines, "simulation")["cpu_ns"])}


def task_clock(probe: Path) -> Metrics:
    """Of the whole process by perf, without what it takes for one simulated second."""
    return {"cpu_ns": _perf(probe, SIMULATED_S + 1) - _perf(probe, 1)}


def _perf(probe: Path, simulated_s: int) -> float:
    perf = processes.require("perf", "linux-perf")
    command = _command(probe, LARGE, 2, "barrier", simulated_s)
    words = ["sh", "-c", 'exec "$@" 2>&1', "sh", perf, "stat", "-x,", "-e", "task-clock"]
    found = _TASK_CLOCK.search(processes.run([*words, *command]).stdout)
    if found is None:
        raise processes.Missing("perf stat gave no task-clock")
    return float(found[1]) * 1e6
