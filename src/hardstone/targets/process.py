"""One probe process: read with a deadline, stopped or killed, never left behind.

The process has a session of its own, so that Ctrl-C reaches only the tool. Its
standard input is a pipe: closing it asks the probe to stop and send what it has.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

from hardstone.errors import EXIT_USAGE, TargetError
from hardstone.targets.base import (
    BrokenStreamError,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    Stop,
)
from hardstone.targets.lines import said_by_probe
from hardstone.targets.transport import Limits
from hardstone.units import format_span

# Each poll is a wake-up on the machine that is being measured.
_POLL_S = 0.5
_CHUNK_BYTES = 1 << 16
_MAX_STDERR_BYTES = 1 << 14
_REBUILD = "check that it was built for this machine: hardstone probe build"
_REMEDIES = {
    errno.EMFILE: "raise the limit on open files: ulimit -n 256",
    errno.ENFILE: "the whole machine has too many files open: end some programs",
    errno.EAGAIN: "raise the limit on processes: ulimit -u, or end some of yours",
    errno.ENOMEM: "free some memory, or raise the limit: ulimit -v",
    errno.EACCES: "make it executable for you, in a folder that you may enter and that is not "
    "mounted noexec",
    errno.ETXTBSY: "it is being written: wait until its build has ended",
    errno.ENOEXEC: _REBUILD,
    errno.ENOENT: _REBUILD,  # of an executable that is there: its loader is not
}


class ProbeProcess:
    """Runs `command` (an argument list) and gives its output in chunks."""

    def __init__(self, command: Sequence[str], limits: Limits, stop: Stop) -> None:
        self._limits = limits
        self._stop = stop
        self._stderr = bytearray()
        self._received_bytes = 0
        self._stop_at: float | None = None
        self._end_at: float | None = None
        self._deadline_at = time.monotonic() + limits.deadline_s
        self._process = _start(command)

    def chunks(self, on_idle: Callable[[], None] = lambda: None) -> Generator[bytes]:
        """The output until its end. ProbeError for a flood, a failure, a deadline, an abort.

        The process is gone when this returns or raises.
        """
        try:
            yield from self._read(on_idle)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(self._limits.end_s)
        finally:
            self._end()
        self._check_exit()

    def _read(self, on_idle: Callable[[], None]) -> Iterator[bytes]:
        with selectors.DefaultSelector() as selector:
            for stream in (self._process.stdout, self._process.stderr):
                selector.register(_opened(stream), selectors.EVENT_READ)
            is_over = False
            while self._process.stdout in {key.fileobj for key in selector.get_map().values()}:
                ready = selector.select(0.0 if is_over else self._wait_s())
                for key, _ in ready:
                    yield from self._take(selector, key.fileobj)
                self._look_after()
                if not ready:
                    if is_over:
                        return  # a child of the probe may still hold the pipe open
                    # read once more: it may have written between select and its end
                    is_over = self._process.poll() is not None
                    on_idle()

    def _take(self, selector: selectors.BaseSelector, stream: Any) -> Iterator[bytes]:
        chunk = os.read(stream.fileno(), _CHUNK_BYTES)
        if not chunk:
            selector.unregister(stream)
        elif stream is self._process.stderr:
            self._stderr += chunk[: _MAX_STDERR_BYTES - len(self._stderr)]
        else:
            self._received_bytes += len(chunk)
            if self._received_bytes > self._limits.most_bytes:
                most = self._limits.most_bytes >> 20
                raise BrokenStreamError(
                    f"the probe sent more than {most} MiB for one test and was ended"
                )
            yield chunk

    def _wait_s(self) -> float:
        ends = (self._deadline_at, self._stop_at, self._end_at)
        left = min(at for at in ends if at is not None) - time.monotonic()
        return max(0.0, min(_POLL_S, left))

    def _look_after(self) -> None:
        now = time.monotonic()
        if self._stop.is_abort:
            raise ProbeError("ended at once, on request")
        if self._stop.is_set() and self._stop_at is None:
            _opened(self._process.stdin).close()
            self._stop_at = now + self._limits.stop_s
        is_late = now >= self._deadline_at or (self._stop_at is not None and now >= self._stop_at)
        if is_late and self._end_at is None:
            # On SIGTERM the probe stops and may still send what it has.
            self._signal(signal.SIGTERM)
            self._end_at = now + self._limits.end_s
        if self._end_at is not None and now >= self._end_at:
            raise ProbeTimeoutError(self._late_text())

    def _late_text(self) -> str:
        if self._stop_at is not None:
            return f"the probe did not stop within {self._limits.stop_s:g} s and was ended"
        span = format_span(round(self._limits.deadline_s * 1e9))
        return f"the probe did not end within its deadline of {span} and was ended"

    def _end(self) -> None:
        """TERM, a moment, KILL; only to the group of the child that was started here."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.0 if self._stop.is_abort else 1.0)
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _opened(stream).close()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _check_exit(self) -> None:
        code = self._process.returncode
        if self._end_at is not None:
            raise ProbeTimeoutError(self._late_text())
        if code < 0:
            said = said_by_probe(self._stderr)
            raise ProbeError(f"the probe was killed by signal {-code}{said and f': {said}'}")
        if code > 0:
            kind = ProbeRefusedError if code == EXIT_USAGE else ProbeExitError
            raise kind(code, said_by_probe(self._stderr))


def cannot_start(program: str, error: OSError) -> TargetError:
    """Why a probe did not start, and what to do about it."""
    return TargetError(
        f"the probe {program} cannot be started: {error.strerror or error}",
        _REMEDIES.get(error.errno or 0, "check the probe: hardstone probe path"),
    )


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            close_fds=True,
        )
    except OSError as error:
        raise cannot_start(command[0], error) from error


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("the stream of the process is not a pipe")
    return stream
