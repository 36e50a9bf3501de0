"""A comparison in Python: the rows of `hardstone compare` as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hardstone.comparison.assemble import compare_view
from hardstone.comparison.view import ComparedCell, ComparedRow, CompareView
from hardstone.errors import InputError
from hardstone.figure_text import amount_text
from hardstone.notebook.loaded_run import Run, load, small_table
from hardstone.systems.subjects import Amount, Missing, published_system
from hardstone.wording import is_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hardstone.systems.subjects import Subject

Value = str | float | int | bool | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `hardstone compare` shows. `view` has all of it, as the page and the screen take it."""

    view: CompareView

    @property
    def systems(self) -> list[dict[str, Value]]:
        """One entry for each system: number, id, label, study, hardware, year, trust, stars, and in
        `apart` why its times have no ratio."""
        return [
            {
                "number": one.number,
                "id": one.id,
                "label": one.label,
                "study": one.study,
                "hardware": one.hardware,
                "year": one.year,
                "trust": one.trust,
                "stars": one.rating.overall,
                "lowest_stars": one.rating.lowest,
                "is_at_most": one.rating.is_at_most,
                "is_reference": one.is_reference,
                "apart": one.apart,
            }
            for one in self.view.columns
        ]

    def rows(self, test: str | None = None) -> list[dict[str, Value]]:
        """One entry for each figure of each system, for `pandas.DataFrame(rows)` or a loop.

        `mean` and `worst` are in `unit`, None where there is none. A bound is in `mean_below` or
        `mean_above`; `mean_why` says why there is nothing. `ratio` is that of the medians to the
        reference, with its interval and `outcome`; None for what may not be compared, with the
        reason in `why`, and in `worst_why` that of the worst alone. `mean_source` and
        `worst_source` find the figures again. Further statistics, such as p99.9, have keys of
        their own.
        """
        known = [one.test for one in self.view.tests]
        if test is not None and test not in known:
            raise InputError(f"no system has the test '{test[:60]}'", f"there are {known}")
        return [
            entry
            for one in self.view.tests
            if test in (None, one.test)
            for row in one.rows
            for entry in self._entries(one.test, row)
        ]

    def decisive(self) -> list[dict[str, Value]]:
        """The same of the rows of the summary."""
        rows = self.view.decisive
        return [one for row in rows for one in self._entries(row.address.partition("/")[0], row)]

    def _entries(self, test: str, row: ComparedRow) -> Iterator[dict[str, Value]]:
        for column, cell in zip(self.view.columns, row.cells, strict=True):
            yield {
                "test": test,
                "address": row.address,
                "series": row.label,
                "unit": row.unit,
                "number": column.number,
                "system": column.label,
                **_amount("mean", cell.mean),
                **_amount("worst", cell.worst),
                **_further(row, cell),
                "predictability": cell.predictability,
                **_ratio(cell),
                "is_grey": cell.is_grey,
                "why": cell.why,
                "worst_why": cell.worst_why,
                "marks": "; ".join(cell.marks),
                "notes": "; ".join(cell.notes),
            }

    def __repr__(self) -> str:
        count = sum(len(one.rows) for one in self.view.tests)
        return f"<Comparison of {len(self.view.columns)} systems: {count} series>"

    def _repr_html_(self) -> str:
        names = [f"{one.number} {one.label} {one.year}".strip() for one in self.view.columns]
        rows = [
            [row.label, *(_text(cell, row) for cell in row.cells)] for row in self.view.decisive
        ]
        return small_table("Mean and worst observed", ["series", *names], rows)


def compare(
    *runs: Run | str | Path, reference: int = 0, store: str | Path | None = None
) -> Comparison:
    """Compares 2 to 20 systems, of which a run under several conditions is several.

    `runs` are runs or what `load` takes; `reference`: the place, from 0, of the system that the
    others are set against. InputError as `load`, and for too few or too many.
    """
    opened = [one if isinstance(one, Run) else load(one, store) for one in runs]
    return Comparison(compare_view(_compared(opened), reference))


def _compared(opened: Sequence[Run]) -> list[Subject]:
    """A published system is one, as on the command line: of figures under several loads it has
    those of the heaviest, with the load in their notes."""
    return [
        one
        for run in opened
        for one in ([published_system(run.id)] if run.is_whole_study else run.subjects)
    ]


def _amount(name: str, amount: Amount | Missing) -> dict[str, Value]:
    if isinstance(amount, Missing):
        found: tuple[Value, ...] = (None, None, None, amount.reason, "", "")
    else:
        said = "; ".join(amount.notes)
        found = (amount.value, amount.below, amount.above, said, amount.statistic, amount.source)
    keys = (name, f"{name}_below", f"{name}_above", f"{name}_why", f"{name}_of", f"{name}_source")
    return dict(zip(keys, found, strict=True))


def _further(row: ComparedRow, cell: ComparedCell) -> dict[str, Value]:
    """The further statistics of the row, each as `mean`: "p99.9", "p99.9_below", ..."""
    found: dict[str, Value] = {}
    for statistic, amount in zip(row.more, cell.more, strict=False):
        found |= _amount(statistic, amount)
    return found


def _ratio(cell: ComparedCell) -> dict[str, Value]:
    found = cell.ratio
    if found is None:
        return {"ratio": None, "ratio_low": None, "ratio_high": None, "outcome": None}
    return {
        "ratio": found.ratio,
        "ratio_low": found.low,
        "ratio_high": found.high,
        "outcome": found.outcome,
    }


def _text(cell: ComparedCell, row: ComparedRow) -> str:
    worst = "least" if is_rate(row.unit) else "worst"
    said = [f"{_figure(cell.mean)} mean, {_figure(cell.worst)} {worst}", *cell.marks]
    return ", ".join([*said, cell.why] if cell.is_grey and cell.why else said)


def _figure(amount: Amount | Missing) -> str:
    """Short text: "18.4 us", "< 0.1 us", or why there is none."""
    return amount.reason if isinstance(amount, Missing) else amount_text(amount)
