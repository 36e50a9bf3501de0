"""Cells of a comparison on a page: figures, stars, and the rows of each series for each system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from markupsafe import Markup, escape

from hardstone.comparison.rows import has_ratio
from hardstone.comparison.sizes import SIZES
from hardstone.comparison.view import (
    ComparedCell,
    ComparedRow,
    ComparedTest,
    CompareView,
    SystemColumn,
)
from hardstone.figure_text import (
    ShownFigure,
    ratio_words,
    sourced_figure,
)
from hardstone.systems.subjects import Amount, Missing
from hardstone.wording import clean, is_rate, numbers_text, ratio_text, shorten

_BRIEF_CHARACTERS = 32
MEASURED = "measured"
_MEDIAN = "p50"
NAMED_SYSTEMS = 6  # of more systems a list has the numbers only


class SystemLine(msgspec.Struct, frozen=True):
    """One series of one system. `why` says in words why it is grey, "" if it is not; `worst_why`
    the same of the worst alone. `more` has further statistics by name. `source` is where all its
    figures are from, each with the statistic of its column; a figure from elsewhere has its own.
    `is_plain`: the ID of the system and the address of the series say it."""

    column: SystemColumn
    source: str
    mean: ShownFigure
    median: ShownFigure
    worst: ShownFigure
    predictability: str
    ratio: str
    outcome: str
    look: str
    remarks: list[str]
    why: str
    worst_why: str
    more: list[tuple[str, ShownFigure]]
    is_plain: bool


@dataclass(frozen=True)
class SeriesGroup:
    """One series; `absent` says which systems have no figure, and why. `is_divided`: medians of
    such series have ratios."""

    label: str
    address: str
    is_rate: bool
    is_divided: bool
    lines: list[SystemLine]
    absent: list[tuple[str, str]]
    common: list[str]


def groups_of(test: ComparedTest, view: CompareView) -> list[SeriesGroup]:
    """The series of a test. Systems without any figure of it are in its states, not in each."""
    without = {
        place
        for place, state in enumerate(test.states)
        if state != MEASURED and not any(_has_figure(row.cells[place]) for row in test.rows)
    }
    return [_group(row, view, without) for row in test.rows]


def _group(row: ComparedRow, view: CompareView, without: Collection[int]) -> SeriesGroup:
    """The rows of `row`, without the systems that have no figure of it. Those in `without` are
    named elsewhere."""
    pairs = list(zip(view.columns, row.cells, strict=True))
    there = [(column, cell) for column, cell in pairs if _has_figure(cell)]
    common = common_remarks([cell for _, cell in there], "marks", "notes")
    absent: dict[str, list[int]] = {}
    for place, (column, cell) in enumerate(pairs):
        if not _has_figure(cell) and place not in without:
            missing = next(one for one in (cell.worst, cell.mean) if isinstance(one, Missing))
            remedy = f" ({missing.remedy})" if missing.remedy else ""
            absent.setdefault(f"{missing.reason}{remedy}", []).append(column.number)
    return SeriesGroup(
        label=row.label,
        address=row.address,
        is_rate=is_rate(row.unit),
        is_divided=all(has_ratio(cell.subject_series) for _, cell in there if cell.subject_series),
        lines=[_line(column, cell, row, common) for column, cell in there],
        absent=[
            (why, f"system{'s' if len(numbers) > 1 else ''} {numbers_text(numbers)}")
            for why, numbers in absent.items()
        ],
        common=common,
    )


def _has_figure(cell: ComparedCell) -> bool:
    return any(isinstance(one, Amount) for one in (cell.mean, cell.worst, *cell.more.values()))


def common_remarks(cells: Sequence[ComparedCell], *kinds: str) -> list[str]:
    """Remarks that all of `cells` have, which are shown once. `kinds`: "marks", "notes"."""
    if len(cells) < 2:
        return []
    remarks = [[text for kind in kinds for text in getattr(cell, kind)] for cell in cells]
    return [one for one in dict.fromkeys(remarks[0]) if all(one in other for other in remarks)]


def _line(
    column: SystemColumn, cell: ComparedCell, row: ComparedRow, common: Sequence[str]
) -> SystemLine:
    more = dict(cell.more)
    median = more.pop(_MEDIAN, None)
    if median is None and cell.subject_series and cell.series:
        median = cell.subject_series.amount(_MEDIAN)
    # No study has a median, and too few values have none: nothing that a reader misses.
    why_no_median = median.reason if isinstance(median, Missing) else ""
    is_size = cell.worst_name in SIZES  # no worst: it says itself what it is
    source = "" if is_size else _source(cell.mean) or _source(cell.worst)

    without_ratio = "reference" if column.is_reference and not is_size else "-"

    def shown(one: Amount | Missing) -> ShownFigure:
        return sourced_figure(one, column.is_published, source)

    return SystemLine(
        column=column,
        source=source,
        mean=ShownFigure("-") if is_size else shown(cell.mean),
        median=shown(median)
        if isinstance(median, Amount)
        else ShownFigure("-", source=why_no_median),
        worst=shown(cell.worst),
        predictability="-" if cell.predictability is None else ratio_text(cell.predictability),
        ratio=ratio_words(cell.ratio)[0] if cell.ratio else without_ratio,
        outcome=cell.ratio.outcome if cell.ratio else "",
        look=_look(cell),
        remarks=_remarks(cell, common),
        why=why_grey(cell) if cell.is_grey else "",
        worst_why=cell.worst_why,
        more=[(name, shown(one)) for name, one in more.items() if isinstance(one, Amount)],
        is_plain=source == f"{column.id} {row.address}",
    )


def why_grey(cell: ComparedCell) -> str:
    """Why a figure, or its worst alone, may not be compared; "" if it may."""
    if cell.is_grey:
        return cell.why or "not comparable with the reference"
    return cell.worst_why


def _source(amount: Amount | Missing) -> str:
    return amount.place if isinstance(amount, Amount) else ""


def _remarks(cell: ComparedCell, common: Sequence[str]) -> list[str]:
    """Marks, notes, and why a ratio is not decided, where its interval does not say it."""
    found = [one for one in (*cell.marks, *cell.notes) if one not in common]
    ratio = cell.ratio
    if ratio and ratio.reason and (ratio.low is None or ratio.high is None):
        found.append(ratio.reason)
    return list(dict.fromkeys(found))


def _look(cell: ComparedCell) -> str:
    """A colour for a decided difference; the words say the same. Of a rate more is better."""
    outcome = cell.ratio.outcome if cell.ratio else ""
    if outcome not in ("higher", "lower"):
        return ""
    unit = cell.series.unit if cell.series else "ns"
    return "better" if (outcome == "higher") == is_rate(unit) else "worse"


@lru_cache(maxsize=1 << 12)  # names of systems, remarks and reasons come again and again
def _text(text: str) -> str:
    """As a template shows it: cleaned and escaped."""
    return str(escape(clean(text)))


def series_rows(group: SeriesGroup, has_names: bool, is_wide: bool) -> Markup:
    """The rows of `group` below a row with its name. `has_names`: systems are named, not only
    numbered. `is_wide`: there are many systems, so a row says less."""
    look = "" if group.is_divided else " undivided"
    address = f"<small><code>{_text(group.address)}</code></small>" if group.address else ""
    rows = "".join(_row(line, has_names, is_wide) for line in group.lines)
    absent = "".join(
        f'<tr class="absent"><th scope="row"><span class="missing">{_text(reason)}</span></th>'
        f'<td colspan="6">{_text(systems)}</td></tr>\n'
        for reason, systems in group.absent
    )
    return Markup(  # noqa: S704  every text in it is escaped
        f'<tbody class="series{look}">\n'
        '<tr class="series-name"><th scope="rowgroup" colspan="7"><span class="stay">'
        f"{_text(group.label)}{address}{_notes(group.common)}</span></th></tr>\n"
        f"{rows}{absent}</tbody>\n"
    )


def _row(line: SystemLine, has_names: bool, is_wide: bool) -> str:
    column = line.column
    has_title = line.source and not (is_wide and line.is_plain)
    name = f" {_brief_html(column.label)}" if has_names else ""
    mark = _notes([column.mark]) if column.mark else ""
    is_bare = line.median.is_missing and is_wide
    look = f' class="{_text(line.look)}"' if line.look else ""
    outcome = f"<small>{_text(line.outcome)}</small>" if line.outcome else ""
    more = "".join(f"<small>{_text(name)} {_figure(one)}</small>" for name, one in line.more)
    refused = f"Not compared: {_text(line.why)}. " if line.why else ""
    if line.worst_why:
        refused += f"The worst is not compared: {_text(line.worst_why)}. "
    return (
        f"<tr{_title_attribute(line.source) if has_title else ''}{_grey(line.why)}>"
        f"<th scope=row><b>{column.number}</b>{name}{mark}</th>"
        f"<td>{_figure(line.mean)}</td><td>{'-' if is_bare else _figure(line.median)}</td>"
        f"<td{_grey(line.worst_why)}>{_figure(line.worst)}</td><td>{_text(line.predictability)}</td>"
        f"<td{look}>{_text(line.ratio)}{outcome}</td>"
        f"<td>{refused}{_text('; '.join(line.remarks))}{more}</td></tr>\n"
    )


def _figure(one: ShownFigure) -> str:
    title = _title_attribute(one.source) if one.source else ""
    if one.is_missing:
        return f'<span class="missing"{title}>{_text(one.text)}</span>'
    bound = f' class="{_text(one.bound)}"' if one.bound else ""
    return f"<data value={_text(one.value)}{bound}{title}>{_text(one.text)}</data>"


@lru_cache(maxsize=1 << 8)
def _brief_html(label: str) -> str:
    return _text(shorten(label, _BRIEF_CHARACTERS))


def _grey(why: str) -> str:
    return ' class="grey"' if why else ""


def _title_attribute(text: str) -> str:
    return f' title="{_text(text)}"'


def _notes(texts: list[str]) -> str:
    return "".join(f'<small class="note">{_text(one)}</small>' for one in texts)


FILTERS: dict[str, Callable[..., object]] = {
    "brief": lambda label: shorten(label, _BRIEF_CHARACTERS),
    "series_rows": series_rows,
}
