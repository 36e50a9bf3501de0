"""Puts odd values back when the tests that have set them are killed: they cannot do it then.

A process with a session of its own reads what would have to be undone from a pipe, as a stack.
When the pipe closes it undoes what is left of it, last first, once no shield is at work any more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

JOURNAL = Path("/run/hardstone-shield.journal")
LONGEST_S = 90  # for which a shield that tests have started may go on without them
TRIES = 100


class Keeper:
    """The end of it that the tests hold."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            start_new_session=True,
            close_fds=True,
            text=True,
        )

    @contextmanager
    def undoing(self, *step: object) -> Iterator[None]:
        """A step for it, as long as the one who asks has not undone that himself."""
        self._say(step)
        try:
            yield
        finally:
            self._say(None)

    def _say(self, step: tuple[object, ...] | None) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            print(json.dumps(step), file=self._process.stdin, flush=True)

    def dismiss(self) -> None:
        """Nothing is left to be undone; or what is left it undoes now."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


def _undo(kind: str, *facts: str) -> None:
    if kind == "write":
        Path(facts[0]).write_text(facts[1])
    elif kind == "affinity":
        os.sched_setaffinity(int(facts[0]), {int(cpu) for cpu in facts[1].split(",")})
    elif kind == "kill":
        _kill(int(facts[0]), facts[1])
    else:
        _remove(Path(facts[0]))


def start_of(pid: int) -> str:
    """Tells a process from a later one of its id."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def _kill(pid: int, start: str) -> None:
    if start_of(pid) == start:
        os.kill(pid, signal.SIGKILL)


def _remove(group: Path) -> None:
    """Its members have been killed, and take a moment."""
    for _ in range(TRIES):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def main() -> None:
    """Reads until the pipe closes."""
    steps: list[list[str]] = []
    for line in sys.stdin:
        step = json.loads(line)
        if step is None:
            steps.pop()
        else:
            steps.append(step)
    give_up_s = time.monotonic() + LONGEST_S
    while steps and JOURNAL.exists() and time.monotonic() < give_up_s:
        time.sleep(0.05)
    for step in reversed(steps):
        with suppress(OSError):
            _undo(*step)


if __name__ == "__main__":
    main()
