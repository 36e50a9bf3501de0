"""The tables of priorities and of kernel time, with a row for each system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hardstone.comparison.grey import why_alone_grey
from hardstone.comparison.tools import imported_of, tool_name
from hardstone.comparison.view import PlainTable, SystemColumn
from hardstone.errors import InputError
from hardstone.kernel.results import ALL, TEST
from hardstone.kernel.tables import (
    STATISTICS,
    KernelHistory,
    kernel_history,
    milliseconds,
    with_interval,
)
from hardstone.model import Result, Scalar
from hardstone.preemption.tables import (
    MEANING,
    NOT_KNOWN,
    TITLE_OF,
    Side,
    differing_conditions,
    facts_under,
    preemption_rows,
    side_of,
    why_not_divided,
)
from hardstone.systems.published import load_studies
from hardstone.systems.rating import rate
from hardstone.systems.subjects import (
    INSTRUCTION_SET,
    MeasuredRun,
    Missing,
    Subject,
    why_apart,
    why_not_trusted,
)
from hardstone.wording import ratio_text, short, shorten, steps_text, time_mark

_OWN_STUDY = "measured with hardstone"
_LABEL_CHARACTERS = 60
_REASON_CHARACTERS = 220


def columns_of(subjects: Sequence[Subject], reference: int) -> list[SystemColumn]:
    """A column for each of `subjects`, in their order; `reference` is a place in it."""
    columns = []
    has_several = len(_instruction_sets(subjects)) > 1
    for number, (one, label) in enumerate(zip(subjects, _labels(subjects), strict=True), 1):
        trust = one.trust if isinstance(one, MeasuredRun) else None
        columns.append(
            SystemColumn(
                number=number,
                id=one.id,
                label=label,
                subject=one,
                is_published=one.is_published,
                is_reference=one is subjects[reference],
                study=short(one.conditions.get("study"), 80) or _measured_by(one),
                hardware=_hardware(one, has_several=has_several),
                year=one.year,
                trust=trust.grade if trust else None,
                trust_reasons=list(trust.reasons) if trust else [],
                mark=time_mark(one.document.system) if isinstance(one, MeasuredRun) else "",
                apart=shorten(why_apart(one, subjects[reference]), _REASON_CHARACTERS) or None,
                rating=rate(one),
            )
        )
    return columns


def _measured_by(one: Subject) -> str:
    imported = imported_of(one)
    return _OWN_STUDY if imported is None else f"{tool_name(one)}, imported"


def _instruction_sets(subjects: Iterable[Subject]) -> dict[str, list[int]]:
    """The places of the runs with each instruction set."""
    found: dict[str, list[int]] = {}
    for place, one in enumerate(subjects):
        if isinstance(one, MeasuredRun) and (name := one.conditions.get(INSTRUCTION_SET)):
            found.setdefault(name, []).append(place)
    return found


def clock_steps(columns: Sequence[SystemColumn]) -> list[str]:
    """What to know of a coarse clock, system by system; "" of any other."""
    return [
        steps_text(one.subject.document.instrument) if isinstance(one.subject, MeasuredRun) else ""
        for one in columns
    ]


def _hardware(one: Subject, *, has_several: bool) -> str:
    if not isinstance(one, MeasuredRun):
        return one.conditions.get("machine", "not known")
    machine = shorten(one.conditions.get("machine", ""), 80) or "not known"
    arch = shorten(one.conditions.get(INSTRUCTION_SET, ""), 20) if has_several else ""
    count = one.conditions.get("CPUs")
    virtual = one.conditions.get("virtual")
    parts = [
        machine,
        arch if arch not in machine else "",
        f"{count} CPU{'' if count == '1' else 's'}" if count else "",
        f"virtual machine ({shorten(virtual, 40)})" if virtual else "",
    ]
    return ", ".join(filter(None, parts))


def _labels(subjects: Sequence[Subject]) -> list[str]:
    """Labels that all differ. Where those of all runs are the same, and no two kernels are, the
    kernels are the labels; where two are the same, the kernel follows, then the ID, then a
    number."""
    systems = [one.document.system if isinstance(one, MeasuredRun) else {} for one in subjects]
    names = [short(one.get("kernel.name"), 20) for one in systems]
    has_several = len(set(filter(None, names))) > 1
    kernels = [
        " ".join(filter(None, (name if has_several else "", short(one.get("kernel.release"), 40))))
        for name, one in zip(names, systems, strict=True)
    ]
    labels = [shorten(one.label, _LABEL_CHARACTERS) or one.id for one in subjects]
    runs = [place for place, one in enumerate(subjects) if isinstance(one, MeasuredRun)]
    releases = {kernels[place] for place in runs} - {""}
    if len(runs) > 1 and len({labels[one] for one in runs}) == 1 and len(releases) == len(runs):
        for place in runs:
            own = "" if has_several else names[place]
            labels[place] = f"{own} {kernels[place]}".strip()
    for more in (kernels, [one.id for one in subjects]):
        same = Counter(labels)
        labels = [
            f"{label}, {text}" if same[label] > 1 and text else label
            for label, text in zip(labels, more, strict=True)
        ]
    same = Counter(labels)
    return [
        f"{label} #{number}" if same[label] > 1 else label for number, label in enumerate(labels, 1)
    ]


_UNKNOWN = "not known"
_CHARACTERS = 90


def _runs(columns: Sequence[SystemColumn]) -> Iterator[tuple[SystemColumn, MeasuredRun]]:
    for column in columns:
        if isinstance(column.subject, MeasuredRun):
            yield column, column.subject


def ladder_table(columns: Sequence[SystemColumn]) -> PlainTable:
    """The priorities of each system, its classes, and its tick."""
    study = load_studies()["obenland-2000"]
    rows = []
    for system in study.systems.values():
        if system.priorities:
            ordered = sorted(system.classes.items(), key=lambda one: -one[1][1])
            classes = ", ".join(f"{name} {low} to {high}" for name, (low, high) in ordered)
            tick = f"{system.clock_tick_hz} Hz" if system.clock_tick_hz else _UNKNOWN
            rows.append([system.name, str(system.priorities), classes or _UNKNOWN, tick, "-"])
    rows += [_own_ladder(column, run) for column, run in _runs(columns)]
    return PlainTable(
        anchor="priorities",
        title="The ladder of priorities and classes",
        about=(
            "How many priorities there are, which classes share them, and the rate of the tick, "
            f"beside {study.reading.short}."
        ),
        columns=["system", "priorities", "classes, from the highest", "tick", "what was tried"],
        rows=rows,
        notes=[
            "Of runs: the levels of SCHED_FIFO by the system's own answer, and what THR-B-PRI and "
            "POS-B-INV saw of them. What other classes a system has is not asked."
        ],
    )


def _own_ladder(column: SystemColumn, run: MeasuredRun) -> list[str]:
    facts = run.document.system
    low, high = facts.get("limits.priority_min"), facts.get("limits.priority_max")
    is_known = isinstance(low, int) and isinstance(high, int)
    hz = facts.get("kernel.hz")
    return [
        column.label,
        str(high - low + 1) if isinstance(low, int) and isinstance(high, int) else _UNKNOWN,
        f"real-time (SCHED_FIFO) {low} to {high}" if is_known else _UNKNOWN,
        f"{hz} Hz" if isinstance(hz, int) else _UNKNOWN,
        _tried(run) or _UNKNOWN,
    ]


def _tried(run: MeasuredRun) -> str:
    found = []
    for test, name in (("THR-B-PRI", "levels"), ("POS-B-INV", "priorities_32")):
        verdicts = run.verdicts(test)
        if not isinstance(verdicts, Missing):
            named = [one for one in verdicts if one.name.partition("/")[0] == name]
            found += [f"{test}: {shorten(one.evidence, _CHARACTERS)}" for one in named[:1]]
    return "; ".join(found)


_MOST_NOTES = 4  # of one system
_IMPROVEMENT = (
    "Improvement: the reference divided by the system; its interval has the ratios that both "
    "intervals allow."
)


@dataclass(frozen=True)
class _KernelOfRun:
    """The figures of one run; `problem` says why there are none."""

    column: SystemColumn
    run: MeasuredRun
    results: list[Result]
    facts: Mapping[str, Scalar]
    side: Side | None
    problem: str = ""


def kernel_table(columns: Sequence[SystemColumn], reference: int) -> PlainTable | None:
    """Sections of the kernel system by system, and how many times shorter they are than those of
    the reference; None where no run has KRN-P-PRE."""
    found = [one for one in map(_own, columns) if one is not None]
    if not found:
        return None
    history = kernel_history()
    rows = [*_published(history), *(_own_row(one) for one in found)]
    notes = [MEANING, _IMPROVEMENT] if len(found) > 1 else [MEANING]
    first = next((one for one in found if one.column is columns[reference]), None)
    for one in found:
        if first is not None and one is not first and first.side and one.side:
            refused = _refused(first, one)
            sides = first.side, one.side
            rows.append(_improvement(sides, one, history, is_divided=not refused))
            differing = differing_conditions(first.results, one.results, (first.facts, one.facts))
            remarks = [*refused, *(f"differs: {text}" for text in differing)]
            notes += [f"{one.column.label}: {shorten(text, 200)}" for text in remarks[:_MOST_NOTES]]
    return PlainTable(
        anchor="kernel-preemption",
        title="Time in sections of the kernel",
        about=f"Kernel preemption (KRN-P-PRE), compared with {history.short}, {history.machine}.",
        columns=["system", "preemption", *(TITLE_OF[one] for one in STATISTICS)],
        rows=rows,
        notes=notes,
    )


def _own(column: SystemColumn) -> _KernelOfRun | None:
    run = column.subject
    if not isinstance(run, MeasuredRun):
        return None
    results = [one for one in run.results if one.test == TEST]
    if not results:
        return None
    facts, model = run.document.system, run.condition.preemption
    if model:  # the kernel was switched to it
        facts = facts_under(facts, model)
    try:
        return _KernelOfRun(column, run, results, facts, side_of(results, facts, run.kernel_time))
    except InputError as error:
        return _KernelOfRun(column, run, results, facts, None, error.cause)


def _published(history: KernelHistory) -> Iterator[list[str]]:
    for name, side in history.sides:
        yield [history.short, name, *(milliseconds(side[one]) for one in STATISTICS)]
    improved = (ratio_text(history.improvement[one]) for one in STATISTICS)
    yield [f"{history.short}, improvement", "off / on", *improved]


def _own_row(one: _KernelOfRun) -> list[str]:
    system = f"{one.column.label} {one.column.mark}".rstrip()
    if one.side is None:
        return [system, NOT_KNOWN, one.problem, "-", "-"]
    cells = [_cell(one.side, statistic) for statistic in STATISTICS]
    if all(cell == "-" for cell in cells):
        cells[0] = "; ".join(one.side.missing) or "no sections"
    refused = shorten(why_apart(one.run), _REASON_CHARACTERS) or _why_alone(one)
    model = f"{one.side.model}; {refused}" if refused else one.side.model
    return [system, model, *cells]


def _cell(side: Side, statistic: str) -> str:
    figure = side.figure(ALL, statistic)
    if figure is None:
        return side.lacking(ALL, statistic) or "-"
    return with_interval(figure.text, figure.interval)


def _why_alone(one: _KernelOfRun) -> str:
    """Why the figures of a run may be divided by nothing; empty if they may."""
    found = [series for series in one.run.held() if series.test == TEST]
    reasons = [why_not_trusted(one.run), *map(why_alone_grey, found)]
    return shorten(next(filter(None, reasons), ""), _REASON_CHARACTERS)


def _refused(first: _KernelOfRun, one: _KernelOfRun) -> list[str]:
    """Why the figures of two runs are not divided."""
    alone = [f"improvement not given: {text}" for text in map(_why_alone, (first, one)) if text]
    found = [*why_not_divided(first.facts, one.facts), *alone]
    apart = one.column.apart  # a clock that ran wrong
    return list(dict.fromkeys(found or ([f"improvement not given: {apart}"] if apart else [])))


def _improvement(
    sides: tuple[Side, Side], one: _KernelOfRun, history: KernelHistory, *, is_divided: bool
) -> list[str]:
    found = preemption_rows(*sides, history, is_divided=is_divided)
    rows = {row.figure: row for row in found if row.operation == ALL}
    cells = []
    for statistic in STATISTICS:
        row = rows.get(TITLE_OF[statistic])
        cells.append(with_interval(row.improvement, ", ".join(row.limits)) if row else "-")
    return [f"{one.column.label}, improvement", "reference / system", *cells]
