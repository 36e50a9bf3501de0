"""Time between two looks at the clock: the gap loop of CLK-P-DUR against oslat's.

The shorter it is, the shorter an interruption can be and still be seen."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench import processes
from bench.rounds import Metrics

OSLAT_BUCKETS = 32


def instrument(program: Path) -> Metrics:
    """Costs of the probe's own steps, by the program that is built beside it."""
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    measured = json.loads(processes.run([str(program)]).stdout)
    return {name: float(value) for name, value in measured.items() if name.endswith("_ns")}


def oslat() -> Metrics:
    """Mean period of its loop: each turn adds one to its histogram."""
    program = processes.require("oslat", "rt-tests")
    cpu = processes.other_cpu()
    if cpu == 0:
        raise processes.Missing("oslat needs a second CPU for its main thread")
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        result = Path(folder) / "result.json"
        command = [program, "-D", "1", "-c", str(cpu), "-C", "0", "-f", "80"]
        processes.run([*command, "-b", str(OSLAT_BUCKETS), f"--json={result}"])
        thread = json.loads(result.read_text())["thread"]["0"]
    turns = sum(thread["histogram"].values())
    return {"gap_loop_ns": thread["duration"] * 1e9 / turns}
