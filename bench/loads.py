"""What a load finds: the worst wake-up of TMR-P-LAT in equal time, under the loads of
hardstone against those that the field uses. The measuring side is the same for all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

PRIORITY = 80
INTERVAL_NS = 1_000_000
DURATION_NS = 8_000_000_000
SETTLE_S = 1.0
MOST_S = 60
NONE, HEAVY, STORM = "none", "heavy", "storm"
# On each CPU, as those that they are compared with.
LOADS = {
    NONE: "none",
    HEAVY: "heavy@cpu",
    STORM: "heavy@cpu+storm=240+build@cpu+kernel@cpu",
}
BROKEN = ("load_ended_early", "load_not_settled")  # a load that is short is one, all the same


def own(probe: Path) -> Metrics:
    """The worst under each of our loads, once for each peer, and without any."""
    none, heavy, storm = (worst_ns(probe, "--load", load) for load in LOADS.values())
    return {
        NONE: none,
        "heavy_stress_ng": heavy,
        "heavy_hackbench": heavy,
        "storm_stress_ng": storm,
        "storm_hackbench": storm,
    }


def peers(probe: Path) -> Metrics:
    with stress_ng():
        by_stress_ng = worst_ns(probe)
    with hackbench():
        by_hackbench = worst_ns(probe)
    return {
        "heavy_stress_ng": by_stress_ng,
        "heavy_hackbench": by_hackbench,
        "storm_stress_ng": by_stress_ng,
        "storm_hackbench": by_hackbench,
    }


def worst_ns(probe: Path, *options: str) -> float:
    command = [str(probe), "run", "TMR-P-LAT", "--json", "--duration-ns", str(DURATION_NS)]
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
    return float(found[0]["max"])


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
