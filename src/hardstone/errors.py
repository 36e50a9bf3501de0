"""Errors, each with its cause, a remedy and an exit code.

Exit codes: 0 fine; 1 a gate or threshold failed; 2 wrong usage or input; 3 not
trustworthy or not measurable; 4 target unreachable; 5 privilege or facility
missing; 70 internal error; 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable

EXIT_OK = 0
EXIT_GATE = 1
EXIT_USAGE = 2
EXIT_UNTRUSTWORTHY = 3
EXIT_UNREACHABLE = 4
EXIT_PRIVILEGE = 5
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

# The code of a run, and of a command with several, is the first that applies.
WORST_FIRST = (
    EXIT_INTERRUPTED,
    EXIT_UNREACHABLE,
    EXIT_USAGE,
    EXIT_GATE,
    EXIT_PRIVILEGE,
    EXIT_UNTRUSTWORTHY,
    EXIT_OK,
)


def worst_code(codes: Iterable[int]) -> int:
    """The first of `codes` in the order WORST_FIRST; one that is not in it is worse than all."""
    order = {code: place for place, code in enumerate(WORST_FIRST)}
    return min(codes, key=lambda code: order.get(code, -1), default=EXIT_OK)


def printable(text: str) -> str:
    """Untrusted text for a message: "?" for line breaks and all else that does not print."""
    return "".join(char if char.isprintable() else "?" for char in text)


class HardstoneError(Exception):
    """An error that a person can act on: one line of cause, one of remedy.

    A remedy may be a command, or words and a command ("build it: hardstone probe build"). The
    command is shown on a line of its own, in the form that works for its reader.
    """

    exit_code = EXIT_INTERNAL

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy

    def reasons(self) -> list[tuple[str, str]]:
        """Each cause with its remedy; most errors have one."""
        return [(self.cause, self.remedy)]

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause


def remedy_text(words: str | None, command: str | None) -> str:
    """The remedy of an error from those of a result, either of which may be missing."""
    return ": ".join(part for part in (words, command) if part)


class InputError(HardstoneError):
    """Wrong usage or unreadable input."""

    exit_code = EXIT_USAGE


class UntrustworthyError(HardstoneError):
    """Nothing trustworthy could be measured."""

    exit_code = EXIT_UNTRUSTWORTHY


class TargetError(HardstoneError):
    """The system under test cannot be reached, or its probe does not answer."""

    exit_code = EXIT_UNREACHABLE


class PrivilegeError(HardstoneError):
    """A privilege or facility is missing."""

    exit_code = EXIT_PRIVILEGE
