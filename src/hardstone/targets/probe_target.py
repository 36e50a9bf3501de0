"""The probe of a system under test, over any transport."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path

from hardstone.errors import EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY, InputError, TargetError
from hardstone.memory import Memory
from hardstone.model import ClockCheck, Facts, Loads, PlannedTest, Register, ShieldLook
from hardstone.targets.base import (
    REBUILD,
    SILENT_REMEDY,
    BrokenStreamError,
    OnIdle,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    ProbeTimeoutError,
    RunOptions,
    Stop,
    no_sign,
)
from hardstone.targets.decode import decode_facts, decode_loads, decode_register, decode_shield
from hardstone.targets.lines import split_lines
from hardstone.targets.reaching import SILENT, Notices
from hardstone.targets.request import probe_arguments
from hardstone.targets.transport import Limits, Transport, collect

_LIST_S = 15.0
_FACTS_S = 60.0
_DUMP_S = 60.0
_DUMP_BYTES = 1 << 27
# The tool's clock begins before the probe's, which starts, locks its memory and finds the rate of
# its counter (35 ms of CPU and 1 s here); after its deadline it waits 3 s for the test.
_DEADLINE_GRACE_S = 10.0
_DRAIN_S = 60.0
# The probe ends with these after a result that says why not everything was measured.
_RESULT_CODES = (EXIT_UNTRUSTWORTHY, EXIT_PRIVILEGE)
_FOOTER = b'{"type":"footer"'


class ProbeTarget:
    """Knows the commands of the probe; `transport` knows how they reach it.

    `limits` replace those that each command of the probe has by default.
    """

    def __init__(self, transport: Transport, *, limits: Limits | None = None) -> None:
        self.name = transport.name
        self.is_noisy = transport.is_noisy
        self._transport = transport
        self._limits = limits
        self._notices = SILENT

    def open(self, notices: Notices = SILENT) -> None:
        self._notices = notices
        self._transport.open(notices)

    def close(self) -> None:
        self._transport.close()

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        return self._transport.alone(stop, on_wait, on_unlocked, wait_s)

    def probe_path(self) -> str | None:
        return self._transport.probe_path()

    def probe_sha256(self) -> str | None:
        return self._transport.probe_sha256()

    def probe_list(self) -> Register:
        return decode_register(self._ask(["list", "--json"], _LIST_S))

    def load_list(self) -> Loads | None:
        raw = self._ask_newer(["load", "--list", "--json"])
        return None if raw is None else decode_loads(raw)

    def shield_look(self) -> ShieldLook | None:
        raw = self._ask_newer(["shield", "--show", "--json"])
        return None if raw is None else decode_shield(raw)

    def facts(self) -> Facts:
        return decode_facts(self._ask(["facts", "--json"], _FACTS_S))

    def clock_check(self) -> ClockCheck | None:
        return self._transport.clock_check()

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: str | None,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        arguments = probe_arguments(planned, options, backing)
        limits = self._limits or Limits(
            planned.deadline_ns / 1e9 + _DEADLINE_GRACE_S,
            expected_s=planned.expected_ns / 1e9,
            drain_s=_DRAIN_S,
        )
        is_ended = False
        with closing(self._transport.chunks(arguments, limits, stop, on_idle)) as chunks:
            try:
                for line in split_lines(chunks):
                    is_ended = line.startswith(_FOOTER) or (is_ended and self.is_noisy)
                    yield line
            except ProbeExitError as error:
                if error.code not in _RESULT_CODES or not is_ended:
                    raise

    def memory(self, run_id: str, journal: Path) -> Memory:
        return self._transport.memory(run_id, journal)

    def dump(self, path: str) -> list[bytes]:
        output = collect(self._transport, ["dump", path, "--json"], _DUMP_S, _DUMP_BYTES)
        return list(split_lines([output]))

    def _ask_newer(self, arguments: list[str]) -> bytes | None:
        """None from an older probe, which has no such command."""
        try:
            return self._ask(arguments, _LIST_S)
        except TargetError as error:
            if isinstance(error.__cause__, ProbeRefusedError):
                return None
            raise

    def _ask(self, arguments: list[str], deadline_s: float) -> bytes:
        if self._limits:
            deadline_s = self._limits.deadline_s

        def on_idle(said: str = "") -> None:
            if said:
                self._notices.warn(f"hardstone-probe {arguments[0]}: {said}")

        try:
            output = collect(self._transport, arguments, deadline_s, on_idle=on_idle)
        except ProbeTimeoutError as error:
            cause = f"hardstone-probe {arguments[0]}: {error.cause}"
            raise TargetError(cause, error.remedy) from error
        except BrokenStreamError as error:
            raise InputError(f"hardstone-probe {arguments[0]}: {error.cause}", REBUILD) from error
        except ProbeError as error:
            # With this code a command that measures nothing ends at a deadline of its own.
            is_late = isinstance(error, ProbeExitError) and error.code == EXIT_UNTRUSTWORTHY
            raise TargetError(
                f"hardstone-probe {arguments[0]}: {error.cause}",
                SILENT_REMEDY if is_late else "rebuild it: hardstone probe build",
            ) from error
        return _document_in(output) if self.is_noisy else output


def _document_in(output: bytes) -> bytes:
    """The line of the probe among those of a noisy console: each of its documents is one line."""
    found = [line for line in output.splitlines() if line.startswith(b"{")]
    return found[-1] if found else output
