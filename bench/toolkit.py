"""What the Python side costs: start-up, and making a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

UNTRUSTWORTHY = 3
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
