"""A process that takes inputs through their door: times, memory, and what went wrong.

Its standard input has a line "KIND FIRST COUNT" for each share; it answers with a line of JSON.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.fuzz.inputs import input_of

# Of CPU time: that of the clock depends on what else runs. A thousand series take 1.1 s to 2.9 s
# through all doors; one step that is done for each pair of them took 14 s. Some inputs have 5 MiB.
MOST_S = 4.0
MOST_S_PER_MIB = 1.0
MOST_RSS_BYTES = 300 * 2**20
_ADDRESS_SPACE_BYTES = 2 * 2**30
_MEMORY = Path("/dev/shm")  # noqa: S108  names are made anew in it


class Failure(msgspec.Struct):
    kind: str
    number: int
    what: str
    text: str


class Share(msgspec.Struct):
    """What came of some inputs of a kind. `slowest_s` is CPU time."""

    kind: str
    inputs: int = 0
    refused: int = 0
    accepted: int = 0
    slowest_s: float = 0.0
    slowest: int = 0
    peak_bytes: int = 0
    failures: list[Failure] = []


class Hang(BaseException):
    """Raised in whatever takes too long."""


@contextmanager
def time_limit(size: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, MOST_S + MOST_S_PER_MIB * size / 2**20)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def take(seed: int, kind: str, numbers: range, folder: Path) -> Share:
    """Takes the inputs of these numbers, one after another."""
    from bench.fuzz.doors import enter

    share = Share(kind)
    for number in numbers:
        path = folder / "input"
        path.write_bytes(input_of(seed, kind, number))
        _take_peak()  # making it is not reading it
        started = time.process_time()
        what = text = ""
        try:
            with time_limit(path.stat().st_size):
                is_accepted = enter(kind, path, number)
            share.accepted += is_accepted
            share.refused += not is_accepted
        except Hang:
            what, text = "hang", traceback.format_exc()
        except BaseException:
            what, text = "crash", traceback.format_exc()
        spent_s = time.process_time() - started
        share.inputs += 1
        if spent_s > share.slowest_s:
            share.slowest_s, share.slowest = spent_s, number
        # Linux clears the peak on this; elsewhere it is that of the process so far.
        peak_bytes = _take_peak()
        share.peak_bytes = max(share.peak_bytes, peak_bytes)
        if not what and peak_bytes > MOST_RSS_BYTES:
            what, text = "memory", f"{peak_bytes >> 20} MiB"
        if what:
            share.failures.append(Failure(kind, number, what, text))
    return share


def _take_peak() -> int:
    """The most that was resident since the last call, in bytes."""
    try:
        status = Path("/proc/self/status").read_text("ascii", "replace")
        Path("/proc/self/clear_refs").write_text("5")
        return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) << 10
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> int:
    seed = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE_BYTES, _ADDRESS_SPACE_BYTES))
    base = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hardstone-fuzz-", dir=base) as folder:
        for line in sys.stdin:
            kind, first, count = line.split()
            share = take(seed, kind, range(int(first), int(first) + int(count)), Path(folder))
            print(msgspec.json.encode(share).decode(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
