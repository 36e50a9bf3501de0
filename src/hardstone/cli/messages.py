"""Messages on standard error, and what is printed on standard output: one place for both.

A command to type stands on a line of its own below, in the form that works from here.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import IO, TYPE_CHECKING, TextIO

import click

from hardstone.calling import as_typed, grant_commands, parted, parted_text
from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY, EXIT_USAGE, HardstoneError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

    from hardstone.model import RunDocument, Scalar
    from hardstone.targets.base import Notices, Target


_INDENT = "    "
# Controls beyond ASCII, direction marks, joiners, and line breaks of Unicode.
_STEERING = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def tell(text: str, *commands: str) -> None:
    """Prints `text` and the commands to type to standard error; nothing if that is closed."""
    try:
        for line in message_lines(text, *commands):
            click.echo(line, err=True)
    except (OSError, ValueError):  # ValueError: the stream was closed
        abandon(sys.stderr)


def tell_error(error: HardstoneError, before: str = "") -> None:
    """Prints each cause with its remedy, after the words `before`."""
    for cause, remedy in error.reasons():
        words, command = parted(remedy)
        text = "; ".join(part for part in (before + cause, words) if part)
        tell(text, *([command] if command else []))


def message_lines(text: str, *commands: str) -> list[str]:
    """The lines of a message: one for `text`, whatever it holds, and one for each command.

    Without `commands`, a command at the end of `text` gets a line of its own.
    """
    words, typed = text, commands
    if not commands:
        before, command = parted_text(text)
        words, typed = (before, (command,)) if before and command else (text, ())
    shown = f"hardstone: {visible(words)}{':' if typed else ''}"
    return [shown, *(f"{_INDENT}{visible(as_typed(one))}" for one in typed)]


def visible(text: str) -> str:
    """Untrusted text as one line: control bytes, line breaks and bidi overrides escaped.

    The space that groups digits stays.
    """
    return "".join(
        char
        if char.isprintable() or char == "\N{NO-BREAK SPACE}"
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def print_json(document: object) -> None:
    """Prints the one document that --json promises to standard output.

    What could steer a terminal is written as JSON's own escapes, and so stays the same text.
    """
    import json

    import msgspec

    encoded = msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8")
    click.echo(_STEERING.sub(lambda found: json.dumps(found[0])[1:-1], encoded))
    sys.stdout.flush()


def abandon(stream: TextIO | None) -> None:
    """Sends `stream` to /dev/null: when its reader is gone, Python must not complain at exit."""
    if stream is None:
        return
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        return


def fill_missing_streams() -> None:
    """Opens closed standard streams; the next file opened would get their number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


class _WatchedFile(io.FileIO):
    """A file that remembers its write error."""

    problem: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise BrokenPipeError from None  # click would exit with 1 if it had a number
        except OSError as error:
            self.problem = error
            raise


def watch_stdout() -> None:
    """Lets `stdout_problem` report write errors of standard output from now on."""
    try:
        raw = _WatchedFile(sys.stdout.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=sys.stdout.encoding,
        errors="replace",
        line_buffering=bool(sys.stdout.line_buffering),
    )


def stdout_problem() -> OSError | None:
    """The write error of standard output; None if there was none."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.problem if isinstance(raw, _WatchedFile) else None


def printed(show: Callable[[], object]) -> int | None:
    """Calls `show`: None if all of it went to standard output, else the exit code."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:  # as by head, which has seen enough
        abandon(sys.stdout)
        return EXIT_OK
    except OSError as error:
        abandon(sys.stdout)
        reason = error.strerror or str(error)
        tell(f"standard output cannot be written: {reason}")
        return EXIT_USAGE
    return None


@contextlib.contextmanager
def paged() -> Iterator[None]:
    """Prints what is written to standard output meanwhile through a pager, as git does: $PAGER, or
    less, which ends at once where all fits on the screen. Directly where no terminal reads it, or
    $PAGER is empty or cat. Whoever leaves the pager early has seen enough."""
    if not _has_pager():
        yield
        return
    os.environ.setdefault("LESS", "-FRX")
    usual = sys.stdout
    with click.get_pager_file() as pager:
        sys.stdout = _Paged(pager)
        try:
            yield
        finally:
            sys.stdout = usual


def _has_pager() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return False
    import shlex
    import shutil

    try:
        program, *_ = shlex.split(os.environ.get("PAGER", "less")) or ["cat"]
    except ValueError:  # an open quote
        return False
    return program != "cat" and shutil.which(program) is not None


class _Paged(io.TextIOBase):
    """Standard output on its way to a pager, which is at a terminal."""

    encoding = "utf-8"

    def __init__(self, pager: IO[str]) -> None:
        self._pager = pager

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self._pager.write(text)
        return len(text)

    def flush(self) -> None:
        self._pager.flush()


def tell_code(
    code: int, document: RunDocument, facts: Mapping[str, Scalar], target: Target
) -> None:
    """Explains exit codes that `make` reports as an error although the run is stored."""
    if code == EXIT_UNTRUSTWORTHY:
        tell(f"exit code {code}: {_untrustworthy(document)}")
    if code != EXIT_PRIVILEGE:
        return
    denied = sum(result.status == "denied" for result in document.results)
    text = f"exit code {code}: {_of_tests(denied, document)} denied a right or facility"
    probe = _grantable_probe(facts, target)
    if probe is None:
        from hardstone.doctor.diagnose import doctor_command

        text += "; see its result for what to do, and the doctor for how to grant rights"
        tell(text, doctor_command(document.plan.target))
    else:
        tell(f"{text}; grant them to the probe, then measure again", *grant_commands(probe))


def _grantable_probe(facts: Mapping[str, Scalar], target: Target) -> str | None:
    """The executable to which capabilities would give the missing rights; None if they would not.

    The probe says what refuses a right, and whether its file's capabilities would take effect.
    """
    is_lacking = (
        facts.get("limits.realtime_cause") == "capability"
        if facts.get("limits.can_realtime") is False
        else facts.get("limits.can_lock") is False
    )
    return target.probe_path() if is_lacking and facts.get("user.can_use_setcap") is True else None


def _untrustworthy(document: RunDocument) -> str:
    if document.trust.grade == "untrustworthy":
        return f"the figures are not trustworthy: {document.trust.reasons[0]}"
    lacking = Counter(
        one.status if one.status != "measured" else "incomplete"
        for one in document.results
        if one.status != "measured" or not one.complete
    )
    kinds = ", ".join(f"{count} {status}" for status, count in lacking.items())
    return f"{_of_tests(lacking.total(), document)} not completed ({kinds})"


def _of_tests(count: int, document: RunDocument) -> str:
    total = len(document.results)
    return f"{count} of {total} measurements {'was' if count == 1 else 'were'}"


def notice_messages(
    *,
    quiet: bool,
    wait_s: float | None = None,
    leaves: bool = False,
    look_s: float | None = None,
) -> Notices:
    """What a target reports while it is opened: warnings in any case. The others as in Notices."""
    from hardstone.targets.base import Notices

    notices = Notices(warn=tell, wait_s=wait_s, leaves=leaves, look_s=look_s)
    return notices if quiet else replace(notices, step=tell)
