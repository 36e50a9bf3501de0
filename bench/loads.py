"""Wake-ups of TMR-P-LAT under the loads of hardstone and under those that the field uses, in equal
time. The measuring side is the same for all."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import processes
from bench.rounds import Metrics
from bench.wakeup import values_of

PRIORITY = 80
INTERVAL_NS = 1_000_000
SETTLE_S = 1.0
MOST_S = 600
TOP = 20
QUANTILE = 0.999
# Finding the worst: of one maximum, of the largest values, and of a quantile.
WORST, LARGEST, P999 = "worst", "top20", "p999"
NONE, HEAVY, STORM = "none", "heavy", "storm"
STRESS_NG, HACKBENCH = "stress-ng", "hackbench"
# On each CPU, as those that they are compared with; messages go to all of them.
ELEMENTS = {
    **{name: f"{name}@cpu" for name in ("cpu", "disk", "interrupt", "network", "syscall")},
    **{name: f"{name}@cpu" for name in ("memory", "search")},
    "storm": "storm=240",
    **{name: f"{name}@cpu" for name in ("build", "kernel")},
    "messages": "messages",
}
ALL = "+".join(ELEMENTS.values())
BROKEN = ("load_ended_early", "load_not_settled")  # a load that is short is one, all the same


@dataclass(frozen=True)
class Side:
    """A load of the probe's own, or one that runs beside it."""

    name: str
    load: str = "none"
    beside: Callable[[], AbstractContextManager[None]] = nullcontext


def compared() -> list[Side]:
    return [
        Side(NONE),
        Side(HEAVY, "heavy@cpu"),
        Side(STORM, ALL),
        Side(HACKBENCH, beside=hackbench),
        Side(STRESS_NG, beside=stress_ng),
    ]


def without(left_out: list[str]) -> list[Side]:
    """The storm as a whole, and without each of these elements in turn."""
    unknown = set(left_out) - set(ELEMENTS)
    if unknown:
        raise processes.Missing(f"no element {', '.join(sorted(unknown))}: {', '.join(ELEMENTS)}")
    sides = [Side(STORM, ALL)]
    for name in left_out:
        kept = [term for element, term in ELEMENTS.items() if element != name]
        sides.append(Side(f"without {name}", "+".join(kept)))
    return sides


def found_under(side: Side, probe: Path, seconds: float) -> Metrics:
    """The figures under one load; Missing where the load broke, or nothing was measured."""
    with side.beside():
        return figures(wakeups(probe, seconds, "--load", side.load))


def figures(series: dict[str, Any]) -> Metrics:
    """Of a series as the probe sends it."""
    largest = sorted((worst["value_ns"] for worst in series["worst"]), reverse=True)[:TOP]
    return {
        WORST: float(series["max"]),
        LARGEST: statistics.fmean(largest),
        P999: quantile(values_of(series["histogram"]), QUANTILE),
    }


def quantile(values: dict[float, int], share: float) -> float:
    """The least value that at least this share of all is not above."""
    needed, seen = share * sum(values.values()), 0
    for value in sorted(values):
        seen += values[value]
        if seen >= needed:
            return value
    raise processes.Missing("no values were recorded")


def wakeups(probe: Path, seconds: float, *options: str) -> dict[str, Any]:
    command = [str(probe), "run", "TMR-P-LAT", "--json", "--duration-ns", str(round(seconds * 1e9))]
    command += ["--cpu", str(processes.other_cpu()), "--policy", "fifo"]
    command += ["--priority", str(PRIORITY), "-p", f"interval_ns={INTERVAL_NS}", *options]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    found = [line for line in lines if line["type"] == "series" and line["name"] == "wakeup"]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured" or not found:
        raise processes.Missing(f"TMR-P-LAT: {result['status']}: {result['reason']}")
    for event in lines:
        if event["type"] == "event" and event["name"] in BROKEN:
            raise processes.Missing(f"TMR-P-LAT: {event['text']}")
    return dict(found[0])


@contextmanager
def stress_ng() -> Iterator[None]:
    """The classes that heavy has too, without pause, on each CPU."""
    program = processes.require("stress-ng", "stress-ng")
    each = str(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        command = [program, "--quiet", "--timeout", f"{MOST_S}s", "--temp-path", folder]
        for stressor in ("cpu", "hdd", "timer", "sock", "get", "malloc", "dir"):
            command += [f"--{stressor}", each]
        with beside([*command, "--hdd-bytes", "64m", "--malloc-bytes", "64m"]):
            yield


@contextmanager
def hackbench() -> Iterator[None]:
    """400 processes that send messages through sockets."""
    with beside([processes.require("hackbench", "rt-tests"), "-g", "10", "-l", "10000000"]):
        yield


@contextmanager
def beside(command: list[str]) -> Iterator[None]:
    """`command` in a process group of its own, settled; ended at the end."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            time.sleep(SETTLE_S)
            if process.poll() is not None:
                raise processes.Missing(f"{command[0]} ended at once")
            yield
            if process.poll() is not None:
                raise processes.Missing(f"{command[0]} ended while it was to be measured beside")
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """The whole group: asked first, so that it cleans up, then killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(processes.EXIT_WAIT_S)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
