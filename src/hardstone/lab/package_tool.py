"""Runs the tools of Debian's packages: no shell, a deadline, complaints as one line."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.files import one_line
from hardstone.units import format_span

_POLL_S = 0.5
_END_S = 2.0
_MOST_TOLD_CHARS = 300


def require_tools() -> None:
    """TargetError where Debian's package tools are not installed."""
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if missing:
        raise TargetError(
            f"there is no {' and no '.join(missing)} here to fetch Debian's kernels with",
            "any kernel image will do: hardstone lab add --help",
        )


def run_tool(
    command: Sequence[str],
    folder: Path,
    *,
    deadline_s: float = 120,
    waiting: Callable[[], None] = lambda: None,
) -> subprocess.CompletedProcess[str]:
    """Runs `command` in `folder` to its end, whatever its exit code, calling `waiting` meanwhile.

    TargetError where it cannot be started or passes its deadline. It gets SIGTERM if this process
    is killed.
    """
    guard = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        with subprocess.Popen(
            [*guard, *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, complaint = _wait(process, deadline_s, waiting)
            except BaseException:
                _end(process)
                raise
    except TimeoutError:
        span = format_span(round(deadline_s * 1e9))
        raise TargetError(f"{command[0]} did not end within {span} and was ended") from None
    except OSError as error:
        raise TargetError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    return subprocess.CompletedProcess(command, process.returncode, output, complaint)


def complaint_of(done: subprocess.CompletedProcess[str]) -> str:
    """What a tool of apt or dpkg complained about most, as one line; "" if about nothing."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    for kind in ("No space left", "W: Failed to fetch", "E: ", "error: ", "W: "):
        for line in lines:
            if kind in line:
                told = line.removeprefix("E: ").removeprefix("W: ").removeprefix("dpkg-deb: ")
                return one_line(told)[:_MOST_TOLD_CHARS]
    return one_line(lines[-1])[:_MOST_TOLD_CHARS] if lines and done.returncode else ""


def check_done(done: subprocess.CompletedProcess[str], doing: str) -> str:
    """The tool's standard output; TargetError with its complaint if it failed."""
    if done.returncode == 0:
        return done.stdout
    complaint = complaint_of(done) or f"exit code {done.returncode}"
    remedy = "free some space there" if "No space left" in complaint else ""
    raise TargetError(f"cannot {doing}: {complaint}", remedy)


def _wait(
    process: subprocess.Popen[str], deadline_s: float, waiting: Callable[[], None]
) -> tuple[str, str]:
    end_at = time.monotonic() + deadline_s
    while True:
        try:
            return process.communicate(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            waiting()
        if time.monotonic() >= end_at:
            raise TimeoutError


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the tool and what it has started; all of them hold the pipes that are read here."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_END_S)
            return
