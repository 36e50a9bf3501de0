"""The pictures of a comparison, as many as a page can hold, and words on what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from hardstone.compare.view import ComparedRow, ComparedTest, CompareView
from hardstone.present.wording import shorten
from hardstone.report.charts.system_style import MOST_OVERLAID, Standard
from hardstone.report.curve_figures import (
    course_figure,
    exceedance_figure,
    histogram_figure,
    shift_figure,
)
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure
from hardstone.report.kernel_curves import kernel_figures
from hardstone.report.pair_figures import has_pair, pair_figure, spread_figure
from hardstone.report.system_curves import Place, curves_of
from hardstone.report.system_figure import anchor_of, measured_cells

# In charts of one panel, each about 40 ms: one of twenty panels takes as long as four.
MOST_COST = 96
LEAST_COST = 68
FEW_COST = 260  # of up to _FEW_SYSTEMS: the battery has no more charts
_FEW_SYSTEMS = 3
_COST_OF_SYSTEM = 3  # for the time that loading and comparing it takes
_PANELS_COST = 4
_KEPT_FOR_CURVES = 16
_MOST_TOLD = 6
_MOST_TWICE = 8  # systems: bars of more are large, and stand in the summary alone
_FIRST = "TMR-P-LAT"  # of the decisive tests, if there is no room for the curves of all
_ALONE = "Curves of decisive figures only: the report of the run has those of all tests."
_LEFT_OUT = "Not drawn, so that the page stays small: {}. A comparison of two or three has them."
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
    """`summary`: the decisive figures. `by_test` has the figures of one row of each test, which is
    the decisive one where there is one. `notes` say what was left out."""

    summary: list[Figure]
    by_test: dict[str, list[Figure]]
    kernel: list[Figure]
    notes: list[str] = field(default_factory=list)

    def all(self) -> list[Figure]:
        """Every figure once: pictures of the summary stand with their tests again."""
        found = [*self.summary, *(one for of in self.by_test.values() for one in of), *self.kernel]
        return list({id(one.drawing): one for one in found}.values())


def compare_figures(view: CompareView, drawer: Drawer, *, live: bool) -> CompareFigures:
    """The pictures of `view`, the most telling first: of few systems all, of more as many as
    MOST_COST allows."""
    return BegunFigures(view, drawer, live=live).finished(view)


class BegunFigures:
    """The pictures that need decisive figures and kernel time only: they are drawn in other
    processes while the rest is compared. `view` may have nothing else yet."""

    def __init__(self, view: CompareView, drawer: Drawer, *, live: bool) -> None:
        self._maker = _Maker(view, drawer, live)
        self._summary = self._maker.summary()
        self._kernel = kernel_figures(view, drawer, live=live)
        self._spread = spread_figure(view, drawer, live=live)

    def finished(self, view: CompareView) -> CompareFigures:
        """With the pictures of each test, as many as there is room for."""
        maker, kernel = self._maker, self._kernel
        maker.view = view
        maker.spent += sum(_PANELS_COST if "facet" in one.drawing.spec else 1 for one in kernel)
        by_test = maker.of_tests(self._summary)
        shown = [figure for _, figure in self._summary] + ([self._spread] if self._spread else [])
        return CompareFigures(shown, by_test, kernel, maker.notes())


def shown_row(test: ComparedTest, decisive: Sequence[ComparedRow]) -> ComparedRow | None:
    """The row of a test that is drawn: a decisive one, else the one that most systems have, of
    these that with the largest worst. None where fewer than two systems have a figure."""
    rows = [row for row in test.rows if _known(row) >= _LEAST_SYSTEMS and has_pair(row)]
    wanted = {row.address for row in decisive}
    chosen = [row for row in rows if row.address in wanted] or rows
    return max(chosen, key=lambda row: (_known(row), _largest(row)), default=None)


def _known(row: ComparedRow) -> int:
    return sum(1 for cell in row.cells if cell.held is not None)


def _largest(row: ComparedRow) -> float:
    ends = [getattr(cell.worst, "lowest", 0.0) for cell in row.cells]
    return max(ends, default=0.0)


@dataclass
class _Maker:
    """Makes figures until the page is full; `spent` is what those so far cost."""

    view: CompareView
    drawer: Drawer
    live: bool
    spent: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.standards = [
            Standard(float(one.value_ns), _short(one.text)) for one in self.view.yardsticks
        ]

    def summary(self) -> list[tuple[ComparedRow, Figure]]:
        """A pair of bars for each decisive figure."""
        found = []
        for number, row in enumerate(self.view.decisive, 1):
            if has_pair(row):
                found.append((row, self._pair(row, f"chart-summary-{number}")))
        self.spent += len(found)
        return found

    def of_tests(self, summary: Sequence[tuple[ComparedRow, Figure]]) -> dict[str, list[Figure]]:
        """Bars of each test first, then curves, the tests of the summary first."""
        again = {row.address: figure for row, figure in summary}
        rows = {
            test.test: (row, f"chart-{number}-{anchor_of(test.test)}")
            for number, test in enumerate(self.view.tests, 1)
            if (row := shown_row(test, self.view.decisive)) is not None
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
            place = places.get(test) or self._place(row, name)
            places[test] = place
            figure = make(place)
            if figure is None:
                self.spent -= _cost(count)
            else:
                yield test, figure

    def _place(self, row: ComparedRow, name: str) -> Place:
        curves = curves_of(row, self.view.columns)
        return Place(row, curves, self.standards, name, self.drawer, self.live)

    def _pair(self, row: ComparedRow, name: str) -> Figure:
        return pair_figure(
            row, self.view.columns, self.standards, name, self.drawer, live=self.live
        )

    def _has_room(self, cost: int, kind: str, test: str, kept: int = 0) -> bool:
        count = len(self.view.columns)
        most = max(MOST_COST - _COST_OF_SYSTEM * count, LEAST_COST)
        most = FEW_COST if count <= _FEW_SYSTEMS else most
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
        told = [f"{kind} of {_listed(tests)}" for kind, tests in self.left_out.items()]
        if told:
            found.append(_LEFT_OUT.format("; ".join(told)))
        return found


def _listed(tests: Sequence[str]) -> str:
    shown = list(tests[:_MOST_TOLD])
    more = len(tests) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _short(text: str) -> str:
    """A yardstick without its source, which the page names."""
    return shorten(text.partition(" (")[0].partition(" [")[0], _YARDSTICK_CHARACTERS)


def _cost(curves: int) -> int:
    return _PANELS_COST if curves > MOST_OVERLAID else 1
