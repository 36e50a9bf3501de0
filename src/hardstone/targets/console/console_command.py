"""One command of the probe at a console: typed, waited for, asked for again, and what is said of it
when it fails.

Nothing is sent while a test measures, except a request to stop it. What the board says meanwhile
only explains why a command came to nothing: lines of others may say anything.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from hardstone.errors import EXIT_USAGE, TargetError, printable
from hardstone.event_names import REPEATED
from hardstone.model import DataValue, Event
from hardstone.targets.base import (
    BrokenStreamError,
    Notices,
    OnIdle,
    ProbeError,
    ProbeTimeoutError,
    Stop,
)
from hardstone.targets.console.console_frames import (
    VERSION,
    ConsoleFrame,
    ConsoleReader,
    Output,
    Passes,
    plain,
)
from hardstone.targets.console.shell import AGAIN, STOP, Pace, Shell, is_text
from hardstone.targets.transport import Limits, Watch

_POLL_S = 0.2
_STOP_AGAIN_S = 2.0
_MOST_PASSES = 40
_MOST_FRUITLESS = 12  # passes that bring nothing new
_MOST_MUTE = 3  # passes of which not a byte comes
_STRAY_BYTES = 8192
_FRAMES_BYTES = 4 * 160  # that a buffer on the way may hold back
_COMPUTES_S = 10.0  # of silence before anything is asked for: facts take seconds to find
_MOST_WRONG = 5  # whole outputs that do not match their checksums
_UNKNOWN_BYTES_PER_S = 1000.0
_MOST_CHUNK_S = 10.0
_ECHO_BYTES = 1 << 13
_TOLD_S = 5.0  # between two messages about a long transfer
_MOST_DRAIN_S = 12 * 3600.0
_NOT_FOUND = re.compile(r"not found|unknown command|no such file|not recognized", re.IGNORECASE)
_TOO_MANY = re.compile(r"too many arg|too long", re.IGNORECASE)
_REFUSED = re.compile(rb"\bcrc\b|checksum|damaged", re.IGNORECASE)
_BOOT_S = 5.0  # of silence after the text of a crash or a boot
_NOISE_REMEDY = (
    "lower the baud rate or use flow control, silence what else writes to the console "
    "(dmesg -n 1), and run it again"
)
OLDER = "use the probe of this version of hardstone: build it into the image"
# Before a line of a log: [   12.345678] [CPU0] <err> os:
_HEAD = r"^(?:\[[ 0-9.:,]+\] ?)?(?:\[CPU[0-9]+\] ?)?(?:<[a-z]+> \w+: )?"
# Nothing but a crash writes these: NuttX's dump of an assertion, the panic of Linux.
CRASHED = re.compile(
    _HEAD + r"(?:(?:dump_assert_info|up_assert|_assert): (?:Current Version|Assertion failed)"
    r"|Kernel panic - not syncing|---\[ end Kernel panic)"
)
MAY_CRASH = re.compile(
    CRASHED.pattern + f"|{_HEAD}"
    r"(?:\w+_exception: (?:EXCEPTION|PANIC)|PANIC: |Guru Meditation Error|\w*[Hh]ard ?[Ff]ault\b"
    r"|>>> ZEPHYR FATAL ERROR|\*\*\* FATAL|BUG: unable to handle|Unable to handle kernel)"
)
_BOOTS = re.compile(
    _HEAD + r"(?:U-Boot (?:SPL )?[0-9]{4}\.[0-9]|NuttShell \(NSH\) NuttX-|\*\*\* Booting Zephyr"
    r"|Linux version [0-9]+\.[0-9]|Starting kernel \.\.\.|OpenSBI v[0-9])"
)
_LOGIN = re.compile(r"^\S+ login: *$")
_NOTABLE = re.compile(f"{_BOOTS.pattern}|{MAY_CRASH.pattern}")
_SHELL_REMEDY = (
    "a shell must take lines of 512 characters and 64 words: CONFIG_NSH_LINELEN and "
    "CONFIG_NSH_MAXARGUMENTS of NuttX; use flow control where the port loses bytes"
)


class NotHeardError(TargetError):
    """The shell did not start the command as it was typed: it may be typed again."""


class CutLineError(NotHeardError):
    """The shell did not take the line as a whole; it may take a shorter one."""


class ConsoleCommand:
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
        self._rate = rate or _UNKNOWN_BYTES_PER_S  # an unknown line is taken for a slow one
        self._limits = limits
        self._left_s = _MOST_DRAIN_S  # of time that a transfer may take
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
        self._echo = b""  # what came before the first frame
        self._stop_at: float | None = None

    def chunks(self, pace: Pace) -> Generator[bytes]:
        """The output once it is whole. NotHeardError where the command did not begin; TargetError
        for a line or board that fails, ProbeError for a probe that does.

        Of a test that fails the lines up to the first frame that is missing are given.
        """
        shell = self._shell
        self._passes = Passes(shell.send(self._words, pace))
        self._echo = shell.echo
        self._begun_at = self._heard_at = self._frame_at = self._told_at = shell.clock()
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

    def remarks(self) -> list[Event]:
        """What it took to bring the output through, if that was more than once."""
        passes, damaged = self._passes.count, self._reader.damaged_count
        if passes <= 1 and not damaged:
            return []
        text = f"the output was sent {passes} times over the console, and {damaged} lines arrived "
        text += "damaged"
        data: dict[str, DataValue] = {"passes_count": passes, "damaged_count": damaged}
        return [Event(name=REPEATED, text=text, data=data)]

    def _collect(self) -> Output:
        shell, patience = self._shell, self._shell.patience
        while True:
            data = shell.line.read(_POLL_S)
            now = shell.clock()
            frames = self._reader.feed(data) if data else []
            if data:
                self._heard_at = now
                self._received_bytes += len(data)
                if not self._has_begun:
                    self._echo = (self._echo + data)[-_ECHO_BYTES:]
                self._check_text(b"" if frames else data)
            quiet_s = now - self._heard_at
            if quiet_s >= patience.quiet_s:
                frames = self._reader.flush()
            is_new = self._take(frames, now)
            found = self._passes.whole() if is_new and self._passes.has_end else None
            if found is not None:
                return found
            if self._passes.wrong_count >= _MOST_WRONG:
                raise self._not_through()
            if quiet_s >= patience.quiet_s:
                self._check_shell(now, quiet_s)
            self._watch.look(self._ask_to_stop, self._end_late)
            self._repeat_stop(now)
            again_s = max(self._again_s, _COMPUTES_S) if self._only_begun else self._again_s
            is_quiet = self._is_over and quiet_s >= again_s
            if self._passes.ends or is_quiet:
                self._ask_again(now)
            if not data:
                self._on_idle(self._watch.said())

    def _take(self, frames: list[ConsoleFrame], now: float) -> bool:
        """Whether any of them was new."""
        any_new = False
        if frames:
            self._discount(frames, now)
        for frame in frames:
            try:
                is_new = self._passes.add(frame)
            except ValueError as error:
                raise BrokenStreamError(f"the probe sent {error}", OLDER) from error
            if is_new:
                self._is_new = any_new = True
                if not self._output_bytes:
                    self._told_at = now
                self._watch.take_output(frame.payload)
                self._output_bytes += len(frame.payload)
        version = self._passes.version
        if version not in (None, VERSION):
            raise TargetError(
                f"{self._shell.name}: the probe there speaks version "
                f"{printable(version.decode('utf-8', 'replace'))[:20]} of the console protocol, "
                f"and this hardstone {VERSION.decode()}",
                "build the probe of this version of hardstone into the image",
            )
        if now - self._told_at >= _TOLD_S and self._output_bytes and self._is_over:
            self._told_at = now
            kib = self._output_bytes / 1024
            self._notices.step(f"{self._shell.name}: receiving, {kib:.0f} KB")
        return any_new

    def _discount(self, frames: list[ConsoleFrame], now: float) -> None:
        """A transfer takes as long as its line needs, with lost frames among the others, and no
        longer."""
        needs_s = 2.0 * sum(len(frame.encode()) for frame in frames) / self._rate
        spent_s = min(needs_s, now - self._frame_at, _MOST_CHUNK_S, self._left_s)
        self._frame_at = now
        self._left_s -= spent_s
        self._watch.discount(spent_s)

    @property
    def _is_over(self) -> bool:
        """Whether nothing measures any more: what does not come now is lost. A line that looks like
        a damaged frame says nothing about that."""
        return self._passes.has_output or (self._has_begun and not self._measures)

    @property
    def _has_begun(self) -> bool:
        return self._passes.is_begun or self._reader.damaged_count > 0

    @property
    def _only_begun(self) -> bool:
        return not (self._passes.has_output or self._reader.damaged_count)

    def _is_echoed(self) -> bool:
        """Whether the shell has echoed the whole command line: it has started what was typed."""
        typed = _without_spaces(self._shell.line_typed)
        return bool(typed) and typed in _without_spaces(plain(self._echo))

    # ---- what is sent ----

    def _ask_to_stop(self) -> None:
        self._stop_at = self._shell.clock()
        if not self._passes.has_end:
            self._shell.line.write(STOP)

    def _end_late(self) -> None:
        """At the deadline: a probe that has ended waits with its frames."""
        self._shell.line.write(STOP + AGAIN)

    def _repeat_stop(self, now: float) -> None:
        is_heard = self._is_over and self._measures
        if self._stop_at is not None and now - self._stop_at >= _STOP_AGAIN_S and not is_heard:
            self._ask_to_stop()

    def _ask_again(self, now: float) -> None:
        """Asks for all frames once more. ProbeError once that has brought nothing several times."""
        is_early = self._only_begun  # it may still work on its answer
        self._fruitless = 0 if self._is_new or is_early else self._fruitless + 1
        is_mute = self._received_bytes <= self._asked_bytes and not is_early
        self._mute = self._mute + 1 if is_mute else 0
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
        typed, text = self._shell.typed, self._shell.line_typed.decode("ascii")
        return [one for one in self._reader.foreign if one not in typed and text not in one]

    def _crash(self) -> str | None:
        """The first line that says that the system crashed, as it seems."""
        noted = [*self._reader.noted, self._reader.tail]
        return next((line for line in noted if MAY_CRASH.search(line)), None)

    def _boots(self) -> bool:
        return any(_BOOTS.search(line) for line in [*self._reader.noted, self._reader.tail])

    def _late(self, error: ProbeTimeoutError) -> ProbeError:
        """The error of a command that is late, with what came instead of its frames."""
        if self._boots():
            return self._gone(self._lines())
        crash = self._crash()
        if crash is not None:
            return _crashed(crash)
        if not (self._lines() or self._reader.damaged_count):
            return error
        return ProbeTimeoutError(f"{error.cause}{self._counts()}{_said(self._lines())}")

    def _check_shell(self, now: float, quiet_s: float) -> None:
        """Whether the shell is back, though the command's end did not come."""
        shell = self._shell
        is_back = shell.is_prompt(self._reader.tail)
        lines = self._lines()
        if not self._has_begun:
            self._check_begin(now, lines, is_back=is_back)
            return
        if is_back and quiet_s >= 2 * shell.patience.quiet_s:
            shell.is_at_prompt = True
            raise self._gone(lines)
        if quiet_s < _BOOT_S:
            return
        if self._boots() and _LOGIN.search(self._reader.tail):
            raise self._gone(lines)
        if any(CRASHED.search(line) for line in self._reader.noted):
            raise _crashed(self._crash() or "")

    def _check_begin(self, now: float, lines: list[str], *, is_back: bool) -> None:
        """NotHeardError where the command may be typed again: nothing can have measured."""
        shell = self._shell
        is_long = now - self._begun_at >= shell.patience.start_s
        may_measure = self._measures and self._is_echoed()
        if is_back:
            shell.is_at_prompt = True
            raise self._gone(lines) if may_measure and is_long else self._not_begun(lines)
        if is_long and not may_measure:
            raise NotHeardError(
                f"{shell.name}: the probe did not begin within {shell.patience.start_s:g} s"
                f"{_said(lines)}",
                "check that the board runs; a shell that lost a part of the line waits for its "
                f"end: {_SHELL_REMEDY}",
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

    def _gone(self, lines: list[str]) -> ProbeError:
        crash = self._crash()
        if crash in lines[-1:]:
            crash = None
        before = "" if crash is None else f"; before it '{crash[:100]}'"
        if self._boots():
            return ProbeError(
                f"the board rebooted before the probe had ended{_said(lines)}{before}",
                "look at its console for a crash or a watchdog, and at its power",
            )
        if self._passes.has_end or self._reader.damaged_count:
            return ProbeError(
                f"the probe ended before all of its output came through{self._counts()}",
                _NOISE_REMEDY,
            )
        return ProbeError(
            f"the shell is back, and the probe's last frame never came: it crashed or was "
            f"ended{_said(lines)}{before}",
            "look at the board's console for a message; give the probe a larger stack",
        )

    def _not_through(self) -> ProbeError:
        wrong = self._passes.wrong_count
        if wrong:
            return ProbeError(
                f"the output does not match its own checksum, in {wrong} "
                f"{'attempt' if wrong == 1 else 'attempts'}",
                OLDER,
            )
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


def _crashed(line: str) -> ProbeError:
    return ProbeError(
        f"the system crashed: '{line[:120]}'",
        "restart the board; give the probe larger stacks, if its message points to one",
    )


def _without_spaces(text: bytes) -> bytes:
    return b"".join(text.split())


def _said(lines: Sequence[str]) -> str:
    """The last line of others, in a message."""
    return f"; the last line was '{lines[-1][:100]}'" if lines else ""


def _measures(words: Sequence[str]) -> bool:
    """Whether a command is silent for as long as it is told to be."""
    return words[:1] == ["run"] or (
        words[:1] == ["load"] and not {"--list", "--check"} & set(words)
    )
