"""Cells of a comparison on a page: figures, stars, and the rows of each series for each system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from markupsafe import Markup, escape

from hardstone.comparison.rows import has_ratio
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
from hardstone.wording import clean, is_rate, ratio_text, shorten

BRIEF_CHARACTERS = 32
MEASURED = "measured"
_MEDIAN = "p50"
NAMED_SYSTEMS = 6  # of more systems a list has the numbers only
_NO_DISTRIBUTION = Missing("-")


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


def _numbers(view: CompareView, places: Iterable[int]) -> str:
    numbers = [view.columns[place].number for place in places]
    return f"system{'s' if len(numbers) > 1 else ''} {numbers_text(numbers)}"


def groups_of(test: ComparedTest, view: CompareView) -> list[SeriesGroup]:
    """The series of a test. Systems without any figure of it are in its states, not in each."""
    without = {
        place
        for place, state in enumerate(test.states)
        if state != MEASURED and not any(_is_there(row.cells[place]) for row in test.rows)
    }
    return [group_of(row, view, without) for row in test.rows]


def group_of(row: ComparedRow, view: CompareView, without: Collection[int] = ()) -> SeriesGroup:
    """The rows of `row`, without the systems that have no figure of it. Those in `without` are
    named elsewhere."""
    pairs = list(zip(view.columns, row.cells, strict=True))
    there = [(column, cell) for column, cell in pairs if _is_there(cell)]
    common = common_remarks([cell for _, cell in there], "marks", "notes")
    missing: dict[str, list[int]] = {}
    for place, (_, cell) in enumerate(pairs):
        if not _is_there(cell) and place not in without:
            missing.setdefault(_why_absent(cell), []).append(place)
    return SeriesGroup(
        label=row.label,
        address=row.address,
        is_rate=is_rate(row.unit),
        is_divided=all(has_ratio(cell.held) for _, cell in there if cell.held),
        lines=[_line(column, cell, row, common) for column, cell in there],
        absent=[(why, _numbers(view, places)) for why, places in missing.items()],
        common=common,
    )


def _is_there(cell: ComparedCell) -> bool:
    return any(isinstance(one, Amount) for one in (cell.mean, cell.worst, *cell.more.values()))


def _why_absent(cell: ComparedCell) -> str:
    missing = next(one for one in (cell.worst, cell.mean) if isinstance(one, Missing))
    return f"{missing.reason} ({missing.remedy})" if missing.remedy else missing.reason


def common_remarks(cells: Sequence[ComparedCell], *kinds: str) -> list[str]:
    """Remarks that all of `cells` have: they are said once. `kinds`: "marks", "notes"."""
    if len(cells) < 2:
        return []
    said = [[text for kind in kinds for text in getattr(cell, kind)] for cell in cells]
    return [one for one in dict.fromkeys(said[0]) if all(one in other for other in said)]


def _line(
    column: SystemColumn, cell: ComparedCell, row: ComparedRow, common: Sequence[str]
) -> SystemLine:
    more = dict(cell.more)
    median = more.pop(_MEDIAN) if _MEDIAN in more else _median(cell)
    source = _source(cell.mean) or _source(cell.worst)

    def shown(one: Amount | Missing) -> ShownFigure:
        return sourced_figure(one, column.is_published, source)

    return SystemLine(
        column=column,
        source=source,
        mean=shown(cell.mean),
        median=shown(median) if isinstance(median, Amount) else _no_median(median),
        worst=shown(cell.worst),
        predictability="-" if cell.predictability is None else ratio_text(cell.predictability),
        ratio=_ratio(column, cell),
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


def _no_median(missing: Missing) -> ShownFigure:
    """No study has one, and too few values have none: nothing that a reader misses."""
    return ShownFigure("-", source="" if missing is _NO_DISTRIBUTION else missing.reason)


def _source(amount: Amount | Missing) -> str:
    return amount.place if isinstance(amount, Amount) else ""


def _ratio(column: SystemColumn, cell: ComparedCell) -> str:
    if cell.ratio:
        return ratio_words(cell.ratio)[0]
    return "reference" if column.is_reference else "-"


def _remarks(cell: ComparedCell, common: Sequence[str]) -> list[str]:
    """Marks, notes, and why a ratio is not decided, where its interval does not say it."""
    found = [one for one in (*cell.marks, *cell.notes) if one not in common]
    ratio = cell.ratio
    if ratio and ratio.reason and (ratio.low is None or ratio.high is None):
        found.append(ratio.reason)
    return list(dict.fromkeys(found))


def _median(cell: ComparedCell) -> Amount | Missing:
    return cell.held.amount(_MEDIAN) if cell.held and cell.series else _NO_DISTRIBUTION


def _look(cell: ComparedCell) -> str:
    """A colour for a decided difference; the words say the same. Of a rate more is better."""
    outcome = cell.ratio.outcome if cell.ratio else ""
    if outcome not in ("higher", "lower"):
        return ""
    unit = cell.series.unit if cell.series else "ns"
    return "better" if (outcome == "higher") == is_rate(unit) else "worse"


def who(columns: Sequence[SystemColumn], places: Iterable[int]) -> str:
    """Some systems by number: with their names if there are few, else "1, 3 to 7". Names have
    commas, so semicolons part them."""
    chosen = [columns[place] for place in places]
    if len(columns) <= NAMED_SYSTEMS:
        return "; ".join(f"{one.number} {shorten(one.label, 40)}" for one in chosen)
    return numbers_text([one.number for one in chosen])


def numbers_text(numbers: Iterable[int]) -> str:
    """Ascending numbers, three and more in a row as a range."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run]
        for run in runs
    ]
    return ", ".join(text for part in parts for text in part)


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
    return (
        f"<tr{_title_attribute(line.source) if has_title else ''}{_grey(line.why)}>"
        f"<th scope=row><b>{column.number}</b>{name}{mark}</th>"
        f"<td>{_figure(line.mean)}</td><td>{'-' if is_bare else _figure(line.median)}</td>"
        f"<td{_grey(line.worst_why)}>{_figure(line.worst)}</td><td>{_text(line.predictability)}</td>"
        f"<td{look}>{_text(line.ratio)}{outcome}</td>"
        f"<td>{_refused(line)}{_text('; '.join(line.remarks))}{more}</td></tr>\n"
    )


def _figure(one: ShownFigure) -> str:
    title = _title_attribute(one.source) if one.source else ""
    if one.is_missing:
        return f'<span class="missing"{title}>{_text(one.text)}</span>'
    bound = f' class="{_text(one.bound)}"' if one.bound else ""
    return f"<data value={_text(one.value)}{bound}{title}>{_text(one.text)}</data>"


def _refused(line: SystemLine) -> str:
    why = f"Not compared: {_text(line.why)}. " if line.why else ""
    return f"{why}The worst is not compared: {_text(line.worst_why)}. " if line.worst_why else why


@lru_cache(maxsize=1 << 8)
def _brief_html(label: str) -> str:
    return _text(shorten(label, BRIEF_CHARACTERS))


def _grey(why: str) -> str:
    return ' class="grey"' if why else ""


def _title_attribute(text: str) -> str:
    return f' title="{_text(text)}"'


def _notes(texts: list[str]) -> str:
    return "".join(f'<small class="note">{_text(one)}</small>' for one in texts)


def _brief(label: str) -> str:
    return shorten(label, BRIEF_CHARACTERS)


FILTERS: dict[str, Callable[..., object]] = {"brief": _brief, "series_rows": series_rows}
