"""A study laid out as a document (`hardstone.study/1`): what `hardstone study --json` prints.

It has what the view has. Every list of cells has one for each column, in their order. Words are
ready to be shown, and untrusted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hardstone.model import NotRun, Unit
from hardstone.study.exhibits import Answer, Cell, Decision, Kind, LaidOut, StudyView
from hardstone.study.papers import Form

STUDY_SCHEMA = "hardstone.study/1"


class StudyColumn(msgspec.Struct, kw_only=True):
    """A system: one of the paper, or one that was measured.

    `id`: "published:KEY", or the IDs of its runs. `mark`: its times are emulated. `apart`: why none
    of its times may be compared with the published ones; "" if they may.
    """

    id: str
    title: str
    is_published: bool
    about: str = ""
    mark: str = ""
    apart: str = ""


class StudyCell(msgspec.Struct, kw_only=True):
    """One cell. `text` is the figure as people read it; `value` the same in `unit`, or that it is
    below or above a bound; without a unit for words. `reason`: why it is lost, not comparable or
    not covered."""

    kind: Kind
    text: str = ""
    value: float | None = None
    below: float | None = None
    above: float | None = None
    unit: Unit | None = None
    source: str = ""
    reason: str = ""
    notes: list[str] = []


class StudyRow(msgspec.Struct, kw_only=True):
    """One quantity under one load. `words` fill the headings of its exhibit."""

    label: str
    words: list[str]
    address: str
    load: str
    statistic: str
    cells: list[StudyCell]
    note: str = ""


class StudyExhibit(msgspec.Struct, kw_only=True):
    """A table or figure of the paper. `columns`: places of the columns that it covers, from 0.
    `says`: what the paper says of its results."""

    number: str
    title: str
    form: Form
    tests: list[str]
    headings: list[str]
    columns: list[int]
    rows: list[StudyRow]
    says: list[str] = []
    lost: str = ""
    notes: list[str] = []


class StudyAnswer(msgspec.Struct, kw_only=True):
    """What a measured system says of a conclusion of the paper.

    `evidence` names the figures that decide it; `needed`: what to measure if nothing is decided.
    """

    conclusion: str
    says: str
    place: str
    decision: Decision
    text: str
    column: str = ""
    evidence: list[str] = []
    needed: str = ""


class StudyDocument(msgspec.Struct, kw_only=True):
    """`counts`: how many cells of each kind there are."""

    schema: str
    study: str
    title: str
    author: str | None
    conditions: dict[str, str]
    columns: list[StudyColumn]
    exhibits: list[StudyExhibit]
    answers: list[StudyAnswer]
    counts: dict[Kind, int]
    notes: list[str]
    not_run: list[NotRun] = []


def study_document(view: StudyView, not_run: Sequence[NotRun] = ()) -> StudyDocument:
    """`view` as data for programs. `not_run`: targets that were not measured."""
    study = view.paper.study
    return StudyDocument(
        schema=STUDY_SCHEMA,
        study=view.paper.name,
        title=study.title,
        author=study.author or None,
        conditions=dict(view.paper.conditions),
        columns=[msgspec.convert(one, StudyColumn, from_attributes=True) for one in view.columns],
        exhibits=[_exhibit(one) for one in view.exhibits],
        answers=[_answer(one) for one in view.answers],
        counts=dict(view.counts()),
        notes=list(view.notes),
        not_run=list(not_run),
    )


def _exhibit(one: LaidOut) -> StudyExhibit:
    exhibit = one.exhibit
    rows = [
        StudyRow(
            label=row.label,
            words=list(row.words),
            address=row.address,
            load=row.load,
            statistic=row.statistic,
            cells=[_cell(cell) for cell in row.cells],
            note=row.note,
        )
        for row in one.rows
    ]
    return StudyExhibit(
        number=exhibit.number,
        title=exhibit.title,
        form=exhibit.form,
        tests=exhibit.tests,
        headings=exhibit.headings,
        columns=list(one.columns),
        rows=rows,
        says=exhibit.text,
        lost=exhibit.lost,
        notes=list(one.notes),
    )


def _cell(cell: Cell) -> StudyCell:
    amount = cell.amount
    return StudyCell(
        kind=cell.kind,
        text=cell.text,
        value=None if amount is None else amount.value,
        below=None if amount is None else amount.below,
        above=None if amount is None else amount.above,
        unit=None if amount is None else amount.unit,
        source=cell.source or ("" if amount is None else amount.source),
        reason=cell.reason,
        notes=list(cell.notes),
    )


def _answer(one: Answer) -> StudyAnswer:
    return StudyAnswer(
        conclusion=one.conclusion.id,
        says=one.conclusion.says,
        place=one.conclusion.place,
        decision=one.decision,
        text=one.text,
        column=one.column,
        evidence=list(one.evidence),
        needed=one.needed,
    )
