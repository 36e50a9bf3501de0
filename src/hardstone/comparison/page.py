"""The comparison of 2 to 20 systems as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Protocol

from hardstone.comparison.cells import (
    FILTERS,
    MEASURED,
    NAMED_SYSTEMS,
    SeriesGroup,
    common_remarks,
    groups_of,
    who,
    why_grey,
)
from hardstone.comparison.view import (
    ClaimRow,
    ComparedRow,
    ComparedTest,
    CompareView,
    Look,
    SystemColumn,
)
from hardstone.figure_text import ShownFigure, shown_figure
from hardstone.model import FORMULA
from hardstone.report.figures import CHART_CONFIG, Figure
from hardstone.report.page_frame import environment, head_parts, load_bundle, write_page
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount
from hardstone.wording import shorten


@dataclass(frozen=True)
class DecisiveCell:
    """`note` is the letter of the reason why it may not be compared."""

    mean: ShownFigure
    worst: ShownFigure
    marks: list[str]
    note: str


@dataclass(frozen=True)
class DecisiveColumn:
    """A decisive test; `anchor` is its part of the page. A cell for each system. `common` has the
    marks of all of them."""

    test: str
    label: str
    anchor: str
    common: list[str]
    cells: list[DecisiveCell]


@dataclass(frozen=True)
class DecisiveTable:
    """`reasons`: the letters of the cells, and why these may not be compared."""

    columns: list[DecisiveColumn]
    reasons: list[tuple[str, str]]


def decisive_table(view: CompareView, anchors: Mapping[str, str]) -> DecisiveTable:
    """`anchors` has the part of the page of each test."""
    reasons: dict[str, str] = {}
    columns = [_column(row, view, anchors, reasons) for row in view.decisive]
    return DecisiveTable(columns, [(letter, why) for why, letter in reasons.items()])


def _column(
    row: ComparedRow, view: CompareView, anchors: Mapping[str, str], reasons: dict[str, str]
) -> DecisiveColumn:
    test = row.address.split("/")[0]
    common = common_remarks([one for one in row.cells if isinstance(one.worst, Amount)], "marks")
    cells = [
        DecisiveCell(
            shown_figure(cell.mean, is_exact=column.is_published),
            shown_figure(cell.worst, is_exact=column.is_published),
            [mark for mark in cell.marks if mark not in common],
            _note(why_grey(cell), reasons),
        )
        for column, cell in zip(view.columns, row.cells, strict=True)
    ]
    return DecisiveColumn(test, row.label, anchors.get(test, ""), common, cells)


def _note(why: str, reasons: dict[str, str]) -> str:
    """The letter of a reason: "a", "b", ... "z", "aa"."""
    number = reasons.get(why) or _letters(len(reasons))
    return reasons.setdefault(why, number) if why else ""


def _letters(number: int) -> str:
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letters(rest - 1) if rest else "") + ascii_lowercase[last]


@dataclass(frozen=True)
class ClaimGroup:
    """The systems with one outcome of a claim; `evidence` has (systems, words)."""

    word: str
    look: Look
    systems: str
    evidence: list[tuple[str, str]]


@dataclass(frozen=True)
class GroupedClaim:
    name: str
    claim: str
    groups: list[ClaimGroup]

    @property
    def is_dull(self) -> bool:
        """Whether it holds wherever it is known."""
        return {one.look for one in self.groups} <= {"passed", "quiet"}


@dataclass(frozen=True)
class ConditionPart:
    """Conditions side by side. `same` has those that are alike everywhere; `columns` and `cells`
    those that differ, system by system, or by value (`by_value`) where there are many systems."""

    same: list[tuple[str, str]]
    cells: list[tuple[str, list[str]]]
    by_value: list[tuple[str, list[tuple[str, str]]]]


def grouped(cells: Sequence[str], columns: Sequence[SystemColumn]) -> list[tuple[str, str]]:
    """Each text with the systems that have it, in the order of the systems."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(cells):
        places.setdefault(text, []).append(place)
    return [(text, who(columns, found)) for text, found in places.items()]


def claim_groups(
    row: ClaimRow, columns: Sequence[SystemColumn], states: Sequence[str]
) -> GroupedClaim:
    """A claim with the systems by outcome, failures first. Where a cell only repeats what became
    of the whole test (`states`), it is left out."""
    places: dict[tuple[str, Look], list[int]] = {}
    for place, (cell, state) in enumerate(zip(row.cells, states, strict=True)):
        if cell.word != state:
            places.setdefault((cell.word, cell.look), []).append(place)
    groups = [
        ClaimGroup(word, look, who(columns, found), _evidence(row, found, columns))
        for (word, look), found in places.items()
    ]
    return GroupedClaim(row.name, row.claim, sorted(groups, key=lambda one: one.look != "failed"))


def _evidence(
    row: ClaimRow, places: Sequence[int], columns: Sequence[SystemColumn]
) -> list[tuple[str, str]]:
    found: dict[str, list[int]] = {}
    for place in places:
        if row.cells[place].evidence:
            found.setdefault(row.cells[place].evidence, []).append(place)
    return [(who(columns, one), text) for text, one in found.items()]


def condition_part(view: CompareView) -> ConditionPart:
    differing = [one for one in view.conditions if one.differs]
    is_wide = len(view.columns) > NAMED_SYSTEMS
    return ConditionPart(
        same=[(one.name, one.cells[0]) for one in view.conditions if not one.differs],
        cells=[] if is_wide else [(one.name, one.cells) for one in differing],
        by_value=[(one.name, grouped(one.cells, view.columns)) for one in differing]
        if is_wide
        else [],
    )


MOST_LINES_OPEN = 40
MOST_ALONE_OPEN = 12
MOST_CLAIMS_OPEN = 4


@dataclass(frozen=True)
class SeriesParts:
    """The series of a test: those of several systems and those that one alone has, each with a
    part that is folded."""

    several: list[SeriesGroup]
    several_folded: list[SeriesGroup]
    alone: list[SeriesGroup]
    alone_folded: list[SeriesGroup]


@dataclass(frozen=True)
class TestPart:
    """One test in detail. `states`: what became of it, with the systems; [] if all measured it.
    `claims_folded` hold everywhere."""

    anchor: str
    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    states: list[tuple[str, str]]
    series: SeriesParts
    claims: list[GroupedClaim]
    claims_folded: list[GroupedClaim]
    figures: Sequence[Figure]
    published: list[str]
    notes: list[str]


def test_parts(view: CompareView, figures: Mapping[str, Sequence[Figure]]) -> list[TestPart]:
    """The parts of all tests; `figures` has the charts of each test."""
    return [
        _part(one, f"test-{number}", view, figures.get(one.test, []))
        for number, one in enumerate(view.tests, 1)
    ]


def _part(one: ComparedTest, anchor: str, view: CompareView, figures: Sequence[Figure]) -> TestPart:
    claims = [claim_groups(row, view.columns, one.states) for row in one.claims]
    is_short = len(claims) <= MOST_CLAIMS_OPEN
    is_plain = set(one.states) <= {MEASURED}
    return TestPart(
        anchor=anchor,
        test=one.test,
        title=one.title,
        about=one.about,
        category=one.category,
        moments=one.moments,
        states=[] if is_plain else grouped(one.states, view.columns),
        series=parted(groups_of(one, view)),
        claims=claims if is_short else [claim for claim in claims if not claim.is_dull],
        claims_folded=[] if is_short else [claim for claim in claims if claim.is_dull],
        figures=figures,
        published=one.published,
        notes=one.notes,
    )


def parted(groups: Sequence[SeriesGroup]) -> SeriesParts:
    """What is open and what is folded. What one system alone has is open if no other is there."""
    several = [one for one in groups if len(one.lines) > 1 or one.absent]
    alone = [one for one in groups if len(one.lines) == 1 and not one.absent]
    lines, shown = 0, 0
    for one in several:
        lines += len(one.lines) + len(one.absent) + 1
        if shown and lines > MOST_LINES_OPEN:
            break
        shown += 1
    open_alone = 0 if several else MOST_ALONE_OPEN
    return SeriesParts(several[:shown], several[shown:], alone[:open_alone], alone[open_alone:])


def by_category(tests: Sequence[TestPart]) -> list[tuple[str, list[TestPart]]]:
    """The tests of each category, in their order."""
    found: dict[str, list[TestPart]] = {}
    for one in tests:
        found.setdefault(one.category, []).append(one)
    return list(found.items())


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
    page = environment(**FILTERS).get_template("compare.html.j2")
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
        "criteria": [(stars, *said) for stars, said in view.criteria.items()],
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
