"""A paper with what runs measured of it, as one page or on paper: its conclusions, its tables and
figures in its order, and where each figure is from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from hardstone.figure_text import number_text
from hardstone.files import regular_target, replace_file
from hardstone.report.drawing import Drawer
from hardstone.report.figures import CHART_CONFIG, Figure, pictures
from hardstone.report.page_frame import environment, head_parts, load_bundle, write_page
from hardstone.report.sheet import Sheet, bind
from hardstone.study.charts import mark_of, statistic_words
from hardstone.study.exhibits import KINDS, Answer, Cell, Column, Kind, LaidOut, Row, StudyView
from hardstone.study.figures import figures_of_exhibit
from hardstone.study.papers import Conclusion
from hardstone.systems.subjects import MeasuredRun
from hardstone.wording import kernel_text, shorten, target_text

MEANINGS: dict[Kind, str] = {
    "measured": "of a run; bold",
    "published": "as the paper has it",
    "lost": "the paper has it, our copy does not",
    "not comparable": "of a run, grey; the number leads to the reason",
    "not measured": "no run has it; the number leads to the reason",
    "not covered": "the paper has none of this system, or no test measures it",
}
_SHOWN: dict[Kind, str] = {
    "lost": "lost",
    "not measured": "not measured",
    "not covered": "\N{EN DASH}",
}
_UNNUMBERED = "Without number"
_DECISIONS = {"borne out": "passed", "not borne out": "failed", "not decided": "status-other"}


@dataclass(frozen=True)
class _Note:
    """A note below a table. `number` stands at the cells that it is about."""

    number: int
    text: str


@dataclass(frozen=True)
class _TableCell:
    """`value` is the exact number, "" if there is none; `source` where it is found again."""

    text: str
    interval: str
    kind: Kind
    value: str
    source: str
    numbers: Sequence[int]


@dataclass(frozen=True)
class _TableRow:
    label: str
    under: str
    words: Sequence[str]
    cells: Sequence[_TableCell]


@dataclass(frozen=True)
class _Head:
    title: str
    about: str
    is_published: bool


@dataclass(frozen=True)
class _Table:
    caption: str
    headings: Sequence[str]
    columns: Sequence[_Head]
    rows: Sequence[_TableRow]
    notes: Sequence[_Note]


@dataclass(frozen=True)
class ExhibitPart:
    """One exhibit of the page. `plots`: number and anchor of the table whose values it draws.

    `is_compact`: it has neither figures nor rows, only words.
    """

    anchor: str
    number: str
    title: str
    table: _Table | None
    figures: Sequence[Figure]
    text: Sequence[str]
    lost: str
    notes: Sequence[str]
    has_results: bool
    plots: tuple[str, str] | None = None

    @property
    def link(self) -> str:
        """What leads to it in the contents."""
        return shorten(self.title, 28) if self.number == _UNNUMBERED else self.number

    @property
    def is_compact(self) -> bool:
        return not self.has_results or (self.table is None and not self.figures)

    @property
    def is_beside(self) -> bool:
        """Whether its one drawing stands beside its table where there is room."""
        return self.table is not None and len(self.figures) == 1


@dataclass
class _Notes:
    """Numbers the notes of one table, each text once."""

    found: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.found.setdefault(text, len(self.found) + 1)

    def all(self) -> list[_Note]:
        return [_Note(number, text) for text, number in self.found.items()]


def exhibit_parts(view: StudyView, drawer: Drawer) -> list[ExhibitPart]:
    """All exhibits in the order of the paper."""
    anchors = {one.exhibit.number: f"exhibit-{place}" for place, one in enumerate(view.exhibits, 1)}
    parts = []
    for place, laid in enumerate(view.exhibits, 1):
        exhibit, anchor = laid.exhibit, f"exhibit-{place}"
        plots = exhibit.plots
        parts.append(
            ExhibitPart(
                anchor=anchor,
                number=_numbered(exhibit.number),
                title=exhibit.title,
                table=_table(laid, view),
                figures=_drawn(laid, view, anchor, drawer),
                text=exhibit.text,
                lost=exhibit.lost,
                notes=[*laid.notes, *_repeats(laid, view)],
                has_results=exhibit.has_results,
                plots=(_named(view, plots), anchors[plots]) if plots in anchors else None,
            )
        )
    return parts


def _repeats(laid: LaidOut, view: StudyView) -> list[str]:
    """Which systems have the same figures elsewhere: they are counted there."""
    return [
        f"{key}: as in {_named(view, number)}, where its cells are counted."
        for key, number in laid.exhibit.repeats.items()
        if any(one.exhibit.number == number for one in view.exhibits)
    ]


def _named(view: StudyView, number: str) -> str:
    """Another exhibit in words: its number, or else its title."""
    title = next(one.exhibit.title for one in view.exhibits if one.exhibit.number == number)
    return number if _numbered(number) == number else title


def _numbered(number: str) -> str:
    """ "Table 8"; "Without number" for "no number: clock", which only this project calls so."""
    return _UNNUMBERED if number.startswith("no number") else number


def _drawn(laid: LaidOut, view: StudyView, anchor: str, drawer: Drawer) -> list[Figure]:
    number = _numbered(laid.exhibit.number)
    return [
        Figure(
            id=f"{anchor}-{place}",
            title=one.title,
            about=one.about,
            alt=one.alt,
            drawing=drawer.draw(one.spec),
            subject=number,
        )
        for place, one in enumerate(figures_of_exhibit(laid, view), 1)
    ]


def _table(laid: LaidOut, view: StudyView) -> _Table | None:
    """The rows of an exhibit; None if it has none."""
    if not laid.rows:
        return None
    loads = {row.load for row in laid.rows}
    statistics = {row.statistic for row in laid.rows}
    notes = _Notes()
    rows = [
        _TableRow(
            label=row.label,
            under=_under(row, has_loads=len(loads) > 1, has_statistics=len(statistics) > 1),
            words=_filled(row.words, len(laid.exhibit.headings)),
            cells=[
                _cell(row.cells[place], _place_note(row, number, notes), notes)
                for number, place in enumerate(laid.columns)
            ],
        )
        for row in laid.rows
    ]
    return _Table(
        caption=_caption(laid, loads, statistics),
        headings=laid.exhibit.headings,
        columns=[_head(view.columns[place]) for place in laid.columns],
        rows=rows,
        notes=notes.all(),
    )


def _place_note(row: Row, number: int, notes: _Notes) -> tuple[int, ...]:
    """The note of a row stands at its first cell."""
    return (notes.number(row.note),) if row.note and number == 0 else ()


def _filled(words: Sequence[str], count: int) -> list[str]:
    return [*words, *[""] * (count - len(words))][: max(count, 0)]


def _under(row: Row, *, has_loads: bool, has_statistics: bool) -> str:
    parts = [f"load {row.load}"] if has_loads and row.load else []
    statistic = statistic_words(row.statistic) if has_statistics else ""
    parts += [statistic] if statistic and statistic not in row.label else []
    return ", ".join(parts)


def _caption(laid: LaidOut, loads: set[str], statistics: set[str]) -> str:
    """What all rows have in common: "Figure 6a: maximum, load none"."""
    parts = [statistic_words(one) for one in statistics if one and len(statistics) == 1]
    parts += [f"load {one}" for one in loads if one and len(loads) == 1]
    number = _numbered(laid.exhibit.number)
    return f"{number}: {', '.join(parts)}" if parts else f"{number}: {laid.exhibit.title}"


def _head(column: Column) -> _Head:
    kind = "published" if column.is_published else "measured"
    return _Head(column.short, mark_of(column) or kind, column.is_published)


def _cell(cell: Cell, own: tuple[int, ...], notes: _Notes) -> _TableCell:
    text = cell.text or _SHOWN.get(cell.kind, "")
    reasons = [cell.reason] if cell.reason and cell.kind != "not covered" else []
    of_run = f"of run {cell.source.partition(' ')[0]}"  # which the source says
    said = [one for one in (*reasons, *cell.notes) if one != of_run]
    has_interval = cell.amount is not None and text.endswith(")")
    text, _, interval = text.partition(" (") if has_interval else (text, "", "")
    amount = cell.amount
    number = None
    if amount is not None:
        number = next(
            (n for n in (amount.value, amount.below, amount.above) if n is not None), None
        )
    return _TableCell(
        text=text,
        kind=cell.kind,
        value=number_text(number),
        source=cell.source,
        interval=interval.removesuffix(")"),
        numbers=[*own, *map(notes.number, said)],
    )


# ---- the whole page ----


@dataclass(frozen=True)
class _Run:
    """Where figures are from. `grade` is that of its trust, with the reasons."""

    id: str
    name: str
    started: str
    machine: str
    grade: str
    reasons: str


@dataclass(frozen=True)
class _Said:
    """What one system says of a conclusion; `look` is a class of the style."""

    column: str
    decision: str
    look: str
    text: str
    evidence: Sequence[str]
    needed: str


def runs_of(view: StudyView) -> list[MeasuredRun]:
    """Each run once, in the order of the systems."""
    found: dict[str, MeasuredRun] = {}
    for _, column in view.own:
        for subject in column.subjects:
            found.setdefault(subject.id, subject)
    return list(found.values())


def title_of(view: StudyView) -> str:
    """ "Obenland 2000 on AMD EPYC, Linux 6.18"; without a run "Obenland 2000, as published"."""
    short = view.paper.study.reading.short
    machines = list(dict.fromkeys(_machine_name(one) for one in runs_of(view)))
    machines = machines or [column.title for _, column in view.own]
    if not machines:
        return f"{short}, as published"
    more = f" and {len(machines) - 1} more" if len(machines) > 1 else ""
    return f"{short} on {shorten(machines[0], 60)}{more}"


_MINOR = re.compile(r"^(\d+\.\d+)\S*")


def _machine_name(subject: MeasuredRun) -> str:
    """Processor and kernel, in short: "AMD EPYC VM, Linux 6.18"."""
    facts = subject.document.system
    processor = str(facts.get("machine.cpu_model") or facts.get("machine.arch") or "a machine")
    virtual = " VM" if facts.get("virtual.hypervisor") and "VM" not in processor else ""
    release = _MINOR.sub(r"\1", str(facts.get("kernel.release") or ""))
    kernel = f"{facts.get('kernel.name') or 'kernel unknown'} {release}".strip()
    target = subject.document.plan.target
    where = "" if target == "local" else f"{shorten(target, 24)}: "
    return f"{where}{shorten(processor, 32)}{virtual}, {shorten(kernel, 24)}"


def _answers(view: StudyView) -> list[tuple[Conclusion, list[_Said]]]:
    """Each conclusion with what the systems say of it."""
    found: list[tuple[Conclusion, list[_Said]]] = []
    for conclusion in view.paper.conclusions:
        own = [one for one in view.answers if one.conclusion.id == conclusion.id]
        found.append((conclusion, [_said(one) for one in own]))
    return found


def _said(one: Answer) -> _Said:
    look = _DECISIONS[one.decision]
    return _Said(one.column, one.decision, look, one.text, one.evidence, one.needed)


def _runs(view: StudyView) -> list[_Run]:
    return [
        _Run(
            id=one.id,
            name=one.document.name,
            started=one.document.started_utc,
            machine=f"{target_text(one.document)}; {kernel_text(one.document.system)}",
            grade=one.trust.grade,
            reasons="; ".join(one.trust.reasons),
        )
        for one in runs_of(view)
    ]


def render_study(
    view: StudyView,
    *,
    bundle: Callable[[], str | None] = load_bundle,
    drawer: Drawer | None = None,
) -> str:
    """The study as HTML text. `bundle` returns the scripts for interactive charts; if None, charts
    are static."""
    script = bundle()
    if drawer is None:
        with Drawer(has_scripts=script is not None) as own:
            parts = exhibit_parts(view, own)
            return _rendered(view, parts, script)
    return _rendered(view, exhibit_parts(view, drawer), script)


def _rendered(view: StudyView, parts: list[ExhibitPart], script: str | None) -> str:
    page = environment().get_template("study.html.j2")
    return page.render(
        **_context(view, parts),
        chart_config=CHART_CONFIG if script is not None else None,
        **head_parts(script, styles=("compare.css", "study.css"), scripts=("folds.js",)),
    )


def _context(view: StudyView, parts: list[ExhibitPart]) -> dict[str, Any]:
    paper, runs = view.paper, _runs(view)
    return {
        "title": title_of(view),
        "paper": paper,
        "columns": view.columns,
        "mark_of": mark_of,
        "own": [column for _, column in view.own],
        "published": [one for one in view.columns if one.is_published],
        "counts": [(kind, count, MEANINGS[kind]) for kind, count in view.counts().items()],
        "answers": _answers(view),
        "decided": _decided(view),
        "parts": parts,
        "groups": list(_side_by_side(parts)),
        "conditions": list(paper.conditions.items()),
        "notes": [*view.count_notes, *view.notes],
        "runs": runs,
        "again": f"hardstone study {paper.name}",
        "from_runs": " ".join([f"hardstone study {paper.name}", *(one.id for one in runs)]),
    }


def _decided(view: StudyView) -> str:
    """ "3 borne out, 1 not borne out, 2 not decided"."""
    counts = [(sum(one.decision == word for one in view.answers), word) for word in _DECISIONS]
    return ", ".join(f"{count} {word}" for count, word in counts if count)


_LETTERED = re.compile(r"^(Figure \d+)[a-z]$")


def _side_by_side(parts: Sequence[ExhibitPart]) -> Iterator[list[ExhibitPart]]:
    """Figures 3a and 3b stand abreast; every other exhibit is alone."""

    def stem(one: tuple[int, ExhibitPart]) -> str:
        found = _LETTERED.match(one[1].number)
        is_drawn = bool(one[1].figures) and (one[1].plots is not None)
        return found[1] if found and is_drawn else str(one[0])

    for _, own in groupby(enumerate(parts), key=stem):
        yield [part for _, part in own]


def write_study(
    view: StudyView,
    output: Path,
    *,
    bundle: Callable[[], str | None] = load_bundle,
    drawer: Drawer | None = None,
) -> None:
    """Writes the study to `output`, a PDF where its name ends so, else a page, atomically and
    following symbolic links.

    InputError if `output` exists and is not a regular file; raises OSError.
    """
    if output.suffix.lower() == ".pdf":
        target = regular_target(output)
        data = render_study_pdf(view, drawer=drawer)
        replace_file(regular_target(target), data, None, is_durable=False)
    else:
        write_page(output, lambda: render_study(view, bundle=bundle, drawer=drawer))


# ---- on paper ----


def render_study_pdf(view: StudyView, *, drawer: Drawer | None = None) -> bytes:
    """The study as PDF: a page of the paper and its conclusions, then the exhibits."""
    with Drawer() as own:
        parts = exhibit_parts(view, drawer or own)
        title = title_of(view)
        sheets = [_opening(view, title), *_sheets(parts, title), _sources(view, title)]
        return bind(title, f"hardstone study {view.paper.name}", sheets)


def _opening(view: StudyView, title: str) -> Sheet:
    study = view.paper.study
    sheet = Sheet.headed("hardstone study: a paper measured again", title)
    sheet.text(". ".join(filter(None, (study.title, study.author))), 9)
    sheet.gap()
    counts = view.counts()
    sheet.text(f"Cells: {', '.join(f'{counts[kind]} {kind}' for kind in KINDS)}.", 9)
    for note in (*view.count_notes, *view.notes):
        sheet.text(note, 8, colour="quiet")
    sheet.gap()
    for conclusion, answers in _answers(view):
        sheet.text(f"{conclusion.says} ({conclusion.place})", 9, bold=True)
        for one in answers:
            who = f"{one.column}: " if one.column else ""
            sheet.text(f"{who}{one.decision}. {one.text}", 8)
            if one.needed:
                sheet.text(f"To decide it: {one.needed}", 8, colour="quiet")
        sheet.gap(4)
    return sheet


_ROOM_OF_PART, _ROOM_OF_DRAWING = 110, 190


def _sheets(parts: Sequence[ExhibitPart], title: str) -> Iterator[Sheet]:
    """The exhibits one below the other. A table goes on over as many pages as it needs."""
    sheet = Sheet.headed(title, "Tables and figures")
    for part in parts:
        name = f"{part.number}: {part.title}"
        table = part.table if part.plots is None or not part.figures else None
        if not sheet.has_room(
            _ROOM_OF_PART + (0 if table else _ROOM_OF_DRAWING * bool(part.figures))
        ):
            yield sheet
            sheet = Sheet.headed(title, "Tables and figures")
        sheet.gap(10)
        sheet.text(name, 11, bold=True)
        for text in (*part.text, part.lost and f"Lost: {part.lost}."):
            if text:
                sheet.text(text, 8)
        if table is not None:
            head = ["", *table.headings, *(f"{one.title}, {one.about}" for one in table.columns)]
            rows = [_paper_row(row) for row in table.rows]
            sheet.gap(4)
            left = 0
            while rows := rows[sheet.fill_table(head, rows) :]:
                yield sheet
                sheet = Sheet.headed(title, f"{name}, continued")
                rows = rows[int(len(rows) == left) :]  # a row that is taller than a page
                left = len(rows)
            sheet.gap(4)
        notes = [f"{one.number}: {one.text}" for one in table.notes] if table else []
        if part.figures and not sheet.has_room(_ROOM_OF_DRAWING):
            yield sheet
            sheet = Sheet.headed(title, name)
        for note in (*notes, *part.notes, *(one.about for one in part.figures)):
            sheet.text(note, 7, colour="quiet")
        for place in range(0, len(part.figures), 2):
            if not sheet.has_room(_ROOM_OF_DRAWING):
                yield sheet
                sheet = Sheet.headed(title, name)
            sheet.drawings(pictures(part.figures[place : place + 2]), columns=2)
    yield sheet


def _paper_row(row: _TableRow) -> list[str]:
    name = ", ".join(filter(None, (row.label, row.under)))
    return [name, *row.words, *map(_paper_cell, row.cells)]


_PAPER_MARKS: dict[Kind, str] = {"not comparable": "*", "measured": ""}


def _paper_cell(cell: _TableCell) -> str:
    numbers = f" [{', '.join(map(str, cell.numbers))}]" if cell.numbers else ""
    interval = f" ({cell.interval})" if cell.interval else ""
    return f"{cell.text}{interval}{_PAPER_MARKS.get(cell.kind, '')}{numbers}"


def _sources(view: StudyView, title: str) -> Sheet:
    sheet = Sheet.headed(title, "Where the figures are from")
    sheet.text("* not to be compared with the published figures: the numbers give the reason.", 8)
    runs = [
        [one.id, one.started, f"{one.grade}: {one.reasons}", one.machine] for one in _runs(view)
    ]
    if runs:
        sheet.table(["Run", "Started", "Trust", "Machine"], runs, is_numeric=False)
    sheet.gap()
    sheet.text(f"Again: hardstone study {view.paper.name}", 8)
    return sheet
