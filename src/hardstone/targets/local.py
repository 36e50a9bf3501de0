"""This machine as a target: the probe is a process here.

The process has a session of its own, so that Ctrl-C reaches only the tool. Its
standard input is a pipe: closing it asks the probe to stop and send what it has.
"""

from __future__ import annotations

import errno
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hardstone.errors import TargetError
from hardstone.files import pause
from hardstone.model import ClockCheck
from hardstone.targets.base import SILENT, Notices, OnIdle, ProbeTimeoutError, Stop, no_sign
from hardstone.targets.find import find_probe
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.transport import Halt, Limits, Watch, never_halted

if TYPE_CHECKING:
    from hardstone.targets.host_memory import HostMemory


_CHUNK_BYTES = 1 << 16
_MOST_BYTES = 1 << 20  # of a file in /proc
_MOST_THREADS = 32
_KILLED_S = 5.0
_POLL_S = 0.002
_REBUILD = "check that it was built for this machine: hardstone probe build"
_REMEDIES = {
    errno.EMFILE: "raise the limit on open files: ulimit -n 256",
    errno.ENFILE: "the whole machine has too many open files: end some programs",
    errno.EAGAIN: "raise the limit on processes: ulimit -u, or end some of yours",
    errno.ENOMEM: "free some memory, or raise the limit: ulimit -v",
    errno.EACCES: "make it executable for you, in an accessible folder that is not mounted noexec",
    errno.ETXTBSY: "it is being written: wait until the build has finished",
    errno.ENOEXEC: _REBUILD,
    errno.ENOENT: _REBUILD,  # of an executable that is there: its loader is not
}


class ProbeProcess:
    """Runs `command` (an argument list) and gives its output in chunks.

    `is_probe`: it is the probe itself, whose state says whether it is stopped, and not a program
    that reaches it elsewhere.
    """

    def __init__(
        self, command: Sequence[str], limits: Limits, stop: Stop, *, is_probe: bool = False
    ) -> None:
        self._limits = limits
        self._stop = stop
        self._is_ended = False
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                close_fds=True,
            )
        except OSError as error:
            raise cannot_start(command[0], error) from error
        why_halted = HaltCheck(self._process.pid).why if is_probe else never_halted
        self._watch = Watch(limits, stop, why_halted)

    def chunks(self, on_idle: OnIdle = no_sign) -> Generator[bytes]:
        """The output until its end. ProbeError for a flood, a failure, a deadline, an abort.

        The process is gone when this returns or raises, unless SIGKILL cannot end it: of a frozen
        group of version 1, and in a call of a dead disk, it dies when that is over.
        """
        try:
            yield from self._read(on_idle)
            self._wait(self._limits.end_s)
        except ProbeTimeoutError as error:
            self._end()
            if self._process.returncode is None:
                raise ProbeTimeoutError(f"{error.cause}; {self._survives()}") from error
            raise
        finally:
            self._end()
        if self._process.returncode is None:
            raise ProbeTimeoutError(f"the probe did not end; {self._survives()}")
        self._watch.check_end(self._process.returncode)

    def _survives(self) -> str:
        return (
            f"its process {self._process.pid} survived SIGKILL; it ends when its control group is "
            "thawed or its system call returns"
        )

    def _read(self, on_idle: OnIdle) -> Iterator[bytes]:
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
                    on_idle(self._watch.said())

    def _take(self, selector: selectors.BaseSelector, stream: Any) -> Iterator[bytes]:
        chunk = os.read(stream.fileno(), _CHUNK_BYTES)
        if not chunk:
            selector.unregister(stream)
        elif stream is self._process.stderr:
            self._watch.take_error(chunk)
        else:
            yield self._watch.take_output(chunk)

    def _terminate(self) -> None:
        """Ends the probe, also a stopped one: it goes on, to send what it has measured."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def _end(self) -> None:
        """TERM, a moment, KILL; only to the group of the child that was started here."""
        if self._is_ended:
            return
        self._is_ended = True
        if self._process.poll() is None:
            self._terminate()
            self._wait(0.0 if self._stop.is_abort else 1.0)
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._wait(_KILLED_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _opened(stream).close()

    def _wait(self, longest_s: float) -> None:
        """As Popen.wait, which sleeps: a filter of system calls may refuse that."""
        end_s = time.monotonic() + longest_s
        while self._process.poll() is None and time.monotonic() < end_s:
            pause(_POLL_S)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)


class HaltCheck:
    """Looks whether somebody has stopped a process: a signal, a debugger, or the freezer of its
    control group.

    `/proc/PID/stat` takes the lock of the process's signals, which timers and signals under test
    take too, with interrupts off. So it is read only if no thread has run since the look before:
    `schedstat` takes no lock.
    """

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid = pid
        self._proc = proc
        self._runs: list[str] = []

    def why(self) -> Halt | None:
        """None: it is not stopped, or only since less than the look before."""
        before, self._runs = self._runs, self._run_counts()
        if self._runs != before:
            return None
        return self._by_signal() or self._by_freezer()

    def _run_counts(self) -> list[str]:
        """Of the first threads; of a kernel that counts nothing, the same each time."""
        folder = self._proc / str(self._pid) / "task"
        try:
            threads = sorted(folder.iterdir())[:_MOST_THREADS]
        except OSError:
            return []
        return [f"{one.name} {_text(one / 'schedstat')}" for one in threads]

    def _by_signal(self) -> Halt | None:
        folder = self._proc / str(self._pid)
        state = _text(folder / "stat").rpartition(") ")[2][:1]
        if state == "T":
            return Halt(
                "(state T: SIGSTOP, or a debugger)", f"continue it with kill -CONT {self._pid}"
            )
        if state != "t":
            return None
        tracer = _text(folder / "status").partition("\nTracerPid:")[2].split("\n")[0].strip()
        who = f" with PID {tracer}" if tracer not in ("", "0") else ""
        return Halt(f"(state t: by a debugger{who})", "continue it in the debugger")

    def _by_freezer(self) -> Halt | None:
        groups = _text(self._proc / str(self._pid) / "cgroup").splitlines()
        for line in groups:
            _, controllers, path = [*line.split(":", 2), "", "", ""][:3]
            is_v1 = "freezer" in controllers.split(",")
            if is_v1 or not controllers:
                for mount in _mounts_of(self._proc, is_v1=is_v1):
                    found = _frozen(mount, path, is_v1=is_v1)
                    if found is not None:
                        return found
        return None


def _mounts_of(proc: Path, *, is_v1: bool) -> list[tuple[str, Path]]:
    """The root and the place of each mount of the freezer's hierarchy, or of version 2."""
    found = []
    for line in _text(proc / "self" / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) < 5 or not kind:
            continue
        if kind[0] == "cgroup2" and not is_v1:
            found.append((words[3], Path(words[4])))
        if kind[0] == "cgroup" and is_v1 and "freezer" in kind[-1].split(","):
            found.append((words[3], Path(words[4])))
    return found


def _frozen(mount: tuple[str, Path], path: str, *, is_v1: bool) -> Halt | None:
    """Why the group `path` is frozen, if it is: it may be one above it that was."""
    root, place = mount
    inside = f"{path}/".removeprefix("" if root == "/" else root)
    if not inside.startswith("/"):
        return None
    group = place / inside.strip("/")
    if is_v1:
        is_frozen = _text(group / "freezer.state").strip() == "FROZEN"
        own, thawed, state = "freezer.self_freezing", "THAWED", "freezer.state"
    else:
        is_frozen = "frozen 1" in _text(group / "cgroup.events").splitlines()
        own, thawed, state = "cgroup.freeze", "0", "cgroup.freeze"
    if not is_frozen or ".." in group.parts:
        return None
    above = [one for one in (group, *group.parents) if one == place or place in one.parents]
    asked = next((one for one in above if _text(one / own).strip() == "1"), group)
    name = f"/{asked.relative_to(place)}" if asked != place else "/"
    return Halt(
        f"(its control group {name} is frozen)",
        f"thaw it with echo {thawed} > {shlex.quote(str(asked / state))}",
    )


def _text(path: Path) -> str:
    """The text of a file of the kernel; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def cannot_start(program: str, error: OSError) -> TargetError:
    """Why a probe did not start, and what to do about it."""
    return TargetError(
        f"the probe {program} cannot be started: {error.strerror or error}",
        _REMEDIES.get(error.errno or 0, "check the probe: hardstone probe path"),
    )


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("the stream of the process is not a pipe")
    return stream


class LocalTransport:
    """Runs the probe of this installation, or `probe`, as a child process."""

    name = "local"
    is_noisy = False

    def __init__(self, probe: Path | None = None) -> None:
        self._probe = probe

    def open(self, notices: Notices = SILENT) -> None:
        self._executable()

    def close(self) -> None:
        """Nothing is held between calls."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        from hardstone.targets.alone import measuring_alone

        return measuring_alone(stop.is_set, on_wait, on_unlocked, wait_s=wait_s)

    def probe_path(self) -> str | None:
        return str(self._executable())

    def probe_sha256(self) -> str | None:
        import hashlib

        with self._executable().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def memory(self, run_id: str, journal: Path) -> HostMemory:
        from hardstone.targets.host_memory import HostMemory

        return HostMemory(run_id, journal)

    def clock_check(self) -> ClockCheck | None:
        return None  # probe and toolkit read the same clock

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        command = [str(self._executable()), *arguments]
        return ProbeProcess(command, limits, stop, is_probe=True).chunks(on_idle)

    def _executable(self) -> Path:
        if self._probe is None:
            self._probe = find_probe()
        return self._probe


def local_target(probe: Path | None = None, *, limits: Limits | None = None) -> ProbeTarget:
    """This machine, measured with the probe of this installation or with `probe`."""
    return ProbeTarget(LocalTransport(probe), limits=limits)
