"""This machine as the target."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path

from hardstone.errors import EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY, InputError, TargetError
from hardstone.model import Facts, Loads, PlannedTest, Register, ShieldLook
from hardstone.targets.alone import measuring_alone
from hardstone.targets.base import (
    REBUILD,
    BrokenStreamError,
    ProbeError,
    ProbeExitError,
    ProbeRefusedError,
    RunOptions,
    Stop,
)
from hardstone.targets.decode import decode_facts, decode_loads, decode_register, decode_shield
from hardstone.targets.find import find_probe
from hardstone.targets.lines import split_lines
from hardstone.targets.process import Limits, ProbeProcess, collect
from hardstone.targets.request import probe_arguments

_LIST_S = 15.0
_FACTS_S = 60.0
_DUMP_S = 60.0
_DEADLINE_GRACE_S = 15.0
# Of a run whose result says why nothing, or not all, was measured.
_RESULT_CODES = (EXIT_UNTRUSTWORTHY, EXIT_PRIVILEGE)
_FOOTER = b'{"type":"footer"'


class LocalTarget:
    """Runs the probe of this installation as a child process.

    `limits` hold for every command of the probe; by default each has its own.
    """

    name = "local"

    def __init__(self, probe: Path | None = None, *, limits: Limits | None = None) -> None:
        self._probe = probe
        self._limits = limits

    def open(self) -> None:
        if self._probe is None:
            self._probe = find_probe()

    def close(self) -> None:
        """Nothing is held between calls."""

    def alone(
        self, stop: Stop, on_wait: Callable[[], None], on_unlocked: Callable[[str], None]
    ) -> AbstractContextManager[None]:
        return measuring_alone(stop.is_set, on_wait, on_unlocked)

    def probe_path(self) -> str | None:
        return str(self._executable())

    def probe_sha256(self) -> str | None:
        with self._executable().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

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

    def run(
        self,
        planned: PlannedTest,
        options: RunOptions,
        backing: Path | None,
        stop: Stop,
        on_idle: Callable[[], None] = lambda: None,
    ) -> Generator[bytes]:
        command = [str(self._executable()), *probe_arguments(planned, options, backing)]
        limits = self._limits or Limits(planned.deadline_ns / 1e9 + _DEADLINE_GRACE_S)
        with closing(ProbeProcess(command, limits, stop).chunks(on_idle)) as chunks:
            line = b""
            try:
                for line in split_lines(chunks):
                    yield line
            except ProbeExitError as error:
                if error.code not in _RESULT_CODES or not line.startswith(_FOOTER):
                    raise

    def dump(self, path: Path) -> list[bytes]:
        command = [str(self._executable()), "dump", str(path), "--json"]
        return list(split_lines([collect(command, _DUMP_S, most_bytes=1 << 27)]))

    def _ask_newer(self, arguments: list[str]) -> bytes | None:
        """None from a probe from before there was such a command."""
        try:
            return self._ask(arguments, _LIST_S)
        except TargetError as error:
            if isinstance(error.__cause__, ProbeRefusedError):
                return None
            raise

    def _ask(self, arguments: list[str], deadline_s: float) -> bytes:
        if self._limits:
            deadline_s = self._limits.deadline_s
        try:
            return collect([str(self._executable()), *arguments], deadline_s)
        except BrokenStreamError as error:
            raise InputError(f"hardstone-probe {arguments[0]}: {error.cause}", REBUILD) from error
        except ProbeError as error:
            raise TargetError(
                f"hardstone-probe {arguments[0]}: {error.cause}",
                "build it anew: hardstone probe build",
            ) from error

    def _executable(self) -> Path:
        self.open()
        if self._probe is None:
            raise TargetError("there is no probe", "build it: hardstone probe build")
        return self._probe
