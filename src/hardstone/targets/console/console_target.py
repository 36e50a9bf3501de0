"""A system behind a console as a target: commands are typed at its shell's prompt, and what the
probe answers is taken only once it is whole and right.

Nothing is sent while a test measures, except a request to stop it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from hardstone.errors import EXIT_USAGE, InputError, TargetError, printable
from hardstone.model import ClockCheck, Register, Scalar
from hardstone.targets.alone import default_lock_file, measuring_alone
from hardstone.targets.base import (
    SILENT,
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    Stop,
    no_sign,
)
from hardstone.targets.console.address import ConsoleSettings
from hardstone.targets.console.console_frames import (
    VERSION,
    ConsoleFrame,
    ConsoleReader,
    Output,
    Passes,
)
from hardstone.targets.console.line import Line, open_line
from hardstone.targets.console.shell import (
    AGAIN,
    PACES,
    PATIENCE,
    QUIT,
    STOP,
    Pace,
    Patience,
    Shell,
    is_text,
)
from hardstone.targets.host_memory import HostMemory
from hardstone.targets.probe_target import ProbeTarget, decode_register
from hardstone.targets.transport import Limits, Watch

_POLL_S = 0.2
_STOP_AGAIN_S = 2.0
_MOST_PASSES = 40
_MOST_FRUITLESS = 12  # passes that bring nothing new
_MOST_MUTE = 3  # passes of which not a byte comes
_STRAY_BYTES = 8192
_FRAMES_BYTES = 4 * 160  # that a buffer on the way may hold back
_MOST_CHUNK_S = 10.0
_TOLD_S = 5.0  # between two messages about a long transfer
_MOST_DRAIN_S = 12 * 3600.0
_SLOW_BYTES_PER_S = 2500.0
_PART_TESTS = 4
_MOST_TESTS = 1000
_LIST_S = 60.0
_NOT_FOUND = re.compile(r"not found|unknown command|no such file|not recognized", re.IGNORECASE)
_TOO_MANY = re.compile(r"too many arg|too long", re.IGNORECASE)
_BOOTS = re.compile(
    r"U-Boot (?:SPL )?[0-9]|NuttShell \(NSH\)|\*\*\* Booting|Linux version [0-9]|Starting kernel"
    r"|login: *$"
)
_REFUSED = re.compile(rb"\bcrc\b|checksum|damaged", re.IGNORECASE)
_BOOT_S = 5.0  # of silence after a boot's text
_NOISE_REMEDY = (
    "lower the baud rate or use flow control, silence what else writes to the console "
    "(dmesg -n 1), and run it again"
)
_OLDER = "use the probe of this version of hardstone: build it into the image"
_CRASHES = re.compile(
    r"dump_assert_info: Assert|up_assert|_assert: |EXCEPTION|Kernel panic|FATAL ERROR|"
    r"Hard ?fault|Guru Meditation|\bPANIC\b",
    re.IGNORECASE,
)
_NOTABLE = re.compile(f"{_BOOTS.pattern}|{_CRASHES.pattern}", re.IGNORECASE)
_SHELL_REMEDY = (
    "a shell must take lines of 512 characters and 64 words: CONFIG_NSH_LINELEN and "
    "CONFIG_NSH_MAXARGUMENTS of NuttX; use flow control where the port loses bytes"
)


class NotHeardError(TargetError):
    """The shell did not start the command as it was typed: it may be typed again."""


class CutLineError(NotHeardError):
    """The shell did not take the line as a whole; it may take a shorter one."""


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
        self._pace = 0  # of PACES, the first at which the shell understood

    def open(self, notices: Notices = SILENT) -> None:
        self._notices = notices
        self._ready()

    def close(self) -> None:
        line, self._line = self._line, None
        shell, self._shell = self._shell, None
        if line is None:
            return
        if shell is not None and not shell.is_at_prompt:
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
        word = hashlib.sha256(_port_of(self._settings).encode()).hexdigest()[:16]
        name = f"console-{word}.lock"
        return measuring_alone(
            stop.is_set,
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
        for attempt, pace in enumerate(PACES[self._pace :], self._pace):
            shell = self._ready()
            command = _Command(shell, words, limits, stop, on_idle, self._notices)
            try:
                yield from command.chunks(pace)
                self._pace = attempt
                return
            except NotHeardError as error:
                if attempt + 1 < len(PACES) and not stop.is_set():
                    continue
                if isinstance(error, CutLineError) and words[:1] == ["run"]:
                    raise ProbeError(error.cause, error.remedy) from error
                raise

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
        self.close()
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
            )
        if not self._shell.is_at_prompt:
            self._shell.find_prompt()
        return self._shell


class _Command:
    """One command of the probe, from its line to the prompt after it."""

    def __init__(
        self,
        shell: Shell,
        words: list[str],
        limits: Limits,
        stop: Stop,
        on_idle: OnIdle,
        notices: Notices,
    ) -> None:
        rate = shell.line.bytes_per_s
        self._again_s = max(shell.patience.again_s, 0.0 if rate is None else _FRAMES_BYTES / rate)
        # Framing adds a third; an unknown line is taken for a slow one.
        drain_s = min(_MOST_DRAIN_S, 1.5 * limits.most_bytes / (rate or 1000.0))
        self._limits = Limits(
            limits.deadline_s,
            stop_s=limits.stop_s,
            end_s=limits.end_s,
            most_bytes=limits.most_bytes,
            expected_s=limits.expected_s,
            drain_s=max(limits.drain_s, drain_s),
        )
        self._shell = shell
        self._words = words
        self._stop = stop
        self._on_idle = on_idle
        self._notices = notices
        self._reader = ConsoleReader(_NOTABLE)
        self._passes = Passes("")
        self._measures = _measures(words)
        self._asks = self._fruitless = self._mute = 0
        self._is_new = True  # something new came since the last request
        self._output_bytes = self._received_bytes = self._asked_bytes = 0
        self._stray = b""  # that came since the last frame or check
        self._stop_at: float | None = None

    def chunks(self, pace: Pace) -> Generator[bytes]:
        """The output once it is whole. NotHeardError where the command did not begin; TargetError
        for a line or board that fails, ProbeError for a probe that does.

        Of a test that fails the lines up to the first frame that is missing are given.
        """
        shell = self._shell
        self._passes = Passes(shell.send(self._words, pace))
        self._begun_at = self._heard_at = self._new_at = self._told_at = shell.clock()
        self._watch = Watch(self._limits, self._stop, clock=shell.clock)
        try:
            found = self._collect()
        except (ProbeError, TargetError) as error:
            beginning = self._passes.beginning() if self._measures else b""
            if beginning and not isinstance(error, NotHeardError):
                yield beginning
            if isinstance(error, ProbeTimeoutError):
                raise self._late(error) from error
            raise
        shell.leave()
        if found.exit_code == EXIT_USAGE and _REFUSED.search(found.said):
            raise CutLineError(
                f"{shell.name}: the command line arrived damaged: it was cut, or bytes were lost",
                _SHELL_REMEDY,
            )
        yield found.output
        self._watch.take_error(found.said)
        self._watch.check_end(found.exit_code)

    def _collect(self) -> Output:
        shell, patience = self._shell, self._shell.patience
        while True:
            data = shell.line.read(_POLL_S)
            now = shell.clock()
            frames = self._reader.feed(data) if data else []
            if data:
                self._heard_at = now
                self._received_bytes += len(data)
                self._check_text(b"" if frames else data)
            quiet_s = now - self._heard_at
            if quiet_s >= patience.quiet_s:
                frames = self._reader.flush()
            is_new = self._take(frames, now)
            found = self._passes.whole() if is_new and self._passes.has_end else None
            if found is not None:
                return found
            if quiet_s >= patience.quiet_s:
                self._check_shell(now, quiet_s)
            self._watch.look(self._ask_to_stop, self._end_late)
            self._repeat_stop(now)
            is_quiet = self._is_over(now) and quiet_s >= self._again_s
            if self._passes.ends or is_quiet:
                self._ask_again(now)
            if not data:
                self._on_idle(self._watch.said())

    def _take(self, frames: list[ConsoleFrame], now: float) -> bool:
        """Whether any of them was new."""
        any_new = False
        for frame in frames:
            try:
                is_new = self._passes.add(frame)
            except ValueError as error:
                raise BrokenStreamError(f"the probe sent {error}") from error
            if is_new:
                self._is_new = any_new = True
                if not self._output_bytes:
                    self._told_at = now
                else:  # a transfer takes as long as its line needs
                    self._watch.discount(min(_MOST_CHUNK_S, now - self._new_at))
                self._watch.take_output(frame.payload)
                self._output_bytes += len(frame.payload)
                self._new_at = now
        version = self._passes.version
        if version not in (None, VERSION):
            raise TargetError(
                f"{self._shell.name}: the probe there speaks version "
                f"{printable(version.decode('utf-8', 'replace'))[:20]} of the console protocol, "
                f"and this hardstone {VERSION.decode()}",
                "build the probe of this version of hardstone into the image",
            )
        if now - self._told_at >= _TOLD_S and self._output_bytes and self._is_over(now):
            self._told_at = now
            kib = self._output_bytes / 1024
            self._notices.step(f"{self._shell.name}: receiving, {kib:.0f} KB")
        return any_new

    def _is_over(self, now: float) -> bool:
        """Whether nothing measures any more: what does not come now is lost."""
        if not self._measures:
            return self._has_begun
        if self._passes.has_output:
            return True
        expected_s = self._limits.expected_s or self._limits.deadline_s
        is_late = now - self._begun_at > 1.25 * expected_s + 5.0
        return is_late and self._reader.damaged_count > 0

    @property
    def _has_begun(self) -> bool:
        return self._passes.is_begun or self._reader.damaged_count > 0

    # ---- what is sent ----

    def _ask_to_stop(self) -> None:
        self._stop_at = self._shell.clock()
        if not self._passes.has_end:
            self._shell.line.write(STOP)

    def _end_late(self) -> None:
        """At the deadline: a probe that has ended waits with its frames."""
        self._shell.line.write(STOP + AGAIN)

    def _repeat_stop(self, now: float) -> None:
        is_heard = self._is_over(now) and self._measures
        if self._stop_at is not None and now - self._stop_at >= _STOP_AGAIN_S and not is_heard:
            self._ask_to_stop()

    def _ask_again(self, now: float) -> None:
        """Asks for all frames once more. ProbeError once that has brought nothing several times."""
        self._fruitless = 0 if self._is_new else self._fruitless + 1
        self._mute = 0 if self._received_bytes > self._asked_bytes else self._mute + 1
        self._asked_bytes = self._received_bytes
        if self._mute > _MOST_MUTE:
            raise ProbeError(
                f"the output stopped in the middle, and nothing came any more{self._counts()}",
                "check that the board still runs, its power and the cable",
            )
        if self._fruitless > _MOST_FRUITLESS or self._asks >= _MOST_PASSES:
            raise self._not_through()
        self._is_new = False
        self._asks += 1
        self._passes.next_pass()
        self._heard_at = now
        self._shell.line.write(AGAIN)

    # ---- what is wrong ----

    def _check_text(self, data: bytes) -> None:
        """Whether what comes between frames, `data` next, is text."""
        self._stray = self._stray + data if data else b""
        if len(self._stray) < _STRAY_BYTES:
            return
        stray, self._stray = self._stray, b""
        if not is_text(stray):
            raise ProbeError(
                "what comes from the board is not text any more",
                "the baud rate may have changed, or the board may be damaged or without power: "
                "restart it, and check the cable",
            )

    def _lines(self) -> list[str]:
        """The last lines of others: without the echo of what was typed."""
        return [line for line in self._reader.foreign if line not in self._shell.typed]

    def _late(self, error: ProbeTimeoutError) -> ProbeTimeoutError:
        """The error of a command that is late, with what came instead of its frames."""
        if not (self._lines() or self._reader.damaged_count):
            return error
        return ProbeTimeoutError(f"{error.cause}{self._counts()}{_said(self._lines())}")

    def _check_shell(self, now: float, quiet_s: float) -> None:
        """Whether the shell is back, though the command's end did not come."""
        shell = self._shell
        is_back = shell.is_prompt(self._reader.tail)
        lines = self._lines()
        if not self._has_begun:
            if is_back:
                shell.is_at_prompt = True
                raise self._not_begun(lines)
            if now - self._begun_at >= shell.patience.start_s:
                raise NotHeardError(
                    f"{shell.name}: the probe did not begin within {shell.patience.start_s:g} s"
                    f"{_said(lines)}",
                    "check that the board runs; a shell that lost a part of the line waits for its "
                    f"end: {_SHELL_REMEDY}",
                )
            return
        noted = [*self._reader.noted, self._reader.tail]
        crash = next((line for line in noted if _CRASHES.search(line)), None)
        boots = any(_BOOTS.search(line) for line in noted)
        if is_back and quiet_s >= 2 * shell.patience.quiet_s:
            shell.is_at_prompt = True
            raise self._gone(lines, boots=boots)
        if boots and quiet_s >= _BOOT_S:
            raise self._gone(lines, boots=True)
        if crash is not None and quiet_s >= _BOOT_S:
            raise ProbeError(
                f"the system crashed: '{crash[:120]}'",
                "restart the board; give the probe larger stacks, if its message points to one",
            )

    def _not_begun(self, lines: list[str]) -> TargetError:
        text = "\n".join(lines[-8:])
        if _TOO_MANY.search(text):
            return CutLineError(
                f"{self._shell.name}: the shell refuses the command line{_said(lines)}",
                _SHELL_REMEDY,
            )
        if _NOT_FOUND.search(text):
            return NotHeardError(
                f"{self._shell.name}: the shell does not know the probe{_said(lines)}",
                "build the probe into the image, or name the program: program=NAME",
            )
        return NotHeardError(
            f"{self._shell.name}: the prompt is back, and the probe said nothing{_said(lines)}",
            f"start the probe there yourself and look; {_SHELL_REMEDY}",
        )

    def _gone(self, lines: list[str], *, boots: bool) -> ProbeError:
        if boots:
            return ProbeError(
                f"the board rebooted before the probe had ended{_said(lines)}",
                "look at its console for a crash or a watchdog, and at its power",
            )
        if self._passes.has_end or self._reader.damaged_count:
            return ProbeError(
                f"the probe ended before all of its output came through{self._counts()}",
                _NOISE_REMEDY,
            )
        return ProbeError(
            f"the shell is back, and the probe's last frame never came: it crashed or was "
            f"ended{_said(lines)}",
            "look at the board's console for a message; give the probe a larger stack",
        )

    def _not_through(self) -> ProbeError:
        return ProbeError(
            f"the output did not come through whole in {max(1, self._asks)} attempts"
            f"{self._counts()}",
            _NOISE_REMEDY,
        )

    def _counts(self) -> str:
        missing = self._passes.missing()
        parts = ["the last frame never came"] if missing is None else []
        if missing is not None:
            parts.append(f"{missing[0]} of {missing[1]} frames are missing")
        if self._reader.damaged_count:
            parts.append(f"{self._reader.damaged_count} lines were damaged")
        if self._reader.foreign_count > 1:
            parts.append(f"{self._reader.foreign_count} lines of others came between")
        return f" ({', '.join(parts)})"


def _said(lines: Sequence[str]) -> str:
    """The last line of others, in a message."""
    return f"; the last line was '{lines[-1][:100]}'" if lines else ""


def _measures(words: Sequence[str]) -> bool:
    """Whether a command is silent for as long as it is told to be."""
    return words[:1] == ["run"] or (
        words[:1] == ["load"] and not {"--list", "--check"} & set(words)
    )


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
        return self._list_in_parts()

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
            raise InputError("the probe's list of tests is not complete", _OLDER)
        whole.of = None
        return decode_register(msgspec.json.encode(whole))


def console_target(settings: ConsoleSettings) -> ConsoleTarget:
    """The system behind a console; nothing is opened yet."""
    return ConsoleTarget(ConsoleTransport(settings))


def _part(raw: bytes) -> tuple[Register, int]:
    register = decode_register(raw)
    of = register.of
    if of is None:
        raise InputError("the probe does not send its list of tests in parts", _OLDER)
    return register, of
