"""The outcome of a gate for the terminal, the worst first."""

from __future__ import annotations

from textwrap import wrap
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.gate.outcome import Check, GateDocument
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
    by_reason: dict[str, list[str]] = {}
    for number, pair in enumerate(document.pairs, 1):
        if pair.left_out:
            by_reason.setdefault(pair.left_out, []).append(str(number))
    for reason, numbers in by_reason.items():
        console.print(words(f"left out: pair {', '.join(numbers)}: {reason}", "yellow"))
    for note in document.notes:
        console.print(words(note))
    outcome = f"{document.outcome}: {document.counts_text}"
    console.print(words(outcome, _STYLES[document.outcome]))


def _print_check(console: Console, check: Check, *, has_system: bool) -> None:
    where = [check.condition] if check.condition != "-" else []
    where += [check.system] if has_system else []
    head = f"{check.address} {check.statistic}" + (f" [{', '.join(where)}]" if where else "")
    text = f"{check.found}; {check.wanted}" + (f": {check.reason}" if check.reason else "")
    first, *more = [*_wrapped(console, head), *_wrapped(console, text)]
    line = Text(check.outcome.ljust(_WIDTH), style=_STYLES[check.outcome]).append(first)
    console.print(line, soft_wrap=True)
    for one in more:
        console.print(Text(" " * _WIDTH + one), soft_wrap=True)


def _wrapped(console: Console, text: str) -> list[str]:
    """Untrusted text in lines beside the outcome; addresses are not broken at their hyphens."""
    width = max(console.width - _WIDTH, 20)
    return wrap(one_line(text), width, break_on_hyphens=False, break_long_words=False) or [""]
