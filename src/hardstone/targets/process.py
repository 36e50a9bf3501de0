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
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

from hardstone.errors import TargetError
from hardstone.targets.base import Stop
from hardstone.targets.transport import Limits
from hardstone.targets.watch import Watch

_CHUNK_BYTES = 1 << 16
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
        self._watch = Watch(limits, stop)
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
        self._watch.check_end(self._process.returncode)

    def _read(self, on_idle: Callable[[], None]) -> Iterator[bytes]:
        with selectors.DefaultSelector() as selector:
            for stream in (self._process.stdout, self._process.stderr):
                selector.register(_opened(stream), selectors.EVENT_READ)
            is_over = False
            while self._process.stdout in {key.fileobj for key in selector.get_map().values()}:
                ready = selector.select(0.0 if is_over else self._watch.wait_s())
                for key, _ in ready:
                    yield from self._take(selector, key.fileobj)
                self._watch.look(_opened(self._process.stdin).close, self._terminate)
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
            self._watch.take_error(chunk)
        else:
            yield self._watch.take_output(chunk)

    def _terminate(self) -> None:
        self._signal(signal.SIGTERM)

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
