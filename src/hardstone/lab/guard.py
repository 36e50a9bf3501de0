"""Runs QEMU and outlives a kill of the tool: the guest ends and its files go, whatever happens.

A program of its own, started by its path: it must start fast and imports nothing of hardstone.
Arguments: the guest's folder, then QEMU's command. Standard input is a pipe from the tool, whose
end ends the guest; descriptors for QEMU are inherited.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Exit code: that of QEMU, 128 and the signal that ended it."""
    folder, command = Path(sys.argv[1]), sys.argv[2:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        return _run(command, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], folder: Path) -> int:
    inherited = [one for one in _descriptors() if _is_for_qemu(one)]
    with (folder / "qemu").open("wb") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=inherited,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - this program has one thread
        )
    for descriptor in inherited:  # so that the tool sees the end of QEMU
        os.close(descriptor)
    try:
        _wait(process)
    finally:
        process.kill()
        process.wait()
    _wait_for_tool()
    code = process.returncode
    return code if code >= 0 else 128 - code


def _descriptors() -> list[int]:
    return [int(path.name) for path in Path("/proc/self/fd").iterdir()]


def _is_for_qemu(descriptor: int) -> bool:
    """Python's own are not inheritable."""
    try:
        return descriptor > 2 and os.get_inheritable(descriptor)
    except OSError:  # that of the listing
        return False


def _end_with_parent() -> None:
    """A kill of this guard ends QEMU."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until QEMU has ended or the tool is gone."""
    poller = select.poll()
    poller.register(sys.stdin.fileno(), select.POLLIN)
    poller.register(os.pidfd_open(process.pid), select.POLLIN)
    poller.poll()


def _wait_for_tool() -> None:
    """The tool reads the console in the folder before it lets go."""
    while sys.stdin.buffer.read(1):
        pass


if __name__ == "__main__":
    sys.exit(main())
