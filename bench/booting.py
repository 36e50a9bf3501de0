"""How long a command takes to its first sample, here and in guests of the lab, and what a guest
adds to the memory of this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from bench import processes, toolkit
from bench.rounds import Metrics

KERNEL = "debian"
TARGETS = {
    "local": "local",
    "emulated": f"lab:{KERNEL},accel=tcg",
    "counted": f"lab:{KERNEL},deterministic",
}
TEST = "TMR-P-LAT"
STARTS = re.compile(rf"\b1 of 1 +{TEST}\b")
FINE = (0, toolkit.UNTRUSTWORTHY)
PAUSE_S = 0.05
IN_MEMORY = "/dev/shm"  # noqa: S108 - where the lab keeps the files of a guest


def first_samples() -> Metrics:
    """For each target the time from the command to the start of its test, and to the end of the
    command, which measures one value: the first sample is taken between the two."""
    _need_kernel()
    found: Metrics = {}
    for name, target in TARGETS.items():
        found[f"{name}_start_ns"], found[f"{name}_end_ns"] = _one_sample(target)
    return found


def memory_of_guest() -> Metrics:
    """The largest memory of a guest while it measures: QEMU, its guard and their files."""
    _need_kernel()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY, prefix="hardstone-bench-") as files:
        command = _command(TARGETS["emulated"], "--duration", "3s", "--store", f"{files}/store")
        environment = os.environ | {"HARDSTONE_MEMORY_DIR": files}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            largest = 0
            while process.poll() is None:
                largest = max(largest, _added(process.pid, Path(files)))
                time.sleep(PAUSE_S)
    if process.returncode not in FINE:
        raise processes.Missing(f"{' '.join(command)} ended with {process.returncode}")
    return {"guest_bytes": largest}


def private_bytes(smaps: dict[str, int]) -> int:
    """Memory of a process without what it maps of files in memory, which count by themselves."""
    return smaps.get("Pss", 0) - smaps.get("Pss_Shmem", 0)


def file_bytes(folder: Path) -> int:
    """What the files below `folder` take up; holes take up nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:  # it has gone meanwhile
            continue
    return total


def _added(tool: int, files: Path) -> int:
    """Memory of all that the process `tool` has started, and of the files in memory."""
    started = [one for one in processes.family(tool) if one != tool]
    maps = [processes.sizes(Path(f"/proc/{one}/smaps_rollup")) for one in started]
    return sum(map(private_bytes, maps)) + file_bytes(files)


def _one_sample(target: str) -> tuple[int, int]:
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as store:
        command = _command(target, "--samples", "1", "--store", store)
        start_ns, begin_ns = 0, time.perf_counter_ns()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            for line in process.stderr or ():
                if not start_ns and STARTS.search(line):
                    start_ns = time.perf_counter_ns() - begin_ns
        end_ns = time.perf_counter_ns() - begin_ns
    if process.returncode not in FINE or not start_ns:
        raise processes.Missing(f"{' '.join(command)} ended with {process.returncode}")
    return start_ns, end_ns


def _command(target: str, *options: str) -> list[str]:
    return [toolkit.HARDSTONE, "run", TEST, "--target", target, *options]


def _need_kernel() -> None:
    listed = json.loads(processes.run([toolkit.HARDSTONE, "lab", "list", "--json"]).stdout)
    if not any(one["name"] == KERNEL and one["has_emulator"] for one in listed):
        raise processes.Missing(f"{KERNEL} is not in the lab: hardstone lab get {KERNEL}")
