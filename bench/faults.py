"""Page faults of MEM-B-LCK beside those that perf has counted for the same run: of all of the
probe's processes, from the first instruction to the last. The locked process has none, so the major
ones are those of the control, and what the start of the probe has to read from a disk."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

SAMPLES = 10_240
EVENT = "major-faults"


class Faults:
    """One run is counted by both sides; the peer gives what perf has seen of the latest."""

    def __init__(self, probe: Path) -> None:
        self.probe, self.seen = probe, -1.0

    def own(self) -> Metrics:
        perf = processes.require("perf", "linux-perf")
        with tempfile.NamedTemporaryFile(mode="r", suffix=".csv") as counts:
            command = [perf, "stat", "-x,", "-o", counts.name, "-e", EVENT, str(self.probe)]
            command += ["run", "MEM-B-LCK", "--json", "--samples", str(SAMPLES)]
            lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
            self.seen = _count(counts.read())
        told = [line for line in lines if line.get("name") == "unlocked_faults"]
        if not told:
            raise processes.Missing("MEM-B-LCK has counted no faults")
        return {"faults": float(told[0]["data"]["major_count"])}

    def peer(self) -> Metrics:
        if self.seen < 0:
            self.own()
        return {"faults": self.seen}


def _count(text: str) -> float:
    for line in text.splitlines():
        cells = line.split(",")
        if len(cells) > 2 and cells[2].startswith(EVENT) and cells[0].isdigit():
            return float(cells[0])
    raise processes.Missing(f"perf stat counts no {EVENT} here")
