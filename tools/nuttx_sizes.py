"""What the probe takes on NuttX, as tables: `python tools/nuttx_sizes.py FOLDER...`.

FOLDER is what tools/nuttx.py built: build/nuttx/BOARD-SETTING. Flash comes from the linker's map.
Memory comes from QEMU: each test runs for 2 s after a boot of its own, and `free` tells the most
that was used of the heap since then. Each test's status is of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REGISTER = ROOT / "probe/src/family/register.c"
PROMPT = b"nsh> "
BOOT_S, TEST_S = 30.0, 60.0
MACHINES = {
    "rv-virt": ("qemu-system-riscv64", "-M", "virt,aclint=on", "-cpu", "rv64", "-bios", "none"),
    "qemu-armv7a": (
        *("qemu-system-arm", "-cpu", "cortex-a7", "-net", "none"),
        *("-machine", "virt,virtualization=off,gic-version=2"),
    ),
}
FLASH = (".text", ".init_section", ".rodata", ".srodata", ".data", ".sdata", ".ARM.exidx")
# An output section's name at the start of a line; a part of it: address, size, file.
LINE = re.compile(r"^(\.\S+)|^ (?:\S+)?\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S+)$", re.MULTILINE)
OBJECT = re.compile(r"\((?:hs_([a-z]+)_(\w+?)|main\.c)\.hardstone\w*\.o\)$")
MEASURED, NO_ANSWER = "measured", "no answer"
OPTIONS = "-D 2s"
# With these, tests fit in 512 KB that by default take more.
SMALLER = {
    "CLK-P-DUR": "-D 2s -p gaps_count=1024",
    "THR-B-PRI": "-D 2s --priority 20",
    "THR-P-SLS": "-D 2s -p threads=2,4",
    "SEM-P-ARC": "-D 2s -p waiters=1,4",
    "SIM-P-RF": "-D 15s -p masses=100 -p simulated_s=1",
}


def flash_by_part(text: str) -> Counter[str]:
    """Bytes of each room, of each family of tests, and of `NuttX`, by a linker's map."""
    found: Counter[str] = Counter()
    section = ""
    for line in LINE.finditer(text[text.index("Linker script and memory map") :]):
        if line[1]:
            section = line[1]
        elif section in FLASH:
            part = OBJECT.search(line[3])
            found[room_of(part) if part else "NuttX"] += int(line[2], 16)
    return found


def room_of(part: re.Match[str]) -> str:
    room, rest = part[1] or "main", part[2] or ""
    return f"family/{rest.split('_')[0]}" if room == "family" else room


@dataclass(frozen=True)
class Memory:
    """Of a test: the largest use of the heap over that before, bytes; None where the system did not
    answer again. `status`: as in a stream, or NO_ANSWER; `reason`: of one other than measured."""

    test: str
    peak_bytes: int | None
    status: str
    reason: str = ""
    smaller: Memory | None = None  # with SMALLER, where the test was not measured

    @property
    def text(self) -> str:
        """Why there are no values; "" where there are."""
        parts = [self.status, *([self.reason] if self.reason else [])]
        return "" if self.status == MEASURED else ": ".join(parts).replace("|", "\\|")

    @property
    def with_less(self) -> str:
        """Its status with SMALLER; "" where that was not tried."""
        less = self.smaller
        return f"{less.text or MEASURED} with {in_kb(less.peak_bytes)} KB" if less else ""


def used(text: str) -> tuple[int, int]:
    """Bytes of the heap in use, and at most since the boot, by the answer of `free`."""
    numbers = re.search(r"^\s*\d+\s+(\d+)\s+\d+\s+(\d+)\s+\d+", text, re.MULTILINE)
    if not numbers:
        raise ValueError(f"free answered {text!r}")
    return int(numbers[1]), int(numbers[2])


def status_of(text: str) -> tuple[str, str]:
    """Status and reason by the last line of a result among what the probe wrote; ValueError where
    there is none."""
    for line in reversed(text.splitlines()):
        if line.startswith('{"type":"result"'):
            found = json.loads(line)
            return found["status"], found["reason"] or ""
    raise ValueError(f"no result among {text[-300:]!r}")


class Machine:
    """An emulated system whose shell is on standard input and output."""

    def __init__(self, board: str, image: Path) -> None:
        self.process = subprocess.Popen(
            [*MACHINES[board], "-nographic", "-kernel", str(image)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.answer(BOOT_S)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def answer(self, limit_s: float) -> str | None:
        """Text up to the next prompt; None: none came in time."""
        got, end = b"", time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0 and selector.select(left):
                piece = os.read(self.process.stdout.fileno(), 65536)
                got += piece
                if PROMPT in got or not piece:
                    break
        return got.decode("utf-8", "replace").replace("\r", "") if PROMPT in got else None

    def ask(self, line: str, limit_s: float) -> str | None:
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.answer(limit_s)


def memory_of(board: str, image: Path, test: str) -> Memory:
    found = run_test(board, image, test, OPTIONS)
    if found.status == MEASURED or test not in SMALLER:
        return found
    return replace(found, smaller=run_test(board, image, test, SMALLER[test]))


def run_test(board: str, image: Path, test: str, options: str) -> Memory:
    with Machine(board, image) as machine:
        before, _ = used(machine.ask("free", BOOT_S) or "")
        text = machine.ask(f"hardstone run {test} {options} --json", TEST_S)
        after = machine.ask("free", BOOT_S) if text is not None else None
    if text is None or after is None:
        return Memory(test, None, NO_ANSWER)
    return Memory(test, used(after)[1] - before, *status_of(text))


def tests() -> list[str]:
    names = re.findall(r"^    TEST\((\w+)\)", REGISTER.read_text(), re.MULTILINE)
    return [name.upper().replace("_", "-") for name in names]


def flash_table(maps: Mapping[str, str]) -> list[str]:
    parts = {name: flash_by_part(text) for name, text in maps.items()}
    rooms = sorted(
        {room for found in parts.values() for room in found if room != "NuttX"},
        key=lambda room: (-max(found[room] for found in parts.values()), room),
    )
    rows = [
        *((room, [found[room] for found in parts.values()]) for room in rooms),
        ("**the probe**", [found.total() - found["NuttX"] for found in parts.values()]),
        ("NuttX and its libraries", [found["NuttX"] for found in parts.values()]),
        ("**image**", [found.total() for found in parts.values()]),
    ]
    head = ["| flash, KB | " + " | ".join(maps) + " |", "| --- |" + " ---: |" * len(maps)]
    return head + [f"| {name} | {' | '.join(map(in_kb, row))} |" for name, row in rows]


def in_kb(count: int | None) -> str:
    return "no answer" if count is None else f"{count / 1024:.1f}"


def memory_table(found: Mapping[str, Sequence[Memory]]) -> list[str]:
    """The first line counts the statuses."""
    counts = [f"{name}: {counted(rows)}" for name, rows in found.items()]
    head = f"| heap at most, KB | {' | '.join(found)} | status other than measured |"
    rows = [
        f"| {row[0].test} | {' | '.join(in_kb(one.peak_bytes) for one in row)} "
        f"| {why_none(dict(zip(found, row, strict=True)))} |"
        for row in zip(*found.values(), strict=True)
    ]
    return [f"{'; '.join(counts)}.", "", head, "| --- |" + " ---: |" * len(found) + " --- |", *rows]


def counted(rows: Sequence[Memory]) -> str:
    found = Counter(one.status for one in rows)
    names = dict.fromkeys([MEASURED, "unsupported", "denied", "failed", *sorted(found)])
    return ", ".join(f"{found[name]} {name}" for name in names)


def why_none(row: Mapping[str, Memory]) -> str:
    texts = {name: one.text or MEASURED for name, one in row.items()}
    is_same = len(set(texts.values())) == 1
    each = [f"{name}: {text}" for name, text in texts.items()]
    parts = [next(iter(row.values())).text] if is_same else each
    less = [f"{name} {one.with_less}" for name, one in row.items() if one.smaller]
    options = SMALLER.get(next(iter(row.values())).test, "")
    return "; ".join([*parts, *([f"`{options}`: {', '.join(less)}"] if less else [])])


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="+", help="build/nuttx/BOARD-SETTING")
    parser.add_argument("--flash", action="store_true", help="no emulation: flash only")
    parser.add_argument("--test", action="append", help="memory of this test only")
    options = parser.parse_args(words)
    maps = {folder.name: (folder / "nuttx/nuttx.map").read_text() for folder in options.folder}
    print("\n".join(flash_table(maps)))
    if options.flash:
        return 0
    found = {}
    for folder in options.folder:
        board, image = folder.name.rsplit("-", 1)[0], folder / "nuttx/nuttx"
        found[folder.name] = [memory_of(board, image, test) for test in options.test or tests()]
    print("\n" + "\n".join(memory_table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
