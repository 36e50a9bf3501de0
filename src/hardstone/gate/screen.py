"""The outcome of a gate for the terminal, the worst first."""

from __future__ import annotations

from textwrap import wrap
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.gate.outcome import Check, GateDocument, Pair
from hardstone.terminal.console import make_console, words
from hardstone.wording import one_line

_STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}
_WIDTH = max(map(len, _STYLES)) + 2


def print_gate(document: GateDocument, stream: IO[str] | None = None) -> None:
    """Prints every check, then the pairs that do not count, the notes and the outcome."""
    console = make_console(stream)
    for label, names in (("", document.systems), ("against ", document.against)):
        for name in names:
            console.print(words(f"{label}{name}", "bold"))
    console.print()
    is_several = len({one.system for one in document.checks}) > 1
    for check in document.checks:
        _print_check(console, check, has_system=is_several)
    if document.checks:
        console.print()
    for line in left_out_lines(document.pairs):
        console.print(words(line, "yellow"))
    for note in document.notes:
        console.print(words(note))
    console.print(words(outcome_text(document), _STYLES[document.outcome]))


def outcome_text(document: GateDocument) -> str:
    """The outcome with the number of each: "FAIL: 1 FAIL, 3 PASS"."""
    counts = dict.fromkeys(("FAIL", "INCONCLUSIVE", "PASS"), 0)
    for check in document.checks:
        counts[check.outcome] += 1
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"{document.outcome}: {told or 'nothing was checked'}"


def left_out_lines(pairs: list[Pair]) -> list[str]:
    """Which pairs do not count, by their reason."""
    by_reason: dict[str, list[int]] = {}
    for number, pair in enumerate(pairs, 1):
        if pair.left_out:
            by_reason.setdefault(pair.left_out, []).append(number)
    return [
        f"left out: pair {', '.join(map(str, numbers))}: {reason}"
        for reason, numbers in by_reason.items()
    ]


def _print_check(console: Console, check: Check, *, has_system: bool) -> None:
    where = [check.condition] if check.condition != "-" else []
    where += [check.system] if has_system else []
    head = f"{check.address} {check.statistic}" + (f" [{', '.join(where)}]" if where else "")
    told = f"{check.found}; {check.wanted}" + (f": {check.reason}" if check.reason else "")
    first, *more = [*_wrapped(console, head), *_wrapped(console, told)]
    line = Text(check.outcome.ljust(_WIDTH), style=_STYLES[check.outcome]).append(first)
    console.print(line, soft_wrap=True)
    for one in more:
        console.print(Text(" " * _WIDTH + one), soft_wrap=True)


def _wrapped(console: Console, text: str) -> list[str]:
    """Untrusted text in lines beside the outcome; addresses are not broken at their hyphens."""
    width = max(console.width - _WIDTH, 20)
    return wrap(one_line(text), width, break_on_hyphens=False, break_long_words=False) or [""]
