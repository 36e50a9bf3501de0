"""Runs the real probe, and reads what it sends without the toolkit's kindness."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from hardstone.model import (
    Result,
    Series,
    StreamEvent,
    StreamFooter,
    StreamLine,
    StreamResult,
    StreamSeries,
    StreamVerdict,
)
from hardstone.stream import StreamReader
from hardstone.targets.find import find_probe
from tests import machine
from tests.waiting import wait_until

GIVE_UP_S = 300  # only a hang waits so long
SLOW_DISK_S = 300  # a test of files may write a while before it measures
STOLEN_NS = 20_000_000  # a lost burst
Line = TypeVar("Line")
_decoder = msgspec.json.Decoder(StreamLine)
# Of the test that runs now; tests/host/noise.py reads them.
witnesses: list[str] = []  # of noise
crashes: list[str] = []  # of the probe: no noise makes it crash
CRASHED = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL, -signal.SIGSEGV}


@dataclass(frozen=True)
class Stream:
    """What one call of the probe sent: `test` is the test that was asked for."""

    test: str
    code: int
    raw: bytes
    stderr: str = ""

    @cached_property
    def lines(self) -> list[object]:
        return [_decoder.decode(line) for line in self.raw.splitlines()]

    def of(self, kind: type[Line]) -> list[Line]:
        return [line for line in self.lines if isinstance(line, kind)]

    @cached_property
    def result(self) -> StreamResult:
        (result,) = self.of(StreamResult)
        return result

    @cached_property
    def footer(self) -> StreamFooter:
        (footer,) = self.of(StreamFooter)
        return footer

    @property
    def told_code(self) -> int:
        """The exit code that belongs to the status which the stream tells."""
        codes = {"measured": 0, "denied": 5, "unsupported": 5}
        return codes.get(self.result.status, 3)

    def checked(self) -> Stream:
        """Itself, if the probe ended as the stream tells."""
        assert self.code == self.told_code, (self.code, self.stderr)
        return self

    @property
    def events(self) -> dict[str, StreamEvent]:
        return {event.name: event for event in self.of(StreamEvent)}

    @property
    def verdicts(self) -> dict[str, bool]:
        return {verdict.name: verdict.passed for verdict in self.of(StreamVerdict)}

    def told(self, name: str) -> list[StreamEvent]:
        return [event for event in self.of(StreamEvent) if event.name == name]

    def named(self, name: str) -> list[StreamSeries]:
        return [series for series in self.of(StreamSeries) if series.name == name]

    def series(self, name: str) -> StreamSeries:
        (series,) = self.named(name)
        return series

    @property
    def witness(self) -> str | None:
        """What the probe says of others that took the CPU, or of its host, which leaves a gap; not
        where the run did not end as it says: no disturbance excuses that."""
        if not self.of(StreamResult) or self.code != self.told_code:
            return None
        if "throttled" in self.events:
            return f"{self.test}: {self.events['throttled'].text}"
        stolen_ns = self.result.environment.get("steal_ns") or 0
        if "idle_gap" in self.events and stolen_ns >= STOLEN_NS:
            return f"{self.test}: an idle gap, and {stolen_ns / 1e9:.3f} s stolen"
        return None

    @property
    def sample_count(self) -> int:
        return sum(series.count for series in self.of(StreamSeries))

    def read_by_the_toolkit(self) -> tuple[Result, str | None]:
        """The result as a user gets it, and the first problem that the reader found."""
        reader = StreamReader(self.test)
        for line in self.raw.splitlines():
            reader.feed(line)
        return reader.finish(), reader.problem


def above(series: Series, limit: int) -> int:
    """How many values have a bucket that lies wholly above `limit`."""
    buckets = sum(count for index, count in series.histogram.buckets if lowest(index) > limit)
    return buckets + series.histogram.overflow


def lowest(index: int, bits: int = 10) -> int:
    """Smallest value of a bucket, from the words of record.h and nothing else."""
    shift = max((index >> bits) - 1, 0)
    return (index - (shift << bits)) << shift


def total(series: Series) -> int:
    """Sum of all values."""
    return 0 if series.mean is None else round(series.mean * series.count)


@cache
def rate_of_counter() -> list[str]:
    """Options that save the second of calibration, once it has been made."""
    done = subprocess.run([find_probe(), "facts", "--json"], capture_output=True, check=True)
    return ["--counter-hz", str(json.loads(done.stdout)["instrument"]["counter_hz"] or 0)]


def command(probe: Path, test: str, options: Sequence[str]) -> list[str]:
    is_told = "--counter-hz" in options or "--clock" in options
    return [str(probe), "run", test, "--json", *([] if is_told else rate_of_counter()), *options]


def preloaded(library: Path) -> str:
    """For LD_PRELOAD: it stands before what all programs have, as the delays of a busy host."""
    return ":".join(filter(None, (str(library), os.environ.get("LD_PRELOAD"))))


def run(
    probe: Path,
    test: str,
    *options: str,
    prefix: Sequence[str] = (),
    variables: dict[str, str] | None = None,
) -> Stream:
    """One test to its end; `prefix` are words before the command (setpriv, prlimit)."""
    done = subprocess.run(
        [*prefix, *command(probe, test, options)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIVE_UP_S,
        check=False,
        env={**os.environ, **(variables or {})},
    )
    return noted(Stream(test, done.returncode, done.stdout, done.stderr.decode()))


def noted(stream: Stream) -> Stream:
    """Its witness, and its crash, are kept for whoever judges the test."""
    if stream.witness:
        witnesses.append(stream.witness)
    note_crash(stream.test, stream.code)
    return stream


def note_crash(name: str, code: int | None) -> None:
    """Also of a command that a shell has run: it tells the signal as 128 and more."""
    if code in CRASHED or (code is not None and 128 - code in CRASHED):
        crashes.append(name)


class Running:
    """A probe that is measuring: its header has been read."""

    def __init__(self, process: subprocess.Popen[bytes], test: str) -> None:
        self.process, self._test = process, test
        assert process.stdout is not None
        self._header = process.stdout.readline()
        if not self._header:
            crashes.append(test)  # no noise keeps a probe from this line

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def has_begun(self) -> bool:
        return bool(self._header)

    def wait_until_it_is_heard(self) -> None:
        """Until a signal ends the test and not the process: some time after the header. Or until it
        has ended by itself: what it says then may be more than the pipe holds."""
        bits = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        status = Path(f"/proc/{self.pid}/status")

        def is_heard() -> bool:
            caught = int(status.read_text().partition("\nSigCgt:")[2].split()[0], 16)
            return caught & bits == bits

        wait_until(lambda: self.process.poll() is not None or is_heard() or self._has_said_more())

    def _has_said_more(self) -> bool:
        assert self.process.stdout is not None
        return any(fcntl.ioctl(self.process.stdout, termios.FIONREAD, bytes(4)))

    def stopped(self, number: int = signal.SIGINT) -> Stream:
        """What is kept of a test that ends by this signal."""
        self.wait_until_it_is_heard()
        self.process.send_signal(number)
        return self.rest()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def rest(self) -> Stream:
        """Waits for the end."""
        out, _ = self.process.communicate(timeout=GIVE_UP_S)
        return noted(Stream(self._test, self.process.returncode, self._header + out))


@contextmanager
def measuring(probe: Path, test: str, *options: str) -> Iterator[Running]:
    """Starts a test; kills it, should it still be there at the end."""
    with subprocess.Popen(
        command(probe, test, options), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Running(process, test)
        finally:
            process.kill()
            note_crash(test, process.wait())


def state_of(pid: int) -> str:
    """Of a process, as in ps."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def has_ended(pid: int) -> bool:
    """A process, whether or not its parent has waited for it. One that is about to end still holds
    its files, and their locks."""
    with suppress(OSError):
        return state_of(pid) in "ZX"
    return True


def children(pid: int) -> set[int]:
    """Of any of its threads, which come and go, as the process may."""
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (task / "children").read_text().split()))
    return found


def measuring_thread(pid: int) -> int:
    """Waits until it measures: it is bound to its CPU, and has slept often."""

    def found() -> int:
        assert not has_ended(pid), "the probe has ended"
        for thread in machine.thread_ids(pid)[1:]:
            with suppress(*machine.HAS_GONE):
                if machine.switches(pid, thread) > 50:
                    return thread
        return 0

    return wait_until(found, "no thread measures", within_s=SLOW_DISK_S)
