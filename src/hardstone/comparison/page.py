"""The comparison of 2 to 20 systems as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from hardstone.comparison.cells import (
    FILTERS,
    MEASURED,
    NAMED_SYSTEMS,
    SeriesGroup,
    common_remarks,
    groups_of,
    why_grey,
)
from hardstone.comparison.figures import CompareFigures
from hardstone.comparison.tables import clock_steps
from hardstone.comparison.tools import unrelated
from hardstone.comparison.view import (
    ClaimRow,
    CompareView,
    Disagreement,
    Look,
    SystemColumn,
    SystemTool,
    ToolFigure,
    ToolPair,
)
from hardstone.figure_text import ShownFigure, shown_figure
from hardstone.model import FORMULA
from hardstone.report.figures import CHART_CONFIG, Figure
from hardstone.report.page_frame import environment, head_parts, load_bundle, write_page
from hardstone.stats.conditions import NOT_KNOWN
from hardstone.systems.moments import QUESTIONS
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount
from hardstone.wording import numbers_text, shorten


@dataclass(frozen=True)
class _DecisiveCell:
    """`note` is the letter of the reason why it may not be compared."""

    mean: ShownFigure
    worst: ShownFigure
    marks: list[str]
    note: str


@dataclass(frozen=True)
class _DecisiveColumn:
    """A decisive test; `anchor` is its part of the page. A cell for each system. `common` has the
    marks of all of them."""

    test: str
    label: str
    anchor: str
    common: list[str]
    cells: list[_DecisiveCell]


@dataclass(frozen=True)
class _DecisiveTable:
    """`reasons`: the letters of the cells, and why these may not be compared."""

    columns: list[_DecisiveColumn]
    reasons: list[tuple[str, str]]


def _decisive_table(view: CompareView, anchors: Mapping[str, str]) -> _DecisiveTable:
    """`anchors` has the part of the page of each test."""
    letters: dict[str, str] = {}
    columns = []
    for row in view.opening:
        test = row.address.split("/")[0]
        known = [cell for cell in row.cells if isinstance(cell.worst, Amount)]
        common = common_remarks(known, "marks")
        cells = []
        for column, cell in zip(view.columns, row.cells, strict=True):
            why = why_grey(cell)
            if why and why not in letters:
                letters[why] = _letters(len(letters))
            cells.append(
                _DecisiveCell(
                    mean=shown_figure(cell.mean, is_exact=column.is_published),
                    worst=shown_figure(cell.worst, is_exact=column.is_published),
                    marks=[mark for mark in cell.marks if mark not in common],
                    note=letters.get(why, ""),
                )
            )
        columns.append(_DecisiveColumn(test, row.label, anchors.get(test, ""), common, cells))
    return _DecisiveTable(columns, [(letter, why) for why, letter in letters.items()])


def _letters(number: int) -> str:
    """ "a" for 0, "b" for 1, ... "z", "aa"."""
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letters(rest - 1) if rest else "") + ascii_lowercase[last]


@dataclass(frozen=True)
class _ClaimGroup:
    """The systems with one outcome of a claim; `evidence` has (systems, words)."""

    word: str
    look: Look
    systems: str
    evidence: list[tuple[str, str]]


@dataclass(frozen=True)
class _GroupedClaim:
    name: str
    claim: str
    groups: list[_ClaimGroup]

    @property
    def is_dull(self) -> bool:
        """Whether it holds wherever it is known."""
        return {one.look for one in self.groups} <= {"passed", "quiet"}


@dataclass(frozen=True)
class _ConditionPart:
    """Conditions side by side. `same` has those that are the same everywhere; `cells` has
    those that differ, system by system, or by value (`by_value`) where there are many systems."""

    same: list[tuple[str, str]]
    cells: list[tuple[str, list[str]]]
    by_value: list[tuple[str, list[tuple[str, str]]]]


def _who(columns: Sequence[SystemColumn], places: Iterable[int]) -> str:
    """Some systems by number: with their names if there are few, else "1, 3 to 7". Names have
    commas, so semicolons part them."""
    chosen = [columns[place] for place in places]
    if len(columns) <= NAMED_SYSTEMS:
        return "; ".join(f"{one.number} {shorten(one.label, 40)}" for one in chosen)
    return numbers_text([one.number for one in chosen])


def _grouped(cells: Sequence[str], columns: Sequence[SystemColumn]) -> list[tuple[str, str]]:
    """Each text with the systems that have it, in the order of the systems."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(cells):
        places.setdefault(text, []).append(place)
    return [(text, _who(columns, found)) for text, found in places.items()]


def _claim_groups(
    row: ClaimRow, columns: Sequence[SystemColumn], states: Sequence[str]
) -> _GroupedClaim:
    """A claim with the systems by outcome, failures first. Where a cell only repeats what became
    of the whole test (`states`), it is left out."""
    places: dict[tuple[str, Look], list[int]] = {}
    for place, (cell, state) in enumerate(zip(row.cells, states, strict=True)):
        if cell.word != state:
            places.setdefault((cell.word, cell.look), []).append(place)
    groups = [
        _ClaimGroup(word, look, _who(columns, found), _evidence(row, found, columns))
        for (word, look), found in places.items()
    ]
    return _GroupedClaim(row.name, row.claim, sorted(groups, key=lambda one: one.look != "failed"))


def _evidence(
    row: ClaimRow, places: Sequence[int], columns: Sequence[SystemColumn]
) -> list[tuple[str, str]]:
    found: dict[str, list[int]] = {}
    for place in places:
        if row.cells[place].evidence:
            found.setdefault(row.cells[place].evidence, []).append(place)
    return [(_who(columns, one), text) for text, one in found.items()]


def _condition_part(view: CompareView) -> _ConditionPart:
    same = [(one.name, one.cells[0]) for one in view.conditions if not one.differs]
    differing = [one for one in view.conditions if one.differs]
    if len(view.columns) > NAMED_SYSTEMS:
        by_value = [(one.name, _grouped(one.cells, view.columns)) for one in differing]
        return _ConditionPart(same, cells=[], by_value=by_value)
    return _ConditionPart(same, cells=[(one.name, one.cells) for one in differing], by_value=[])


_MOST_LINES_OPEN = 40
_MOST_ALONE_OPEN = 12
_MOST_CLAIMS_OPEN = 4


@dataclass(frozen=True)
class _SeriesParts:
    """The series of a test: those of several systems and those that one alone has, each with a
    part that is folded."""

    several: list[SeriesGroup]
    several_folded: list[SeriesGroup]
    alone: list[SeriesGroup]
    alone_folded: list[SeriesGroup]


@dataclass(frozen=True)
class _TestPart:
    """One test in detail. `states`: what became of it, with the systems; [] if all measured it.
    `claims_folded` hold everywhere."""

    anchor: str
    test: str
    title: str
    about: str
    category: str
    moments: list[tuple[str, str]]
    states: list[tuple[str, str]]
    series: _SeriesParts
    claims: list[_GroupedClaim]
    claims_folded: list[_GroupedClaim]
    figures: Sequence[Figure]
    published: list[str]
    notes: list[str]


def _test_parts(view: CompareView, figures: Mapping[str, Sequence[Figure]]) -> list[_TestPart]:
    """The parts of all tests; `figures` has the charts of each test."""
    parts = []
    for number, one in enumerate(view.tests, 1):
        claims = [_claim_groups(row, view.columns, one.states) for row in one.claims]
        is_short = len(claims) <= _MOST_CLAIMS_OPEN
        is_measured_by_all = set(one.states) <= {MEASURED}
        parts.append(
            _TestPart(
                anchor=f"test-{number}",
                test=one.test,
                title=one.title,
                about=one.about,
                category=one.category,
                moments=one.moments,
                states=[] if is_measured_by_all else _grouped(one.states, view.columns),
                series=_parted(groups_of(one, view)),
                claims=[claim for claim in claims if is_short or not claim.is_dull],
                claims_folded=[claim for claim in claims if claim.is_dull and not is_short],
                figures=figures.get(one.test, []),
                published=one.published,
                notes=one.notes,
            )
        )
    return parts


def _parted(groups: Sequence[SeriesGroup]) -> _SeriesParts:
    """What is open and what is folded. What one system alone has is open if no other is there."""
    several = [one for one in groups if len(one.lines) > 1 or one.absent]
    alone = [one for one in groups if len(one.lines) == 1 and not one.absent]
    lines, shown = 0, 0
    for one in several:
        lines += len(one.lines) + len(one.absent) + 1
        if shown and lines > _MOST_LINES_OPEN:
            break
        shown += 1
    open_alone = 0 if several else _MOST_ALONE_OPEN
    return _SeriesParts(several[:shown], several[shown:], alone[:open_alone], alone[open_alone:])


def _by_category(tests: Sequence[_TestPart]) -> list[tuple[str, list[_TestPart]]]:
    """The tests of each category, in their order."""
    found: dict[str, list[_TestPart]] = {}
    for one in tests:
        found.setdefault(one.category, []).append(one)
    return list(found.items())


@dataclass(frozen=True)
class _ToolCell:
    """`differs`: another text than that of the reference."""

    texts: list[str]
    differs: bool = False


@dataclass(frozen=True)
class _ToolRow:
    name: str
    cells: list[_ToolCell]


@dataclass(frozen=True)
class _ToolGroup:
    title: str
    rows: list[_ToolRow]


@dataclass(frozen=True)
class _ToolsPart:
    """What each tool measures, system by system; which pairs may be compared, in words.
    `unrelated`: pairs that answer no question in common."""

    reasons: list[Disagreement]
    groups: list[_ToolGroup]
    pairs: list[ToolPair]
    unrelated: list[str]
    figures: Sequence[Figure]


_FIGURE_ROWS: tuple[tuple[str, Callable[[ToolFigure], str]], ...] = (
    ("Begin", lambda one: one.begin),
    ("End", lambda one: one.end),
    ("In", lambda one: f"{one.thread}{_scheduled_by(one)}"),
    ("Steps of its values", lambda one: one.resolution),
    ("Values in no bucket", lambda one: one.beyond),
    ("Series", lambda one: one.address),
)


def _scheduled_by(one: ToolFigure) -> str:
    return "" if one.core == NOT_KNOWN else f", scheduled by {one.core}"


def _tools_part(view: CompareView, figures: Sequence[Figure]) -> _ToolsPart | None:
    """None where hardstone measured every run."""
    found = view.tools
    if found is None:
        return None
    questions = dict.fromkeys(one.question for tool in found.tools for one in tool.figures)
    tools = [[f"{one.tool}, {one.package}" if one.package else one.tool] for one in found.tools]
    pairs = [
        replace(one, question=_sentence(QUESTIONS[one.question]))
        for one in found.pairs
        if one.question
    ]
    return _ToolsPart(
        found.reasons,
        [
            _ToolGroup("", [_tool_row("Tool", tools)]),
            *(_figure_group(one, found.tools, view.reference) for one in questions),
            _ToolGroup(
                "What the tool does, and what its file does not say",
                [
                    _tool_row("The tool", [one.machine for one in found.tools]),
                    _tool_row("Its file", [one.losses for one in found.tools]),
                    _tool_row(
                        "With hardstone", [[one.command] * bool(one.command) for one in found.tools]
                    ),
                ],
            ),
        ],
        pairs,
        [f"No figure in common: {text}." for text in unrelated(found)],
        figures,
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figure_group(question: str, tools: Sequence[SystemTool], reference: int) -> _ToolGroup:
    found = [
        next((one for one in tool.figures if one.question == question), None) for tool in tools
    ]
    rows = []
    for name, text_of in _FIGURE_ROWS:
        texts = [[text_of(one)] if one else [] for one in found]
        is_compared = name in ("Begin", "End", "In")
        rows.append(_tool_row(name, texts, reference if is_compared else None))
    return _ToolGroup(_sentence(QUESTIONS[question]), rows)


def _tool_row(name: str, texts: Sequence[list[str]], reference: int | None = None) -> _ToolRow:
    against = texts[reference] if reference is not None else []
    cells = [_ToolCell(one or ["-"], bool(one and against and one != against)) for one in texts]
    return _ToolRow(name, cells)


_MOST_IN_TITLE = 3


def render_compare(
    view: CompareView,
    figures: CompareFigures | None = None,
    *,
    bundle: Callable[[], str | None] = load_bundle,
) -> str:
    """The comparison as HTML text.

    `bundle` returns the scripts for interactive charts; if None, charts are static.
    """
    script = bundle()
    context = _context(view, figures or CompareFigures([], {}, []), is_live=script is not None)
    page = environment(**FILTERS).get_template("compare.html.j2")
    return page.render(
        steps=[
            f"{one.number} {text}"
            for one, text in zip(view.columns, clock_steps(view.columns), strict=True)
            if text
        ],
        **context,
        **head_parts(script, styles=("compare.css",), scripts=("compare.js",)),
    )


def write_compare(
    view: CompareView,
    path: Path,
    figures: CompareFigures | None = None,
    *,
    bundle: Callable[[], str | None] = load_bundle,
) -> None:
    """Writes the comparison to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    write_page(path, lambda: render_compare(view, figures, bundle=bundle))


def _context(view: CompareView, figures: CompareFigures, *, is_live: bool) -> dict[str, Any]:
    tests = _test_parts(view, figures.by_test)
    return {
        "title": _title(view),
        "columns": view.columns,
        "reference": view.columns[view.reference],
        "choices": _choices(view),
        "named_systems": NAMED_SYSTEMS,
        "is_wide": len(view.columns) > NAMED_SYSTEMS,
        "formula": FORMULA,
        "categories": list(
            dict.fromkeys(
                one.category for column in view.columns for one in column.rating.categories
            )
        ),
        "stars_of": _stars_of,
        "tools": _tools_part(view, figures.tools),
        "has_decisive": view.shared is None,
        "decisive": _decisive_table(view, {one.test: one.anchor for one in tests}),
        "points": list(zip(view.columns, view.points, strict=True)),
        "criteria": [(stars, *meaning) for stars, meaning in view.criteria.items()],
        "conditions": _condition_part(view),
        "tables": view.tables,
        "tests": tests,
        "by_category": _by_category(tests),
        "notes": view.notes,
        "yardsticks": view.yardsticks,
        "summary": figures.summary,
        "not_drawn": figures.notes,
        "kernel": figures.kernel,
        "contents": [
            *([("tools", "Why these tools disagree")] if view.tools else []),
            ("overview", "Overview"),
            ("why", "Stars: criteria and reasons"),
            ("systems", "Systems and conditions"),
            *((one.anchor, one.title) for one in view.tables),
            *([("kernel-time", "Kernel time")] if figures.kernel else []),
            ("tests", "Every test"),
            ("reading", "How to read"),
        ],
        "chart_config": CHART_CONFIG if is_live else None,
    }


def _title(view: CompareView) -> str:
    names = [shorten(one.label, 40) for one in view.columns[:_MOST_IN_TITLE]]
    more = len(view.columns) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _choices(view: CompareView) -> list[SystemColumn]:
    """Systems that can be the reference in the page: those that may be compared with the reference
    of the command may be compared with each other. A published system has no median."""
    return [one for one in view.columns if one.is_reference or not (one.is_published or one.apart)]


def _stars_of(rating: Rating, category: str) -> tuple[float | None, bool, str, float | None]:
    """What the macro `stars` takes."""
    for one in rating.categories:
        if one.category == category:
            return one.stars, one.is_at_most, "", one.lowest_stars
    return None, False, "", None
