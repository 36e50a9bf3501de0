"""The rows of the summary: the series that decide about a real-time system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.present.compare_rows import Systems, compared_row
from hardstone.present.compare_view import ComparedRow, SystemColumn
from hardstone.systems.subjects import Amount, FigureRow, Held
from hardstone.units import whole_number

WAKEUP = ("TMR-P-LAT", "wakeup")
_TOTAL = "total"
_WAITERS = "waiters"
_BOTH = "both"  # threads and processes take the same way


@dataclass(frozen=True)
class Decisive:
    """A place of the summary: `short` names it in a table of figures, `most` a label of which the
    row with the largest number is taken."""

    short: str
    test: str
    series: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = ()
    most: str = ""


_SEMAPHORE = (("kind", "unnamed"), ("scope", "thread"))
_MUTEX = (("protocol", "inherit"),)
DECISIVE = (
    Decisive("tick", "CLK-P-DUR", ("tick",)),
    Decisive("switch", "THR-P-SLS", ("switch",), most="threads"),
    Decisive("irq", "IRQ-S-SUS", ("minimal_period",)),
    Decisive("sem", "SEM-P-ARN", ("acquire", "release"), _SEMAPHORE),
    Decisive("sem cont", "SEM-P-ARC", ("acquire", "release"), _SEMAPHORE, most=_WAITERS),
    Decisive("mutex", "MUT-P-ARN", ("acquire", "release"), _MUTEX),
    Decisive("mut cont", "MUT-P-ARC", ("acquire", "release"), _MUTEX),
)


def decisive_rows(found: Sequence[FigureRow], systems: Systems) -> list[ComparedRow]:
    """Those of DECISIVE that any system has, then the wake-up latency of the worst CPU of each."""
    rows = [
        compared_row(row, systems)
        for one in DECISIVE
        for name in one.series
        for row in _chosen(found, one, name)
    ]
    wakeup = _wakeup(systems.columns)
    if wakeup is not None:
        rows.append(compared_row(wakeup, systems, "wakeup, total, worst CPU"))
    return rows


def group_of(row: ComparedRow) -> str:
    """A short name of what a decisive row is about: "tick", "wakeup"."""
    test = row.address.partition("/")[0]
    return next((one.short for one in DECISIVE if one.test == test), "wakeup")


def _chosen(found: Sequence[FigureRow], one: Decisive, name: str) -> Iterator[FigureRow]:
    """The row with the labels; of several the one that most systems have, or the largest number
    that two or more have."""
    rows = [row for row in found if row.test == one.test and row.key[1] == name]
    fitting = [row for row in rows if _fits(row, one)] or rows
    shared = [row for row in fitting if _held_count(row) > 1] or fitting
    order: Callable[[FigureRow], tuple[int, int]] = (
        (lambda row: (_number(row, one.most), _held_count(row)))
        if one.most
        else (lambda row: (_published_count(row), _held_count(row)))
    )
    if shared:
        yield max(shared, key=order)


def _fits(row: FigureRow, one: Decisive) -> bool:
    labels = row.first.labels
    return all(labels.get(name, value) in (value, _BOTH) for name, value in one.labels)


def _held_count(row: FigureRow) -> int:
    return sum(one is not None for one in row.found)


def _published_count(row: FigureRow) -> int:
    """Of interrupts the row of the studies, beside which stands what a run has in its place."""
    return sum(one is not None and one.series is None for one in row.found)


def _number(row: FigureRow, label: str) -> int:
    texts = [row.first.labels.get(label, ""), *row.first.parts]
    return max((whole_number(one) or 0 for one in texts), default=0)


def _wakeup(columns: Sequence[SystemColumn]) -> FigureRow | None:
    """Of each system the CPU with the largest worst: merged, a bad CPU would not be seen."""
    found: list[Held | None] = []
    notes: list[tuple[str, ...]] = []
    for column in columns:
        own = [one for one in column.subject.held() if _is_total(one)]
        worst = max(own, key=_largest, default=None)
        cpu = worst.labels.get("cpu") if worst is not None else None
        found.append(worst)
        notes.append((f"CPU {cpu}, the worst of {len(own)}",) if cpu and len(own) > 1 else ())
    if not any(found):
        return None
    return FigureRow((*WAKEUP, (("part", _TOTAL),)), tuple(found), tuple(notes))


def _is_total(one: Held) -> bool:
    is_wakeup = (one.test, one.name) == WAKEUP
    return is_wakeup and (one.labels.get("part") == _TOTAL or _TOTAL in one.parts)


def _largest(one: Held) -> float:
    worst = one.amount("max")
    return worst.lowest if isinstance(worst, Amount) else 0.0
