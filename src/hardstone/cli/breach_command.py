"""The command of --on-threshold: started by the toolkit, on its machine, never through a shell."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from typing import Self

from hardstone.cli.messages import tell
from hardstone.errors import InputError
from hardstone.files import pause
from hardstone.stats.watched import Breach
from hardstone.units import format_span

_DEADLINE_S = 60.0
_STEP_S = 0.05
_SAID_BYTES = 300
_READ_BYTES = 1 << 16
_MOST_READS = 16
_SILENT_S = 1.0  # a short command is not worth a word
_KILLED_S = 5.0


def command_words(text: str) -> list[str]:
    """The words of a command; InputError if they cannot be told apart, or name no program."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--on-threshold: {error}", "close the quotation") from None
    if not words:
        raise InputError("--on-threshold: there is no command", "name one, or leave it out")
    if shutil.which(words[0]) is None:
        raise InputError(
            f"--on-threshold: there is no program {words[0][:60]!r}",
            "name an executable file, or one in a folder of PATH",
        )
    return words


class BreachCommand:
    """Runs the command at a breach; one that comes while it still runs does not start it again.

    Its output goes nowhere; what it said last is told if it fails. Within `with`; one that still
    runs at the end of it is ended.

    It is ended with its children, which are its process group. What a command that ended by itself
    has left in the background goes on: it was put there to outlive the command.
    """

    def __init__(self, words: list[str], deadline_s: float = _DEADLINE_S) -> None:
        self._words = words
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""
        self._end_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, breach: Breach, run_id: str, target: str) -> None:
        """Starts the command unless it runs. Never raises."""
        self.poll()
        if self._process is not None:
            return
        self._said = b""
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, **_variables(breach, run_id, target)},
            )
            if self._process.stderr is not None:
                os.set_blocking(self._process.stderr.fileno(), False)
        except (OSError, ValueError) as error:
            self._tell(f"cannot be started: {getattr(error, 'strerror', None) or error}")
        self._end_at = time.monotonic() + self._deadline_s

    def poll(self) -> None:
        """Tells how it ended, once it has; ends it at its deadline."""
        if self._process is None:
            return
        code = self._process.poll()
        self._listen()
        if code is None and time.monotonic() >= self._end_at:
            self._kill(f"did not end within {format_span(round(self._deadline_s * 1e9))}")
        elif code is not None and code < 0:
            self._tell(f"was ended by signal {-code}")
        elif code is not None:
            self._tell(f"failed with exit code {code}" if code else "")

    def finish(self) -> None:
        """Waits for its end or its deadline, and says so; an interrupt ends it instead."""
        told_at = time.monotonic() + _SILENT_S
        try:
            while self._process is not None:
                pause(_STEP_S)
                self.poll()
                if self._process is not None and time.monotonic() >= told_at:
                    told_at = self._end_at + _DEADLINE_S
                    tell(f"waiting for {self._words[0]} of --on-threshold to end; Ctrl-C ends it")
        except KeyboardInterrupt:
            self.end()

    def end(self) -> None:
        """Ends it and its children, if it still runs, because of an interrupt."""
        self.poll()
        if self._process is not None:
            self._kill("was ended: interrupted")

    def _kill(self, problem: str) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILLED_S)
        self._tell(problem)

    def _listen(self) -> None:
        """Takes what it has said; no more at once than a pipe holds, or one that never pauses
        would never let go."""
        if self._process is None or self._process.stderr is None:
            return
        with contextlib.suppress(OSError):  # BlockingIOError: that was all
            for _ in range(_MOST_READS):
                said = os.read(self._process.stderr.fileno(), _READ_BYTES)
                if not said:
                    return
                self._said = (self._said + said)[-_SAID_BYTES:]

    def _tell(self, problem: str) -> None:
        """Forgets the process; tells its problem, if it has one."""
        if self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()
        self._process = None
        if problem:
            last = self._said.decode("utf-8", "replace").strip().splitlines()[-1:]
            tell(": ".join([f"--on-threshold: {self._words[0]} {problem}", *last]))


def _variables(breach: Breach, run_id: str, target: str) -> dict[str, str]:
    found = {
        "HARDSTONE_RUN": run_id,
        "HARDSTONE_TARGET": target,
        "HARDSTONE_VALUE_NS": str(breach.value_ns),
        "HARDSTONE_THRESHOLD_NS": str(breach.threshold_ns),
        "HARDSTONE_AT_NS": str(breach.at_ns),
    }
    return found if breach.cpu is None else {**found, "HARDSTONE_CPU": str(breach.cpu)}
