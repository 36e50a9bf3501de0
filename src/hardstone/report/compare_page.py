"""The comparison of 2 to 20 systems as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hardstone.compare.view import CompareView, SystemColumn
from hardstone.model import FORMULA
from hardstone.present.wording import shorten
from hardstone.report.bundle import load_bundle
from hardstone.report.compare_alike import condition_part
from hardstone.report.compare_lines import NAMED_SYSTEMS
from hardstone.report.compare_parts import by_category, test_parts
from hardstone.report.decisive_table import decisive_table
from hardstone.report.figures import CHART_CONFIG, Figure
from hardstone.report.page_frame import environment, head_parts, write_page
from hardstone.systems.rating import Rating

_MOST_IN_TITLE = 3


class PageFigures(Protocol):
    """The charts of a comparison: of the decisive tests, of each test, of kernel time. `notes`
    say what was not drawn."""

    @property
    def summary(self) -> Sequence[Figure]: ...
    @property
    def by_test(self) -> Mapping[str, Sequence[Figure]]: ...
    @property
    def kernel(self) -> Sequence[Figure]: ...
    @property
    def notes(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class NoFigures:
    """A page without charts."""

    summary: list[Figure] = field(default_factory=list)
    by_test: dict[str, list[Figure]] = field(default_factory=dict)
    kernel: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    page = environment().get_template("compare.html.j2")
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
    tests = test_parts(view, figures.by_test)
    return {
        "title": _title(view),
        "columns": view.columns,
        "reference": view.columns[view.reference],
        "choices": _choices(view),
        "named_systems": NAMED_SYSTEMS,
        "is_wide": len(view.columns) > NAMED_SYSTEMS,
        "formula": FORMULA,
        "categories": _categories(view),
        "stars_of": _stars_of,
        "decisive": decisive_table(view, {one.test: one.anchor for one in tests}),
        "points": list(zip(view.columns, view.points, strict=True)),
        "criteria": view.criteria,
        "conditions": condition_part(view),
        "tables": view.tables,
        "tests": tests,
        "by_category": by_category(tests),
        "notes": view.notes,
        "yardsticks": view.yardsticks,
        "summary": figures.summary,
        "not_drawn": figures.notes,
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


def _stars_of(rating: Rating, category: str) -> tuple[float | None, bool, str, float | None]:
    """What the macro `stars` takes."""
    for one in rating.categories:
        if one.category == category:
            return one.stars, one.is_at_most, "", one.lowest_stars
    return None, False, "", None
