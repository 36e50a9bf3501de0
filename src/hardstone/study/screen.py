"""A study on a terminal: its systems, its tables and figures in its order, and its conclusions."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hardstone.calling import as_typed, parted_text
from hardstone.study.exhibits import (
    Answer,
    Cell,
    Column,
    Decision,
    Kind,
    LaidOut,
    Row,
    StudyView,
)
from hardstone.study.layout import IN_THE_TEXT
from hardstone.study.measured import NOT_RUN, OF_RUN
from hardstone.study.papers import Conclusion, Paper, load_papers
from hardstone.terminal.console import (
    make_console,
    make_table,
    print_command,
    print_rows,
    print_table,
    print_wrapped,
    words,
)
from hardstone.wording import one_line, shorten

_LABEL, _LONG_LABEL, _CELL, _WORDS = (
    26,
    44,
    18,
    40,
)  # the widest columns; a longer word is broken only beyond them
_GAP = 2
_NUMBERED = ("Table", "Figure", "Algorithm", "Equation")
_STATISTICS = {"time_90": "", "time_99": ""}  # the label says which
_DECISIONS: dict[Decision, str] = {
    "borne out": "green",
    "not borne out": "bold red",
    "not decided": "yellow",
}
_MOST_REASONS = 3  # of what limits the trust in a run
_LEGEND: dict[Kind, str] = {
    "measured": "Bold: measured.",
    "published": "Plain: published.",
    "not comparable": "(9.9 ms): measured, but not comparable with the published figures, for the "
    "reason given.",
    "not measured": "- or not run: no run has it, for the reason given.",
    "lost": "lost: the paper has it, our copy has not.",
    "not covered": "Empty: the paper has none of this system, or no test measures it.",
}


def _legend(view: StudyView) -> str:
    """How the kinds of cells that are shown look. Cells of no kind are empty."""
    counts = view.counts()
    return " ".join(text for kind, text in _LEGEND.items() if counts[kind])


def print_study(view: StudyView, stream: IO[str] | None = None) -> None:
    """Prints all of `view` to `stream` (default: standard output), in colour on a terminal."""
    console = make_console(stream)
    _print_head(console, view)
    for is_bare, group in groupby(view.exhibits, lambda one: _is_bare(view, one)):
        for one in group:
            print_exhibit(console, view, one)
            if not is_bare:
                console.print()
        if is_bare:
            console.print()
    _print_conclusions(console, view)
    counts = ", ".join(f"{count} {kind}" for kind, count in view.counts().items() if count)
    if counts:
        print_wrapped(console, counts, lead="cells: ")
    for note in (*view.count_notes, *view.notes, _legend(view)):
        print_wrapped(console, note, style="dim")


def _print_head(console: Console, view: StudyView) -> None:
    study = view.paper.study
    print_wrapped(console, study.title, lead=f"{view.paper.name}: ", style="bold")
    if study.author:
        print_wrapped(console, study.author)
    console.print()
    published = [one for one in view.columns if one.is_published]
    longest = max((len(one.short) for one in published), default=0)
    for one in published:
        print_wrapped(console, system_text(view, one), lead=f"{one.short:{longest}}  ")
    for _, one in view.own:
        console.print()
        print_wrapped(console, one.title, style="bold")
        for line in _own_lines(one):
            print_wrapped(console, line, lead="  ")
    console.print()
    conditions = [
        (words("" if number else name), words(text))
        for name in dict.fromkeys([*study.conditions, *view.paper.conditions])
        for number, text in enumerate(
            found[name] for found in (study.conditions, view.paper.conditions) if name in found
        )
    ]
    print_rows(console, "how the paper measured", conditions)


def system_text(view: StudyView, one: Column) -> str:
    """What a published system is, without the conditions that all systems of its paper share."""
    shared = set(view.paper.study.conditions.values())
    about = "; ".join(text for text in one.about.split("; ") if text not in shared)
    return f"{one.title}: {about}" if about else one.title


def _own_lines(one: Column) -> Iterator[str]:
    """Machine, kernel, runs, trust and what limits it, and why no time of it is compared."""
    yield from one.about.split("; ")
    yield f"run{'s' if len(one.id.split()) > 1 else ''} {', '.join(one.id.split())}"
    trusts = {subject.id: subject.trust for subject in one.subjects}
    grades = dict.fromkeys(trust.grade for trust in trusts.values())
    reasons = list(dict.fromkeys(text for trust in trusts.values() for text in trust.reasons))
    yield f"trust: {', '.join(grades)}"
    more = [f"and {len(reasons) - _MOST_REASONS} more"] if len(reasons) > _MOST_REASONS else []
    yield from (f"- {shorten(text, 140)}" for text in (*reasons[:_MOST_REASONS], *more))
    if one.apart:
        yield f"none of its times is compared: {one.apart}"


def _is_bare(view: StudyView, one: LaidOut) -> bool:
    """Whether an exhibit takes one line: it draws another one, or measures nothing, and stands
    beside a run or has nothing but its title."""
    if one.exhibit.plots:
        return True
    return not one.exhibit.has_results and (bool(view.own) or not _contents(one))


def _contents(one: LaidOut) -> bool:
    return bool(one.rows or one.exhibit.text)


def print_exhibit(
    console: Console, view: StudyView, one: LaidOut, *, has_addresses: bool = False
) -> None:
    """Prints one exhibit: its table, then what must be known of it. `has_addresses`: each row has
    the address of its figures, without the test."""
    shared = _Shared.of(one.rows)
    number, title = title_of(one)
    is_bare = _is_bare(view, one)
    is_left_out = is_bare and not one.exhibit.plots and _contents(one)
    where = "; its contents: --published" if is_left_out else ""
    title += f" ({_NO_RESULTS}{where})" if not one.exhibit.has_results else ""
    print_wrapped(console, title, f"{number}  ", style="" if is_bare else "bold")
    if is_bare:
        if one.exhibit.form in ("lines", "curves", "map") and one.exhibit.lost:
            print_wrapped(console, f"lost: {one.exhibit.lost}", lead="  ")
        return
    shown = _Exhibit(view, one, shared, has_addresses)
    usual = console.width
    for table in shown.tables(usual):
        # Where words need more room than the terminal has, lines are longer than it is.
        taken = sum(column.width or 0 for column in table.columns)
        console.width = max(usual, taken + _GAP * (len(table.columns) - 1))
        print_table(console, table)
        console.width = usual
    for line in shown.footnotes:
        _print_note(console, line)
    for text in lines_below(one):
        print_wrapped(console, text, lead="  ")


def title_of(one: LaidOut) -> tuple[str, str]:
    """The number of an exhibit as its paper has it, and its title with what all rows share."""
    exhibit = one.exhibit
    is_numbered = exhibit.number.startswith(_NUMBERED) or exhibit.number == IN_THE_TEXT
    number = exhibit.number if is_numbered else "no number"
    if exhibit.plots:
        is_named = exhibit.plots.startswith(_NUMBERED)
        return number, f"{exhibit.title} (draws {exhibit.plots if is_named else _UNNAMED})"
    if not exhibit.has_results:
        return number, exhibit.title
    return number, f"{exhibit.title}{_Shared.of(one.rows).text}"


_COUNTING = {"MUT-B-INV", "SIM-S-RT"}
_UNNAMED = "the table without a number"
_NO_RESULTS = "measures nothing"


@dataclass(frozen=True)
class _Shared:
    """What all rows of an exhibit have in common stands in its title, not in each row."""

    load: str | None
    statistic: str | None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Shared:
        loads, statistics = ({getattr(row, name) for row in rows} for name in ("load", "statistic"))
        tests = {row.address.partition("/")[0] for row in rows if row.address}
        if statistics == {"max"} and tests and tests <= _COUNTING:
            statistics = {""}  # their cells say how much of what was counted
        return cls(
            next(iter(loads)) if len(loads) == 1 else None,
            next(iter(statistics)) if len(statistics) == 1 else None,
        )

    @property
    def text(self) -> str:
        parts = [f"load {self.load}" if self.load else "", _statistic_text(self.statistic or "")]
        known = ", ".join(filter(None, parts))
        return f" ({known})" if known else ""


def _statistic_text(name: str) -> str:
    return _STATISTICS.get(name, name)


class _Exhibit:
    """The tables of one exhibit, and the footnotes of their cells."""

    def __init__(self, view: StudyView, one: LaidOut, shared: _Shared, has_addresses: bool) -> None:
        self._one = one
        self._shared = shared
        self._has_addresses = has_addresses
        self._notes: dict[str, int] = {}
        rows = one.rows
        is_lost = not any(
            _has_figure(row.cells[place])
            for row in rows
            for place in one.columns
            if view.columns[place].is_published
        )
        self._runs = {place: _only_run(rows, place) for place in one.columns}
        self._places = [
            place for place in one.columns if not (is_lost and view.columns[place].is_published)
        ]
        self._columns = view.columns
        cells = {
            place: [self._cell(place, row.cells[place]) for row in rows] for place in self._places
        }
        self._systems = {
            place: _Shown.of(view.columns[place].short, found, _CELL, is_right=True)
            for place, found in cells.items()
        }

    @property
    def footnotes(self) -> Iterator[str]:
        yield from (f"[{number}] {note}" for note, number in self._notes.items())
        for place in self._places:
            run = self._runs[place]
            if run:
                yield f"{self._columns[place].short}: {run}"

    def tables(self, width: int) -> Iterator[Table]:
        """As many as the systems need; each has the labels, and the own systems where they fit."""
        rows = self._one.rows
        labels = self._labels(_LABEL)
        systems = sum(one.width + _GAP for one in self._systems.values())
        others = sum(one.width + _GAP for one in labels[1:])
        if not self._one.exhibit.headings and width - systems - others > _LABEL:
            labels = self._labels(min(width - systems - others, _LONG_LABEL))
        titles = self._one.exhibit.headings
        room = width - sum(one.width + _GAP for one in labels) + _GAP
        most = min(room // max(len(titles), 1) - _GAP, _WORDS)
        headings = [
            _Shown.of(title, [Text(_at(row.words, place)) for row in rows], most)
            for place, title in enumerate(titles)
        ]
        if not rows or not (self._places or headings):
            return
        for places, has_headings in self._blocks(width, labels, headings):
            columns = [*labels, *(headings if has_headings else [])]
            columns += [self._systems[place] for place in places]
            yield _table(columns, len(rows))

    def _labels(self, most: int) -> list[_Shown]:
        rows = self._one.rows
        found = [_Shown.of("", [words(row.label) for row in rows], most)]
        if self._has_addresses and any(row.address for row in rows):
            addresses = [row.address.partition("/")[2] or "verdicts" for row in rows]
            found.append(_Shown.of("address", [words(one) for one in addresses], _LONG_LABEL))
        if self._shared.load is None:
            found.append(_Shown.of("load", [words(row.load) for row in rows], _LABEL))
        if self._shared.statistic is None:
            statistics = [words(_statistic_text(row.statistic)) for row in rows]
            found.append(_Shown.of("", statistics, _LABEL))
        return found

    def _blocks(
        self, width: int, labels: Sequence[_Shown], headings: Sequence[_Shown]
    ) -> Iterator[tuple[list[int], bool]]:
        """The systems of each table, and whether it has the words of the paper."""
        own = [place for place in self._places if not self._columns[place].is_published]
        published = [place for place in self._places if self._columns[place].is_published]
        room = width - sum(one.width + _GAP for one in labels)
        with_words = room - sum(one.width + _GAP for one in headings)
        beside = sum(self._systems[place].width + _GAP for place in own)
        if sum(self._systems[place].width + _GAP for place in self._places) <= with_words + _GAP:
            yield self._places, True
            return
        if headings:
            yield [], True
        if not self._places:
            return
        apart = list(self._chunks(self._places, room))
        widest = max((self._systems[place].width + _GAP for place in published), default=0)
        if published and beside + widest <= room + _GAP:
            together = [[*one, *own] for one in self._chunks(published, room - beside)]
            apart = together if len(together) <= len(apart) else apart
        yield from ((one, False) for one in apart)

    def _chunks(self, places: Sequence[int], room: int) -> Iterator[list[int]]:
        chunk: list[int] = []
        left = room + _GAP
        for place in places:
            taken = self._systems[place].width + _GAP
            if chunk and taken > left:
                yield chunk
                chunk, left = [], room + _GAP
            chunk.append(place)
            left -= taken
        yield chunk

    def _cell(self, place: int, cell: Cell) -> Text:
        """The figure, marked by its kind also without colour, and the number of its footnote."""
        if cell.kind == "lost":
            return Text("lost", style="dim")
        if cell.kind in ("published", "not covered"):
            return words(cell.text) + self._reference(cell.notes)
        notes = [one for one in cell.notes if not (self._runs[place] and one.startswith(OF_RUN))]
        if cell.kind == "measured":
            return words(cell.text, "bold") + self._reference(notes)
        shown = f"({cell.text})" if cell.text else NOT_RUN if _is_not_run(cell) else "-"
        return words(shown, "dim") + self._reference([cell.reason, *notes])

    def _reference(self, notes: Sequence[str]) -> Text:
        note = one_line("; ".join(filter(None, notes)))
        if not note:
            return Text("")
        number = self._notes.setdefault(note, len(self._notes) + 1)
        return Text(f" [{number}]", style="dim")


def _at(found: Sequence[str], place: int) -> str:
    return one_line(found[place]) if place < len(found) else ""


def _has_figure(cell: Cell) -> bool:
    return cell.kind == "published"


def _is_not_run(cell: Cell) -> bool:
    return cell.reason.startswith(NOT_RUN)


def _only_run(rows: Sequence[Row], place: int) -> str:
    """The note on its run that all figures of a system share; empty if they are of several."""
    found = {note for row in rows for note in row.cells[place].notes if note.startswith(OF_RUN)}
    return next(iter(found)) if len(found) == 1 else ""


@dataclass(frozen=True)
class _Shown:
    """A column with its lines broken between words, and as wide as they are."""

    heading: list[Text]
    cells: list[list[Text]] = field(default_factory=list)
    width: int = 0
    is_right: bool = False

    @classmethod
    def of(
        cls, heading: str, cells: Sequence[Text], most: int, *, is_right: bool = False
    ) -> _Shown:
        parts = [word for one in cells for word in one.plain.split(" ")]
        parts += re.split(r"(?<=[ -])", heading)
        longest = max((len(one.rstrip()) for one in parts), default=0)
        width = max(min(max((one.cell_len for one in cells), default=0), most), longest)
        width = max(min(width, max(most, _LONGEST)), 1)
        lines = _wrapped(words(heading, "bold" if is_right else ""), width, at_hyphens=True)
        wrapped = [_wrapped(one, width) for one in cells]
        taken = max(line.cell_len for lines in (lines, *wrapped) for line in lines)
        return cls(lines, wrapped, taken, is_right)


_LONGEST = 24  # characters of a word that is never broken


def _wrapped(text: Text, width: int, *, at_hyphens: bool = False) -> list[Text]:
    """`text` in lines of at most `width`, each word whole unless it is wider than all of them."""
    lines, start = [], 0
    for line in textwrap.wrap(text.plain, width, break_on_hyphens=at_hyphens) or [""]:
        start = text.plain.index(line, start)
        lines.append(text[start : start + len(line)])
        start += len(line)
    return lines


def _table(columns: Sequence[_Shown], count: int) -> Table:
    table = make_table()
    for one in columns:
        table.add_column(
            Text("\n").join(one.heading),
            justify="right" if one.is_right else "left",
            width=one.width,
            vertical="top",
        )
    for number in range(count):
        table.add_row(*(Text("\n").join(one.cells[number]) for one in columns))
    return table


def _print_note(console: Console, line: str, lead: str = "  ") -> None:
    """A note; its command is never broken, and stands on a line of its own where it is long."""
    text, command = parted_text(line)
    if not command:
        print_wrapped(console, line, lead=lead)
        return
    start = f"{lead}{one_line(text)}: "
    if len(start) + len(as_typed(command)) <= console.width:
        console.print(Text(start) + words(as_typed(command), "cyan"), soft_wrap=True)
        return
    print_wrapped(console, f"{text}:", lead=lead)
    print_command(console, command, indent=len(lead) + 2)


def lines_below(one: LaidOut) -> Iterator[str]:
    """What is lost, what rows and figures need said, and what the paper says of them."""
    lost: dict[str, list[str]] = {}
    for row in one.rows:
        for place in one.columns:
            if row.cells[place].kind == "lost":
                lost.setdefault(row.cells[place].reason, []).append(row.label)
    if not lost and one.exhibit.lost:
        lost[one.exhibit.lost] = []
    for reason, labels in lost.items():
        named = list(dict.fromkeys(labels))
        is_all = not named or len(named) == len({row.label for row in one.rows})
        yield f"lost: {reason}" if is_all else f"lost ({'; '.join(named)}): {reason}"
    by_note: dict[str, list[str]] = {}
    for row in one.rows:
        if row.note:
            by_note.setdefault(row.note, []).append(row.label)
    for note, labels in by_note.items():
        named = list(dict.fromkeys(labels))
        yield f"{'; '.join(named)}: {note}" if len(one.rows) > 1 else note
    yield from one.notes
    for text in one.exhibit.text:
        yield f"the paper: {text}"


def _print_conclusions(console: Console, view: StudyView) -> None:
    if not view.paper.conclusions:
        return
    console.print(words("What the paper concludes", "bold"))
    for conclusion in view.paper.conclusions:
        print_wrapped(console, _conclusion_text(conclusion), lead="- ")
        for one in view.answers:
            if one.conclusion.id == conclusion.id:
                _print_answer(console, one)
    console.print()


def _conclusion_text(one: Conclusion) -> str:
    return f"{one.says} ({one.place})" if one.place else one.says


def _print_answer(console: Console, one: Answer) -> None:
    where = f", {one.column}" if one.column else ""
    print_wrapped(console, f"{one.decision}{where}", lead="  ", style=_DECISIONS[one.decision])
    if one.text:
        print_wrapped(console, one.text, lead="    ")
    if one.needed:
        _print_note(console, f"needed: {one.needed}", lead="    ")


def print_study_list(
    durations: Mapping[str, str] | None = None, stream: IO[str] | None = None
) -> None:
    """Prints the studies that can be run again. `durations`: about how long each takes, by name."""
    console = make_console(stream)
    known = durations or {}
    for paper in load_papers().values():
        systems = (
            f"{len(paper.study.systems)} systems" if len(paper.study.systems) > 1 else "1 system"
        )
        facts = [_year(paper), systems, f"{len(paper.exhibits)} tables and figures"]
        facts += [f"about {known[paper.name]}"] if paper.name in known else []
        console.print(words(paper.name, "bold cyan") + Text("  ") + words(", ".join(facts)))
        print_wrapped(console, paper.study.title, lead="  ")
        print_wrapped(console, ", ".join(paper.study.systems), lead="  ", style="dim")


def _year(paper: Paper) -> str:
    return paper.key.rpartition("-")[2]
