"""The comparison of 2 to 20 systems as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hardstone.present.compare_view import ComparedRow, ComparedTest, CompareView, SystemColumn
from hardstone.present.wording import shorten
from hardstone.rating import FORMULA, Rating
from hardstone.report.bundle import load_bundle
from hardstone.report.compare_alike import GroupedClaim, claim_groups, condition_part, grouped
from hardstone.report.compare_lines import (
    SeriesGroup,
    ShownFigure,
    common_remarks,
    group_of,
    shown_figure,
)
from hardstone.report.figures import CHART_CONFIG, Figure
from hardstone.report.page_frame import head_parts, write_page
from hardstone.report.star_marks import with_stars
from hardstone.subjects import Amount

MOST_LINES_OPEN = 40
_MOST_IN_TITLE = 3
_MEASURED = "measured"


class PageFigures(Protocol):
    """The charts of a comparison: of the decisive tests, of each test, of kernel time."""

    @property
    def summary(self) -> Sequence[Figure]: ...
    @property
    def by_test(self) -> Mapping[str, Sequence[Figure]]: ...
    @property
    def kernel(self) -> Sequence[Figure]: ...


@dataclass(frozen=True)
class NoFigures:
    """A page without charts."""

    summary: list[Figure] = field(default_factory=list)
    by_test: dict[str, list[Figure]] = field(default_factory=dict)
    kernel: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class DecisiveCell:
    mean: ShownFigure
    worst: ShownFigure
    marks: list[str]
    why: str


@dataclass(frozen=True)
class DecisiveColumn:
    """A decisive test; `anchor` is its part of the page. A cell for each system. `common` has the
    marks of all of them."""

    label: str
    anchor: str
    common: list[str]
    cells: list[DecisiveCell]


@dataclass(frozen=True)
class TestPart:
    """One test in detail. `shared` has what at least two systems have, `folded` the rest."""

    anchor: str
    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    states: list[tuple[str, str]]
    shared: list[SeriesGroup]
    folded: list[SeriesGroup]
    folded_summary: str
    claims: list[GroupedClaim]
    figures: Sequence[Figure]
    published: list[str]
    notes: list[str]


def render_compare(
    view: CompareView,
    figures: PageFigures | None = None,
    *,
    bundle: Callable[[], str | None] = load_bundle,
) -> str:
    """The comparison as HTML text.

    `bundle` returns the scripts for interactive charts; if None, charts are static.
    """
    script = bundle()
    context = _context(view, figures or NoFigures(), is_live=script is not None)
    page = with_stars().get_template("compare.html.j2")
    return page.render(
        **context, **head_parts(script, styles=("compare.css",), scripts=("compare.js",))
    )


def write_compare(
    view: CompareView,
    path: Path,
    figures: PageFigures | None = None,
    *,
    bundle: Callable[[], str | None] = load_bundle,
) -> None:
    """Writes the comparison to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    write_page(path, lambda: render_compare(view, figures, bundle=bundle))


def _context(view: CompareView, figures: PageFigures, *, is_live: bool) -> dict[str, Any]:
    tests = [
        _test_part(one, f"test-{number}", view, figures) for number, one in enumerate(view.tests, 1)
    ]
    return {
        "title": _title(view),
        "columns": view.columns,
        "reference": view.columns[view.reference],
        "choices": _choices(view),
        "formula": FORMULA,
        "categories": _categories(view),
        "stars_of": _stars_of,
        "decisive": [_decisive(row, view, tests) for row in view.decisive],
        "points": list(zip(view.columns, view.points, strict=True)),
        "criteria": view.criteria,
        "conditions": condition_part(view),
        "tables": view.tables,
        "tests": tests,
        "by_category": _by_category(tests),
        "notes": view.notes,
        "yardsticks": view.yardsticks,
        "summary": figures.summary,
        "kernel": figures.kernel,
        "contents": _contents(view, figures),
        "chart_config": CHART_CONFIG if is_live else None,
    }


def _title(view: CompareView) -> str:
    names = [shorten(one.label, 40) for one in view.columns[:_MOST_IN_TITLE]]
    more = len(view.columns) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _contents(view: CompareView, figures: PageFigures) -> list[tuple[str, str]]:
    return [
        ("overview", "Overview"),
        ("why", "Stars: criteria and reasons"),
        ("systems", "Systems and conditions"),
        *((one.anchor, one.title) for one in view.tables),
        *([("kernel-time", "Kernel time")] if figures.kernel else []),
        ("tests", "Every test"),
        ("reading", "How to read"),
    ]


def _choices(view: CompareView) -> list[SystemColumn]:
    """Systems that others can be set against in the page: what may stand beside the reference of
    the command may stand beside each other. A published system has no median."""
    return [one for one in view.columns if one.is_reference or not (one.is_published or one.apart)]


def _categories(view: CompareView) -> list[str]:
    found = (one.category for column in view.columns for one in column.rating.categories)
    return list(dict.fromkeys(found))


def _stars_of(rating: Rating, category: str) -> tuple[float | None, bool]:
    for one in rating.categories:
        if one.category == category:
            return one.stars, one.is_at_most
    return None, False


def _decisive(row: ComparedRow, view: CompareView, tests: Sequence[TestPart]) -> DecisiveColumn:
    test = row.address.split("/")[0]
    common = common_remarks([one for one in row.cells if isinstance(one.worst, Amount)], "marks")
    cells = [
        DecisiveCell(
            shown_figure(cell.mean, is_exact=column.is_published),
            shown_figure(cell.worst, is_exact=column.is_published),
            [mark for mark in cell.marks if mark not in common],
            (cell.why or column.apart) if cell.is_grey else cell.worst_why,
        )
        for column, cell in zip(view.columns, row.cells, strict=True)
    ]
    anchor = next((one.anchor for one in tests if one.test == test), "")
    return DecisiveColumn(row.label, anchor, common, cells)


def _test_part(one: ComparedTest, anchor: str, view: CompareView, figures: PageFigures) -> TestPart:
    shared, folded = _folded([group_of(row, view) for row in one.rows])
    is_plain = set(one.states) <= {_MEASURED}
    return TestPart(
        anchor=anchor,
        test=one.test,
        title=one.title,
        about=one.about,
        category=one.category,
        moments=one.moments,
        states=[] if is_plain else grouped(one.states, view.columns),
        shared=shared,
        folded=folded,
        folded_summary=_folded_summary(folded),
        claims=[claim_groups(row, view.columns) for row in one.claims],
        figures=figures.by_test.get(one.test, []),
        published=one.published,
        notes=one.notes,
    )


def _folded(groups: list[SeriesGroup]) -> tuple[list[SeriesGroup], list[SeriesGroup]]:
    """What is open and what is folded: series of one system only, and what would be too long."""
    several = [one for one in groups if len(one.lines) > 1]
    order = several + [one for one in groups if len(one.lines) <= 1]
    lines, shown = 0, 0
    for one in order:
        lines += len(one.lines) + 1
        if shown and (lines > MOST_LINES_OPEN or (several and len(one.lines) <= 1)):
            break
        shown += 1
    return order[:shown], order[shown:]


def _folded_summary(folded: Sequence[SeriesGroup]) -> str:
    alone = all(len(one.lines) <= 1 for one in folded)
    return f"{len(folded)} more series{' that only one system has' if alone else ''}"


def _by_category(tests: Sequence[TestPart]) -> list[tuple[str, list[TestPart]]]:
    found: dict[str, list[TestPart]] = {}
    for one in tests:
        found.setdefault(one.category, []).append(one)
    return list(found.items())
