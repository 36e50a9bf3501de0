"""Findings of the doctor, and the proof of a setting, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hardstone.calling import parted_text
from hardstone.doctor.diagnose import (
    LEVEL_NAMES,
    LEVELS,
    Diagnosis,
    Finding,
    Rule,
    Step,
    brings_texts,
    doctor_command,
    is_here,
    prove_command,
)
from hardstone.terminal.console import make_console, make_table, print_command, print_table, words
from hardstone.wording import clean, format_value, spoken

if TYPE_CHECKING:  # which loads numpy: only a proof needs it
    from hardstone.stats.two_runs import Effect, Maxima, Proof

_STYLES = {"blocks": "bold red", "hurts": "yellow", "note": "bold", "fine": "green"}
_LABEL_WIDTH = 8


def print_diagnosis(
    diagnosis: Diagnosis, *, wants_all: bool, stream: IO[str] | None = None
) -> None:
    """Prints the findings by level, then the conclusion. `wants_all` also prints the rules that
    are fine or unknown.

    Commands are never wrapped, so that they can be copied.
    """
    console = make_console(stream)
    for level in LEVELS:
        _print_level(console, level, diagnosis)
    if wants_all:
        _print_others(console, "fine", diagnosis.findings)
        _print_others(console, "unknown", diagnosis.findings)
    console.print(Text(diagnosis.conclusion, style="bold"))
    hidden = diagnosis.counts["fine"] + diagnosis.counts["unknown"]
    if hidden and not wants_all:
        console.print(Text("to see the rules that are fine or unknown too:", style="dim"))
        print_command(console, doctor_command(diagnosis.target, "--all"))


def print_rule(name: str, rule: Rule, finding: Finding | None, target: str) -> None:
    """Prints one rule: what it checks, why, and its finding on `target`, if known."""
    console = make_console()
    console.print(words(f"{name}: {rule.title}", "bold"))
    console.print(words(f"{rule.topic}; level: {LEVEL_NAMES[rule.level]}"))
    console.print()
    state = Text("not checked") if finding is None else words(f"{finding.state}: {finding.found}")
    _print_field(console, "here", state)
    _print_field(console, "why", words(rule.why))
    print_steps(console, finding.steps if finding is not None else [], target)
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
        _print_field(console, "prove", words(f"hardstone cannot measure this: {rule.fixed}"))


def _print_level(console: Console, level: str, diagnosis: Diagnosis) -> None:
    findings = diagnosis.findings
    found = [one for one in findings if one.state == "found" and one.level == level]
    if not found:
        return
    console.print(Text(f"{LEVEL_NAMES[level]}s ({len(found)})", style=_STYLES[level]))
    for finding in found:
        console.print()
        console.print(Padding(words(f"{finding.title} [{finding.rule}]", "bold"), (0, 0, 0, 2)))
        _print_field(console, "found", words(finding.found))
        _print_field(console, "why", words(finding.why))
        print_steps(console, finding.steps, diagnosis.target)
        _print_brings(console, finding)
        if finding.settings:
            _print_field(console, "prove", Text())
            _print_command(console, prove_command(finding.rule, diagnosis.target))
    console.print()


def print_steps(console: Console, steps: Iterable[Step], target: str) -> None:
    """Prints what to do. What is typed on another machine stays as it is: whether sudo is needed
    there does not depend on this one."""
    show = _print_command if is_here(target) else _print_command_there
    for position, step in enumerate(steps):
        label = "or" if position else "type" if step.command else "do"
        if step.command is None:
            text, command = parted_text(step.words)
            _print_field(console, label, words(_with_reboot(text, step)))
            if command:
                _print_command(console, command)
            continue
        _print_field(console, label, words(_with_reboot(step.lasts, step)))
        show(console, step.command)
        if step.undo:
            _print_field(console, "undo", Text())
            show(console, step.undo)


def _with_reboot(text: str, step: Step) -> str:
    return f"{text}; takes effect after a reboot" if step.needs_reboot else text


def _print_brings(console: Console, one: Rule | Finding) -> None:
    for label, text in brings_texts(one.brings, one.settings):
        _print_field(console, label, words(text))


def _print_command(console: Console, command: str) -> None:
    print_command(console, command, indent=4 + _LABEL_WIDTH)


def _print_command_there(console: Console, command: str) -> None:
    text = Text(" " * (4 + _LABEL_WIDTH)) + Text(clean(command), style="cyan")
    console.print(text, soft_wrap=True)


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


_EFFECT_STYLES = {"lower": "green", "higher": "bold red", "none seen": "", "not judged": "yellow"}


def print_proof(proof: Proof, title: str, stream: IO[str] | None = None) -> None:
    """Prints every pair, then the change of each figure with its confidence."""
    console = make_console(stream)
    console.print(words(f"{proof.rule}: {title}", "bold"))
    settings = ", ".join(proof.settings)
    console.print(
        words(
            f"{proof.test}, {spoken(proof.series) or 'no series'}; without and with {settings}: "
            f"{proof.pairs_counted} of {proof.pairs_asked} pairs"
        )
    )
    console.print()
    if proof.effects:
        print_table(console, _pairs_table(proof))
        console.print()
        print_table(console, _effects_table(proof))
        console.print()
    for effect in proof.effects:
        console.print(words(effect_text(effect), _EFFECT_STYLES[effect.verdict]))
    if proof.maxima is not None:
        console.print(words(maxima_text(proof.maxima)))
    for line in (*proof.notes, *proof.left_out):
        console.print(words(line, "yellow"))


def effect_text(effect: Effect) -> str:
    """The verdict on one figure, as a sentence."""
    shift = effect.shift
    if effect.verdict == "not judged" or shift.low is None or shift.high is None:
        from hardstone.stats.two_runs import FEW_PAIRS

        return f"{effect.figure}: no verdict; {FEW_PAIRS}"
    if effect.verdict != "none seen":
        size = format_value(abs(shift.estimate), effect.unit)
        return f"{effect.figure}: {effect.verdict} with the setting, by {size}"
    most = format_value(max(abs(shift.low), abs(shift.high)), effect.unit)
    return f"{effect.figure}: no effect seen; an effect above {most} would have been detected"


def maxima_text(maxima: Maxima) -> str:
    """The worst observed with and without the setting, without a verdict."""
    without, with_setting = (
        format_value(one, maxima.unit) for one in (maxima.without, maxima.with_setting)
    )
    ratio = "" if maxima.ratio is None else f", ratio {maxima.ratio:.2f}"
    return (
        f"worst observed: {without} without, {with_setting} with the setting{ratio} "
        f"(medians of the pairs); {maxima.verdict}"
    )


def _table(*titles: str) -> Table:
    table = make_table()
    table.add_column(titles[0])
    for title in titles[1:]:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _pairs_table(proof: Proof) -> Table:
    columns = [(effect.figure, effect.unit, effect.pairs) for effect in proof.effects]
    if proof.maxima is not None:
        columns.append(("worst observed", proof.maxima.unit, proof.maxima.pairs))
    table = _table("pair", *(f"{figure}\nwithout, with" for figure, _, _ in columns))
    for number in range(proof.pairs_counted):
        cells = []
        for _, unit, pairs in columns:
            without = format_value(pairs[number].without, unit)
            cells.append(Text(f"{without}, {format_value(pairs[number].with_setting, unit)}"))
        table.add_row(str(number + 1), *cells)
    return table


def _effects_table(proof: Proof) -> Table:
    table = _table("figure", "difference", "interval", "confidence", "p", "adjusted p")
    for effect in proof.effects:
        shift = effect.shift
        interval = "none"
        if shift.low is not None and shift.high is not None:
            low, high = (format_value(one, effect.unit) for one in (shift.low, shift.high))
            interval = f"{low} to {high}"
        confidence = f"{shift.confidence:.1%}" if shift.confidence is not None else "-"
        table.add_row(
            Text(effect.figure),
            Text(format_value(shift.estimate, effect.unit)),
            Text(interval),
            Text(confidence),
            Text(f"{effect.p:.4f}"),
            Text(f"{effect.p_adjusted:.4f}"),
        )
    return table
