"""TMR-P-JIT against cyclictest -x: a POSIX timer of the same period, whose signal is taken with
sigwait; and that against the paper's mechanism, in which the signal runs a handler."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from bench import processes, wakeup
from bench.rounds import Metrics

DURATION_S = 4


def hardstone(probe: Path, mechanism: str) -> Metrics:
    command = [str(probe), "run", "TMR-P-JIT", "--json", "--duration-ns", f"{DURATION_S}000000000"]
    command += ["--cpu", str(processes.other_cpu()), "--policy", "fifo"]
    command += ["--priority", str(wakeup.PRIORITY), "--clock", "monotonic"]
    command += ["-p", f"periods_ns={wakeup.INTERVAL_US * 1000}", "-p", f"mechanisms={mechanism}"]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    series = [line for line in lines if line["type"] == "series" and line["name"] == "jitter"]
    if not series or not series[0]["count"]:
        (result,) = (line for line in lines if line["type"] == "result")
        raise processes.Missing(f"TMR-P-JIT: {result['status']}: {result['reason']}")
    return {"median_ns": wakeup.median(wakeup.values_of(series[0]["histogram"]))}


def cyclictest() -> Metrics:
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-") as folder:
        result = Path(folder) / "result.json"
        command = [*wakeup.cyclictest_command(DURATION_S), "-x", "-h", str(wakeup.HISTOGRAM_NS)]
        processes.run([*command, f"--json={result}"])
        thread = json.loads(result.read_text())["thread"]["0"]
    values = {float(value): count for value, count in thread["histogram"].items()}
    return {"median_ns": wakeup.median(values)}
