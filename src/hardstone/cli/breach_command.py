"""The command of --on-threshold: started by the toolkit, on its machine, never through a shell."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from typing import IO

from hardstone.cli.messages import tell
from hardstone.errors import InputError
from hardstone.stats.watched import Breach
from hardstone.units import format_span

_DEADLINE_S = 60.0
_STEP_S = 0.05
_SAID_BYTES = 300


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

    Its output goes nowhere; what it said last is told if it fails.
    """

    def __init__(self, words: list[str], deadline_s: float = _DEADLINE_S) -> None:
        self._words = words
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._end_at = 0.0

    def start(self, breach: Breach, run_id: str, target: str) -> None:
        """Starts the command unless it runs. Never raises."""
        self.poll()
        if self._process is not None:
            return
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - until the command has ended
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
                env={**os.environ, **_variables(breach, run_id, target)},
            )
        except (OSError, ValueError) as error:
            self._tell(f"cannot be started: {getattr(error, 'strerror', None) or error}")
        self._end_at = time.monotonic() + self._deadline_s

    def poll(self) -> None:
        """Tells how it ended, once it has; ends it at its deadline."""
        if self._process is None:
            return
        code = self._process.poll()
        if code is None and time.monotonic() >= self._end_at:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._tell(f"did not end within {format_span(round(self._deadline_s * 1e9))}")
        elif code is not None and code < 0:
            self._tell(f"was ended by signal {-code}")
        elif code is not None:
            self._tell(f"failed with exit code {code}" if code else "")

    def finish(self) -> None:
        """Waits for its end or its deadline; an interrupt ends it."""
        try:
            while self._process is not None:
                time.sleep(_STEP_S)
                self.poll()
        except KeyboardInterrupt:
            self._end_at = 0.0
            self.poll()
            raise

    def _tell(self, problem: str) -> None:
        """Forgets the process; tells its problem, if it has one."""
        said = b""
        if self._errors is not None:
            with self._errors as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _SAID_BYTES))
                said = file.read()
        self._process = self._errors = None
        if problem:
            last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
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
