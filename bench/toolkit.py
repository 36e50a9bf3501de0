"""What the Python side costs: start-up, and making a report, also of a night's recording."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bench import long_recording, processes
from bench.rounds import Metrics
from hardstone.store.documents import write_document
from hardstone.store.place import Place

UNTRUSTWORTHY = 3
LOOK_S = 0.005
HARDSTONE = str(Path(sys.executable).parent / "hardstone")


def help_page() -> Metrics:
    return {"wall_ns": processes.run([HARDSTONE, "--help"]).wall_ns}


def bare_python() -> Metrics:
    return {"wall_ns": processes.run([sys.executable, "-c", "pass"]).wall_ns}


def import_command_line() -> Metrics:
    code = "import hardstone.cli.main"
    return {"wall_ns": processes.run([sys.executable, "-c", code]).wall_ns}


class Report:
    """Makes the report of one short run again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "XDG_DATA_HOME": str(folder)}
        self._has_run = False

    def __call__(self) -> Metrics:
        if not self._has_run:
            command = [HARDSTONE, "run", "TMR-P-LAT", "CLK-P-BIN", "--duration", "2s"]
            processes.run([*command, "--quiet"], self._environment, fine=(0, UNTRUSTWORTHY))
            self._has_run = True
        page = self._folder / "report.html"
        command = [HARDSTONE, "report", "last", "-o", str(page)]
        wall_ns = processes.run(command, self._environment).wall_ns
        return {"wall_ns": wall_ns, "size_bytes": page.stat().st_size}


class LongReport:
    """Shows a made-up recording of 300 million points, and makes its report in both forms."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "night"
        self._has_run = False

    def __call__(self) -> Metrics:
        if not self._has_run:
            (self._folder / "runs").mkdir(parents=True)
            write_document(Place(self._folder), long_recording.recording())
            self._has_run = True
        store = ["--store", str(self._folder)]
        metrics: Metrics = {}
        for name, command in (
            ("show", ["show", long_recording.RUN_ID]),
            ("html", ["report", long_recording.RUN_ID, "-o", str(self._folder / "r.html")]),
            ("pdf", ["report", long_recording.RUN_ID, "-o", str(self._folder / "r.pdf")]),
        ):
            wall_ns, size_bytes = _watched([HARDSTONE, *command, *store])
            metrics |= {f"{name}_ns": wall_ns, f"{name}_bytes": size_bytes}
        return metrics


def _watched(command: list[str]) -> tuple[int, int]:
    """How long a command takes, and the most memory that it and its helpers hold at a time."""
    begin_ns = time.perf_counter_ns()
    most = 0
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            held = (
                processes.sizes(Path(f"/proc/{pid}/status")).get("VmRSS", 0)
                for pid in processes.family(process.pid)
            )
            most = max(most, sum(held))
            time.sleep(LOOK_S)
    if process.returncode:
        raise processes.Missing(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter_ns() - begin_ns, most
