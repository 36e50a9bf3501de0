"""Made-up comparisons for tests of what lays them out: no builder, no run, the same each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import msgspec
import numpy as np

from hardstone.comparison.view import (
    ClaimCell,
    ClaimRow,
    ComparedCell,
    ComparedRow,
    ComparedTest,
    CompareView,
    ConditionRow,
    PlainTable,
    SystemColumn,
    SystemPoints,
    Yardstick,
)
from hardstone.model import Conditions, Plan, Result, RunDocument, Series, Tool, Trust, Verdict
from hardstone.stats.noise import made_series
from hardstone.stats.two_runs import QuantileRatio
from hardstone.systems.rating import CategoryRating, RatedFigure, Rating
from hardstone.systems.subjects import (
    Amount,
    FigureRow,
    MeasuredRun,
    Missing,
    Subject,
    SubjectSeries,
    figure_rows,
    published_system,
    subjects_of,
)
from tests.changed_copy import replace
from tests.unit.stats.make import document, result

PUBLISHED = ("qnx", "ce7", "linux-rt", "solaris-1rt", "xenomai")
TITLES = {
    "CLK-P-DUR": ("Duration of the tick", "clock"),
    "TMR-P-LAT": ("Wake-up latency", "timers"),
    "THR-P-SLS": ("Switch between threads of equal priority", "threads"),
    "SEM-P-ARN": ("Semaphore without contention", "semaphores"),
    "SEM-P-ARC": ("Semaphore with contention", "semaphores"),
    "MUT-P-ARN": ("Mutex without contention", "mutexes"),
    "MUT-P-ARC": ("Mutex with contention", "mutexes"),
}
_SEM = {"kind": "unnamed", "scope": "thread"}
_MUT = {"protocol": "inherit"}
# test, series, labels, median in ns, spread of the logarithm, share of values in a slow mode
_SHAPES: list[tuple[str, str, dict[str, int | str], int, float, float]] = [
    ("CLK-P-DUR", "tick", {}, 2_600, 0.25, 0.01),
    ("TMR-P-LAT", "wakeup", {"part": "total", "cpu": 1}, 4_200, 0.3, 0.002),
    *(("THR-P-SLS", "switch", {"threads": n}, 450 + n, 0.2, 0.001) for n in (2, 10, 128)),
    ("SEM-P-ARN", "acquire", dict(_SEM), 55, 0.15, 0.0),
    ("SEM-P-ARN", "release", dict(_SEM), 52, 0.15, 0.0),
    ("SEM-P-ARC", "acquire", {**_SEM, "waiters": 128}, 1_900, 0.3, 0.004),
    ("SEM-P-ARC", "release", {**_SEM, "waiters": 128}, 2_400, 0.3, 0.004),
    ("MUT-P-ARN", "acquire", dict(_MUT), 42, 0.15, 0.0),
    ("MUT-P-ARC", "acquire", dict(_MUT), 2_100, 0.3, 0.003),
]


@cache
def _results(number: int, speed: float) -> list[Result]:
    """Only read."""
    draw = np.random.default_rng(number)
    results: dict[str, Result] = {}
    for test, name, labels, median, spread, slow in _SHAPES:
        found = results.setdefault(test, _result(test))
        found.series.append(_series(draw, name, labels, median * speed, spread, slow))
    return list(results.values())


def made_run(number: int, speed: float = 1.0, **changed: object) -> MeasuredRun:
    """A run whose figures are `speed` times those of the shapes; `number` tells it apart."""
    fields: dict[str, object] = {
        "run_id": f"20261125T20{number:02d}00Z-{number:06x}",
        "name": f"board {number}",
        "system": {
            "machine.cpu_model": f"Example 1000, revision {number % 3}",
            "cpu.count": 4,
            "kernel.name": "Linux",
            "kernel.release": f"6.{12 + number % 4}.0",
            "kernel.preemption": "PREEMPT_RT" if number % 2 else "PREEMPT_DYNAMIC voluntary",
            "kernel.hz": 250,
            "virtual.hypervisor": None,
        },
        "plan": Plan(name="", profile="standard", target="local", tests=[], load="heavy"),
        "tool": Tool(version="0.1.0", compiler="gcc 14.2", libc="glibc 2.41"),
        "trust": Trust(grade="full"),
        "results": changed.get("results") or _results(number, speed),
    }
    (subject,) = subjects_of(document(**(fields | changed)))  # type: ignore[arg-type]
    return subject


def _result(test: str) -> Result:
    return result(
        test,
        series=[],
        verdicts=[Verdict(name="in_order", passed=True, evidence="1 000 of 1 000 in order")],
        conditions=Conditions(
            load="heavy", cpu_config="shared", cpu=1, policy="fifo", priority=98, clock="tsc"
        ),
    )


def _series(
    draw: np.random.Generator,
    name: str,
    labels: Mapping[str, int | str],
    median: float,
    spread: float,
    slow: float,
) -> Series:
    count = 20_000
    value = median * np.exp(spread * draw.standard_normal(count))
    value = np.where(draw.random(count) < slow, value * (3 + 5 * draw.random(count)), value)
    at_ns = np.arange(count, dtype=np.int64) * 1_000_000
    made = made_series(name, "", np.maximum(value, 1).astype(np.int64), at_ns)
    return msgspec.structs.replace(made, labels=dict(labels), derived=None)


def made_rating(stars: float | None, **changed: object) -> Rating:
    """A rating with `stars` in five categories and none in the sixth."""
    amount = Amount("ns", "max", "made up", value=18_400.0)
    worst = RatedFigure("CLK-P-DUR/tick", "worst", amount, 4.6)
    known = CategoryRating(
        category="clock",
        stars=stars,
        score=stars,
        is_calibrated=True,
        is_at_most=False,
        figures=[worst],
        decisive=worst,
        failed=[],
        missing=[],
        next_half="a worst case of at most 16.1 us",
    )
    names = ("clock", "threads", "semaphores", "mutexes")
    partly = {"is_calibrated": False, "is_at_most": True, "missing": ["no average"]}
    none = {"stars": None, "score": None, "figures": [], "decisive": None, "next_half": ""}
    found = Rating(
        overall=stars,
        is_at_most=stars is not None,
        why_none="" if stars is not None else "interrupts have no worst case",
        categories=[
            *(replace(known, category=name) for name in names),
            replace(known, category="timers", **partly),
            replace(known, category="interrupts", **none, missing=["IRQ-P-LAT: not run"]),
        ],
        caps=["special attention: at most 3"] if stars == 3 else [],
        rated_as=["without load"] if stars == 3 else [],
        configuration="out of the box",
        next_half="half a star more in clock",
    )
    return replace(found, **changed)  # type: ignore[arg-type]


def made_view(
    subjects: Sequence[Subject],
    reference: int = 0,
    apart: Mapping[int, str] | None = None,
    marks: Mapping[int, str] | None = None,
) -> CompareView:
    """The comparison of `subjects`; `apart` and `marks` by the place of a system."""
    columns = [
        _column(place, one, reference, (apart or {}).get(place, ""), (marks or {}).get(place, ""))
        for place, one in enumerate(subjects)
    ]
    found = figure_rows(subjects)
    rows = [_row(one, columns, reference) for one in found]
    tests = [_test(test, rows, columns) for test in dict.fromkeys(one.test for one in found)]
    decisive = [one for one in rows if one.address.split("/")[0] in TITLES]
    names = list(dict.fromkeys(name for one in subjects for name in one.conditions))
    cells = {name: [one.conditions.get(name, "-") for one in subjects] for name in names}
    return CompareView(
        columns=columns,
        reference=reference,
        decisive=decisive,
        points=[
            SystemPoints([f"tick at most {10 + one.number} us"], [f"no sources {one.number}"])
            for one in columns
        ],
        criteria={str(n): (f"configuration of {n}", f"result of {n}") for n in range(5, -1, -1)},
        tests=tests,
        tables=[
            PlainTable(
                anchor="priorities",
                title="Priorities and classes",
                about="Beside those of Obenland 2000.",
                columns=["system", "priorities", "classes"],
                rows=[["LynxOS 3.0.1", "256", "not known"], ["board 1", "99", "fifo, rr, other"]],
                notes=["A made-up note."],
            )
        ],
        conditions=[ConditionRow(name, told, len(set(told)) > 1) for name, told in cells.items()],
        yardsticks=[
            Yardstick(1_000_000, "1000 us: not real-time above [L]"),
            Yardstick(10_000, "10 us: embedded hard real-time [L]"),
        ],
        notes=["Each system was measured once. hardstone gate --pairs decides."],
    )


def _column(place: int, one: Subject, reference: int, apart: str, mark: str) -> SystemColumn:
    stars = 5 - 0.5 * (place % 11)
    return SystemColumn(
        number=place + 1,
        id=one.id,
        label=one.label,
        subject=one,
        is_published=one.is_published,
        is_reference=place == reference,
        study=one.conditions.get("study", "") if one.is_published else "this run",
        hardware=one.conditions.get("machine", ""),
        year=one.year,
        trust=None if one.is_published else "full",
        trust_reasons=[],
        mark=mark,
        apart=apart or None,
        rating=made_rating(stars if place % 11 else None),
    )


def _row(one: FigureRow, columns: Sequence[SystemColumn], reference: int) -> ComparedRow:
    against = one.found[reference]
    cells = [
        _cell(found, against, columns[place], notes)
        for place, (found, notes) in enumerate(zip(one.found, one.notes, strict=True))
    ]
    return ComparedRow(one.address, one.address, one.first.unit, cells)


def _cell(
    found: SubjectSeries | None,
    against: SubjectSeries | None,
    column: SystemColumn,
    notes: tuple[str, ...],
) -> ComparedCell:
    if found is None:
        missing = Missing("not published" if column.is_published else "not run")
        return ComparedCell(missing, missing)
    mean, worst = found.amount("mean"), found.amount("max")
    values = [one.value if isinstance(one, Amount) else None for one in (mean, worst)]
    is_tick = found.test == "THR-P-SLS"
    return ComparedCell(
        mean,
        worst,
        subject_series=found,
        is_grey=bool(column.apart),
        why=column.apart or "",
        marks=("equals the tick",) if is_tick and not column.is_published else (),
        notes=notes,
        ratio=None if column.apart else _ratio(found, against, column),
        predictability=values[1] / values[0] if values[0] and values[1] else None,
    )


def _ratio(
    found: SubjectSeries, against: SubjectSeries | None, column: SystemColumn
) -> QuantileRatio | None:
    if against is None or found.series is None or against.series is None or column.is_reference:
        return None
    ratio = (found.series.mean or 1.0) / (against.series.mean or 1.0)
    bounds = ratio * 0.97, ratio * 1.03
    outcome = "higher" if bounds[0] > 1.1 else "lower" if bounds[1] < 1 / 1.1 else "not decided"
    reason = "the interval reaches the margin" if outcome == "not decided" else ""
    return QuantileRatio(
        q=0.5,
        ratio=ratio,
        low=bounds[0],
        high=None if column.number == 4 else bounds[1],
        margin=0.1,
        confidence=0.98,
        outcome=outcome,  # type: ignore[arg-type]
        reason=reason,
    )


def _test(test: str, rows: Sequence[ComparedRow], columns: Sequence[SystemColumn]) -> ComparedTest:
    title, category = TITLES.get(test, (test, "other"))
    claims = [
        ClaimCell("not published", "quiet")
        if one.is_published
        else ClaimCell("fails", "failed", "999 of 1 000 in order")
        if one.number == 2
        else ClaimCell("holds", "passed", "1 000 of 1 000 in order")
        for one in columns
    ]
    return ComparedTest(
        test=test,
        title=title,
        about=f"What {test} is about.",
        category=category,
        moments=[("wakeup", "from the release to the thread")],
        rows=[one for one in rows if one.address.split("/")[0] == test],
        claims=[ClaimRow("in order", "threads run in the order of their release", claims)],
        states=["measured" if test in one.subject.tests() else "not run" for one in columns],
        published=[f"{test}: a statement in words (Obenland 2000)"],
        notes=["A made-up note on the test."],
    )


@cache
def two_systems() -> CompareView:
    """Two runs, the second slower."""
    return made_view([made_run(1), made_run(2, 1.4)])


@cache
def six_systems() -> CompareView:
    """A run and five published systems."""
    return made_view([made_run(1), *map(published_system, PUBLISHED)])


@cache
def emulated_systems() -> CompareView:
    """A run, an emulated one in grey, and a published system."""
    subjects = [made_run(1), made_run(2, 30.0), published_system("qnx")]
    return made_view(
        subjects,
        apart={1: "emulated: not comparable with hardware"},
        marks={1: "(emulated)"},
    )


@cache
def twenty_systems() -> CompareView:
    """Twenty runs, the third as reference; every fifth under other names."""
    return made_view([made_run(n, 1 + 0.12 * (n % 7)) for n in range(1, 21)], reference=2)


def document_of(view: CompareView, place: int = 0) -> RunDocument:
    """The run of the system at `place`."""
    subject = view.columns[place].subject
    assert isinstance(subject, MeasuredRun)
    return subject.document


def worst_alone_grey(view: CompareView, why: str) -> CompareView:
    """`view` with the worst of its second system grey everywhere, the rest not."""

    def changed(row: ComparedRow) -> ComparedRow:
        first, second, *others = row.cells
        return replace(row, cells=[first, replace(second, worst_why=why), *others])

    tests = [replace(one, rows=list(map(changed, one.rows))) for one in view.tests]
    return replace(view, decisive=list(map(changed, view.decisive)), tests=tests)
