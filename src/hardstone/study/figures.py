"""The figures of a paper, drawn in its form: its axes, its order of systems and groups.

What is measured is filled, what is published is hollow, what may not be compared is dashed: kinds
are told apart without colours. A bar that our copy lacks is named at its place, and has no height.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from hardstone.figure_text import amount_text
from hardstone.kernel.page import has_sections, point_rows, section_rows, share_axis
from hardstone.kernel.results import TEST as KERNEL_TEST
from hardstone.kernel.results import Operation, kernel_time_of
from hardstone.kernel.tables import KernelHistory, kernel_history
from hardstone.model import Series, Unit
from hardstone.report.chart_frame import (
    CONFIG,
    HEIGHT,
    LABEL_OF_UNIT,
    PALETTE,
    WIDTH,
    Group,
    Line,
    Row,
    Spec,
    colour,
    domain,
    mark,
    number_in,
    ticks,
    tooltip,
    value_axis,
    value_scale,
)
from hardstone.report.charts import LEAST_VALUES, histogram_chart
from hardstone.simulation import charts as tire_charts
from hardstone.simulation.analysis import bounds_of, maps_of
from hardstone.simulation.results import REAL_FAST, REAL_TIME, Point, points_of
from hardstone.simulation.tables import FIRST_MISSED, MOST_HELD, CurveNames, threads_text
from hardstone.study.exhibits import Cell, Column, Kind, LaidOut, StudyView
from hardstone.study.exhibits import Row as LaidRow
from hardstone.systems.subjects import Amount
from hardstone.units import format_count, format_ns
from hardstone.wording import shorten

MEASURED: Kind = "measured"
PUBLISHED: Kind = "published"
LATENCY_TEST = "TMR-P-LAT"
APART: Kind = "not comparable"
LOST: Kind = "lost"
_DRAWN = (MEASURED, PUBLISHED, APART)
_LOOKS = {
    MEASURED: "Filled: measured.",
    PUBLISHED: "Hollow: published.",
    APART: "Dashed: may not be compared.",
}
_STATISTICS = {"mean": "average", "max": "maximum", "min": "minimum"}
_MOST_SPOKEN = 600
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


def figures_of_exhibit(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The drawings of an exhibit, in the order of the paper; none where nothing has a value."""
    form, tests = laid.exhibit.form, laid.exhibit.tests
    if form == "map":
        return _maps(laid, view)
    if form in ("lines", "curves"):
        of_test: dict[str, Callable[[LaidOut, StudyView], list[PaperFigure]]] = {
            KERNEL_TEST: _kernel_time,
            REAL_FAST: _totals,
            LATENCY_TEST: _distribution,
        }
        drawing = next((of_test[one] for one in tests if one in of_test), None)
        if drawing is not None:
            return drawing(laid, view)
    return list(_bars(laid, view)) if form in ("bars", "lines", "curves") else []


def statistic_words(statistic: str) -> str:
    """The heading of a statistic: "average", "90 % of kernel time", "p99"."""
    if statistic.startswith("time_"):
        return f"{statistic.removeprefix('time_')} % of kernel time"
    return _STATISTICS.get(statistic, statistic)


def mark_of(column: Column) -> str:
    """What its times are, if not those of hardware: "instruction time", "emulated", ""."""
    return _MARKS.get(column.mark, column.mark)


def _name(column: Column) -> str:
    """A system with its mark, as a legend has room for it."""
    mark_text = mark_of(column)
    return shorten(column.short or column.title, _NAME) + (f" ({mark_text})" if mark_text else "")


def _names(laid: LaidOut, view: StudyView) -> dict[int, str]:
    """The systems of the exhibit by their places, each with a name of its own."""
    found: dict[int, str] = {}
    for place in laid.columns:
        name, number = _name(view.columns[place]), 2
        while name in found.values():
            name, number = f"{_name(view.columns[place])} ({number})", number + 1
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
            parts = [statistic_words(statistic)] if len(found) > 1 or not load else []
            parts += [f"load {load}"] if load else []
            yield _Part(", ".join(parts), statistic, unit, own, _groups(own))


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


def _bars(laid: LaidOut, view: StudyView) -> Iterator[PaperFigure]:
    names = _names(laid, view)
    for part in _parts(laid):
        rows = _bar_rows(part, names)
        values = [number_in(row, "v") for row in rows if "v" in row]
        if not values:
            continue
        present = {str(row["c"]) for row in rows}
        shown = {place: name for place, name in names.items() if name in present}
        scale = _scale_for(laid, part, values)
        about = [
            *(_LOOKS[kind] for kind in _DRAWN if any(row["h"] == kind for row in rows)),
            *(["< and >: a bound."] if any("w" in row for row in rows) else []),
            *_lost_words(rows),
            *_in_words(part, names),
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
            elif cell.kind in _DRAWN and amount is not None and amount.unit == part.unit:
                number = _number(amount)
                if number is not None:
                    own |= {"v": number, "l": _cell_text(cell, amount)}
                    bound = "<" if amount.below is not None else ">"
                    rows.append(own if amount.value is not None else {**own, "w": bound})
    return rows


def _number(amount: Amount) -> float | None:
    """Where a figure is drawn; a bound where it is."""
    return next((n for n in (amount.value, amount.below, amount.above) if n is not None), None)


def _cell_text(cell: Cell, amount: Amount) -> str:
    return shorten(cell.text or amount_text(amount, is_exact=cell.kind == PUBLISHED), 24)


def _lost_words(rows: Sequence[Row]) -> list[str]:
    """Which bars our copy lacks."""
    who = dict.fromkeys(str(row["c"]) for row in rows if row["h"] == LOST)
    return [f"{_CROSS}: lost in our copy ({', '.join(who)})."] if who else []


def _in_words(part: _Part, names: dict[int, str]) -> list[str]:
    """Of which systems the paper has words where others have a bar."""
    who = [
        name
        for place, name in names.items()
        for row in part.rows
        if row.cells[place].kind == PUBLISHED and row.cells[place].amount is None
    ]
    return [f"In words, see the table: {', '.join(dict.fromkeys(who))}."] if who else []


def _spoken(laid: LaidOut, part: _Part, names: dict[int, str]) -> str:
    """The figures of a drawing as text, for who does not see it."""
    said = []
    are_several = len(set(part.groups)) > 1
    for group, row in zip(part.groups, part.rows, strict=True):
        for place, name in names.items():
            cell = row.cells[place]
            if cell.kind in (*_DRAWN, LOST) and (cell.amount or cell.kind == LOST):
                text = "" if cell.kind == LOST else f" {cell.text}"
                who = f"{group}, {name}" if are_several else name
                said.append(f"{who}{text} {cell.kind}")
    title = ", ".join(filter(None, (laid.exhibit.number, laid.exhibit.title, part.title)))
    return shorten(f"{title}. {'; '.join(said)}.", _MOST_SPOKEN)


@dataclass(frozen=True)
class _Scale:
    """An axis of values. `is_log`: then the marks are dots, as no bar stands on such an axis."""

    low: float
    high: float
    is_log: bool
    title: str
    label: str
    notes: tuple[str, ...] = ()


_UNIT_IN = re.compile(r"(?:\(|, )(ns|us|ms|s|MB/s|kB/s)(?=\)|,|$)")
_FACTORS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "kB/s": 1e3, "MB/s": 1e6}


def _scale_for(laid: LaidOut, part: _Part, values: Sequence[float]) -> _Scale:
    """The paper's axis where it is known, longer where a value needs it."""
    axis = laid.exhibit.y
    named = _UNIT_IN.search(axis.title) if axis else None
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
        layers += [_dots(one, values) for one in _DRAWN]
    else:
        layers += [_bars_of(one, values) for one in _DRAWN]
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
    for kind in _DRAWN:
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


# ---- share of kernel time ----


def _kernel_time(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The published points of the share of kernel time, and a curve for each run."""
    names = _names(laid, view)
    history = kernel_history()
    rows: list[Row] = []
    for place, column in view.own:
        whole = _whole_of(column)
        if place in names and whole is not None:
            kind = APART if column.apart or column.mark else MEASURED
            own = section_rows(replace(whole, name="-"), place)
            rows += [{**row, "c": names[place], "h": kind} for row in own]
    published = [{**row, "h": PUBLISHED} for row in point_rows(history, len(view.columns))]
    kinds = [kind for kind in _DRAWN if any(row["h"] == kind for row in [*rows, *published])]
    about = [
        *("Line: measured." for kind in kinds if kind == MEASURED),
        *("Dashed line: may not be compared." for kind in kinds if kind == APART),
        f"Hollow: 90 %, 99 % and all of kernel time, {history.short}; our copy lacks its curves.",
        "The axis of lengths is logarithmic, so that both fit.",
    ]
    return [
        PaperFigure(
            title="Share of kernel time",
            about=" ".join(about),
            alt=_spoken_kernel(laid, names, history),
            spec=_section_spec(laid, [*rows, *published]),
        )
    ]


def _whole_of(column: Column) -> Operation | None:
    """All operations of KRN-P-PRE together, of the first run that has shares of kernel time."""
    for subject in column.subjects:
        for result in subject.results:
            if result.test == KERNEL_TEST:
                time = kernel_time_of(result, is_whole_only=True)
                if time is not None and has_sections(time.whole):
                    return time.whole
    return None


def _spoken_kernel(laid: LaidOut, names: dict[int, str], history: KernelHistory) -> str:
    said = []
    for row in laid.rows:
        for place, name in names.items():
            cell = row.cells[place]
            if cell.kind in _DRAWN and cell.text:
                said.append(f"{statistic_words(row.statistic)}, {name} {cell.text} {cell.kind}")
    if not said:
        said = [
            f"{history.short}, preemption {name}: {statistic_words(statistic)} {format_ns(value)}"
            for name, side in (("off", history.off), ("on", history.on))
            for statistic, value in side.items()
        ]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    return shorten(f"{title}. {'; '.join(said)}.", _MOST_SPOKEN)


_TOP = 1.03  # so that a mark at 1 is whole


def _section_spec(laid: LaidOut, rows: list[Row]) -> Spec:
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names[: len(PALETTE)])
    low, high = domain([number_in(row, "v") for row in rows], 1.5)
    exhibit = laid.exhibit
    title = exhibit.x.title if exhibit.x else "shorter than"
    y_title = exhibit.y.title if exhibit.y else "share of kernel time"
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": f"{_UNIT_IN.sub('', title).rstrip(')')} (log)",
    }

    def y(field: str) -> Spec:
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": [0, _TOP], "nice": False, "clamp": True},
            "axis": share_axis([0, 0.25, 0.5, 0.75, 0.9, 1]),
            "title": y_title,
        }

    layers = [
        {
            "transform": [{"filter": f"datum.h === '{kind}' && isValid(datum.s)"}],
            "mark": mark("line", interpolate="step-after", strokeDash=dash),
            "encoding": {
                "x": x,
                "y": y("s"),
                "color": colour(group),
                "detail": {"field": "i", "type": "nominal"},
                "tooltip": tooltip(
                    group, ("v", "shorter than (ns)", ",.0f"), ("s", "share", ".3~%")
                ),
            },
        }
        for kind, dash in ((MEASURED, [1, 0]), (APART, [4, 3]))
        if any(row["h"] == kind for row in rows)
    ]
    published = {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("point", shape="diamond", filled=False, size=90, strokeWidth=2, opacity=1),
        "encoding": {
            "x": x,
            "y": {**y("b")},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("b", "share", ".3~%")),
        },
    }
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [*layers, published],
        "resolve": {"scale": {"size": "independent"}},
    }


# ---- a distribution, with what was published of it ----


def _distribution(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The histogram of the series of each run, and a rule at each published figure."""
    names = _names(laid, view)
    found: list[tuple[Line, Kind]] = []
    rules: list[tuple[str, float]] = []
    for row in laid.rows:
        for place, name in names.items():
            cell, column = row.cells[place], view.columns[place]
            if column.is_published and cell.kind == PUBLISHED and cell.amount is not None:
                number = _number(cell.amount)
                if number is not None and row.unit == "ns":
                    rules.append((f"{statistic_words(row.statistic)} {cell.text}", number))
            elif not column.is_published and cell.amount is not None and cell.amount.unit == "ns":
                series = _series_of(column, cell.amount)
                is_new = all(line.series is not series for line, _ in found)
                if series is not None and is_new and series.count >= LEAST_VALUES:
                    found.append((Line(series, name, len(found)), cell.kind))
    if not found:
        return []
    lines = [line for line, _ in found][: len(PALETTE)]
    group = Group(lines, colours=list(dict.fromkeys(line.colour for line in lines)))
    spec = _with_rules(histogram_chart(group, "ns"), rules)
    about = ["Values per bin, measured; the triangle marks the worst observed."]
    if any(kind == APART for _, kind in found):
        apart = dict.fromkeys(line.colour for line, kind in found if kind == APART)
        about.append(f"May not be compared: {', '.join(apart)}.")
    if rules:
        about.append("Dashed rules: published. Our copy lacks the paper's chart.")
    said = [
        f"{line.colour}: {format_count(line.series.count)} values from "
        f"{format_ns(line.series.min)} to {format_ns(line.series.max)}"
        for line in lines
    ] + [f"published {text}" for text, _ in rules]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", _MOST_SPOKEN)
    return [PaperFigure("Distribution", " ".join(about), alt, spec)]


def _series_of(column: Column, amount: Amount) -> Series | None:
    """The series that a figure of a run is of."""
    run_id, _, address = amount.place.partition(" ")
    for subject in column.subjects:
        if subject.id == run_id:
            held = subject.series_at(address)
            if held is not None and held.series.count:
                return held.series
    return None


def _with_rules(spec: Spec, rules: Sequence[tuple[str, float]]) -> Spec:
    """`spec`, a histogram, with a named rule at each of the lengths."""
    if not rules:
        return spec
    first = spec["layer"][0]["encoding"]["x"]
    low, high = first["scale"]["domain"]
    low, high = (
        min([low, *(at / 1.1 for _, at in rules)]),
        max([high, *(at * 1.6 for _, at in rules)]),
    )
    x = {**first, "scale": value_scale(low, high), "axis": value_axis(low, high, "ns")}
    layers = [
        {**one, "encoding": {**one["encoding"], "x": x}} if "x" in one["encoding"] else one
        for one in spec["layer"]
    ]
    values: list[Row] = [
        {"h": PUBLISHED, "v": at, "l": text, "e": number} for number, (text, at) in enumerate(rules)
    ]
    only = [{"filter": f"datum.h === '{PUBLISHED}'"}]
    at: Spec = {"field": "v", "type": "quantitative"}
    rule: Spec = {
        "transform": only,
        "mark": mark("rule", strokeDash=[4, 3], color="var(--ink)"),
        "encoding": {"x": at, "tooltip": [{"field": "l", "type": "nominal", "title": "published"}]},
    }
    words = [
        {
            "transform": [{"filter": f"datum.e === {number}"}],
            "mark": mark("text", align="left", dx=4, fontSize=10, color="var(--ink)"),
            "encoding": {
                "x": at,
                "y": {"value": 6 + 13 * (number % 4)},
                "text": {"field": "l", "type": "nominal"},
            },
        }
        for number in range(len(rules))
    ]
    rows = [*spec["data"]["values"], *values]
    return {**spec, "data": {"values": rows}, "layer": [*layers, rule, *words]}


# ---- the tire ----

_TRIANGLES = {
    tire_charts.HELD_UP_TO: "triangle-up",
    tire_charts.MISSED_FROM: "triangle-down",
}
_POLICIES = {"cfs": "other", "fifo": "fifo"}
_STEP_IN = re.compile(r"step of ([0-9.]+) ms")
_STEP_MS = 10.0
_SOLVER = "semaphore"
_MOST_POINTS = 600


@dataclass(frozen=True)
class _TirePoint:
    """A point with the panel that it is drawn in."""

    panel: str
    point: Point


def _policies(laid: LaidOut) -> set[str]:
    """The scheduling policies that the title of the exhibit names; all where it names none."""
    words = set(re.findall(r"[a-z]+", laid.exhibit.title.lower()))
    return {policy for word, policy in _POLICIES.items() if word in words}


def _own_points(laid: LaidOut, view: StudyView, test: str) -> list[_TirePoint]:
    """The points of all runs under the policies of the exhibit, run after run."""
    names, policies = _names(laid, view), _policies(laid)
    own = [(place, column) for place, column in view.own if place in names]
    found = []
    for place, column in own:
        documents = {one.id: one.document for one in column.subjects}
        for document in documents.values():
            curves = CurveNames(document)
            for point in points_of(document):
                is_of_policy = not policies or point.policy in policies
                if point.test == test and is_of_policy and point.solver == _SOLVER:
                    panel = curves.panel(point.curve)
                    who = f"{names[place]}: {panel}" if len(own) > 1 or mark_of(column) else panel
                    found.append(_TirePoint(shorten(who, 60), point))
    return found


def _is_curve(rows: Sequence[Row]) -> bool:
    """Whether there are several numbers of nodes: one has no picture."""
    return len({row["v"] for row in rows}) > 1


def _panels(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))[: tire_charts.MOST_PANELS]


_LEFT_OUT = "More conditions were measured: see the page of the run."


def _totals(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """Total time by nodes, a curve for each number of threads."""
    timed = [one for one in _own_points(laid, view, REAL_FAST) if one.point.total]
    timed.sort(key=lambda one: (one.point.threads, one.point.masses))
    lines = tire_charts.shown_threads(one.point.threads for one in timed)
    panels = _panels(one.panel for one in timed)
    kept = [one for one in timed if one.point.threads in lines and one.panel in panels]
    rows = [
        tire_charts.total_row(
            one.panel, one.point.threads, one.point.masses, one.point.total.mean_ns
        )
        for one in kept[:: max(1, -(-len(kept) // _MOST_POINTS))]
        if one.point.total
    ]
    if not _is_curve(rows):
        return []
    about = [
        "Mean of the repeats, measured. Both axes are logarithmic; the paper's curves are lost."
    ]
    about += [_LEFT_OUT] if len(panels) < len({one.panel for one in timed}) else []
    said = [
        f"{row['p']}, {row['c']}, {format_count(int(number_in(row, 'v')))} masses: "
        f"{format_ns(number_in(row, 't'))}"
        for row in rows[-8:]
    ]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", _MOST_SPOKEN)
    spec = tire_charts.total_chart(rows, [threads_text(one) for one in lines])
    return [PaperFigure("Total time by nodes", " ".join(about), alt, spec)]


def _maps(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """Where a deadline was missed, threads by nodes."""
    named = _STEP_IN.search(laid.exhibit.title)
    step_ns = round(float(named[1] if named else _STEP_MS) * 1e6)
    own = _own_points(laid, view, REAL_TIME)
    fitting = [one for one in own if one.point.step_ns == step_ns]
    panels = _panels(one.panel for one in fitting)
    rows: list[Row] = []
    for panel in panels:
        bounds = bounds_of([one.point for one in fitting if one.panel == panel])
        rows += [tire_charts.map_row(panel, cell) for one in maps_of(bounds) for cell in one.cells]
    rows = rows[:: max(1, -(-len(rows) // _MOST_POINTS))]
    if not _is_curve(rows):
        return []
    about = ["Measured: a dot where a deadline was missed, a cross where none was."]
    about += [_LEFT_OUT] if len(panels) < len({one.panel for one in fitting}) else []
    published = list(_published_rows(laid, panels))
    if any("y" in row for row in published):
        about.append("Hollow triangles: published; up, no miss up to there; down, missed there.")
    if any("y" not in row for row in published):
        about.append("Dashed rule: published, no miss up to there with any number of threads.")
    about.append("Our copy lacks the paper's points.")
    count = sum(1 for row in rows if number_in(row, "l") > 0)
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    said = [f"{len(rows)} points measured, {count} of them missed a deadline"]
    said += [
        f"published, {row.get('y', 'any')} threads: {row['h']} {row['m']:.0f}" for row in published
    ]
    alt = shorten(f"{title}. {'; '.join(said)}.", _MOST_SPOKEN)
    spec = _with_published(tire_charts.map_chart(rows), published)
    return [PaperFigure("Missed deadlines by nodes and threads", " ".join(about), alt, spec)]


def _published_rows(laid: LaidOut, panels: Sequence[str]) -> Iterator[Row]:
    """The published numbers of nodes of the exhibit; one of any number of threads has no `y`."""
    kinds = {MOST_HELD: tire_charts.HELD_UP_TO, FIRST_MISSED: tire_charts.MISSED_FROM}
    for row in laid.rows:
        for place in laid.columns:
            cell = row.cells[place]
            if cell.kind != PUBLISHED or cell.amount is None or row.statistic not in kinds:
                continue
            threads = next((one for one in row.address.split("/") if one.isdecimal()), None)
            own: Row = {"h": kinds[row.statistic], "m": _number(cell.amount) or 1.0}
            for panel in panels:
                yield {"p": panel, **own, **({"y": threads} if threads else {})}


def _with_published(spec: Spec, rows: Sequence[Row]) -> Spec:
    """`spec`, a map, with a hollow mark for each published point, and a rule for one of any number
    of threads."""
    if not rows:
        return spec
    panel: Spec = spec.get("spec", spec)
    encoding: Spec = panel["layer"][0]["encoding"]
    threads = {*encoding["y"]["sort"], *(str(row["y"]) for row in rows if "y" in row)}
    y = {**encoding["y"], "sort": sorted(threads, key=int, reverse=True)}
    low, high = encoding["x"]["scale"]["domain"]
    masses = [number_in(row, "m") for row in rows]
    low, high = min(low, *masses), max(high, *(1.3 * one for one in masses))
    x = {
        **encoding["x"],
        "scale": value_scale(low, high),
        "axis": {**encoding["x"]["axis"], "values": ticks(low, high)},
    }
    measured = {
        **panel["layer"][0],
        "transform": [{"filter": "isValid(datum.v)"}],
        "encoding": {**encoding, "x": x, "y": y},
    }
    at: Spec = {"field": "m", "type": "quantitative"}
    tips = [
        {"field": "h", "type": "nominal", "title": "published"},
        {"field": "m", "type": "quantitative", "title": "masses", "format": ",.0f"},
    ]
    ink: Spec = {"strokeWidth": 1.8, "color": "var(--ink)", "opacity": 1}
    points = [
        {
            "transform": [{"filter": f"datum.h === '{kind}' && isValid(datum.y)"}],
            "mark": mark("point", shape=shape, filled=False, size=100, **ink),
            "encoding": {"x": at, "y": y, "tooltip": tips},
        }
        for kind, shape in _TRIANGLES.items()
        if any(row["h"] == kind and "y" in row for row in rows)
    ]
    rule = {
        "transform": [{"filter": "isValid(datum.m) && !isValid(datum.y)"}],
        "mark": mark("rule", strokeDash=[5, 3], **ink),
        "encoding": {"x": at, "tooltip": tips},
    }
    rules = [rule] if any("y" not in row for row in rows) else []
    changed = {**panel, "layer": [measured, *points, *rules]}
    data = {"values": [*spec["data"]["values"], *rows]}
    return {**spec, "data": data, "spec": changed} if "spec" in spec else {**changed, "data": data}
