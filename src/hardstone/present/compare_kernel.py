"""Time in sections of the kernel of all systems, beside what HP measured without and with
preemption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hardstone.errors import InputError
from hardstone.model import Result, Scalar
from hardstone.present.compare_columns import why_not_trusted
from hardstone.present.compare_grey import why_alone_grey
from hardstone.present.compare_view import PlainTable, SystemColumn
from hardstone.present.kernel_history import (
    STATISTICS,
    KernelHistory,
    kernel_history,
    milliseconds,
)
from hardstone.present.preemption_sides import NOT_KNOWN, Side, side_of
from hardstone.present.preemption_table import MEANING, TITLE_OF, PreemptionRow, preemption_rows
from hardstone.present.preemption_unlike import unlike_conditions, why_not_divided
from hardstone.present.wording import ratio_text, shorten
from hardstone.stats.kernel_operations import ALL, TEST
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.systems.subjects import MeasuredRun

_MOST_NOTES = 4  # of one system
_IMPROVEMENT = (
    "Improvement: the reference divided by the system; its interval has the ratios that both "
    "intervals allow."
)


@dataclass(frozen=True)
class _Own:
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
            is_divided = not _refused(first, one)
            sides = first.side, one.side
            rows.append(_improvement(sides, one, history, is_divided=is_divided))
            notes.extend(f"{one.column.label}: {text}" for text in _differing(first, one))
    return PlainTable(
        anchor="kernel-preemption",
        title="Time in sections of the kernel",
        about=f"Kernel preemption (KRN-P-PRE), beside {history.short}, {history.machine}.",
        columns=["system", "preemption", *(TITLE_OF[one] for one in STATISTICS)],
        rows=rows,
        notes=notes,
    )


def _own(column: SystemColumn) -> _Own | None:
    run = column.subject
    if not isinstance(run, MeasuredRun):
        return None
    results = [one for one in run.results if one.test == TEST]
    if not results:
        return None
    facts = _facts(run)
    try:
        return _Own(column, run, results, facts, side_of(results, facts, run.kernel_time))
    except InputError as error:
        return _Own(column, run, results, facts, None, error.cause)


def _facts(run: MeasuredRun) -> Mapping[str, Scalar]:
    """The facts while the kernel was switched to the model of the condition."""
    facts = run.document.system
    model = run.condition.preemption
    if not model:
        return facts
    return {**facts, "kernel.preemption": model, "kernel.preemption_model": model}


def _published(history: KernelHistory) -> Iterator[list[str]]:
    for name, side in (("off", history.off), ("on", history.on)):
        yield [history.short, name, *(milliseconds(side[one]) for one in STATISTICS)]
    improved = (ratio_text(history.improvement[one]) for one in STATISTICS)
    yield [f"{history.short}, improvement", "off / on", *improved]


def _own_row(one: _Own) -> list[str]:
    system = f"{one.column.label} {one.column.mark}".rstrip()
    if one.side is None:
        return [system, NOT_KNOWN, one.problem, "-", "-"]
    cells = [_cell(one.side, statistic) for statistic in STATISTICS]
    if all(cell == "-" for cell in cells):
        cells[0] = "; ".join(one.side.missing) or "no sections"
    refused = why_not_beside_hardware(one.run.document) or _why_alone(one)
    model = f"{one.side.model}; {refused}" if refused else one.side.model
    return [system, model, *cells]


def _cell(side: Side, statistic: str) -> str:
    figure = side.figure(ALL, statistic)
    if figure is None:
        return side.lacking(ALL, statistic) or "-"
    return f"{figure.text} ({figure.interval})" if figure.interval else figure.text


def _why_alone(one: _Own) -> str:
    """Why the figures of a run may be divided by nothing; empty if they may."""
    held = [series for series in one.run.held() if series.test == TEST]
    reasons = [why_not_trusted(one.column), *map(why_alone_grey, held)]
    return next(filter(None, reasons), "")


def _refused(first: _Own, one: _Own) -> list[str]:
    """Why the figures of two runs are not divided."""
    told = [f"no improvement is given: {text}" for text in map(_why_alone, (first, one)) if text]
    found = [*why_not_divided(first.facts, one.facts), *told]
    apart = one.column.apart  # a clock that ran wrong
    return list(dict.fromkeys(found or ([f"no improvement is given: {apart}"] if apart else [])))


def _improvement(
    sides: tuple[Side, Side], one: _Own, history: KernelHistory, *, is_divided: bool
) -> list[str]:
    found = preemption_rows(*sides, history, is_divided=is_divided)
    rows = {row.figure: row for row in found if row.operation == ALL}
    cells = [_divided(rows.get(TITLE_OF[statistic])) for statistic in STATISTICS]
    return [f"{one.column.label}, improvement", "reference / system", *cells]


def _divided(row: PreemptionRow | None) -> str:
    if row is None:
        return "-"
    return f"{row.improvement} ({', '.join(row.limits)})" if row.limits else row.improvement


def _differing(first: _Own, one: _Own) -> list[str]:
    refused = _refused(first, one)
    unlike = unlike_conditions(first.results, one.results, (first.facts, one.facts))
    told = [*refused, *(f"differs: {text}" for text in unlike)]
    return [shorten(text, 200) for text in told[:_MOST_NOTES]]
