"""What looking at a recording costs: `latstat` with its live view on a terminal, and without."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading
import uuid
from pathlib import Path

from bench import processes, wakeup
from bench.rounds import Metrics
from bench.toolkit import HARDSTONE, UNTRUSTWORTHY

SECONDS = 10
_ROWS, _COLUMNS = 40, 100


class Recording:
    """A recording at 10 kHz on one CPU, in a store in `folder`. `is_seen`: with the live view."""

    def __init__(self, folder: Path, *, is_seen: bool) -> None:
        self._store = folder / "views"
        self._is_seen = is_seen

    def __call__(self) -> Metrics:
        name = uuid.uuid4().hex
        command = [HARDSTONE, "latstat", "-i", str(wakeup.RECORDER_US), "-D", str(SECONDS)]
        command += ["-a", str(processes.other_cpu()), "-p", str(wakeup.PRIORITY)]
        command += ["--parts", "none", "--dma-latency", "0", "--name", name]
        command += ["--store", str(self._store)]
        cpu_ns = _on_terminal(command if self._is_seen else [*command, "--quiet"])
        shown = processes.run([HARDSTONE, "show", name, "--json", "--store", str(self._store)])
        (result,) = json.loads(shown.stdout)["results"]
        (wakeups,) = (
            one
            for one in result["series"]
            if one["name"] == "wakeup" and one["labels"]["part"] == "total"
        )
        looked = [one["data"] for one in result["events"] if one["name"] == "looked_at"]
        metrics: Metrics = {
            "median_ns": wakeup.median(wakeup.values_of(wakeups["histogram"])),
            "cpu_ns": cpu_ns / SECONDS,
        }
        for data in looked:
            metrics["look_ns"] = data["cost_ns"] / data["looks_count"]
        return metrics


def _on_terminal(command: list[str]) -> int:
    """CPU time of the tool and of what it has waited for, the probe and its looks too, in ns."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "LINES": str(_ROWS), "COLUMNS": str(_COLUMNS), "TERM": "xterm"}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    threading.Thread(target=_drain, args=(leader,), daemon=True).start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, UNTRUSTWORTHY):
        raise processes.Missing(f"{' '.join(command)} ended with {process.returncode}")
    return round((used.ru_utime + used.ru_stime) * 1e9)


def _drain(leader: int) -> None:
    try:
        while os.read(leader, 65536):
            pass
    except OSError:  # the terminal is gone
        os.close(leader)
