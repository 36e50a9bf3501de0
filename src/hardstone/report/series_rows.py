"""The rows of a table of series, one for each system: of twenty systems there are 8000, each of
which took a template longer than all else on the page."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup, escape

from hardstone.present.wording import clean, shorten
from hardstone.report.compare_lines import SeriesGroup, SystemLine
from hardstone.report.shown_figure import BRIEF_CHARACTERS, ShownFigure


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
    name = f" {_brief(column.label)}" if has_names else ""
    mark = _notes([column.mark]) if column.mark else ""
    is_bare = line.median.is_missing and is_wide
    look = f' class="{_text(line.look)}"' if line.look else ""
    outcome = f"<small>{_text(line.outcome)}</small>" if line.outcome else ""
    more = "".join(f"<small>{_text(name)} {_figure(one)}</small>" for name, one in line.more)
    return (
        f"<tr{_title(line.source) if has_title else ''}{_grey(line.why)}>"
        f"<th scope=row><b>{column.number}</b>{name}{mark}</th>"
        f"<td>{_figure(line.mean)}</td><td>{'-' if is_bare else _figure(line.median)}</td>"
        f"<td{_grey(line.worst_why)}>{_figure(line.worst)}</td><td>{_text(line.predictability)}</td>"
        f"<td{look}>{_text(line.ratio)}{outcome}</td>"
        f"<td>{_refused(line)}{_text('; '.join(line.remarks))}{more}</td></tr>\n"
    )


def _figure(one: ShownFigure) -> str:
    title = _title(one.source) if one.source else ""
    if one.is_missing:
        return f'<span class="missing"{title}>{_text(one.text)}</span>'
    bound = f' class="{_text(one.bound)}"' if one.bound else ""
    return f"<data value={_text(one.value)}{bound}{title}>{_text(one.text)}</data>"


def _refused(line: SystemLine) -> str:
    why = f"Not compared: {_text(line.why)}. " if line.why else ""
    return f"{why}The worst is not compared: {_text(line.worst_why)}. " if line.worst_why else why


@lru_cache(maxsize=1 << 8)
def _brief(label: str) -> str:
    return _text(shorten(label, BRIEF_CHARACTERS))


def _grey(why: str) -> str:
    return ' class="grey"' if why else ""


def _title(text: str) -> str:
    return f' title="{_text(text)}"'


def _notes(texts: list[str]) -> str:
    return "".join(f'<small class="note">{_text(one)}</small>' for one in texts)
