"""Lengths of kernel paths in instructions, and the golden files that hold them.

`make lab ARGS=--write-golden` writes them. A guest that counts instructions takes 2 ns for each.
The least value of a path is its length without an interrupt in between, and depends on no other
byte of the image; larger ones do. Where the clock steps by several instructions (8 on arm64), it
may be a step longer in another image. That of a contended lock depends on its address too, by which
the kernel finds the waiters: 0.2 to 1.5 %.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hardstone.lab.kernels import Kernel
from hardstone.lab.qemu import emulator
from hardstone.model import Facts, StreamInstrument, StreamSeries
from hardstone.targets.lab import LabTarget, LabTransport
from tests.guest.called import measured
from tests.running import Stream

GOLDEN = Path(__file__).resolve().parent / "golden"
NS_PER_INSTRUCTION = 2
# Series to the labels that choose some of them. Left out is what differs by a few instructions from
# image to image: contended semaphores of other kinds, THR-P-PRE, and a wake-up by a timer
# (TMR-P-LAT), which expires in steps of 16 ns at a rate that the kernel calibrates. The release in
# SEM-P-ARC is the wake-up of a thread of higher priority.
_CALLS = ("acquire", "release")
TIMED: dict[tuple[str, str], tuple[dict[str, str | int], ...]] = {
    ("THR-P-SLS", "switch"): ({"threads": 2},),
    **{("SEM-P-ARN", call): ({},) for call in _CALLS},
    **{("SEM-P-ARC", call): ({"kind": "unnamed", "scope": "thread"},) for call in _CALLS},
    **{("MUT-P-ARN", call): ({},) for call in _CALLS},
    **{("MUT-P-ARC", call): ({"protocol": "none"}, {"protocol": "inherit"}) for call in _CALLS},
}
CONTENDED, CONTENDED_PERCENT = ("SEM-P-ARC", "MUT-P-ARC"), 2
BEHAVIOUR = ("MUT-B-ARC", "MUT-B-INV", "SEM-B-LCK", "SEM-B-REL")
TESTS = (*dict.fromkeys(test for test, _ in TIMED), *BEHAVIOUR)
# Reading the clock takes 6 instructions more between the end of a second and the next tick: a
# series must be longer than a tick, 4 ms.
OPTIONS = ("--samples", "5000")
# Without spin locks: on one CPU each of their rounds waits for the watchdog.
_PRIMITIVES = "none,inherit,protect,semaphore,robust,robust-inherit,rwlock,condition"
# What no length is compared of is left out.
OWN: dict[str, tuple[str, ...]] = {
    "THR-P-SLS": ("-p", "threads=2"),
    "SEM-P-ARC": ("-p", "kinds=unnamed", "-p", "scopes=thread", "-p", "waiters=1"),
    "MUT-P-ARC": ("-p", "protocols=none,inherit"),
    "MUT-B-INV": ("-p", f"primitives={_PRIMITIVES}"),
}


@dataclass(frozen=True)
class Counted:
    """What all TESTS tell in a guest that counts instructions, and what it is."""

    streams: dict[str, Stream]
    facts: Facts


def deterministic_run(guest: LabTransport) -> Counted:
    streams = {test: measured(guest, test, *OPTIONS, *OWN.get(test, ())) for test in TESTS}
    assert not [one.raw for one in streams.values() if one.code]
    return Counted(streams, LabTarget(guest).facts())


def lengths(counted: Counted) -> dict[str, int]:
    """Address of a path to its least number of instructions."""
    found = {}
    for test, stream in counted.streams.items():
        for series in stream.of(StreamSeries):
            wanted = TIMED.get((test, series.name), ())
            if any(labels.items() <= series.labels.items() for labels in wanted):
                address = "/".join([test, series.name, *map(str, series.labels.values())])
                # The clock's rate is right to a millionth: a value may be 1 ns short.
                found[address] = -(-(series.min or 0) // NS_PER_INSTRUCTION)
    return found


def clock_step(counted: Counted) -> int:
    """By how many instructions equal lengths may differ."""
    (instrument,) = counted.streams[TESTS[0]].of(StreamInstrument)
    step = int(instrument.quantum_ns or 0) // NS_PER_INSTRUCTION
    return step if step > 1 else 0


def made_of(counted: Counted, kernel: Kernel) -> dict[str, str]:
    """Whatever a length depends on beside the source of the probe."""
    said = subprocess.run(
        [emulator(kernel.arch), "--version"], capture_output=True, text=True, check=True
    ).stdout
    return {
        "kernel": kernel.package,
        "compiler": counted.facts.compiler,
        "libc": counted.facts.libc,
        "emulator": said.split("(")[0].strip(),
    }


def golden_file(kernel: Kernel) -> Path:
    return GOLDEN / f"{kernel.release}.json"


def write(counted: Counted, kernel: Kernel) -> None:
    """The golden file of a kernel."""
    content = {"made_of": made_of(counted, kernel), "instructions": lengths(counted)}
    golden_file(kernel).write_text(json.dumps(content, indent=2) + "\n")
