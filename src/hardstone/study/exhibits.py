"""A study laid out: the data that the screen, the page, the figures and the conclusions read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from hardstone.model import Unit
from hardstone.study.papers import Conclusion, Exhibit, Paper
from hardstone.systems.subjects import PREFIX, Amount, MeasuredRun

# measured: of a run. published: of the paper. lost: the paper has it, our copy does not.
# not comparable: of a run, and may not be compared with the published figures.
# not measured: no run of the system has such a figure.
# not covered: the paper has no such figure of this system.
Kind = Literal["measured", "published", "lost", "not comparable", "not measured", "not covered"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Cell:
    """One cell. `text` is the figure as people read it ("9.9 ms", "< 0.1 us", "pass").

    Of a cell that is not comparable it is what was measured all the same.

    `reason`: why it is lost, not comparable, not measured or not covered. `notes`: what a reader
    must know of it. `amount` has the figure in the unit of its series; None for words. `source`:
    where it is found again: run, test, series and statistic, or study, table and system.
    """

    kind: Kind
    text: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()
    amount: Amount | None = None
    source: str = ""


@dataclass(frozen=True)
class Row:
    """One quantity under one load. `cells`: one for each column of the view."""

    label: str
    words: tuple[str, ...]
    address: str
    load: str
    statistic: str
    unit: Unit | None
    cells: tuple[Cell, ...]
    note: str = ""


@dataclass(frozen=True)
class LaidOut:
    """One exhibit with its rows. `columns`: places of the view's columns that it has a cell in: the
    systems that it covers, and all own ones where a test repeats it. `notes` are said below it."""

    exhibit: Exhibit
    rows: tuple[Row, ...]
    columns: tuple[int, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A system: one of the paper, or one that was measured.

    `id` is "published:KEY", or the IDs of its runs. `short` fits a terminal's column. `about` has
    hardware and configuration. `mark`: "emulated" or "counts instructions", else "". `apart`: why
    none of its times may be compared with the published ones; "" if they may. `subjects`: one for
    each run and load of one machine under one CPU configuration and preemption model; empty for a
    published system.
    """

    id: str
    title: str
    short: str
    is_published: bool
    about: str = ""
    mark: str = ""
    apart: str = ""
    subjects: tuple[MeasuredRun, ...] = ()


Decision = Literal["borne out", "not borne out", "not decided"]


@dataclass(frozen=True)
class Answer:
    """What a measured system says of one conclusion.

    `text` is the statement with the figures that decide it; `column` the title of the system;
    `evidence` names each figure: its text and its source. `needed`: what to measure if nothing is
    decided.
    """

    conclusion: Conclusion
    decision: Decision
    text: str
    column: str = ""
    evidence: tuple[str, ...] = ()
    needed: str = ""


@dataclass(frozen=True)
class StudyView:
    """A paper, laid out with runs or without. `notes` concern all of it."""

    paper: Paper
    columns: tuple[Column, ...]
    exhibits: tuple[LaidOut, ...]
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def own(self) -> Sequence[tuple[int, Column]]:
        """The measured systems with their places."""
        return [(place, one) for place, one in enumerate(self.columns) if not one.is_published]

    def counts(self) -> Mapping[Kind, int]:
        """How many cells of each kind there are, in the order of KINDS; cells that an exhibit
        draws or repeats from another one count there. To the lost ones the lost curves are added.
        """
        found = Counter(
            row.cells[place].kind
            for one in self.exhibits
            if not one.exhibit.plots
            for row in one.rows
            for place in one.columns
            if self.columns[place].id.removeprefix(PREFIX) not in one.exhibit.repeats
        )
        found["lost"] += self.lost_curves
        return {kind: found[kind] for kind in KINDS}

    @property
    def lost_curves(self) -> int:
        """Lost curves, charts and maps of which no cell is lost: one for each system of each."""
        return sum(
            self.columns[place].is_published
            for one in self.exhibits
            if one.exhibit.form in ("lines", "curves", "map") and _lacks_drawing(one)
            for place in one.columns
        )

    @property
    def lost_drawings(self) -> int:
        """Lost drawings of bars whose values a table has."""
        return sum(one.exhibit.form == "bars" and _lacks_drawing(one) for one in self.exhibits)

    @property
    def count_notes(self) -> list[str]:
        """How lost drawings are counted."""
        notes = []
        if self.lost_curves:
            what = "1 is a curve, chart or map"
            if self.lost_curves > 1:
                what = f"{self.lost_curves} are curves, charts or maps"
            notes.append(f"Of what is lost {what}: one for each system that a drawing shows.")
        if self.lost_drawings:
            notes.append(
                f"{self.lost_drawings} drawings are lost too, and not counted: tables have all "
                "their values."
            )
        return notes


def _lacks_drawing(one: LaidOut) -> bool:
    """Whether a drawing with results is lost, but none of the cells that it stands for."""
    has_lost = any(row.cells[place].kind == "lost" for row in one.rows for place in one.columns)
    return bool(one.exhibit.lost) and one.exhibit.has_results and not has_lost
