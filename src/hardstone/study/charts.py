"""Bars of a paper's figures: its axes, its order of systems and groups.

What is measured is filled, what is published is hollow, what may not be compared is dashed: kinds
are told apart without colours. A bar that our copy lacks is a cross at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from hardstone.figure_text import amount_text
from hardstone.model import Unit
from hardstone.report.chart_frame import (
    CONFIG,
    HEIGHT,
    LABEL_OF_UNIT,
    PALETTE,
    WIDTH,
    Row,
    Spec,
    domain,
    mark,
    number_in,
    ticks,
    value_scale,
)
from hardstone.study.exhibits import Cell, Column, Kind, LaidOut, StudyView
from hardstone.study.exhibits import Row as LaidRow
from hardstone.systems.subjects import Amount
from hardstone.wording import shorten

MEASURED: Kind = "measured"
PUBLISHED: Kind = "published"
APART: Kind = "not comparable"
LOST: Kind = "lost"
DRAWN = (MEASURED, PUBLISHED, APART)
_LOOKS = {
    MEASURED: "Filled: measured.",
    PUBLISHED: "Hollow: published.",
    APART: "Dashed: measured, not comparable.",
}
_STATISTICS = {"mean": "average", "max": "maximum", "min": "minimum"}
MOST_SPOKEN = 600
_MOST_GROUPS = 4  # of kinds and loads in one drawing
_LEAST_ROOM = 44  # for the figure above a bar
_LABEL_LINES = 4  # below the axis
_LINES = "split(datum.label, '\\n')"
_CHARACTER = 6.4  # wide
_NAME = 24
_SHARE_OF_MARKS = 0.8  # of the width of a group; the rest is between groups
_LEGEND_CHARACTERS = 62
_CROSS = "\N{MULTIPLICATION SIGN}"
_FAR = 10  # times the end of the paper's axis: beyond it, bars that fit it would not be seen
_MARKS = {"counts instructions": "instruction time"}


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper, or a part of one. `about`: how to read it, and what of it differs from
    the paper's. `alt`: its figures in words."""

    title: str
    about: str
    alt: str
    spec: Spec


def statistic_words(statistic: str) -> str:
    """The heading of a statistic: "average", "90 % of kernel time", "p99"."""
    if statistic.startswith("time_"):
        return f"{statistic.removeprefix('time_')} % of kernel time"
    return _STATISTICS.get(statistic, statistic)


def mark_of(column: Column) -> str:
    """What its times are, if not those of hardware: "instruction time", "emulated", ""."""
    return _MARKS.get(column.mark, column.mark)


def name_of(column: Column) -> str:
    """A system with its mark, as a legend has room for it."""
    mark_text = mark_of(column)
    return shorten(column.short or column.title, _NAME) + (f" ({mark_text})" if mark_text else "")


def names_of(laid: LaidOut, view: StudyView) -> dict[int, str]:
    """The systems of the exhibit by their places, each with a name of its own."""
    found: dict[int, str] = {}
    for place in laid.columns:
        name, number = name_of(view.columns[place]), 2
        while name in found.values():
            name, number = f"{name_of(view.columns[place])} ({number})", number + 1
        found[place] = name
    return found


def _colours(names: dict[int, str], view: StudyView) -> list[str]:
    """A system has one colour in all figures of a page; measured ones have the first."""
    own = [place for place, _ in view.own]
    order = [*own, *(place for place in range(len(view.columns)) if place not in own)]
    return [PALETTE[order.index(place) % len(PALETTE)] for place in names]


# ---- bars and lines ----


@dataclass(frozen=True)
class _Part:
    """One drawing of bars: rows of one statistic and unit. `title` is what tells it from the other
    drawings of the exhibit: "average, load heavy". `groups` are along the axis, one for each
    row."""

    title: str
    statistic: str
    unit: Unit
    rows: Sequence[LaidRow]
    groups: Sequence[str]


def _legend(names: Iterable[str]) -> Spec:
    """Of the systems that have a mark, in as many columns as fit below the chart."""
    shown = list(names)
    columns = max(1, min(3, _LEGEND_CHARACTERS // (max(map(len, shown)) + 4)))
    look: Spec = {"symbolType": "square", "symbolSize": 80, "symbolStrokeWidth": 2}
    return {"values": shown, "columns": columns, **look}


def _parts(laid: LaidOut) -> Iterator[_Part]:
    found: dict[tuple[Unit, str], list[LaidRow]] = {}
    for row in laid.rows:
        if row.unit is not None:
            found.setdefault((row.unit, row.statistic), []).append(row)
    # A quantity that is lost everywhere has no unit, and its place all the same.
    lost = [
        row
        for row in laid.rows
        if row.unit is None and any(row.cells[place].kind == LOST for place in laid.columns)
    ]
    for (unit, statistic), measured in found.items():
        rows = [
            one
            for one in laid.rows
            if one in measured or (one in lost and one.statistic == statistic)
        ]
        for load, own in _by_load(rows):
            parts = [statistic_words(statistic), f"load {load}" if load else ""]
            yield _Part(", ".join(filter(None, parts)), statistic, unit, own, _groups(own))


def _by_load(rows: Sequence[LaidRow]) -> list[tuple[str, Sequence[LaidRow]]]:
    """All rows in one drawing, or a drawing for each load where there are too many groups."""
    loads = list(dict.fromkeys(row.load for row in rows))
    if len(loads) < 2 or len({(row.label, row.load) for row in rows}) <= _MOST_GROUPS:
        return [("", rows)]
    return [(load, [row for row in rows if row.load == load]) for load in loads]


def _groups(rows: Sequence[LaidRow]) -> list[str]:
    """The name of each row along the axis."""
    loads = {row.load for row in rows if row.load}
    are_several = len({row.label for row in rows}) > 1
    names = []
    for row in rows:
        parts = [row.label] if are_several or len(loads) < 2 else []
        parts += [row.load] if len(loads) > 1 and row.load else []
        names.append(shorten(", ".join(parts), 40))
    return names


def bars(laid: LaidOut, view: StudyView) -> Iterator[PaperFigure]:
    """A chart of the cells of `laid` for each unit, statistic and load that it separates; none
    without a value. Bars, or dots on a logarithmic axis where the values differ too much."""
    names = names_of(laid, view)
    for part in _parts(laid):
        rows = _bar_rows(part, names)
        values = [number_in(row, "v") for row in rows if "v" in row]
        if not values:
            continue
        present = {str(row["c"]) for row in rows}
        shown = {place: name for place, name in names.items() if name in present}
        scale = _scale_for(laid, part, values)
        about = [
            *(_LOOKS[kind] for kind in DRAWN if any(row["h"] == kind for row in rows)),
            *(["< and >: a bound."] if any("w" in row for row in rows) else []),
            *_lost_words(rows),
            *_in_words(laid, part, names),
            *scale.notes,
        ]
        yield PaperFigure(
            title=part.title[:1].upper() + part.title[1:] or laid.exhibit.number,
            about=" ".join(about),
            alt=_spoken(laid, part, names),
            spec=_bar_spec(laid, part, rows, shown, scale, _colours(shown, view)),
        )


def _bar_rows(part: _Part, names: dict[int, str]) -> list[Row]:
    """A row for each cell that the paper or a run has; one that is lost has no value."""
    rows: list[Row] = []
    for group, row in zip(part.groups, part.rows, strict=True):
        for place, name in names.items():
            cell = row.cells[place]
            amount = cell.amount
            own: Row = {"g": group, "c": name, "h": cell.kind}
            if cell.kind == LOST:
                rows.append(own)
            elif cell.kind in DRAWN and amount is not None and amount.unit == part.unit:
                number = number_of(amount)
                if number is not None:
                    own |= {"v": number, "l": _cell_text(cell, amount)}
                    bound = "<" if amount.below is not None else ">"
                    rows.append(own if amount.value is not None else {**own, "w": bound})
    return rows


def number_of(amount: Amount) -> float | None:
    """Where a figure is drawn; a bound where it is."""
    return next((n for n in (amount.value, amount.below, amount.above) if n is not None), None)


def _cell_text(cell: Cell, amount: Amount) -> str:
    return shorten(cell.text or amount_text(amount, is_exact=cell.kind == PUBLISHED), 24)


def _lost_words(rows: Sequence[Row]) -> list[str]:
    """Which bars our copy lacks."""
    who = dict.fromkeys(str(row["c"]) for row in rows if row["h"] == LOST)
    return [f"{_CROSS}: lost in our copy ({', '.join(who)})."] if who else []


def _in_words(laid: LaidOut, part: _Part, names: dict[int, str]) -> list[str]:
    """What the paper says in words where others have a bar."""
    loads = list(dict.fromkeys(row.load for row in part.rows))
    said: dict[str, dict[str, None]] = {}
    for row in laid.rows:
        if row.statistic == part.statistic and row.load in loads:
            for place, name in names.items():
                cell = row.cells[place]
                if cell.kind == PUBLISHED and cell.amount is None:
                    load = f" (load {row.load})" if len(loads) > 1 and row.load else ""
                    said.setdefault(name, {})[f"{shorten(cell.text, 40)}{load}"] = None
    texts = [f"{name} {', '.join(found)}" for name, found in said.items()]
    return [f"Published in words: {'; '.join(texts)}."] if texts else []


def _spoken(laid: LaidOut, part: _Part, names: dict[int, str]) -> str:
    """The figures of a drawing as text, for who does not see it."""
    said = []
    are_several = len(set(part.groups)) > 1
    for group, row in zip(part.groups, part.rows, strict=True):
        for place, name in names.items():
            cell = row.cells[place]
            if cell.kind in (*DRAWN, LOST) and (cell.amount or cell.kind == LOST):
                text = "" if cell.kind == LOST else f" {cell.text}"
                who = f"{group}, {name}" if are_several else name
                said.append(f"{who}{text} {cell.kind}")
    title = ", ".join(filter(None, (laid.exhibit.number, laid.exhibit.title, part.title)))
    return shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)


@dataclass(frozen=True)
class _Scale:
    """An axis of values. `is_log`: then the marks are dots, as no bar stands on such an axis."""

    low: float
    high: float
    is_log: bool
    title: str
    label: str
    notes: tuple[str, ...] = ()


UNIT_IN = re.compile(r"(?:\(|, )(ns|us|ms|s|MB/s|kB/s)(?=\)|,|$)")
_FACTORS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "kB/s": 1e3, "MB/s": 1e6}


def _scale_for(laid: LaidOut, part: _Part, values: Sequence[float]) -> _Scale:
    """The paper's axis where it is known, longer where a value needs it."""
    axis = laid.exhibit.y
    named = UNIT_IN.search(axis.title) if axis else None
    factor = _FACTORS[named[1]] if named and part.unit != "count" else 1.0
    label = f"format(datum.value / {factor:g}, '~g')" if factor != 1 else ""
    label = label or ("format(datum.value, '~g')" if named else LABEL_OF_UNIT[part.unit])
    title = axis.title if axis else statistic_words(part.statistic)
    positive = [one for one in values if one > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    end = axis.high * factor if axis and axis.high is not None else None
    start = axis.low * factor if axis and axis.low is not None else 0.0
    notes: list[str] = []
    is_log = "log" in title.lower()
    if end is None:
        if not is_log and high > low * 30:
            is_log = True
            notes += ["The axis is logarithmic: the values differ too much for bars."]
    elif high > end:
        shown = f"The paper's axis ends at {_plain(end, part.unit)}"
        if not is_log and high > end * _FAR:
            is_log = True
            notes += [f"{shown}; here it is logarithmic, up to {_plain(high, part.unit)}."]
        else:
            notes += [f"{shown}; here it is longer, for {_plain(high, part.unit)}."]
    if is_log:
        ends = [one for one in (start, end) if one]
        bottom, top = domain([low / 1.3, high, *(one for one in ends if one <= high * _FAR)], 1.5)
        title = title if "log" in title.lower() else f"{title} (log)"
        return _Scale(bottom, top, True, title, label, tuple(notes))
    top = high * 1.12 if end is None or high > end else end
    return _Scale(min(start, low), top, False, title, label, tuple(notes))


def _plain(value: float, unit: Unit) -> str:
    return amount_text(Amount(unit, "", "", value=value))


def _bar_spec(
    laid: LaidOut,
    part: _Part,
    rows: list[Row],
    names: dict[int, str],
    scale: _Scale,
    palette: Sequence[str],
) -> Spec:
    """Groups along the axis, a mark for each system in each of them."""
    groups = list(dict.fromkeys(part.groups))
    is_by_system = len(groups) == 1
    if is_by_system:
        groups = list(names.values())
        rows = [{**row, "g": row["c"]} for row in rows]
    size = int(WIDTH / len(groups) / _CHARACTER)
    is_slanted = any(len(word) > size for one in groups for word in one.split())
    labels = {one: one if is_slanted else _wrapped(one, size) for one in groups}
    groups = list(dict.fromkeys(labels.values()))
    rows = [{**row, "g": labels[str(row["g"])]} for row in rows]
    exhibit = laid.exhibit
    x: Spec = {
        "field": "g",
        "type": "nominal",
        "sort": groups,
        "scale": {"domain": groups},
        "title": exhibit.x.title if exhibit.x and not is_by_system else None,
        "axis": {
            **({"labelAngle": -40} if is_slanted else {"labelAngle": 0, "labelExpr": _LINES}),
            "ticks": False,
            "labelOverlap": False,
        },
    }
    axis: Spec = {"grid": True, "labelExpr": scale.label, "tickCount": 5}
    if scale.is_log:
        axis["values"] = ticks(scale.low, scale.high)
    kind = value_scale(scale.low, scale.high) if scale.is_log else _linear(scale)
    y: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": kind,
        "axis": axis,
        "title": scale.title,
    }
    systems = {str(row["c"]) for row in rows if "v" in row}
    colours: Spec = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(names.values()), "range": palette},
        "legend": None
        if is_by_system
        else _legend(one for one in names.values() if one in systems),
    }
    tips = [
        *([] if is_by_system else [{"field": "g", "type": "nominal", "title": "group"}]),
        {"field": "c", "type": "nominal", "title": "system"},
        {"field": "h", "type": "nominal", "title": "kind"},
        {"field": "l", "type": "nominal", "title": statistic_words(part.statistic)},
    ]
    place: Spec = {"x": x}
    if not is_by_system:
        order = list(names.values())
        place["xOffset"] = {"field": "c", "type": "nominal", "scale": {"domain": order}}
    values = {**place, "y": y, "color": colours, "tooltip": tips}
    is_line = exhibit.form == "lines" and not is_by_system
    if is_line:
        values = {name: one for name, one in values.items() if name != "xOffset"}
    layers = list(_lines_between(values)) if is_line else []
    if scale.is_log or is_line:
        layers += [_dots(one, values) for one in DRAWN]
    else:
        layers += [_bars_of(one, values) for one in DRAWN]
    present = {str(row["h"]) for row in rows}
    layers = [
        one for one in layers if any(f"'{kind}'" in str(one["transform"]) for kind in present)
    ]
    where: Spec = {"x": x} if is_line else place
    abreast = 1.0 if is_by_system or len(systems) < 2 else len(names) / _SHARE_OF_MARKS
    room = WIDTH / len(groups) / abreast
    if room >= _LEAST_ROOM:
        layers.append(_text_above("l", where, y))
    elif any("w" in row for row in rows):
        layers.append(_text_above("w", where, y))
    if LOST in present:
        layers.append(_lost_marks(where))
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": layers,
        "resolve": {"scale": {"size": "independent"}},
        "usermeta": {"zoom": ["y"]},
    }


def _linear(scale: _Scale) -> Spec:
    return {"domain": [scale.low, scale.high], "nice": False, "zero": False}


def _wrapped(name: str, size: int) -> str:
    """Lines of a label below the axis."""
    return "\n".join(wrap(name, size)[:_LABEL_LINES]) or " "


def _of_kind(kind: Kind, look: Spec, encoding: Spec) -> Spec:
    return {
        "transform": [{"filter": f"datum.h === '{kind}' && isValid(datum.v)"}],
        "mark": look,
        "encoding": encoding,
    }


def _bars_of(kind: Kind, encoding: Spec) -> Spec:
    looks: dict[Kind, Spec] = {
        MEASURED: mark("bar"),
        PUBLISHED: mark("bar", filled=False, strokeWidth=1.8),
        APART: mark("bar", filled=False, fill="var(--shade)", strokeWidth=1.4, strokeDash=[3, 2]),
    }
    return _of_kind(kind, {**looks[kind], "width": {"band": 0.72}}, encoding)


def _dots(kind: Kind, encoding: Spec) -> Spec:
    looks: dict[Kind, Spec] = {
        MEASURED: mark("point", filled=True),
        PUBLISHED: mark("point", filled=False, strokeWidth=2),
        APART: mark("point", filled=False, shape="square", strokeWidth=1.4, strokeDash=[3, 2]),
    }
    return _of_kind(kind, {**looks[kind], "size": 70, "opacity": 1}, encoding)


def _lines_between(encoding: Spec) -> Iterator[Spec]:
    dashes = {MEASURED: [1, 0], PUBLISHED: [1, 0], APART: [3, 2]}
    for kind in DRAWN:
        width = 1.0 if kind == PUBLISHED else 1.5
        yield _of_kind(kind, mark("line", strokeDash=dashes[kind], strokeWidth=width), encoding)


def _text_above(field: str, place: Spec, y: Spec) -> Spec:
    """The figure of each mark, or "<" and ">" at bounds."""
    return {
        "transform": [{"filter": f"isValid(datum.v) && isValid(datum.{field})"}],
        "mark": mark("text", dy=-9, fontSize=10, color="var(--ink)"),
        "encoding": {
            **place,
            "y": {"field": y["field"], "type": y["type"]},
            "text": {"field": field, "type": "nominal"},
        },
    }


def _lost_marks(place: Spec) -> Spec:
    """A cross at the place of a bar that our copy lacks."""
    return {
        "transform": [{"filter": f"datum.h === '{LOST}'"}],
        "mark": mark("text", text=_CROSS, fontSize=12, color="var(--quiet)"),
        "encoding": {**place, "y": {"value": HEIGHT - 5}},
    }
