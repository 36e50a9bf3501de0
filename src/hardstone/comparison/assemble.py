"""Builds the comparison of 2 to 20 systems from the systems alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hardstone.comparison.disagreement import disagreements
from hardstone.comparison.grey import condition_rows
from hardstone.comparison.points import RULES, points_of, repeated_tables
from hardstone.comparison.rows import (
    Systems,
    compared_rows,
    compared_tests,
    decisive_rows,
    shared_rows,
)
from hardstone.comparison.sizes import is_of_sweep, size_rows
from hardstone.comparison.tables import (
    columns_of,
    kernel_table,
    ladder_table,
)
from hardstone.comparison.tools import (
    Questions,
    has_imported,
    pairs_of,
    questions_of,
    tools_of,
)
from hardstone.comparison.view import (
    LEAST_SYSTEMS,
    MOST_SYSTEMS,
    CompareView,
    ConditionRow,
    SystemColumn,
    ToolComparison,
    Yardstick,
)
from hardstone.errors import InputError
from hardstone.stats.quantiles import PATH_NOT_TAKEN
from hardstone.systems.published import load_studies
from hardstone.systems.subjects import FigureRow, Subject, figure_rows
from hardstone.wording import shorten

_LATSTAT, _DEDICATED = "solaris-latstat-2007", "dedicated-systems-2012"
_US = 1_000
_SINGLE_RUNS = (
    "One run each proves no difference between systems: a ratio holds for these two runs. Use "
    "interleaved pairs: hardstone gate --pairs."
)
_RATIO_NOTE = (
    "Ratios are of medians, to the reference; intervals allow for values that depend on each other."
)
_PUBLISHED_NOTE = (
    "A published system has no distribution and no counts, so it has no ratio to a run. Its "
    "hardware differs: compare the distance from mean to worst, and the effect of load."
)
_TICK_NOTE = (
    "equals the tick: the worst exceeds its mean by as much as the longest tick of its system, "
    "within 20 %; a tick within the call may explain it [D]."
)
_GREY_NOTE = (
    "Grey: not comparable with the reference, for the reason given. The worst alone is grey if the "
    "counts differ by more than 10 %: more values usually show a larger worst."
)
_SPREAD_NOTE = "Predictability: the worst observed divided by the mean [O]; 1 is best."


def compare_view(
    subjects: Sequence[Subject],
    reference: int = 0,
    *,
    begun: Callable[[CompareView], object] = lambda view: None,
) -> CompareView:
    """Compares `subjects` with the one at place `reference`.

    `begun` is called with a view that has no tests yet: comparing every test takes long for many
    systems. InputError unless there are 2 to 20 systems, each once.
    """
    _check_systems(subjects, reference)
    columns = columns_of(subjects, reference)
    systems = Systems(columns, reference)
    found = _figure_rows(subjects)
    questions = questions_of(columns, reference)
    decisive = decisive_rows(found, systems, questions)
    yardsticks = _yardsticks()
    shared = shared_rows(found, systems, decisive)
    view = CompareView(
        columns=columns,
        reference=reference,
        decisive=decisive,
        points=[],
        criteria=_criteria(),
        tests=[],
        tables=[],
        conditions=[],
        yardsticks=yardsticks,
        notes=[],
        shared=shared,
        tools=_tools(questions, columns, reference),
    )
    begun(view)
    tests = compared_tests(
        columns, compared_rows(found, systems, {one.address for one in decisive})
    )
    conditions = condition_rows(columns, decisive)
    kernel = kernel_table(columns, reference)
    bounds = min(one.value_ns for one in yardsticks), max(one.value_ns for one in yardsticks)
    return replace(
        view,
        points=points_of(columns, decisive, tests, bounds, conditions),
        tests=tests,
        tables=[
            *repeated_tables(columns, decisive, conditions),
            *([kernel] if kernel else []),
            ladder_table(columns),
        ],
        conditions=conditions,
        notes=list(_notes(columns, conditions)),
    )


def _tools(
    questions: Questions, columns: Sequence[SystemColumn], reference: int
) -> ToolComparison | None:
    if not has_imported(columns):
        return None
    return ToolComparison(
        disagreements(questions),
        tools_of(questions, columns),
        pairs_of(questions, columns, reference),
    )


def _figure_rows(subjects: Sequence[Subject]) -> list[FigureRow]:
    """The sizes that a sweep finds, which are of no series; then every series."""
    series = [one for one in figure_rows(subjects) if not is_of_sweep(one.first)]
    return [*size_rows(subjects), *series]


def _check_systems(subjects: Sequence[Subject], reference: int) -> None:
    """InputError unless there are 2 to 20 systems, each once, and the reference is one of them."""
    count = len(subjects)
    if count < LEAST_SYSTEMS:
        raise InputError(
            "a comparison needs at least two systems",
            "name another run, or a published one: hardstone list published",
        )
    if count > MOST_SYSTEMS:
        raise InputError(
            f"{count} systems; a comparison takes {MOST_SYSTEMS} at most",
            "leave some out, or choose conditions with --load and --cpu-config",
        )
    seen: set[tuple[str, str]] = set()
    for one in subjects:
        key = one.id, one.label
        if key in seen:
            raise InputError(f"{shorten(one.label)} ({one.id}) is named twice", "name it once")
        seen.add(key)
    if not 0 <= reference < count:
        raise InputError(
            f"there is no system {reference + 1}", f"--reference takes 1 to {count}, or an ID"
        )


def _criteria() -> dict[str, tuple[str, str]]:
    """What each number of stars means, from 5 down: configuration, and result [D]."""
    meanings = load_studies()[_DEDICATED].tables["rating_criteria"]
    return {
        stars: (meanings[stars][0], meanings[stars][1]) for stars in sorted(meanings, reverse=True)
    }


def _yardsticks() -> list[Yardstick]:
    """The two lines of [L], the upper one first."""
    study = load_studies()[_LATSTAT]
    table = study.tables["yardsticks"]
    upper, lower = table["not_real_time_above_mean_us"], table["hard_real_time_embedded_us"]
    return [
        Yardstick(upper * _US, f"{upper} us mean: not real-time above ({study.reading.short})"),
        Yardstick(lower * _US, f"{lower} us: embedded hard real-time ({study.reading.short})"),
    ]


def _notes(columns: Sequence[SystemColumn], conditions: Sequence[ConditionRow]) -> Iterator[str]:
    for column in columns:
        if column.apart:
            yield f"{column.label}: {column.apart}."
    differing = [
        one.name for one in conditions if one.differs and not one.name.startswith("values of")
    ]
    if differing:
        yield f"What differs between the systems: {', '.join(differing)}."
    runs = [one for one in columns if not one.is_published]
    if len(runs) > 1:
        yield _RATIO_NOTE
        yield _SINGLE_RUNS
    if len(runs) < len(columns):
        yield _PUBLISHED_NOTE
    yield _GREY_NOTE
    yield _TICK_NOTE
    yield _SPREAD_NOTE
    yield f"A worst is the largest value observed. {PATH_NOT_TAKEN}"
    yield f"Points. {RULES}"
