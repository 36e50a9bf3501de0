"""Runs `make test` many times on a host that is busy on purpose: no run may fail.

    python -m bench.busy_host [--runs 20] [--at-once 1] [--share 0.25 | --delay-ms 600]
                              [--folder F] [ARG...]

On each CPU a hog of SCHED_FIFO 99 takes the CPU in bursts of 1 to 200 ms, with pauses so long that
it has `--share` of the CPU; `stress-ng --cpu 4` runs beside. Each of `--at-once` clones of HEAD is
set up first and then runs `make test ARGS="ARG..."` in a row, so that the second run of a clone
finds the C tests unchanged (with the ARG `--anew` each run repeats them). Prints a line for each
run and exits with 1 if one of them failed, or if a hog or stress-ng ended before. The runs disturb
each other, too: their CPU time is not that of a quiet host. Needs root, and stress-ng. Hogs and
stress-ng have a deadline, and end with this program.

With `--delay-ms` there are no hogs: a library put before the C library (bench/delays.c) delays some
programs, forks, threads and signals by up to that. Where a test holds one of them to be immediate,
this finds in minutes what hogs find in hours.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRIORITY = 99
SHORTEST_BURST_S, LONGEST_BURST_S = 0.001, 0.2
LONGEST_SHARE = 0.9  # below the throttling of real-time threads
CLOSING = re.compile(r"^(?:all  |tests:|FAILED:|FAIL ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Gate:
    """One run of `make test`."""

    number: int
    has_passed: bool
    wall_s: float
    said: Sequence[str]

    @property
    def line(self) -> str:
        word = "ok  " if self.has_passed else "FAIL"
        return f"{word} run {self.number:2}  {self.wall_s:5.0f} s  {'; '.join(self.said)}"


def hog(cpu: int, share: float, deadline_s: float) -> None:
    """Takes `share` of a CPU from everything else, until the deadline (CLOCK_MONOTONIC) or the end
    of the program that started it."""
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    draw = random.Random(cpu)  # noqa: S311
    mean_pause_s = (SHORTEST_BURST_S + LONGEST_BURST_S) / 2 * (1 - share) / share
    while time.monotonic() < deadline_s and os.getppid() == parent:
        until_s = time.monotonic() + draw.uniform(SHORTEST_BURST_S, LONGEST_BURST_S)
        while time.monotonic() < until_s:
            pass
        time.sleep(draw.uniform(0, 2 * mean_pause_s))


@contextmanager
def busy_host(share: float, most_s: float) -> Iterator[Callable[[], bool]]:
    """The hogs and stress-ng, ended when the block is; whether all of them still run."""
    deadline_s = time.monotonic() + most_s
    hogs = [
        multiprocessing.Process(target=hog, args=(cpu, share, deadline_s), daemon=True)
        for cpu in sorted(os.sched_getaffinity(0))
    ]
    stress = ["stress-ng", "--cpu", "4", "--timeout", f"{most_s:.0f}s", "--quiet"]
    stress = ["setpriv", "--pdeathsig", "TERM", *stress]
    with subprocess.Popen(stress, start_new_session=True) as stressing:
        try:
            for one in hogs:
                one.start()
            yield lambda: stressing.poll() is None and all(one.is_alive() for one in hogs)
        finally:
            for one in hogs:
                if one.pid is not None:
                    one.terminate()
                    one.join()
            stressing.terminate()


class Runs:
    """`count` runs in clones of HEAD, each clone with a thread of its own."""

    def __init__(
        self, folder: Path, count: int, options: Sequence[str], variables: Mapping[str, str] = {}
    ) -> None:
        self._folder = folder
        self._environment = {**os.environ, **variables}
        self._left = list(range(1, count + 1))
        self._options = options
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False
        self.done: list[Gate] = []

    def work(self, clone: Path) -> None:
        while (number := self._next()) is not None:
            gate = self._run(clone, number)
            with self._lock:
                if self._is_stopped:
                    return
                self.done.append(gate)
                print(gate.line, flush=True)

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(process.pid, signal.SIGINT)

    def _next(self) -> int | None:
        with self._lock:
            return self._left.pop(0) if self._left and not self._is_stopped else None

    def _run(self, clone: Path, number: int) -> Gate:
        log = self._folder / f"run-{number}.log"
        words = ["make", "test", f"ARGS={shlex.join(self._options)}"]
        begin_s = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=clone,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with self._lock:
                self._running.add(process)
                if self._is_stopped:  # since it was started
                    self._end(process)
            code = process.wait()
            with self._lock:
                self._running.discard(process)
        said = CLOSING.findall(log.read_text(errors="replace"))
        return Gate(number, code == 0, time.monotonic() - begin_s, list(dict.fromkeys(said)))


def cloned(folder: Path, count: int) -> list[Path]:
    """Clones of HEAD, set up: what `make test` needs beside the source is there. Those of an
    earlier call are brought to HEAD."""
    clones = [folder / f"clone-{number}" for number in range(1, count + 1)]
    for clone in clones:
        if not (clone / ".git").exists():
            subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        for words in (
            ["git", "-C", clone, "fetch", "-q", ROOT, "HEAD"],
            ["git", "-C", clone, "reset", "-q", "--hard", "FETCH_HEAD"],
            ["make", "-C", clone, "setup"],
        ):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return clones


def delaying(folder: Path, most_ms: int) -> Mapping[str, str]:
    """The environment variables with which a program is delayed, and its children."""
    library = folder / "delays.so"
    # Not linked with the C library, so that programs of musl load it, too.
    words = ["cc", "-O1", "-nostdlib", "-shared", "-fPIC", "-o", library]
    subprocess.run([*words, ROOT / "bench" / "delays.c"], check=True)
    sanitizer = "verify_asan_link_order=0"  # it would have to be the first library
    return {"LD_PRELOAD": str(library), "DELAY_MS": str(most_ms), "ASAN_OPTIONS": sanitizer}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=1)
    disturbance = parser.add_mutually_exclusive_group()
    disturbance.add_argument("--share", type=float, default=0.25)
    disturbance.add_argument("--delay-ms", type=int)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "busy")
    parser.add_argument("--most-hours", type=float, default=24.0)
    asked, for_make = parser.parse_known_args()
    if not 0 < asked.share <= LONGEST_SHARE:
        parser.error(f"--share: above 0, at most {LONGEST_SHARE}")
    if min(asked.runs, asked.at_once) < 1:
        parser.error("--runs and --at-once: at least 1")
    if asked.delay_ms is not None and asked.delay_ms < 1:
        parser.error("--delay-ms: at least 1")
    if asked.delay_ms is None and (os.geteuid() or not shutil.which("stress-ng")):
        print("busy_host: needs root (SCHED_FIFO) and stress-ng", file=sys.stderr)
        return 5
    # Also where it was started in the background, which ignores Ctrl-C, as its children would.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    asked.folder.mkdir(parents=True, exist_ok=True)
    folder = asked.folder.resolve()
    clones = cloned(folder, min(asked.at_once, asked.runs))
    if asked.delay_ms is None:
        runs = Runs(folder, asked.runs, for_make)
        disturbed = busy_host(asked.share, asked.most_hours * 3600)
    else:
        runs = Runs(folder, asked.runs, for_make, delaying(folder, asked.delay_ms))
        disturbed = nullcontext(lambda: True)
    was_busy = False
    with disturbed as is_busy:
        threads = [threading.Thread(target=runs.work, args=(clone,)) for clone in clones]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            was_busy = is_busy()
            if not was_busy:
                print("the host was not busy to the end: a hog or stress-ng has ended", flush=True)
        except KeyboardInterrupt:
            print("stopping; the runs that have ended count", flush=True)
            runs.stop()
            for thread in threads:
                thread.join()
    failed = sum(not gate.has_passed for gate in runs.done)
    load = ", ".join(f"{value:.0f}" for value in os.getloadavg())
    print(f"{len(runs.done) - failed} of {len(runs.done)} runs passed; load average {load}")
    return 1 if failed or len(runs.done) < asked.runs or not was_busy else 0


if __name__ == "__main__":
    sys.exit(main())
