"""A system behind a console as a target: commands are typed at its shell's prompt, and what the
probe answers is taken only once it is whole and right."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import msgspec

from hardstone.errors import InputError, TargetError
from hardstone.model import ClockCheck, Event, Register, Scalar
from hardstone.targets.alone import default_lock_file, measuring_alone
from hardstone.targets.base import (
    SILENT,
    Notices,
    OnIdle,
    ProbeError,
    Stop,
    no_sign,
)
from hardstone.targets.console.address import ConsoleSettings
from hardstone.targets.console.console_command import (
    OLDER,
    ConsoleCommand,
    CutLineError,
    NotHeardError,
)
from hardstone.targets.console.line import Line, open_line
from hardstone.targets.console.shell import PACES, PATIENCE, QUIT, STOP, Patience, Shell
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.probe_target import ProbeTarget, decode_register
from hardstone.targets.transport import Limits

_SLOW_BYTES_PER_S = 2500.0
_PART_TESTS = 4
_MOST_TESTS = 1000
_LIST_S = 60.0


class ConsoleMemory(HostMemory):
    """There is none on the target: nothing of a test that a kill interrupts is left there. The
    spare of a run is on this machine."""

    def path_for(self, number: int) -> str:
        return f"/nowhere/{number}.rec"  # the transport does not pass it on

    def has(self, path: str) -> bool:
        del path
        return False

    def copy(self, path: str) -> None:
        del path

    def drop(self, path: str) -> None:
        """Nothing was made."""


class ConsoleTransport:
    """The way to `settings`; `opener` gives the line."""

    is_noisy = False  # what others write never gets past the frames

    def __init__(
        self,
        settings: ConsoleSettings,
        opener: Callable[[ConsoleSettings], Line] = open_line,
        patience: Patience = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = settings.name
        self._settings = settings
        self._opener = opener
        self._patience = patience
        self._clock = clock
        self._line: Line | None = None
        self._shell: Shell | None = None
        self._notices = SILENT
        self._held: ExitStack | None = None  # the lock of the port, while it is open
        self._remarks: list[Event] = []
        self._pace = 0  # of PACES, the first at which the shell understood

    def open(self, notices: Notices = SILENT) -> None:
        """Waits for another command that has the port, unless nobody would see why."""
        self._notices = notices
        if self._held is None and self._settings.kind != "qemu":
            wait_s = 0.0 if notices is SILENT else notices.wait_s
            held = ExitStack()
            held.enter_context(self._locked(lambda: False, notices.warn, notices.warn, wait_s))
            self._held = held
        try:
            self._ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._let_go()
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def _let_go(self) -> None:
        line, self._line = self._line, None
        shell, self._shell = self._shell, None
        if line is None:
            return
        if shell is not None and shell.line_typed and not shell.is_at_prompt:
            with contextlib.suppress(TargetError):
                line.write(STOP + QUIT)  # a probe that still runs ends by itself
        line.close()

    @property
    def bytes_per_s(self) -> float | None:
        """What the line carries; None where that is not known."""
        return None if self._line is None else self._line.bytes_per_s

    def alone(
        self,
        stop: Stop,
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None = None,
    ) -> AbstractContextManager[None]:
        """One measurement on a port: the machine that has the port is not what is measured, unless
        its processor runs the guest."""
        if self._settings.kind == "qemu":
            return measuring_alone(stop.is_set, on_wait, on_unlocked, wait_s=wait_s)
        if self._held is not None:
            return nullcontext()
        return self._locked(stop.is_set, on_wait, on_unlocked, wait_s)

    def _locked(
        self,
        is_stopped: Callable[[], bool],
        on_wait: Callable[[str], None],
        on_unlocked: Callable[[str], None],
        wait_s: float | None,
    ) -> AbstractContextManager[None]:
        word = hashlib.sha256(_port_of(self._settings).encode()).hexdigest()[:16]
        name = f"console-{word}.lock"
        return measuring_alone(
            is_stopped,
            on_wait,
            on_unlocked,
            default_lock_file().with_name(f"hardstone-{name}"),
            wait_s=wait_s,
            own_lock_file=Path(tempfile.gettempdir(), f"hardstone-{os.geteuid()}-{name}"),
            where=self.name,
        )

    def own_facts(self) -> dict[str, Scalar]:
        """Of a guest that this program has started: that it is emulated."""
        if self._settings.kind != "qemu":
            return {}
        from hardstone.targets.console.emulated_guest import read_settings

        return read_settings(self._settings).facts()

    def probe_path(self) -> str | None:
        return None

    def probe_sha256(self) -> str | None:
        return None

    def memory(self, run_id: str, journal: Path) -> ConsoleMemory:
        return ConsoleMemory(run_id, journal)

    def clock_check(self) -> ClockCheck | None:
        return None  # a line of unknown delay says nothing about a clock

    def chunks(
        self,
        arguments: Sequence[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle = no_sign,
    ) -> Generator[bytes]:
        words = without_backing(arguments)
        first: NotHeardError | None = None
        for attempt, pace in enumerate(PACES[self._pace :], self._pace):
            shell = self._ready_after(first)
            command = ConsoleCommand(shell, words, limits, stop, on_idle, self._notices)
            try:
                yield from command.chunks(pace)
                self._pace = attempt
                return
            except NotHeardError as error:
                first = first or error
                if attempt + 1 < len(PACES) and not stop.is_set():
                    continue
                if isinstance(first, CutLineError) and words[:1] == ["run"]:
                    raise ProbeError(first.cause, first.remedy) from error
                raise first from error
            finally:
                self._remarks = command.remarks() if words[:1] == ["run"] else []

    def take_remarks(self) -> list[Event]:
        """What it took to bring the output of the last test through."""
        remarks, self._remarks = self._remarks, []
        return remarks

    def _ready_after(self, first: NotHeardError | None) -> Shell:
        """At the prompt; where that fails, why the command was to be typed again says more."""
        try:
            return self._ready()
        except TargetError as error:
            if first is None:
                raise
            raise first from error

    def _ready(self) -> Shell:
        """At the prompt. A guest that no longer answers is booted again: what stopped one test is
        no reason to lose those after it."""
        is_fresh = self._line is None
        try:
            return self._at_prompt()
        except TargetError as error:
            if self._settings.kind != "qemu" or is_fresh:
                raise
            self._notices.warn(f"{error.cause}; booting the guest again")
        self._let_go()
        return self._at_prompt()

    def _at_prompt(self) -> Shell:
        if self._line is None or self._shell is None:
            settings = self._settings
            self._line = self._opener(settings)
            self._shell = Shell(
                self._line,
                self.name,
                settings.program,
                settings.prompt,
                self._patience,
                self._clock,
                settings.place if settings.kind in ("serial", "pty") else None,
            )
        if not self._shell.is_at_prompt:
            self._shell.find_prompt()
        return self._shell


def without_backing(arguments: Sequence[str]) -> list[str]:
    """Without a recording: nothing there could be read after a crash."""
    words = list(arguments)
    if "--backing" in words:
        at = words.index("--backing")
        del words[at : at + 2]
    return words


def _port_of(settings: ConsoleSettings) -> str:
    """What two names of one port have in common."""
    if settings.kind in ("serial", "pty"):
        return os.path.realpath(settings.place)
    return f"{settings.kind}:{settings.place}:{settings.port}"


class ConsoleTarget(ProbeTarget):
    """The probe behind a console. A register that is long for its line comes in parts."""

    rebuild_remedy = OLDER

    def __init__(self, transport: ConsoleTransport) -> None:
        super().__init__(transport)
        self._console = transport

    def probe_list(self) -> Register:
        self._console.open(self._notices)
        rate = self._console.bytes_per_s
        if rate is None or rate >= _SLOW_BYTES_PER_S:
            try:
                return super().probe_list()
            except TargetError as error:
                if not isinstance(error.__cause__, ProbeError):
                    raise
                return self._list_after(error)
        return self._list_in_parts()

    def _list_after(self, first: TargetError) -> Register:
        """In parts, where it did not come whole: `first` says why, and more than a later error."""
        try:
            return self._list_in_parts()
        except (TargetError, InputError) as error:
            raise first from error

    def take_remarks(self) -> list[Event]:
        return self._console.take_remarks()

    def _list_in_parts(self) -> Register:
        whole: Register | None = None
        of, count = 1, _PART_TESTS
        while whole is None or len(whole.tests) < of:
            at = 0 if whole is None else len(whole.tests)
            words = ["list", "--json", "--from", str(at), "--count", str(count)]
            try:
                raw = self._ask(words, _LIST_S)
            except TargetError:
                if count == 1:
                    raise
                count = 1
                continue
            register, of = _part(raw)
            if not register.tests or of > _MOST_TESTS:
                break
            if whole is None:
                whole = register
            else:
                whole.tests += register.tests
            self._notices.step(f"{self.name}: {len(whole.tests)} of {of} tests listed")
        if whole is None or len(whole.tests) != of:
            raise InputError("the probe's list of tests is not complete", OLDER)
        whole.of = None
        return decode_register(msgspec.json.encode(whole))


def console_target(settings: ConsoleSettings) -> ConsoleTarget:
    """The system behind a console; nothing is opened yet."""
    return ConsoleTarget(ConsoleTransport(settings))


def _part(raw: bytes) -> tuple[Register, int]:
    register = decode_register(raw)
    of = register.of
    if of is None:
        raise InputError("the probe does not send its list of tests in parts", OLDER)
    return register, of
