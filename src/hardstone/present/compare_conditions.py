"""The conditions of all systems side by side, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hardstone.model import RunDocument
from hardstone.present.compare_grey import UNLIKE_COUNTS
from hardstone.present.compare_view import ComparedRow, ConditionRow, SystemColumn
from hardstone.present.headline import repeat_text
from hardstone.present.wording import fact_text, shorten
from hardstone.stats.moved import STEADY_FACTS
from hardstone.systems.subjects import MeasuredRun, PublishedSystem
from hardstone.units import format_count

NOT_KNOWN = "-"
REPEAT = "repeat"  # differs between runs of one plan, and makes no figure another one
_CHARACTERS = 120
# The names of facts that a row of its own has.
_SHOWN = {
    "machine.cpu_model",
    "machine.arch",
    "cpu.count",
    "virtual.hypervisor",
    "kernel.name",
    "kernel.release",
    "kernel.preemption",
    "kernel.hz",
    "power.governor",
}
# What decides whether figures may be set beside each other, most first.
_ORDER = (
    "load",
    "CPU configuration",
    "policy",
    "priority",
    "profile",
    REPEAT,
    "clock",
    "machine",
    "CPUs",
    "virtual",
    "kernel",
    "preemption",
    "tick",
    "configuration",
    "governor",
    "libc",
    "compiler",
    "study",
    "hardstone",
)


def condition_rows(
    columns: Sequence[SystemColumn], decisive: Sequence[ComparedRow]
) -> list[ConditionRow]:
    """Conditions, facts that are not alike in all runs, and the counts of the decisive series."""
    said = [_conditions(one) for one in columns]
    names = {name for one in said for name in one}
    ordered = sorted(names, key=lambda one: (_place(one), one))
    rows = [_row(name, [one.get(name, NOT_KNOWN) for one in said]) for name in ordered]
    return [*rows, *_facts(columns), *_counts(decisive)]


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _row(name: str, cells: list[str]) -> ConditionRow:
    return ConditionRow(name, cells, len({one for one in cells if one != NOT_KNOWN}) > 1)


def _conditions(column: SystemColumn) -> Mapping[str, str]:
    subject = column.subject
    found = {name: shorten(text, _CHARACTERS) for name, text in subject.conditions.items()}
    if isinstance(subject, MeasuredRun):
        document = subject.document
        found["priority"] = _priority(subject)
        found[REPEAT] = repeat_text(document)
        found["libc"] = shorten(document.tool.libc or "", _CHARACTERS)
        found["compiler"] = shorten(document.tool.compiler or "", _CHARACTERS)
    if isinstance(subject, PublishedSystem) and len(subject.loads) > 1:
        chosen = subject.load if subject.load in subject.loads else subject.loads[-1]
        found["load"] = chosen
    return {name: text for name, text in found.items() if text}


def _priority(subject: MeasuredRun) -> str:
    found = {one.conditions.priority for one in subject.results} - {None}
    return ", ".join(str(one) for one in sorted(one for one in found if one is not None))


def _facts(columns: Sequence[SystemColumn]) -> Iterator[ConditionRow]:
    """Facts that have no row above and differ between runs."""
    documents = [_document(one) for one in columns]
    for fact in STEADY_FACTS:
        if fact in _SHOWN:
            continue
        values = [_fact(one, fact) for one in documents]
        if len({value for value in values if value != NOT_KNOWN}) > 1:
            yield ConditionRow(fact, values, differs=True)


def _document(column: SystemColumn) -> RunDocument | None:
    return column.subject.document if isinstance(column.subject, MeasuredRun) else None


def _fact(document: RunDocument | None, name: str) -> str:
    if document is None or name not in document.system:
        return NOT_KNOWN
    value = document.system[name]
    return "none" if value is None else shorten(fact_text(name, value), _CHARACTERS)


def _counts(decisive: Sequence[ComparedRow]) -> Iterator[ConditionRow]:
    for row in decisive:
        counts = [one.series.count if one.series else None for one in row.cells]
        known = [one for one in counts if one is not None]
        if known:
            cells = [NOT_KNOWN if one is None else format_count(one) for one in counts]
            differs = max(known) > UNLIKE_COUNTS * min(known)
            yield ConditionRow(f"values of {shorten(row.address, 80)}", cells, differs)


def differing(rows: Sequence[ConditionRow]) -> list[str]:
    """The names of the conditions that differ."""
    return [one.name for one in rows if one.differs]
