"""Size, start-up time and locked memory of the static probes that a wheel brings.

    python -m bench.static_probes

prints a table for bench/README.md. Builds what is missing with Zig's compiler (package ziglang).
A probe of another architecture runs under qemu-user, whose time says nothing about a board: its
start-up is given as a ratio to a small program of the same architecture, and locked memory, which
would be the emulator's, is left out. Loaded are the segments of the program, all of which a test
locks.
"""

from __future__ import annotations

import gzip
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.targets.arches import ARCHES, own_arch
from hardstone.targets.build import built_programs
from hardstone.targets.find import find_guest, find_probe

RUNS = 40
PAGE = 4096
EMULATORS = {"x86_64": "x86_64", "aarch64": "aarch64", "armv7l": "arm", "riscv64": "riscv64"}
LOCKED = re.compile(r"^VmLck:\s+([0-9]+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Subject:
    """A probe, the program that its start-up is compared with, and what runs both here."""

    name: str
    probe: Path
    other: Path
    emulator: list[str]


def subjects() -> list[Subject]:
    found = [Subject(f"{own_arch()}, in use here", find_probe(), find_guest(), [])]
    for arch in ARCHES:
        emulator = []
        if arch.name != own_arch():
            names = (f"qemu-{EMULATORS[arch.name]}", f"qemu-{EMULATORS[arch.name]}-static")
            emulator = [path for path in map(shutil.which, names) if path][:1]
            if not emulator:
                print(f"{arch.name}: no {names[1]}: apt-get install qemu-user-static")
                continue
        try:
            built = built_programs(arch.name, print, libc="musl")
        except TargetError as error:
            print(f"{arch.name}: {error}")
            continue
        found.append(Subject(f"{arch.name}, musl", built.probe, built.guest, emulator))
    return found


def loaded_bytes(program: Path) -> int:
    """Of its segments in memory, in whole pages."""
    content = program.read_bytes()
    is_wide = content[4] == 2
    at = struct.unpack_from("<Q" if is_wide else "<I", content, 32 if is_wide else 28)[0]
    size, count = struct.unpack_from("<HH", content, 54 if is_wide else 42)
    total = 0
    for head in range(at, at + size * count, size):
        (kind,) = struct.unpack_from("<I", content, head)
        fields = "<QQQQ" if is_wide else "<IIII"
        place, _, _, bytes_count = struct.unpack_from(
            fields, content, head + (16 if is_wide else 8)
        )
        if kind == 1:
            total += -(-(place % PAGE + bytes_count) // PAGE) * PAGE
    return total


def start_s(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin


def start_up(subject: Subject) -> tuple[float, float]:
    """Medians in ms of the probe's `--version`, and of the other program, alternately."""
    pairs = [
        (
            start_s([*subject.emulator, str(subject.probe), "--version"]),
            start_s([*subject.emulator, str(subject.other)]),
        )
        for _ in range(RUNS)
    ]
    probe, other = zip(*pairs, strict=True)
    return statistics.median(probe) * 1e3, statistics.median(other) * 1e3


def locked_kib(probe: Path) -> int:
    """The most that a run of TMR-P-LAT has locked."""
    command = [str(probe), "run", "TMR-P-LAT", "-D", "1s", "--policy", "other", "--cpu", "0"]
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        status = Path(f"/proc/{running.pid}/status")
        while running.poll() is None:
            found = LOCKED.search(status.read_text())
            most = max(most, int(found[1]) if found else 0)
            time.sleep(0.02)
    return most


def row(subject: Subject) -> str:
    content = subject.probe.read_bytes()
    sizes = (len(content), len(gzip.compress(content, 9)), loaded_bytes(subject.probe))
    ms, other_ms = start_up(subject)
    start = f"x{ms / other_ms:.2f}" if subject.emulator else f"{ms:.2f} ms, x{ms / other_ms:.2f}"
    locked = "-" if subject.emulator else f"{locked_kib(subject.probe)} KiB"
    columns = [*(f"{size >> 10} KiB" for size in sizes), start, locked]
    return f"| {subject.name} | {' | '.join(columns)} |"


def main() -> int:
    print("| probe | size | compressed | loaded | start-up | locked (TMR-P-LAT) |")
    print("| --- | --- | --- | --- | --- | --- |")
    for subject in subjects():
        print(row(subject), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
