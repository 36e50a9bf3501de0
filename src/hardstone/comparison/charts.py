"""Charts of systems as Vega-Lite specifications: pairs, spreads, shifts, and panels for many
systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log10
from typing import Any, Literal

from hardstone.model import Unit
from hardstone.report.chart_frame import (
    CONFIG,
    PALETTE,
    Group,
    Row,
    Spec,
    colour,
    domain,
    drawn,
    figure,
    mark,
    ticks,
    tooltip,
    unit_title,
    value_axis,
    value_scale,
)
from hardstone.stats.two_runs import ShiftPoint

MOST_OVERLAID = 6
GREY = "var(--quiet)"
# One for each system of an overlay, so that not only colour tells them apart.
_SYSTEM_DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [1, 4], [12, 4])
_GREY_DASHES = ([1, 3], [5, 3], [1, 6], [8, 3, 1, 3], [3, 7], [12, 3])
_NEAR = 10.0
NEAR_PANELS = 2.0  # whose curves need the room
_MOST_BEYOND = 0.4  # of what the values span, on either side
_ROOM = 1.1
_MIDDLE = 0.45


@dataclass(frozen=True)
class Standard:
    """A published yardstick: a line at `value`, with words."""

    value: float
    text: str


def styled(spec: Spec, names: Sequence[str], grey: Sequence[bool]) -> Spec:
    """An overlay whose lines differ in colour and in dashes; what may not be compared is grey."""
    colours = [GREY if out else PALETTE[n % len(PALETTE)] for n, out in enumerate(grey)]
    dashes = [
        (_GREY_DASHES if out else _SYSTEM_DASHES)[n % len(_SYSTEM_DASHES)]
        for n, out in enumerate(grey)
    ]
    for layer in spec.get("spec", spec)["layer"]:
        encoding = layer.get("encoding", {})
        if "color" not in encoding:
            continue
        scale = {"domain": list(names), "range": colours}
        encoding["color"] = {**encoding["color"], "scale": scale}
        if layer["mark"]["type"] == "line":
            legend = encoding["color"].get("legend")
            dash = {"domain": list(names), "range": dashes}
            encoding["strokeDash"] = {
                **{"field": "c", "type": "nominal", "sort": None, "scale": dash},
                "legend": legend and {**legend, "symbolSize": 400},
            }
            encoding["color"]["legend"] = legend and {**legend, "symbolSize": 400}
    return spec


def room_for(
    standards: Sequence[Standard], low: float, high: float, near: float = _NEAR
) -> tuple[list[Standard], float, float]:
    """The yardsticks to draw, and the ends of an axis that holds them too: those that it holds
    already, or that are beyond its ends by no more than the factor `near`, and by so little that
    the values still fill most of the axis."""
    near = min(near, (high / low) ** _MOST_BEYOND)
    shown = [one for one in standards if low / near <= one.value <= high * near]
    ends = [low, high, *(one.value * _ROOM for one in shown), *(one.value / _ROOM for one in shown)]
    return shown, min(ends), max(ends)


def _standard_layers(
    shown: Sequence[Standard],
    ends: tuple[float, float],
    channel: str,
    *,
    is_low: bool = False,
    middle: float = _MIDDLE,
) -> list[Spec]:
    """A line for each yardstick across `channel` ("x" or "y"), from the first to the last of
    `ends`, with its words at the top, or at the bottom of the chart if `is_low`; to the left of
    lines that stand further right than the share `middle`."""
    found: list[Spec] = []
    for number, one in enumerate(shown):
        at: Spec = {channel: {"field": "k", "type": "quantitative"}}
        data = {"values": [{"k": one.value, "z": one.text}]}
        line = mark("rule", strokeWidth=1, strokeDash=[4, 2], color="var(--bad)")
        found.append({"data": data, "mark": line, "encoding": at})
        place = log(one.value / ends[0]) / log(ends[1] / ends[0])
        side = -1 if place > middle else 1
        found.append({"data": data, **_words(channel, number, side, is_low=is_low)})
    return found


def _words(channel: str, number: int, side: int, *, is_low: bool) -> Spec:
    """To the left (-1) or right (1) of the line; never cut off where they are wider than that."""
    text: Spec = {"field": "z", "type": "nominal"}
    look: Spec = {"fontSize": 10, "color": "var(--bad)", "clip": False}
    if channel == "x":
        down = 2 + 12 * number
        look.update(align="right" if side < 0 else "left", dx=3 * side)
        look.update(baseline="bottom" if is_low else "top", dy=-down if is_low else down)
        return {
            "mark": mark("text", **look),
            "encoding": {
                "x": {"field": "k", "type": "quantitative"},
                "y": {"value": "height" if is_low else 0},
                "text": text,
            },
        }
    return {
        "mark": mark("text", align="left", dx=3, dy=2, baseline="top", **look),
        "encoding": {"y": {"field": "k", "type": "quantitative"}, "x": {"value": 0}, "text": text},
    }


def with_standards(
    spec: Spec,
    channel: str,
    standards: Sequence[Standard],
    unit: Unit,
    *,
    is_low: bool = False,
) -> Spec:
    """The chart with yardsticks, its axis made wider for those that are near."""
    layers = spec.get("spec", spec)["layer"]
    axis = layers[0]["encoding"][channel]
    low, high = axis["scale"]["domain"]
    shown, low, high = room_for(standards, low, high)
    if not shown:
        return spec
    axis.update(scale=value_scale(low, high), axis=value_axis(low, high, unit))
    layers += _standard_layers(shown, (low, high), channel, is_low=is_low)
    return spec


_COLUMNS = 3
_EDGE = 0.1
_WIDTH, _HEIGHT = 108, 66
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Panel:
    """The curve of one system, as (x, y); `band` as (x, low, high)."""

    name: str
    points: Sequence[Point]
    is_grey: bool = False
    is_reference: bool = False
    band: Sequence[tuple[float, float, float]] = ()


def panel_chart(
    panels: Sequence[Panel],
    x: Spec,
    y: Spec,
    *,
    behind: Sequence[Point] = (),
    standards: Sequence[Standard] = (),
    across: str = "x",
    look: Spec | None = None,
    tips: tuple[str, str] = ("", ""),
) -> Spec:
    """`x` and `y` are the channels of fields "v" and "s" with scale, axis and title, which only
    the caption of the figure names. `behind`: the curve of the reference. `standards` are lines
    across the axis `across`, explained by the caption too."""
    x, y = {**x, "title": None}, {**y, "title": None}
    rows = [row for one in panels for row in _panel_rows(one)]
    layers = [_curves(x, y, look or {}, tips)]
    if any(one.band for one in panels):
        layers.insert(0, _bands(x, y))
    if behind:
        layers.append(_behind(behind, look or {}))
    layers += [
        {
            "data": {"values": [{"k": one.value}]},
            "mark": mark("rule", strokeWidth=0.8, strokeDash=[3, 2], color="var(--bad)"),
            "encoding": {across: {"field": "k", "type": "quantitative"}},
        }
        for one in standards
    ]
    names = [one.name for one in panels]
    return {
        "config": {**CONFIG, "facet": {"spacing": 8}},
        "data": {"values": rows},
        "facet": {
            "field": "p",
            "type": "nominal",
            "sort": names,
            "title": None,
            "header": {"labelFontSize": 10, "labelLimit": _WIDTH + 8, "labelPadding": 2},
        },
        "columns": _COLUMNS,
        "spec": {"width": _WIDTH, "height": _HEIGHT, "layer": layers},
    }


def inner_axis(low: float, high: float, unit: Unit) -> Spec:
    """An axis whose labels stay away from those of the next panel."""
    axis = value_axis(low, high, unit)
    span = log(high / low) or 1.0
    inner = [one for one in axis["values"] if _EDGE < log(one / low) / span < 1 - _EDGE]
    return {**axis, "values": inner or axis["values"][:1], "labelSeparation": 16}


def _panel_rows(one: Panel) -> list[dict[str, Any]]:
    kind = "reference" if one.is_reference else "grey" if one.is_grey else "own"
    curve: list[dict[str, Any]] = [
        {"p": one.name, "e": kind, "v": x, "s": y} for x, y in one.points
    ]
    return curve + [
        {"p": one.name, "e": kind, "v": x, "min": low, "max": high} for x, low, high in one.band
    ]


def _panel_colour() -> Spec:
    scale = {
        "domain": ["own", "reference", "grey"],
        "range": ["var(--series-1)", "var(--ink)", GREY],
    }
    return {"field": "e", "type": "nominal", "scale": scale, "legend": None}


def _curves(x: Spec, y: Spec, look: Spec, tips: tuple[str, str]) -> Spec:
    return {
        "transform": [{"filter": "!isValid(datum.min)"}],
        "mark": mark("line", strokeWidth=1.4, **look),
        "encoding": {
            "x": x,
            "y": y,
            "color": _panel_colour(),
            "tooltip": [
                {"field": "p", "type": "nominal", "title": "system"},
                {"field": "v", "type": "quantitative", "title": tips[0]},
                {"field": "s", "type": "quantitative", "title": tips[1], "format": ".3~g"},
            ],
        },
    }


def _bands(x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.min)"}],
        "mark": mark("area", fillOpacity=0.2),
        "encoding": {
            "x": x,
            "y": {**y, "field": "min"},
            "y2": {"field": "max"},
            "color": _panel_colour(),
        },
    }


def _behind(points: Sequence[Point], look: Spec) -> Spec:
    """Data of its own, so that every panel has it and the page holds it once."""
    return {
        "data": {"values": [{"v": x, "s": y} for x, y in points]},
        "mark": mark("line", strokeWidth=1, color=GREY, opacity=0.75, **look),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "s", "type": "quantitative"},
        },
    }


AVERAGE, WORST = "average", "worst"
Kind = Literal["value", "below", "above", "missing", "nothing"]
_PAIR_STEP, _TIGHT_PAIR_STEP = 27, 23
_MANY = 9
_WHOLE = 404  # as wide as charts with an axis of values are
_WIDEST_LABEL = 160
_LABEL_WIDTH = 6.2
_TEXT_WIDTH = 7.0  # of the widest fonts that browsers take for sans-serif
_TEXT_GAP = 8
_MOST_FOR_TEXT = 0.55
_WORDS_LEFT = 0.35  # to the left of the dots the names leave room above them


@dataclass(frozen=True)
class Amounts:
    """One figure of one system. `end` is its value or bound; None where it is "missing", or where
    there is "nothing", neither average nor worst. `text` is what it says, such as "< 100 ns" or
    "not published"."""

    name: str
    which: str
    kind: Kind
    end: float | None
    text: str
    is_grey: bool = False


def pair_chart(
    found: Sequence[Amounts], unit: Unit, title: str, standards: Sequence[Standard] = ()
) -> Spec:
    """A dot for the average of each system and one for its worst, with their figures in words. A
    figure below a bound is a hollow triangle to the left, one above a bound a triangle to the
    right; what may not be compared is grey, what is missing is named."""
    names = list(dict.fromkeys(one.name for one in found))
    label = min(max(map(len, names), default=0) * _LABEL_WIDTH, _WIDEST_LABEL)
    width = int(_WHOLE - label)
    low, high = domain([one.end for one in found if one.end is not None], 1.6)
    shown, low, high = room_for(standards, low, high)
    high = _with_room(found, low, high, width)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{title} (log)",
    }
    # Rows that share their fields follow one another, so that the page has these once.
    ordered = sorted(found, key=lambda one: (one.which, one.kind, one.is_grey))
    return {
        "config": CONFIG,
        "data": {"values": [_pair_row(one, low) for one in ordered]},
        "layer": [
            *_dots(x, unit, _y(names, is_open=bool(shown))),
            *_texts(),
            *_standard_layers(shown, (low, high), "x", middle=_WORDS_LEFT),
        ],
        "width": width,
        "height": {
            "step": _TIGHT_PAIR_STEP if len(names) >= _MANY else _PAIR_STEP,
            "for": "position",
        },
        "usermeta": {"zoom": ["x"]},
    }


def _with_room(found: Sequence[Amounts], low: float, high: float, width: int) -> float:
    """The end of an axis on which every figure has room for its words to the right."""
    most = high
    for one in found:
        words = min((len(one.text) * _TEXT_WIDTH + _TEXT_GAP) / width, _MOST_FOR_TEXT)
        end = drawn(one.end) if one.end is not None else low
        most = max(most, low * (end / low) ** (1 / (1 - words)))
    return most


def _pair_row(one: Amounts, low: float) -> dict[str, Any]:
    return {
        "u": one.name,
        "c": one.which,
        "k": one.kind,
        "e": "grey" if one.is_grey else "plain",
        "z": one.text,
        "v": low if one.end is None else drawn(one.end),
    }


def _y(names: Sequence[str], *, is_open: bool) -> Spec:
    axis: Spec = {"labelLimit": _WIDEST_LABEL, "labelOverlap": False, "grid": False}
    axis.update(ticks=False, domain=False)
    scale: Spec = {"domain": list(names)}  # in their order, whichever figures are missing
    if is_open:  # above the first dots, for the words of the yardsticks
        scale["paddingOuter"] = 1
    return {"field": "u", "type": "nominal", "title": None, "axis": axis, "scale": scale}


_ASIDE: Spec = {"padding": 0.7}
_PLACE: Spec = {
    "y": {"field": "u", "type": "nominal"},
    "yOffset": {"field": "c", "type": "nominal", "sort": [AVERAGE, WORST], "scale": _ASIDE},
}


def _pair_colour() -> Spec:
    return {
        "condition": {"test": "datum.e === 'grey'", "value": GREY},
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": [AVERAGE, WORST], "range": PALETTE[:2]},
        "legend": {"symbolType": "circle", "symbolSize": 70},
    }


def _tips(unit: Unit) -> list[Spec]:
    return [
        {"field": "u", "type": "nominal", "title": "system"},
        {"field": "c", "type": "nominal", "title": "figure"},
        {"field": "z", "type": "nominal", "title": "says"},
        {"field": "v", "type": "quantitative", "title": unit_title("drawn at", unit)},
    ]


_MARKS: dict[Kind, Spec] = {
    "value": {"shape": "circle", "filled": True, "size": 60},
    "below": {"shape": "triangle-left", "filled": False, "size": 60, "strokeWidth": 1.5},
    "above": {"shape": "triangle-right", "filled": True, "size": 60},
}


def _dots(x: Spec, unit: Unit, y: Spec) -> list[Spec]:
    return [
        {
            "transform": [{"filter": f"datum.k === '{kind}'"}],
            "mark": mark("point", opacity=1, **look),
            "encoding": {
                "x": x,
                **_PLACE,
                "y": y,
                "color": _pair_colour(),
                "tooltip": _tips(unit),
            },
        }
        for kind, look in _MARKS.items()
    ]


def _texts() -> list[Spec]:
    """The figures next to their dots; at the left end why one is missing."""
    look: Spec = {"align": "left", "baseline": "middle", "fontSize": 10}
    known = mark("text", dx=8, color="var(--ink)", **look)
    missing = mark("text", dx=3, fontStyle="italic", color=GREY, **look)
    encoding: Spec = {
        "x": {"field": "v", "type": "quantitative"},
        **_PLACE,
        "text": {"field": "z", "type": "nominal"},
    }
    return [
        {
            "transform": [{"filter": "datum.k !== 'missing' && datum.k !== 'nothing'"}],
            "mark": known,
            "encoding": {
                **encoding,
                "color": {
                    "condition": {"test": "datum.e === 'grey'", "value": GREY},
                    "value": "var(--ink)",
                },
            },
        },
        {
            "transform": [{"filter": "datum.k === 'missing'"}],
            "mark": missing,
            "encoding": encoding,
        },
        {
            "transform": [{"filter": "datum.k === 'nothing'"}],
            "mark": missing,
            "encoding": {key: one for key, one in encoding.items() if key != "yOffset"},
        },
    ]


MOST_KINDS = 8
_SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down"),
    *("triangle-left", "triangle-right"),
)
_SPREAD_STEP = 18
_ABREAST = 26  # characters, for two columns of the legend


@dataclass(frozen=True)
class Dot:
    """Worst over mean of the figure `kind` of one system."""

    name: str
    kind: str
    ratio: float
    is_grey: bool = False


def spread_chart(dots: Sequence[Dot], names: Sequence[str]) -> Spec:
    """A row for each of `names`, also of one without dots; kinds differ in shape and colour."""
    kinds = list(dict.fromkeys(one.kind for one in dots))[:MOST_KINDS]
    shown = [one for one in dots if one.kind in kinds]
    low, high = domain([1.0, *(one.ratio for one in shown)], 1.2)
    label = min(max(map(len, names), default=0) * _LABEL_WIDTH, _WIDEST_LABEL)
    axis: Spec = {"labelLimit": _WIDEST_LABEL, "labelOverlap": False, "grid": True}
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"values": ticks(low, high), "format": "~g", "grid": True},
        "title": "worst over mean (log)",
    }
    dot: Spec = {
        "mark": mark("point", filled=True, size=48, opacity=0.9),
        "encoding": {
            "x": x,
            "y": {
                "field": "u",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(names)},
                "axis": {**axis, "ticks": False, "domain": False},
            },
            "color": _spread_colour(kinds),
            "shape": _shape(kinds),
            "tooltip": [
                {"field": "u", "type": "nominal", "title": "system"},
                {"field": "h", "type": "nominal", "title": "figure"},
                {"field": "v", "type": "quantitative", "title": "ratio", "format": ".3~g"},
            ],
        },
    }
    rows = [
        {
            "u": one.name,
            "h": one.kind,
            "e": "grey" if one.is_grey else "plain",
            "v": one.ratio,
        }
        for one in sorted(shown, key=lambda one: (one.kind, one.is_grey))
    ]
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "layer": [dot],
        "width": int(_WHOLE - label),
        "height": {"step": _SPREAD_STEP},
        "usermeta": {"zoom": ["x"]},
    }


def _spread_colour(kinds: Sequence[str]) -> Spec:
    return {
        "condition": {"test": "datum.e === 'grey'", "value": GREY},
        "field": "h",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(kinds), "range": PALETTE[: len(kinds)]},
        "legend": _legend(kinds),
    }


def _shape(kinds: Sequence[str]) -> Spec:
    scale = {"domain": list(kinds), "range": list(_SHAPES[: len(kinds)])}
    return {"field": "h", "type": "nominal", "sort": None, "scale": scale, "legend": _legend(kinds)}


def _legend(kinds: Sequence[str]) -> Spec:
    longest = max(map(len, kinds), default=0)
    columns = 2 if longest <= _ABREAST else 1
    return {"columns": columns, "symbolSize": 60, "symbolStrokeWidth": 1, "symbolType": "circle"}


_LEAST_SPAN = 1.25
_FURTHEST = 1000.0
_BAND_ROOM = 1.5
_WIDE = 4.0
_TICKS = (0.5, 0.6, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2)
_WIDE_TICKS = (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100, 1000)
_FEW_TICKS = (0.01, 0.1, 0.5, 1, 2, 10, 100)
# The axis is the logarithm of the odds q / (1 - q), so that both tails have room.
_LEVEL = "format(100 / (1 + pow(10, -datum.value)), '.5~f') + ' %'"
_LEVELS = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


@dataclass(frozen=True)
class Shift:
    """The points of one system, q ascending."""

    name: str
    points: Sequence[ShiftPoint]


def shift_chart(found: Sequence[Shift]) -> Spec:
    """Ratios over the quantiles, with their bands; at 1 the systems are the same. Up to six systems
    share one chart, more have panels."""
    x, y = _axes(found)
    floor, top = y["scale"]["domain"]
    if len(found) > MOST_OVERLAID:
        marks = [one for one in _FEW_TICKS if one in y["axis"]["values"]]
        y = {**y, "axis": {**y["axis"], "values": marks}}
        panels = [
            Panel(one.name, _line(one), band=_band(one, floor, top)) for one in map(_thinned, found)
        ]
        spec = panel_chart(
            panels,
            {**x, "axis": {**x["axis"], "values": [_odds(0.5), _odds(0.99)]}},
            y,
            tips=("log of the odds", "ratio"),
        )
        spec["spec"]["layer"].append(_equal_line())
        return spec
    names = [one.name for one in found]
    rows: list[Row] = []
    for one in found:
        rows += [{"c": one.name, "v": at, "m": ratio} for at, ratio in _line(one)]
        band = _band(one, floor, top)
        rows += [{"c": one.name, "v": at, "min": low, "max": high} for at, low, high in band]
    group = Group([], colours=names)
    spec = figure(group, rows, [_lines(group, x, y), _area(group, x), _equal_line()])
    return styled(spec, names, [False] * len(names))


def _thinned(one: Shift) -> Shift:
    """Every second point and the last: a panel shows no more."""
    last = one.points[-1:] if len(one.points) % 2 == 0 else []
    return Shift(one.name, [*one.points[::2], *last])


def _odds(q: float) -> float:
    """Where the quantile `q` stands."""
    return round(log10(q / (1 - q)), 8)


def _line(one: Shift) -> list[tuple[float, float | None]]:
    return [(_odds(point.q), point.ratio) for point in one.points]


def _band(one: Shift, floor: float, top: float) -> list[tuple[float, float, float]]:
    """Clipped to the axis; an open end reaches to its end."""
    return [
        (
            _odds(point.q),
            floor if point.low is None else min(max(point.low, floor), top),
            top if point.high is None else min(max(point.high, floor), top),
        )
        for point in one.points
    ]


def _axes(found: Sequence[Shift]) -> tuple[Spec, Spec]:
    places = [_odds(point.q) for one in found for point in one.points]
    least, most = min(places, default=-1.0), max(places, default=1.0)
    ratios = [point.ratio for one in found for point in one.points]
    low, high = min([1 / _LEAST_SPAN, *ratios]), max([_LEAST_SPAN, *ratios])
    # A band that is much wider than the ratios is cut: its ends are not worth the room.
    low, high = max(low / _BAND_ROOM, 1 / _FURTHEST), min(high * _BAND_ROOM, _FURTHEST)
    marks = [place for place in map(_odds, _LEVELS) if least <= place <= most]
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": {"domain": [least, most], "nice": False, "zero": False},
        "axis": {"values": marks, "labelExpr": _LEVEL, "grid": True},
        "title": "quantile",
    }
    y: Spec = {
        "field": "s",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {
            "values": [
                one for one in (_TICKS if high / low < _WIDE else _WIDE_TICKS) if low <= one <= high
            ],
            "format": "~g",
            "grid": True,
        },
        "title": "ratio to the reference (log)",
    }
    return x, y


def _lines(group: Group, x: Spec, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("line"),
        "encoding": {
            "x": x,
            "y": {**y, "field": "m"},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "log of the odds", ".3~g"), ("m", "ratio", ".3~g")),
        },
    }


def _area(group: Group, x: Spec) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.min)"}],
        "mark": mark("area", fillOpacity=max(0.06, 0.16 / len(group.colours))),
        "encoding": {
            "x": x,
            "y": {"field": "min", "type": "quantitative"},
            "y2": {"field": "max"},
            "color": colour(group),
        },
    }


def _equal_line() -> Spec:
    return {
        "mark": mark("rule", color="var(--quiet)", strokeDash=[4, 3]),
        "encoding": {"y": {"datum": 1, "type": "quantitative"}},
    }
