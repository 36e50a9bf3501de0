"""Collects input errors, so that a person sees all of them at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from hardstone.errors import InputError

_MOST_NAMED = 8


class PlanError(InputError):
    """The request cannot be planned. `problems` has one line for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def reasons(self) -> list[tuple[str, str]]:
        """Each problem as cause and remedy; the remedy is the last clause of its line."""
        parts = (problem.rpartition("; ") for problem in self.problems)
        return [(cause or remedy, remedy if cause else "") for cause, _, remedy in parts]


class Problems:
    """The problems of a request, one line each: cause; remedy."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self._lines = list(known)

    def add(self, cause: str, remedy: str) -> None:
        line = f"{cause}; {remedy}"
        if line not in self._lines:
            self._lines.append(line)

    def add_all(self, others: Problems) -> None:
        self._lines += [line for line in others._lines if line not in self._lines]

    @property
    def lines(self) -> tuple[str, ...]:
        """All problems so far, one line each."""
        return tuple(self._lines)

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def raise_if_any(self, option: str = "") -> None:
        """Raises PlanError with every problem so far; drops `option` at the start of each."""
        if self._lines:
            raise PlanError([line.removeprefix(option) for line in self._lines])


def quote(text: str, limit: int = 40) -> str:
    """Typed text for a message: quoted, printable, short."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return f"'{shown if len(shown) <= limit else shown[: limit - 3] + '...'}'"


def nearest(text: str, names: Iterable[str]) -> str:
    """ "did you mean X?", or the known names if none is close."""
    known = list(names)
    by_fold = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(text[:200].casefold(), by_fold, n=1, cutoff=0.5)
    if close:
        return f"did you mean {by_fold[close[0]]}?"
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"choose from {', '.join(known[:_MOST_NAMED])}{more}" if known else "there are none"
