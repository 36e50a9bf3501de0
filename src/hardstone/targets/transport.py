"""What a transport is: how commands reach the probe of a system, and how bytes come back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from hardstone.memory import Memory
from hardstone.model import ClockCheck
from hardstone.targets.base import OnIdle, Stop, no_sign
from hardstone.targets.reaching import SILENT, Notices


class Limits:
    """How long a command may take, in seconds, and how much it may send.

    `stop_s`: from the request to stop to its end. `end_s`: from the hard end to its death.
    `expected_s`: how long it is silent when all is well. `drain_s`: how much later than
    `deadline_s` it may end while its output still comes. `halted_s`: how long a command that
    somebody has stopped is waited for at least, so that a person can continue it.
    """

    def __init__(
        self,
        deadline_s: float,
        *,
        stop_s: float = 30.0,
        end_s: float = 5.0,
        most_bytes: int = 1 << 27,
        expected_s: float | None = None,
        drain_s: float = 0.0,
        halted_s: float = 30.0,
    ) -> None:
        self.deadline_s = deadline_s
        self.stop_s = stop_s
        self.end_s = end_s
        self.most_bytes = most_bytes
        self.expected_s = expected_s
        self.drain_s = drain_s
        self.halted_s = halted_s

    def in_slow_time(self, factor: float) -> Limits:
        """The same for a system whose seconds take up to `factor` of this machine's."""
        return Limits(
            self.deadline_s * factor,
            stop_s=self.stop_s * factor,
            end_s=self.end_s,
            most_bytes=self.most_bytes,
            expected_s=None if self.expected_s is None else self.expected_s * factor,
            drain_s=self.drain_s * factor,
            halted_s=self.halted_s,
        )


class Transport(Protocol):
    """A way to one system under test. It starts the probe there and knows nothing of its commands.

    TargetError, with cause and remedy, where the system cannot be reached.
    """

    name: str
    """The system as `--target` names it."""
    is_noisy: bool
    """Others write between the lines of the probe, as a kernel does on a serial console."""

    def open(self, notices: Notices = SILENT) -> None:
        """Reaches the system and finds the probe there."""

    def close(self) -> None:
        """Lets go of the system; may be called twice, and never fails."""

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """Locks the system for one measurement; as `Target.alone`."""

    def probe_path(self) -> str | None:
        """Path of the probe's executable on the system, None where it is not a file."""

    def probe_sha256(self) -> str | None:
        """Digest of the probe's executable, None where it cannot be read."""

    def memory(self, run_id: str, journal: Path) -> Memory:
        """The crash-safe memory of the system; as `Recorder.memory`."""

    def clock_check(self) -> ClockCheck | None:
        """Both clocks between `open` and now; as `Target.clock_check`."""

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        """Runs the probe with `arguments`, which no shell interprets; yields its output.

        When `stop` is set, the probe's standard input is closed: it stops and sends what it has.
        At `limits` and at an abort it is ended, and always when the generator is closed. `on_idle`
        is called now and then while nothing comes. ProbeError for a probe that fails, floods or
        outlives its limits.
        """


@runtime_checkable
class Caller(Transport, Protocol):
    """A transport over which a person's command runs, with its input and output."""

    def call(
        self, arguments: Sequence[str], stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        """Runs the probe with `arguments`, which no shell interprets; gives its exit code.

        What the probe starts has these streams. An interrupt ends the probe before it is raised.
        """


def collect(
    transport: Transport,
    arguments: Sequence[str],
    deadline_s: float,
    most_bytes: int = 1 << 24,
    on_idle: OnIdle = no_sign,
) -> bytes:
    """The whole output of a short command; errors as `Transport.chunks`."""
    limits = Limits(deadline_s, stop_s=1.0, end_s=1.0, most_bytes=most_bytes)
    return b"".join(transport.chunks(arguments, limits, Stop(), on_idle))
