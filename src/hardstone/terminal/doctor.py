"""The findings of the doctor on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.calling import parted_text
from hardstone.doctor import doctor_command, prove_command
from hardstone.doctor.rules import Diagnosis, Finding, Rule, Step, brings_texts
from hardstone.terminal.console import make_console, print_command
from hardstone.terminal.words import words

_STYLES = {"blocks": "bold red", "hurts": "yellow", "note": "bold", "fine": "green"}
_LEVELS = ("blocks", "hurts", "note")
_TITLES = {"blocks": "blocks", "hurts": "hurts", "note": "notes"}
_LABEL_WIDTH = 8


def print_diagnosis(
    diagnosis: Diagnosis, *, wants_all: bool, stream: IO[str] | None = None
) -> None:
    """Prints the findings by level, then the conclusion. `wants_all` also prints the rules that
    are fine or unknown.

    Commands are never wrapped, so that they can be copied.
    """
    console = make_console(stream)
    for level in _LEVELS:
        _print_level(console, level, diagnosis)
    if wants_all:
        _print_others(console, "fine", diagnosis.findings)
        _print_others(console, "unknown", diagnosis.findings)
    console.print(Text(diagnosis.conclusion, style="bold"))
    hidden = diagnosis.counts["fine"] + diagnosis.counts["unknown"]
    if hidden and not wants_all:
        console.print(Text("for rules that are fine or unknown:", style="dim"))
        print_command(console, doctor_command(diagnosis.target, "--all"))


def print_rule(name: str, rule: Rule, finding: Finding | None, target: str) -> None:
    """Prints one rule: what it checks, why, and its finding on `target`, if known."""
    console = make_console()
    console.print(words(f"{name}: {rule.title}", "bold"))
    console.print(words(f"{rule.topic}; level: {rule.level}"))
    console.print()
    state = Text("not checked") if finding is None else words(f"{finding.state}: {finding.found}")
    _print_field(console, "here", state)
    _print_field(console, "why", words(rule.why))
    _print_steps(console, finding.steps if finding is not None else [])
    _print_brings(console, rule)
    if finding is not None:
        facts = ", ".join(f"{key} {value}" for key, value in finding.facts.items())
        _print_field(console, "facts", words(facts or "none known"))
        if finding.missing:
            _print_field(console, "missing", words(", ".join(finding.missing)))
    if rule.settings:
        _print_field(console, "prove", words(f"settings {', '.join(rule.settings)}"))
        _print_command(console, prove_command(name, target))
    else:
        _print_field(console, "prove", words(f"not by hardstone: {rule.fixed}"))


def _print_level(console: Console, level: str, diagnosis: Diagnosis) -> None:
    findings = diagnosis.findings
    found = [one for one in findings if one.state == "found" and one.level == level]
    if not found:
        return
    console.print(Text(f"{_TITLES[level]} ({len(found)})", style=_STYLES[level]))
    for finding in found:
        console.print()
        console.print(Padding(words(f"{finding.title} [{finding.rule}]", "bold"), (0, 0, 0, 2)))
        _print_field(console, "found", words(finding.found))
        _print_field(console, "why", words(finding.why))
        _print_steps(console, finding.steps)
        _print_brings(console, finding)
        if finding.settings:
            _print_field(console, "prove", Text())
            _print_command(console, prove_command(finding.rule, diagnosis.target))
    console.print()


def _print_steps(console: Console, steps: Iterable[Step]) -> None:
    for position, step in enumerate(steps):
        label = "or" if position else "type" if step.command else "do"
        if step.command is None:
            told, command = parted_text(step.words)
            _print_field(console, label, words(_with_reboot(told, step)))
            if command:
                _print_command(console, command)
            continue
        _print_field(console, label, words(_with_reboot(step.lasts, step)))
        _print_command(console, step.command)
        if step.undo:
            _print_field(console, "undo", Text())
            _print_command(console, step.undo)


def _with_reboot(text: str, step: Step) -> str:
    return f"{text}; takes effect after a reboot" if step.needs_reboot else text


def _print_brings(console: Console, one: Rule | Finding) -> None:
    for label, text in brings_texts(one.brings, one.settings):
        _print_field(console, label, words(text))


def _print_command(console: Console, command: str) -> None:
    print_command(console, command, indent=4 + _LABEL_WIDTH)


def _print_field(console: Console, label: str, text: Text) -> None:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=_LABEL_WIDTH - 1)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(Text(label, style="dim"), text)
    console.print(Padding(grid, (0, 0, 0, 4)))


def _print_others(console: Console, state: str, findings: Iterable[Finding]) -> None:
    found = [one for one in findings if one.state == state]
    if not found:
        return
    console.print(Text(f"{state} ({len(found)})", style=_STYLES.get(state, "bold")))
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column()
    grid.add_column(ratio=1, overflow="fold")
    for one in found:
        grid.add_row(words(one.rule), words(one.found))
    console.print(Padding(grid, (0, 0, 0, 2)))
    console.print()
