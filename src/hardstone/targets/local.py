"""This machine as the system under test."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from hardstone.model import ClockCheck
from hardstone.targets.base import OnIdle, Stop, no_sign
from hardstone.targets.find import find_probe
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.process import ProbeProcess
from hardstone.targets.reaching import SILENT, Notices
from hardstone.targets.transport import Limits

if TYPE_CHECKING:
    from hardstone.targets.host_memory import HostMemory


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
