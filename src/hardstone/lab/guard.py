"""Runs QEMU and outlives a kill of the tool: the guest ends and its files go, whatever happens.

A program of its own, started by its path: it must start fast and imports nothing of hardstone.
Arguments: the guest's folder, the descriptor that locks it, how many bytes QEMU may write to a
file, "one" or "all" for its CPUs, then QEMU's command. Standard input is a pipe from the tool,
whose end ends the guest; descriptors for QEMU are inherited.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CANNOT_START = 127


def main() -> int:
    """Exit code: that of QEMU, 128 and the signal that ended it."""
    folder, lock, most_bytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.set_inheritable(lock, False)  # open until this process ends
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    try:
        return _run(sys.argv[5:], folder, most_bytes, is_on_one_cpu=sys.argv[4] == "one")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _on_one_cpu() -> Iterator[None]:
    """What is started meanwhile stays on that CPU."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _run(command: list[str], folder: Path, most_bytes: int, *, is_on_one_cpu: bool) -> int:
    opened = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    inherited = [descriptor for descriptor in opened if _is_for_qemu(descriptor)]
    guard = os.getpid()
    with (folder / "qemu").open("wb") as said, _on_one_cpu() if is_on_one_cpu else nullcontext():
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=inherited,
                preexec_fn=lambda: _prepare(guard, most_bytes),  # noqa: PLW1509 - one thread
            )
        except OSError as error:
            said.write(f"{command[0]}: {error.strerror}".encode())
            process = None
    for descriptor in inherited:  # so that the tool sees the end of QEMU
        os.close(descriptor)
    code = _CANNOT_START if process is None else _watched(process)
    while sys.stdin.buffer.read(1):  # the tool reads the console in the folder before it lets go
        pass
    return code


def _watched(process: subprocess.Popen[bytes]) -> int:
    """Waits until QEMU has ended or the tool is gone; the exit code of QEMU."""
    try:
        poller = select.poll()
        poller.register(sys.stdin.fileno(), select.POLLIN)
        poller.register(os.pidfd_open(process.pid), select.POLLIN)
        poller.poll()
    finally:
        process.kill()
        code = process.wait()
    return code if code >= 0 else 128 - code


def _is_for_qemu(descriptor: int) -> bool:
    """Python's own are not inheritable."""
    try:
        return descriptor > 2 and os.get_inheritable(descriptor)
    except OSError:  # that of the listing
        return False


def _prepare(guard: int, most_bytes: int) -> None:
    """A kill of this guard ends QEMU, also one that came before this call; and a console without
    end does not fill the memory of this machine."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    if os.getppid() != guard:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
