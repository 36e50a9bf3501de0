"""Time in sections of the kernel of all systems, beside what HP measured without and with
preemption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hardstone.errors import InputError
from hardstone.model import Result, Scalar
from hardstone.present.compare_view import PlainTable, SystemColumn
from hardstone.present.kernel_history import (
    STATISTICS,
    KernelHistory,
    kernel_history,
    milliseconds,
)
from hardstone.present.preemption_sides import NOT_KNOWN, Side, side_of
from hardstone.present.preemption_table import (
    MEANING,
    TITLE_OF,
    PreemptionTable,
    preemption_table,
)
from hardstone.present.wording import ratio_text, shorten
from hardstone.stats.kernel_operations import ALL, TEST
from hardstone.stats.kind_of_time import why_not_beside_hardware
from hardstone.subjects import MeasuredRun


def kernel_table(columns: Sequence[SystemColumn], reference: int) -> PlainTable | None:
    """Sections of the kernel system by system, and how many times shorter they are than those of
    the reference; None where no run has KRN-P-PRE."""
    runs = [
        (column, column.subject)
        for column in columns
        if isinstance(column.subject, MeasuredRun) and _results(column.subject)
    ]
    if not runs:
        return None
    history = kernel_history()
    rows = [*_published(history), *(row for column, run in runs for row in _own(column, run))]
    first = columns[reference].subject
    notes = [
        MEANING,
        "Improvement: the reference divided by the system; its interval has the ratios that both "
        "intervals allow.",
    ]
    for column, run in runs:
        if run is not first and isinstance(first, MeasuredRun) and _results(first):
            table = _against(first, run)
            if table is not None:
                rows.append(_improvement(column, table))
                told = [*table.notes, *(f"differs: {one}" for one in table.unlike)]
                notes.extend(f"{column.label}: {shorten(one, 200)}" for one in told[:4])
    return PlainTable(
        anchor="kernel-preemption",
        title="Time in sections of the kernel",
        about=f"Kernel preemption (KRN-P-PRE), beside {history.short}, {history.machine}.",
        columns=["system", "preemption", *(TITLE_OF[one] for one in STATISTICS)],
        rows=rows,
        notes=notes,
    )


def _results(run: MeasuredRun) -> list[Result]:
    return [one for one in run.results if one.test == TEST]


def _published(history: KernelHistory) -> Iterator[list[str]]:
    for name, side in (("off", history.off), ("on", history.on)):
        yield [history.short, name, *(milliseconds(side[one]) for one in STATISTICS)]
    improved = (ratio_text(history.improvement[one]) for one in STATISTICS)
    yield [f"{history.short}, improvement", "off / on", *improved]


def _own(column: SystemColumn, run: MeasuredRun) -> Iterator[list[str]]:
    system = f"{column.label} {column.mark}".rstrip()
    refused = why_not_beside_hardware(run.document)
    try:
        side = side_of(_results(run), _facts(run))
    except InputError as error:
        yield [system, NOT_KNOWN, error.cause, "-", "-"]
        return
    cells = [_cell(side, one) for one in STATISTICS]
    if all(one == "-" for one in cells):
        cells[0] = "; ".join(side.missing) or "no sections"
    model = f"{side.model}; {refused}" if refused else side.model
    yield [system, model, *cells]


def _cell(side: Side, statistic: str) -> str:
    figure = side.figure(ALL, statistic)
    if figure is None:
        return "-"
    return f"{figure.text} ({figure.interval})" if figure.interval else figure.text


def _facts(run: MeasuredRun) -> Mapping[str, Scalar]:
    """The facts while the kernel was switched to the model of the condition."""
    facts = run.document.system
    model = run.condition.preemption
    if not model:
        return facts
    return {**facts, "kernel.preemption": model, "kernel.preemption_model": model}


def _against(first: MeasuredRun, other: MeasuredRun) -> PreemptionTable | None:
    try:
        return preemption_table(_results(first), _results(other), (_facts(first), _facts(other)))
    except InputError:
        return None


def _improvement(column: SystemColumn, table: PreemptionTable) -> list[str]:
    rows = {row.figure: row for row in table.rows if row.operation == ALL}
    cells = []
    for statistic in STATISTICS:
        row = rows.get(TITLE_OF[statistic])
        if row is None:
            cells.append("-")
        else:
            limits = f" ({', '.join(row.limits)})" if row.limits else ""
            cells.append(f"{row.improvement}{limits}")
    return [f"{column.label}, improvement", "reference / system", *cells]
