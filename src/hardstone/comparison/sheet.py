"""A comparison on paper: opening, decisive figures, conditions, tables of studies, every test,
and where figures are from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hardstone.comparison.curves import row_name, system_name
from hardstone.comparison.figures import CompareFigures, compare_figures
from hardstone.comparison.tables import clock_steps
from hardstone.comparison.view import (
    ClaimRow,
    ComparedCell,
    ComparedRow,
    ComparedTest,
    CompareView,
    SystemColumn,
)
from hardstone.figure_text import amount_text
from hardstone.files import regular_target, replace_file
from hardstone.present.stars_text import category_number, stars_number
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, pictures
from hardstone.report.sheet import Sheet, bind
from hardstone.systems.moments import QUESTIONS
from hardstone.systems.rating import Rating
from hardstone.systems.subjects import Amount, Missing, PublishedSystem
from hardstone.wording import one_line, shorten

_OF_RUNS = (
    "A figure of a run is at TEST/label values/series in that run: the heading names the test, the "
    "row the rest. To see it again: hardstone show ID TEST."
)
_OF_OTHERS = (
    "Other figures: the table of the study, or the run, that they are from, the systems by number, "
    "and their addresses."
)


def _system_rows(view: CompareView) -> list[list[str]]:
    """Each system with its ID, and the run or study that it is of."""
    rows = []
    for column in view.columns:
        origin, subject = column.study, column.subject
        if isinstance(subject, PublishedSystem):
            parts = (subject.study.author, subject.study.title, column.year)
            origin = ", ".join(filter(None, parts))
        rows.append([system_name(column), column.id, origin])
    return rows


def source_rows(view: CompareView) -> list[list[str]]:
    """Where, systems, addresses: a row for each test, with the addresses that the same systems have
    from the same place."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in (row for test in view.tests for row in test.rows):
        for column, where, address in _places(view, row):
            test = address.partition("/")[0]
            numbers = found.setdefault((where, test), {}).setdefault(address, [])
            if str(column.number) not in numbers:
                numbers.append(str(column.number))
    rows = []
    for (where, _), by_address in found.items():
        by_numbers: dict[str, list[str]] = {}
        for address, numbers in by_address.items():
            by_numbers.setdefault(", ".join(numbers), []).append(address)
        rows += [[where, text, ", ".join(addresses)] for text, addresses in by_numbers.items()]
    return rows


def _places(view: CompareView, row: ComparedRow) -> Iterator[tuple[SystemColumn, str, str]]:
    """Every place that a figure of the row is from, except the one that the row itself names."""
    for column, cell in zip(view.columns, row.cells, strict=True):
        for amount in (cell.mean, cell.worst, *cell.more.values()):
            if not isinstance(amount, Amount) or amount.place == f"{column.id} {row.address}":
                continue
            before, _, address = amount.place.partition(f"{column.id} ")
            yield column, before.strip() or column.id, address


def _stars_cell(rating: Rating) -> str:
    if rating.overall is None:
        return f"none: {shorten(rating.why_none, 80)}"
    number = stars_number(rating.overall, is_at_most=rating.is_at_most, lowest=rating.lowest)
    more = f" ({', '.join(rating.rated_as)})" if rating.rated_as else ""
    return f"{number} of 5{more}"


def _category_cell(rating: Rating, name: str) -> str:
    for one in rating.categories:
        if one.category == name:
            return category_number(one, at_most="<= ")
    return "-"


def _pair_cell(cell: ComparedCell, column: SystemColumn) -> str:
    """ "2.2 us / 10 us"; the reason once where both are missing."""
    if isinstance(cell.mean, Missing) and isinstance(cell.worst, Missing):
        return shorten(cell.worst.reason, 40)
    text = f"{_amount(cell.mean, column)} / {_amount(cell.worst, column)}"
    marks = "".join(f", {one}" for one in cell.marks)
    return f"{text}{marks}{' (grey)' if cell.is_grey or cell.worst_why else ''}"


def _amount(amount: Amount | Missing, column: SystemColumn) -> str:
    if isinstance(amount, Missing):
        return "-"
    return amount_text(amount, is_exact=column.is_published)


def _grouped_text(words: Sequence[str], columns: Sequence[SystemColumn]) -> str:
    """ "measured: 1, 2; not published: 3": systems by their numbers."""
    found: dict[str, list[str]] = {}
    for word, column in zip(words, columns, strict=True):
        found.setdefault(shorten(word, 80), []).append(str(column.number))
    return "; ".join(f"{word}: {', '.join(numbers)}" for word, numbers in found.items())


def _claim_text(claim: ClaimRow, columns: Sequence[SystemColumn]) -> str:
    words = _grouped_text([cell.word for cell in claim.cells], columns)
    failed = [
        f"{column.number}: {shorten(cell.evidence, 120)}"
        for cell, column in zip(claim.cells, columns, strict=True)
        if cell.look in ("failed", "uncounted") and cell.evidence
    ]
    return f"{claim.name}: {words}" + (f" ({'; '.join(failed)})" if failed else "")


def _remarks_on(rows: Sequence[ComparedRow], columns: Sequence[SystemColumn]) -> list[str]:
    """Why cells are grey, and notes on figures: each text once, with the systems it is of."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for cell, column in zip(row.cells, columns, strict=True):
            why = cell.why if cell.is_grey else cell.worst_why
            for text in filter(None, (why, *cell.notes)):
                numbers = found.setdefault(shorten(text, 200), [])
                if str(column.number) not in numbers:
                    numbers.append(str(column.number))
    return [f"{', '.join(numbers)}: {text}" for text, numbers in found.items()]


MOST_SERIES = 12
_ABREAST = 4
_MOST_COLUMNS = 5
_CHARTS_EACH = 6
_ROW_OF_CHARTS = 180.0
_LEAST_ROOM = 160.0
_TITLE = 52
_LABEL = 34
_READ = (
    "Each cell: average / worst. Of a published system these are the study's figures, with its own "
    "hardware and year. (grey): not comparable with the reference."
)


def render_compare_pdf(view: CompareView, *, drawer: Drawer) -> bytes:
    """The comparison as PDF."""
    figures = compare_figures(view, drawer)
    book = _Book(view)
    book.opening()
    book.tools(figures)
    book.decisive(figures)
    book.conditions()
    book.studies(figures)
    for test in view.tests:
        book.test(test, figures.by_test.get(test.test, []))
    book.sources()
    return bind(book.title, "hardstone comparison", book.sheets)


def write_compare_pdf(view: CompareView, path: Path, *, drawer: Drawer) -> None:
    """Writes the comparison to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    target = regular_target(path)
    data = render_compare_pdf(view, drawer=drawer)
    replace_file(regular_target(target), data, None, is_durable=False)


class _Book:
    """Pages that follow one another: a table that does not fit goes on on the next one."""

    def __init__(self, view: CompareView) -> None:
        self.view = view
        self.sheets: list[Sheet] = []
        first = view.columns[view.reference]
        names = [shorten(one.label, _LABEL) for one in view.columns if one is not first]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        self.title = f"{shorten(first.label, _LABEL)} compared with {', '.join(names[:2])}{more}"
        self._heading = ""

    def _page(self, heading: str) -> Sheet:
        self._heading = heading
        sheet = Sheet.headed(self.title, heading)
        self.sheets.append(sheet)
        return sheet

    def _section(self, heading: str, least: float) -> None:
        """A heading on the page, or on a new one where less room than `least` is left."""
        if not self._sheet.has_room(least):
            self._page(heading)
            return
        self._heading = heading
        self._sheet.gap(18)
        self._sheet.text(heading, 14, bold=True)
        self._sheet.gap(4)

    @property
    def _sheet(self) -> Sheet:
        return self.sheets[-1]

    def _next(self) -> None:
        going_on = ", continued"
        self._page(self._heading.removesuffix(going_on) + going_on)

    def _text(self, text: str, size: float = 8, *, colour: str = "ink") -> None:
        lines = len(one_line(text)) * size * 0.49 / 515 + 1
        if not self._sheet.has_room(lines * size * 1.35):
            self._next()
        self._sheet.text(text, size, colour=colour)

    def _table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], *, is_numeric: bool = True
    ) -> None:
        left = list(rows)
        is_fresh = False
        while left:
            placed = self._sheet.fill_table(head, left, is_numeric=is_numeric)
            left = left[placed:]
            if left and is_fresh and not placed:  # a row that is longer than a page
                return
            if left:
                self._next()
                is_fresh = True
        self._sheet.gap(6)

    def _charts(self, figures: Sequence[Figure], heading: str) -> None:
        for start in range(0, len(figures), _CHARTS_EACH):
            part = figures[start : start + _CHARTS_EACH]
            self._section(heading, _ROW_OF_CHARTS * -(-len(part) // 2))
            for about in dict.fromkeys(one.about for one in part):
                self._text(about, 7.5, colour="quiet")
            self._sheet.gap(4)
            self._drawn(part)

    def opening(self) -> None:
        """Systems with stars, what speaks for and against each, and what the stars mean."""
        view = self.view
        sheet = self._page("Comparison: how real-time are these systems?")
        rows = [
            [
                system_name(one, _LABEL) + (" (reference)" if one.is_reference else ""),
                _stars_cell(one.rating),
                one.study if one.year in one.study else f"{one.study} {one.year}".strip(),
                " ".join(filter(None, (one.hardware, one.mark))),
                one.trust or "-",
            ]
            for one in view.columns
        ]
        head = ["System", "Stars", "Study, year", "Hardware", "Trust"]
        self._table(head, rows, is_numeric=False)
        for one in view.columns:
            if one.apart:
                self._text(f"{system_name(one)} is not comparable: {one.apart}.", colour="fair")
        for one, steps in zip(view.columns, clock_steps(view.columns), strict=True):
            if steps:
                self._text(f"{system_name(one)}: {steps}.")
        for note in view.notes:
            self._text(note, colour="quiet")
        sheet.gap()
        self._categories()
        for one, points in zip(view.columns, view.points, strict=True):
            texts = [f"+ {text}" for text in points.positive]
            texts += [f"- {text}" for text in points.negative]
            if texts:
                self._text(f"{system_name(one)}: {'; '.join(texts)}")
        self._sheet.gap()
        self._table(
            ["Stars", "Configuration", "Results"],
            [(stars, *meaning) for stars, meaning in view.criteria.items()],
            is_numeric=False,
        )

    def _categories(self) -> None:
        """A row for each system, a column for each category."""
        view = self.view
        names = list(
            dict.fromkeys(
                one.category for column in view.columns for one in column.rating.categories
            )
        )
        rows = [
            [system_name(column, 20), *(_category_cell(column.rating, name) for name in names)]
            for column in view.columns
        ]
        self._table(["System", *names], rows)

    def tools(self, figures: CompareFigures) -> None:
        """Why tools disagree, what each measures, and which pairs may be compared."""
        found = self.view.tools
        if found is None:
            return
        self._section("Why these tools disagree", _LEAST_ROOM)
        for reason in found.reasons:
            self._text(reason.text)
        self._sheet.gap(4)
        head = ["System", "Figure", "From", "To", "In", "Steps", "In no bucket"]
        rows = [
            [
                *(f"{tool.number} {tool.tool}", one.question, one.begin, one.end),
                *(f"{one.thread} ({one.core})", one.resolution, one.beyond),
            ]
            for tool in found.tools
            for one in tool.figures
        ]
        self._table(head, rows, is_numeric=False)
        for tool in found.tools:
            again = [f"the same with hardstone: {tool.command}"] if tool.command else []
            for text in (*tool.machine, *tool.losses, *again):
                self._text(f"{tool.number} {tool.tool}: {text}", colour="quiet")
        self._sheet.gap(4)
        pairs = [
            [
                f"{one.first} and {one.second}",
                QUESTIONS.get(one.question, "-"),
                "yes" if one.is_same else f"no: {one.why}",
                "; ".join(one.differing),
            ]
            for one in found.pairs
        ]
        head = ["Systems", "Figure", "Same two moments", "What else differs, or is not known"]
        self._table(head, pairs, is_numeric=False)
        self._charts(figures.tools, "Figures of several tools")

    def decisive(self, figures: CompareFigures) -> None:
        """The table of the decisive figures, or of the shared ones, then their charts."""
        title = "Decisive figures" if self.view.shared is None else "Shared figures"
        self._section(title, _LEAST_ROOM)
        self._text(_READ, colour="quiet")
        self._figures(self.view.opening, [row_name(row) for row in self.view.opening])
        for one in figures.notes:
            self._text(one, colour="quiet")
        self._charts(figures.summary, f"{title} in pictures")

    def _figures(self, rows: Sequence[ComparedRow], labels: Sequence[str]) -> None:
        """Few systems are columns; of many each is a row, some series abreast."""
        columns = self.view.columns
        if len(columns) <= _MOST_COLUMNS:
            head = ["Series", *(system_name(one) for one in columns)]
            self._table(
                head,
                [
                    [
                        label,
                        *(
                            _pair_cell(cell, one)
                            for cell, one in zip(row.cells, columns, strict=True)
                        ),
                    ]
                    for label, row in zip(labels, rows, strict=True)
                ],
            )
            return
        for start in range(0, len(rows), _ABREAST):
            part = rows[start : start + _ABREAST]
            head = ["System", *labels[start : start + _ABREAST]]
            self._table(
                head,
                [
                    [system_name(one), *(_pair_cell(row.cells[place], one) for row in part)]
                    for place, one in enumerate(columns)
                ],
            )

    def conditions(self) -> None:
        """What differs, system by system; what is the same, once."""
        view = self.view
        self._section("Conditions", _LEAST_ROOM)
        same = [row for row in view.conditions if not row.differs]
        if same:
            self._text("Alike: " + "; ".join(f"{row.name} {row.cells[0]}" for row in same))
            self._sheet.gap(4)
        differing = [row for row in view.conditions if row.differs]
        for start in range(0, len(differing), _ABREAST):
            part = differing[start : start + _ABREAST]
            self._table(
                ["System", *(row.name for row in part)],
                [
                    [system_name(one), *(row.cells[place] for row in part)]
                    for place, one in enumerate(view.columns)
                ],
                is_numeric=False,
            )

    def studies(self, figures: CompareFigures) -> None:
        """The tables compared with older studies, and the curves of kernel time."""
        for table in self.view.tables:
            self._section(table.title, _LEAST_ROOM)
            self._text(table.about, colour="quiet")
            self._sheet.gap(4)
            self._table(table.columns, table.rows, is_numeric=False)
            for note in table.notes:
                self._text(note)
        self._charts(figures.kernel, "Kernel time")

    def test(self, test: ComparedTest, figures: Sequence[Figure]) -> None:
        """A page, or more, with the figures of one test."""
        self._section(": ".join(filter(None, (test.test, test.title))), _LEAST_ROOM)
        self._text(test.about)
        for name, meaning in test.moments:
            self._text(f"{name.replace('_', ' ')}: {meaning}.", colour="quiet")
        if set(test.states) != {"measured"}:
            states = _grouped_text(test.states, self.view.columns)
            self._text(f"State: {states}", colour="quiet")
        for claim in test.claims:
            self._text(_claim_text(claim, self.view.columns))
        self._sheet.gap(4)
        rows = sorted(test.rows, key=lambda row: -row.known_count)
        shown = rows[:MOST_SERIES]
        if shown:
            self._figures(shown, [row.label for row in shown])
        if len(rows) > len(shown):
            self._text(f"{len(rows) - len(shown)} more series in the HTML report.", colour="quiet")
        for line in (*test.published, *test.notes, *_remarks_on(shown, self.view.columns)):
            self._text(line)
        if figures:
            self._drawings(figures)

    def sources(self) -> None:
        """Which run or study each system is, and where figures are from that are not its own."""
        self._section("Sources", _LEAST_ROOM)
        self._table(["System", "ID", "Run or study"], _system_rows(self.view), is_numeric=False)
        self._text(_OF_RUNS, colour="quiet")
        rows = source_rows(self.view)
        if rows:
            self._text(_OF_OTHERS, colour="quiet")
            self._sheet.gap(4)
            self._table(["From", "Systems", "Figures"], rows, is_numeric=False)

    def _drawings(self, figures: Sequence[Figure]) -> None:
        if not self._sheet.has_room(_ROW_OF_CHARTS * -(-len(figures) // 2)):
            self._next()
        for about in dict.fromkeys(one.about for one in figures):
            self._text(about, 7, colour="quiet")
        self._sheet.gap(4)
        self._drawn(figures)

    def _drawn(self, figures: Sequence[Figure]) -> None:
        """Two abreast, so that pages look the same; titles keep to their column."""
        titled = [(shorten(title, _TITLE), svg) for title, svg in pictures(figures)]
        self._sheet.drawings(titled, columns=2)
