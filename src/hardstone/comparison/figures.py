"""The charts of a comparison, as many as a page can hold, and words on what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hardstone.comparison import charts
from hardstone.comparison.charts import (
    AVERAGE,
    MOST_OVERLAID,
    WORST,
    Amounts,
    Kind,
    Standard,
)
from hardstone.comparison.curves import (
    WHO,
    Place,
    course_figure,
    curves_of,
    exceedance_figure,
    histogram_figure,
    kernel_figures,
    measured_cells,
    row_name,
    shift_figure,
    standards_for,
    system_figure,
    system_name,
    who,
)
from hardstone.comparison.sizes import SIZES
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    ComparedTest,
    CompareView,
    SystemColumn,
)
from hardstone.figure_text import amount_text
from hardstone.model import Unit
from hardstone.report.chart_frame import unit_title
from hardstone.report.drawing import Drawer
from hardstone.report.figures import ChartTable, Figure, Value
from hardstone.systems.subjects import Amount, Missing
from hardstone.wording import is_rate, shorten

_REASON_CHARACTERS = 30
_KIND_CHARACTERS = 46
_ABOUT = "Above: average, below: worst{least}. The axis is logarithmic and does not start at zero."
_HOLLOW = " Hollow: only a bound is published, and the value lies below it."
_BEYOND = " Triangle to the right: the value lies above."
_GREY = " Grey: not comparable with the reference."
_EQUALS = (
    ' "= tick": the worst exceeds the average by the tick\'s duration, within 20 %: a tick may '
    "explain it."
)
_DOTS = (
    "Worst over mean: the further left, the more predictable. More values usually show a larger "
    "worst: compare the counts first."
)


def _has_pair(row: ComparedRow) -> bool:
    """Whether any system has an average or a worst. A size of a sweep is neither."""
    if any(cell.worst_name in SIZES for cell in row.cells):
        return False
    return any(isinstance(one, Amount) for cell in row.cells for one in (cell.mean, cell.worst))


def pair_figure(
    row: ComparedRow,
    columns: Sequence[SystemColumn],
    standards: Sequence[Standard],
    name: str,
    drawer: Drawer,
) -> Figure:
    """A pair of dots for each system, published ones too."""
    pairs = zip(columns, row.cells, strict=True)
    found = [one for column, cell in pairs for one in _pair(column, cell)]
    title = row_name(row)
    spec = charts.pair_chart(
        found,
        row.unit,
        {"ns": "duration", "count": "count", "bytes_per_s": "throughput"}[row.unit],
        standards_for(row, standards),
    )
    spoken = [
        f"{column.number} {shorten(column.label)}: {_spoken_cell(cell)}"
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    return system_figure(
        name,
        f"{title}: average and worst",
        _about(found, row.unit),
        f"Average and worst, {title}. {'; '.join(spoken)}.",
        spec,
        _pair_table(row, columns),
        drawer,
    )


def _amount(cell: ComparedCell, which: str) -> Amount | Missing:
    return cell.mean if which == AVERAGE else cell.worst


def _is_grey(cell: ComparedCell, which: str) -> bool:
    return cell.is_grey or (which == WORST and bool(cell.worst_why))


def _pair(column: SystemColumn, cell: ComparedCell) -> list[Amounts]:
    mean, worst, name = cell.mean, cell.worst, system_name(column)
    if isinstance(mean, Missing) and isinstance(worst, Missing) and mean.reason == worst.reason:
        reason = shorten(worst.reason, _REASON_CHARACTERS)
        return [Amounts(name, AVERAGE, "nothing", None, reason)]
    found = []
    for which in (AVERAGE, WORST):
        amount = _amount(cell, which)
        if isinstance(amount, Missing):
            if column.is_published and which == AVERAGE:
                continue  # a study that has a worst alone: the words would cover its mark
            reason = shorten(amount.reason, _REASON_CHARACTERS)
            found.append(Amounts(name, which, "missing", None, reason))
            continue
        kind, end = _kind(amount)
        text = amount_text(amount, is_exact=column.is_published)
        if which == WORST and cell.marks:
            text += " = tick" if any("tick" in one for one in cell.marks) else " *"
        found.append(Amounts(name, which, kind, end, text, _is_grey(cell, which)))
    return found


def _kind(amount: Amount) -> tuple[Kind, float | None]:
    if amount.value is not None:
        return "value", amount.value
    return ("below", amount.below) if amount.below is not None else ("above", amount.above)


def _about(found: Sequence[Amounts], unit: Unit) -> str:
    about = _ABOUT.format(least=", which is the least" if is_rate(unit) else " observed")
    kinds = {one.kind for one in found}
    about += _HOLLOW if "below" in kinds else ""
    about += _BEYOND if "above" in kinds else ""
    about += _GREY if any(one.is_grey for one in found) else ""
    about += _EQUALS if any(one.text.endswith("= tick") for one in found) else ""
    return about + (" *: see the table." if any(one.text.endswith(" *") for one in found) else "")


def _spoken_cell(cell: ComparedCell) -> str:
    if isinstance(cell.mean, Missing) and isinstance(cell.worst, Missing):
        return shorten(cell.worst.reason, _REASON_CHARACTERS)
    texts = []
    for which in (AVERAGE, WORST):
        one = _amount(cell, which)
        if isinstance(one, Missing):
            texts.append(f"{which} {shorten(one.reason, _REASON_CHARACTERS)}")
        else:
            texts.append(f"{which} {amount_text(one)}")
    texts += map(shorten, cell.marks)
    if cell.is_grey:
        texts.append(shorten(f"not comparable, {cell.why}", 80))
    elif cell.worst_why:
        texts.append(shorten(f"worst not comparable, {cell.worst_why}", 80))
    return ", ".join(texts)


def _pair_table(row: ComparedRow, columns: Sequence[SystemColumn]) -> ChartTable:
    value = unit_title("value", row.unit)
    head = [*WHO, "series", "figure", value, "bound", "missing", "not comparable", "remarks"]
    rows: list[list[Value]] = []
    for column, cell in zip(columns, row.cells, strict=True):
        for which in (AVERAGE, WORST):
            amount = _amount(cell, which)
            remarks = "; ".join([*cell.marks, *cell.notes])
            grey = (cell.why or cell.worst_why) if _is_grey(cell, which) else ""
            if isinstance(amount, Missing):
                figure: list[Value] = [None, "", amount.reason, grey, remarks, ""]
            else:
                kind, end = _kind(amount)
                remarks = "; ".join([*filter(None, [remarks]), *amount.notes])
                bound = "" if kind == "value" else kind
                figure = [end, bound, "", grey, remarks, amount.source]
            rows.append([*who(column), row.address, which, *figure])
    return ChartTable([*head, "source"], rows)


def _spread_figure(view: CompareView, drawer: Drawer) -> Figure | None:
    """Worst over mean of the decisive rows; None where no system has both."""
    dots = []
    rows: list[list[Value]] = []
    shown, left_out = _spread_rows(view)
    for row in shown:
        for column, cell in zip(view.columns, row.cells, strict=True):
            if cell.predictability is None:
                continue
            is_grey = _is_grey(cell, WORST)
            kind = row_name(row, _KIND_CHARACTERS)
            dots.append(charts.Dot(system_name(column), kind, cell.predictability, is_grey))
            source = cell.worst.source if isinstance(cell.worst, Amount) else ""
            rows.append([*who(column), row.address, cell.predictability, source])
    if not dots:
        return None
    names = [system_name(column) for column in view.columns]
    spoken = [
        f"{name}: {'; '.join(ratios)}"
        for name in names
        if (ratios := [f"{one.kind} {one.ratio:.3g}" for one in dots if one.name == name])
    ]
    return system_figure(
        "chart-predictability",
        "Predictability: worst over mean",
        _DOTS + left_out + (_GREY if any(one.is_grey for one in dots) else ""),
        f"Worst over mean. {'. '.join(spoken)}.",
        charts.spread_chart(dots, names),
        ChartTable([*WHO, "series", "worst over mean", "source"], rows),
        drawer,
    )


def _spread_rows(view: CompareView) -> tuple[list[ComparedRow], str]:
    """The rows with dots, those of most systems: as many as differ in colour and shape; and a
    sentence on the others."""
    known = {
        row.address: sum(cell.predictability is not None for cell in row.cells)
        for row in view.opening
        if not is_rate(row.unit)
    }
    chosen = sorted(known, key=lambda address: -known[address])[: charts.MOST_KINDS]
    count = sum(1 for address in known if known[address] and address not in chosen)
    what = "decisive figures" if view.shared is None else "shared figures"
    left_out = f" {count} more {what}: see the tables." if count else ""
    return [row for row in view.opening if row.address in chosen], left_out


# A cost of 1 is a chart of one panel, about 40 ms; one of twenty panels takes as long as four.
_MOST_COST = 96
LEAST_COST = 68
_FEW_COST = 260  # of up to _FEW_SYSTEMS: the battery has no more charts
_FEW_SYSTEMS = 3
_COST_OF_SYSTEM = 3  # for the time that loading and comparing it takes
_PANELS_COST = 4
_KEPT_FOR_CURVES = 16
_MOST_NAMED = 6
_MOST_TWICE = 8  # systems: charts of more are large, and stand in the summary alone
_FIRST = "TMR-P-LAT"  # of the decisive tests, if there is no room for the curves of all
_ALONE = "Curves of decisive figures only; the report of each run has all."
_LEFT_OUT = "Not drawn for so many systems: {}. Compare two or three to see them."
_LEAST_SYSTEMS = 2
_YARDSTICK_CHARACTERS = 44
_CURVES: tuple[tuple[str, Callable[[Place], Figure | None]], ...] = (
    ("exceedance curves", exceedance_figure),
    ("shift functions", shift_figure),
    ("values over time", course_figure),
    ("histograms", histogram_figure),
)


@dataclass(frozen=True)
class CompareFigures:
    """`summary`: the decisive figures. `tools`: curves of figures that different tools measured.
    `by_test` has the figures of one row of each test, which is the decisive one where there is one.
    `notes` say what was left out."""

    summary: list[Figure]
    by_test: dict[str, list[Figure]]
    kernel: list[Figure]
    notes: list[str] = field(default_factory=list)
    tools: list[Figure] = field(default_factory=list)

    def all(self) -> list[Figure]:
        """Every figure once: pictures of the summary stand with their tests again."""
        found = [
            *self.tools,
            *self.summary,
            *(one for of in self.by_test.values() for one in of),
            *self.kernel,
        ]
        return list({id(one.drawing): one for one in found}.values())


def compare_figures(view: CompareView, drawer: Drawer) -> CompareFigures:
    """The pictures of `view`, the most telling first: all for few systems, for more as many as a
    page can hold."""
    return BegunFigures(view, drawer).finished(view)


class BegunFigures:
    """The pictures that need only decisive figures and kernel time: other processes draw them
    while the rest is compared. `view` may have nothing else yet."""

    def __init__(self, view: CompareView, drawer: Drawer) -> None:
        self._maker = _Maker(view, drawer)
        self._summary = self._maker.summary()
        self.tools = self._maker.of_tools()
        self._kernel = kernel_figures(view, drawer)
        self._spread = _spread_figure(view, drawer)

    def finished(self, view: CompareView) -> CompareFigures:
        """With the pictures of each test, as many as there is room for."""
        maker, kernel = self._maker, self._kernel
        maker.view = view
        maker.spent += sum(_PANELS_COST if "facet" in one.drawing.spec else 1 for one in kernel)
        by_test = maker.of_tests(self._summary)
        shown = [figure for _, figure in self._summary] + ([self._spread] if self._spread else [])
        return CompareFigures(shown, by_test, kernel, maker.notes(), self.tools)


def shown_row(test: ComparedTest, decisive: Sequence[ComparedRow]) -> ComparedRow | None:
    """The row of a test that is drawn: a decisive one, else the one that most systems have and,
    of these, the one with the largest worst. None where fewer than two systems have a figure."""
    rows = [row for row in test.rows if row.known_count >= _LEAST_SYSTEMS and _has_pair(row)]
    wanted = {row.address for row in decisive}
    chosen = [row for row in rows if row.address in wanted] or rows
    return max(chosen, key=lambda row: (row.known_count, _largest(row)), default=None)


def _largest(row: ComparedRow) -> float:
    ends = [getattr(cell.worst, "lowest", 0.0) for cell in row.cells]
    return max(ends, default=0.0)


def standards_of(view: CompareView) -> list[Standard]:
    """The yardsticks of a comparison; the page names their source."""
    found = []
    for one in view.yardsticks:
        text = one.text.partition(" (")[0].partition(" [")[0]
        found.append(Standard(float(one.value_ns), shorten(text, _YARDSTICK_CHARACTERS)))
    return found


@dataclass
class _Maker:
    """Makes figures until the page is full; `spent` is what those so far cost."""

    view: CompareView
    drawer: Drawer
    spent: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.standards = standards_of(self.view)

    def summary(self) -> list[tuple[ComparedRow, Figure]]:
        """A pair of dots for each decisive figure."""
        found = []
        for number, row in enumerate(self.view.opening, 1):
            if _has_pair(row):
                found.append((row, self._pair(row, f"chart-summary-{number}")))
        self.spent += len(found)
        return found

    def of_tools(self) -> list[Figure]:
        """The distributions of each figure that different tools measured."""
        rows = [row for row in self.view.decisive if row.question] if self.view.tools else []
        found = []
        for number, row in enumerate(rows, 1):
            curves = curves_of(row, self.view.columns)
            name = f"chart-tools-{number}"
            place = Place(row, curves, self.standards, name, self.drawer, self.view.columns)
            drawn = [exceedance_figure(place), shift_figure(place)]
            found += [one for one in drawn if one is not None]
        self.spent += len(found)
        return found

    def of_tests(self, summary: Sequence[tuple[ComparedRow, Figure]]) -> dict[str, list[Figure]]:
        """Dots of each test first, then curves, the tests of the summary first."""
        again = {row.address: figure for row, figure in summary}
        rows = {
            test.test: (row, f"chart-{number}-{_anchor(test.test)}")
            for number, test in enumerate(self.view.tests, 1)
            if (row := shown_row(test, self.view.opening)) is not None
        }
        found: dict[str, list[Figure]] = {test: [] for test in rows}
        for test, (row, name) in rows.items():
            if row.address in again and len(self.view.columns) > _MOST_TWICE:
                continue
            if row.address in again:
                found[test].append(replace(again[row.address], id=f"{name}-pair"))
            elif self._has_room(1, "average and worst", test, _KEPT_FOR_CURVES):
                found[test].append(self._pair(row, f"{name}-pair"))
        for test, figure in self._curves(rows, set(again)):
            found[test].append(figure)
        return {test: figures for test, figures in found.items() if figures}

    def _curves(
        self, rows: dict[str, tuple[ComparedRow, str]], decisive: set[str]
    ) -> Iterator[tuple[str, Figure]]:
        places: dict[str, Place] = {}
        in_order = sorted(
            rows, key=lambda test: (rows[test][0].address not in decisive, test != _FIRST)
        )
        # One test has every kind, also where there is little room.
        of_first = [(one, test) for test in in_order[:1] for one in _CURVES]
        of_others = [(one, test) for one in _CURVES for test in in_order[1:]]
        for (kind, make), test in of_first + of_others:
            row, name = rows[test]
            count = len(measured_cells(row, self.view.columns))
            is_alone = count == 1 and row.address not in decisive
            if not count or is_alone or not self._has_room(_cost(count), kind, test):
                continue
            if test not in places:
                curves = curves_of(row, self.view.columns)
                places[test] = Place(
                    row, curves, self.standards, name, self.drawer, self.view.columns
                )
            figure = make(places[test])
            if figure is None:
                self.spent -= _cost(count)
            else:
                yield test, figure

    def _pair(self, row: ComparedRow, name: str) -> Figure:
        return pair_figure(row, self.view.columns, self.standards, name, self.drawer)

    def _has_room(self, cost: int, kind: str, test: str, kept: int = 0) -> bool:
        count = len(self.view.columns)
        most = max(_MOST_COST - _COST_OF_SYSTEM * count, LEAST_COST)
        most = _FEW_COST if count <= _FEW_SYSTEMS else most
        if self.spent + cost > most - kept:
            self.left_out.setdefault(kind, []).append(test)
            return False
        self.spent += cost
        return True

    def notes(self) -> list[str]:
        """What the page has no room for, in words."""
        found = []
        if sum(1 for column in self.view.columns if not column.is_published) == 1:
            found.append(_ALONE)
        kinds = []
        for kind, tests in self.left_out.items():
            more = len(tests) - _MOST_NAMED
            names = ", ".join(tests[:_MOST_NAMED])
            kinds.append(f"{kind} of {names}" + (f" and {more} more" if more > 0 else ""))
        if kinds:
            found.append(_LEFT_OUT.format("; ".join(kinds)))
        return found


def _cost(curves: int) -> int:
    return _PANELS_COST if curves > MOST_OVERLAID else 1


def _anchor(text: str) -> str:
    """`text` as a part of an ID: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "x"
