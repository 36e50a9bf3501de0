"""An image in QEMU whose time counts instructions: one boot for each command, and no input.

The same image and the same command give the same output, byte by byte, on any host.
"""

from __future__ import annotations

import hashlib
import re
import time
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.model import ClockCheck, Scalar
from hardstone.targets.alone import measuring_alone
from hardstone.targets.base import (
    SILENT,
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    Stop,
    no_sign,
)
from hardstone.targets.console.address import ConsoleSettings
from hardstone.targets.console.console_command import CRASHED, MAY_CRASH
from hardstone.targets.console.console_frames import ConsoleReader, Output, Passes
from hardstone.targets.console.console_target import ConsoleMemory, without_backing
from hardstone.targets.console.emulated_guest import EmulatedGuest, read_settings
from hardstone.targets.console.shell import command_line
from hardstone.targets.transport import Limits, Watch

_POLL_S = 0.1
_POWER_OFF_S = 10.0
# A second of counted instructions is half a thousand million of them: 3 to 10 s of this machine
# when it has nothing else to do.
_SLOWEST = 20.0
_BOOT_S = 60.0
_CRASHED_S = 1.0  # without more, after what a system writes that stops for ever
_PROMPT_S = 2.0  # the same, after what looks like the prompt of a shell
_PROMPT = re.compile(r"\S[>#$%] ?$")
_REMEDY = (
    'build the image with CONFIG_HARDSTONE_JOB and CONFIG_INIT_ENTRYPOINT="hardstone_job_main"'
)


@dataclass(frozen=True)
class _Patience:
    """Seconds until the first frame of a command, and of silence after what looks like a prompt."""

    boot_s: float
    prompt_s: float


class JobTransport:
    """The way to the image that `settings` name."""

    is_noisy = False

    def __init__(
        self, settings: ConsoleSettings, *, boot_s: float = _BOOT_S, prompt_s: float = _PROMPT_S
    ) -> None:
        self.name = settings.name
        self._program = settings.program
        self._settings = read_settings(settings)
        self._patience = _Patience(boot_s, prompt_s)

    def open(self, notices: Notices = SILENT) -> None:
        """Each command boots; there is nothing to reach."""

    def close(self) -> None:
        """Each command has ended its guest."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """A guest measures with the CPUs of this machine."""
        return measuring_alone(stop.is_set, on_wait, on_unlocked, wait_s=wait_s)

    def probe_path(self) -> str | None:
        return None

    def probe_sha256(self) -> str | None:
        """That of the image, which has the probe in it."""
        try:
            with self._settings.image.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None

    def memory(self, run_id: str, journal: Path) -> ConsoleMemory:
        return ConsoleMemory(run_id, journal)

    def own_facts(self) -> dict[str, Scalar]:
        return self._settings.facts()

    def clock_check(self) -> ClockCheck | None:
        return None  # there is no second clock of this kind

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        words = without_backing(arguments)
        # Not a random one: it is part of the output, which would differ.
        token = f"{zlib.crc32(' '.join(words).encode()) & 0xFFFF:04x}"
        job = command_line(self._program, token, words).decode("ascii")
        slow = limits.in_slow_time(_SLOWEST)
        slow.deadline_s += _BOOT_S
        slow.stop_s = limits.stop_s
        with closing(EmulatedGuest(self._settings, job)) as guest:
            watch = Watch(slow, stop)
            command = _Job(guest, self.name, Passes(token), watch, self._patience)
            found = command.output(on_idle)
            yield found.output
            command.watch.take_error(found.said)
            command.watch.check_end(found.exit_code)


class _Job:
    """One boot."""

    def __init__(
        self,
        guest: EmulatedGuest,
        name: str,
        passes: Passes,
        watch: Watch,
        patience: _Patience,
    ) -> None:
        self.watch = watch
        self._guest = guest
        self._name = name
        self._passes = passes
        self._patience = patience
        self._reader = ConsoleReader(MAY_CRASH)
        self._begun_at = self._heard_at = time.monotonic()

    def output(self, on_idle: OnIdle) -> Output:
        """What the command wrote, once the guest has powered off."""
        while not self._guest.has_ended(min(_POLL_S, self.watch.wait_s())):
            self._read()
            if self._has_crashed() and time.monotonic() - self._heard_at > _CRASHED_S:
                break
            self._check_begun()
            self.watch.look(_nothing, self._guest.end)
            on_idle(self.watch.said())
        self._read()
        for frame in self._reader.flush():
            self._passes.add(frame)
        found = self._passes.whole()
        if found is None:
            raise self._incomplete()
        return found

    def _check_begun(self) -> None:
        """The first frame comes before a command does anything: an image that takes no command
        from memory would be waited for until the command's deadline. TargetError."""
        if self._passes.is_begun or self._reader.noted:
            return
        now, most_s = time.monotonic(), self._patience.boot_s
        if now - self._heard_at > self._patience.prompt_s and _PROMPT.search(self._reader.tail):
            raise TargetError(
                f"{self._name} started its shell, and not the command that is in its memory",
                _REMEDY,
            )
        if now - self._begun_at > most_s:
            raise TargetError(
                f"{self._name} did not begin the command within {most_s:.0f} s of its boot",
                f"{_REMEDY}; if it has both, run it again when this machine is less busy",
            )

    def _has_crashed(self) -> bool:
        """For sure: a line of a log may say anything."""
        return any(CRASHED.search(line) for line in self._reader.noted)

    def _read(self) -> None:
        new = self._guest.new_output()
        if new:
            self._heard_at = time.monotonic()
        for frame in self._reader.feed(new):
            try:
                is_new = self._passes.add(frame)
            except ValueError as error:
                raise BrokenStreamError(f"the probe sent {error}") from error
            if is_new:
                self.watch.take_output(frame.payload)

    def _incomplete(self) -> ProbeError | TargetError:
        if self._reader.noted:
            return ProbeError(
                f"the system crashed: {self._reader.noted[0]}",
                "give the probe's threads larger stacks, and report it to whoever makes the system",
            )
        why = self._guest.why_ended()
        if self._passes.is_begun:
            return ProbeError(
                f"the system ended before its command had: {why}",
                "it powered off or rebooted, or QEMU was ended: run it again",
            )
        return TargetError(
            f"{self._name} ended without running the command: {why}",
            _REMEDY,
        )


def _nothing() -> None:
    """Without input the command cannot be asked to stop."""
