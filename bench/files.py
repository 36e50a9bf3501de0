"""How much of a synchronised write in FIO-P-SYN is the instrument: its means against a loop of the
same calls without stamps. And a stream of FIO-P-STR past the page cache against dd's."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from bench import processes
from bench.rounds import Metrics

PRIORITY = 80
SAMPLES = 1000
MODES = ("buffered", "o_dsync", "o_sync", "fdatasync")
STREAM_MIB = 256
_DD = re.compile(r"(\d+) bytes .* copied, ([0-9.e-]+) s")


def _lines(probe: Path, test: str, samples: int, *words: str) -> list[dict[str, Any]]:
    command = [str(probe), "run", test, "--json", "--samples", str(samples), *words]
    command += ["--policy", "fifo", "--priority", str(PRIORITY)]
    lines = [json.loads(line) for line in processes.run(command).stdout.splitlines()]
    (result,) = (line for line in lines if line["type"] == "result")
    if result["status"] != "measured":
        raise processes.Missing(f"{test}: {result['status']}: {result['reason']}")
    return lines


def _means(lines: list[dict[str, Any]], name: str) -> dict[str, float]:
    return {
        line["labels"]["mode"]: float(line["mean"])
        for line in lines
        if line["type"] == "series" and line["name"] == name and line["count"]
    }


def hardstone(probe: Path, folder: Path) -> Metrics:
    """A write with the fdatasync behind it, by mode."""
    lines = _lines(probe, "FIO-P-SYN", SAMPLES, "--dir", str(folder))
    write, rest = _means(lines, "write"), _means(lines, "rest")
    return {f"{mode}_ns": write[mode] + rest[mode] for mode in write}


def bare(program: Path, folder: Path) -> Metrics:
    if not program.exists():
        raise processes.Missing(f"there is no {program.name}: make setup")
    words = {mode: [str(folder), mode, str(PRIORITY), str(SAMPLES)] for mode in MODES}
    return {
        f"{mode}_ns": float(processes.run([str(program), *arguments]).stdout)
        for mode, arguments in words.items()
    }


def stream(probe: Path, folder: Path) -> Metrics:
    """Time of a MiB, of a whole stream with its fdatasync."""
    words = ["-p", "mode=direct", "--dir", str(folder)]
    total = _means(_lines(probe, "FIO-P-STR", STREAM_MIB, *words), "total")
    if "direct" not in total:
        raise processes.Missing(f"no direct I/O in {folder}")
    return {"mib_ns": total["direct"] / STREAM_MIB}


def dd(folder: Path) -> Metrics:
    program = processes.require("dd", "coreutils")
    with tempfile.TemporaryDirectory(prefix="hardstone-bench-", dir=folder) as place:
        command = ["chrt", "-f", str(PRIORITY), program, "if=/dev/zero", f"of={place}/stream"]
        command += ["bs=1M", f"count={STREAM_MIB}", "oflag=direct", "conv=fdatasync"]
        environment = {"LC_ALL": "C"}
        told = processes.run(["sh", "-c", 'exec "$@" 2>&1', "sh", *command], environment).stdout
    found = _DD.search(told)
    if found is None:
        raise processes.Missing(f"dd: {told.strip()[:80]}")
    return {"mib_ns": float(found[2]) * 1e9 / STREAM_MIB}
