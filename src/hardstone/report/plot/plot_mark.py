"""The marks of a plot between two numeric axes, and what room they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import escape

from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_direction import drawn_rows
from hardstone.report.plot.plot_layer import Layer, Row, groups
from hardstone.report.plot.plot_paint import (
    colour_of,
    dash_of,
    fields_of,
    moved,
    see_through,
    size_of,
    thick,
)
from hardstone.report.plot.plot_path import Run, area, line
from hardstone.report.plot.plot_reading import known, number, part, text, value_in
from hardstone.report.plot.plot_scale import Scale
from hardstone.report.plot.plot_symbol import path, reach
from hardstone.report.plot.tenth import tenth
from hardstone.report.theme import CONFIG

_LINE = CONFIG["line"]
_ROUND = ' stroke-linecap="round" stroke-linejoin="round"'


@dataclass
class Canvas:
    """Where marks are drawn. `room` is what all of them take, `lines` what lines and areas take,
    which alone keep legends and headings away."""

    width: float
    height: float
    x: Scale
    y: Scale
    parts: list[str] = field(default_factory=list)
    room: Box = field(default_factory=Box)
    lines: Box = field(default_factory=Box)


def draw_line(layer: Layer, canvas: Canvas) -> None:
    _known_channels(layer, "x", "y", "color", "detail", "size", "strokeDash")
    colour, dash = colour_of(layer), dash_of(layer)
    width = size_of(layer, layer.look.get("strokeWidth", _LINE["strokeWidth"]))
    known("strokeWidth" not in layer.look or "size" not in layer.channels)
    known(layer.look.get("invalid", _BROKEN) == _BROKEN)
    is_stepped = _is_stepped(layer)
    opacity = see_through(layer.look, 1)
    for rows in groups(layer, fields_of(layer)).values():
        runs = _runs(layer, rows, canvas)
        if not runs:
            continue
        first = rows[0]
        wide = width(first)
        canvas.parts.append(
            f'<path d="{line(runs, is_stepped=is_stepped)}" stroke="{colour(first)}"'
            f"{thick(wide)}{_ROUND}{dash(first)}{opacity} />"
        )
        for xs, ys in runs:
            canvas.lines.add(
                min(xs) - wide, min(ys) - wide, max(xs) + wide, max(ys) + wide
            )


_BROKEN = "break-paths-show-path-domains"


def _is_stepped(layer: Layer) -> bool:
    kind = layer.look.get("interpolate", "linear")
    known(kind in ("linear", "step-after"))
    return bool(kind == "step-after")


def _known_channels(layer: Layer, *names: str) -> None:
    known(layer.channels.keys() <= {*names, "tooltip"})


def _runs(layer: Layer, rows: Sequence[Row], canvas: Canvas) -> list[Run]:
    """The points from left to right, broken where there is no value."""
    field_x, field_y = layer.channels["x"]["field"], layer.channels["y"]["field"]
    across = [value_in(row, field_x) for row in rows]
    down = [value_in(row, field_y) for row in rows]
    known(None not in across)
    xs = canvas.x.places(across)  # type: ignore[arg-type]
    if None not in down:
        ys = canvas.y.places(down)  # type: ignore[arg-type]
        if any(one > after for one, after in zip(xs, xs[1:], strict=False)):
            order = sorted(range(len(xs)), key=xs.__getitem__)
            xs, ys = [xs[at] for at in order], [ys[at] for at in order]
        return [(xs, ys)] if xs else []
    found: list[Run] = []
    is_open = False
    for x, value in sorted(zip(xs, down, strict=True), key=lambda one: one[0]):
        if value is None:
            is_open = False
            continue
        if not is_open:
            found.append(([], []))
            is_open = True
        found[-1][0].append(x)
        found[-1][1].append(canvas.y.place(value))
    return found


def draw_area(layer: Layer, canvas: Canvas) -> None:
    _known_channels(layer, "x", "y", "y2", "color", "detail")
    colour, other = colour_of(layer), part(layer.channels["y2"], {"field", "datum"})
    known(len(other) == 1)
    is_stepped = _is_stepped(layer)
    known(not is_stepped or "datum" in other)
    pale = number(layer.look["fillOpacity"])
    names = [layer.channels[name]["field"] for name in ("x", "y")]
    field_x, field_y = names
    names += [text(other["field"])] if "field" in other else []
    for rows in groups(layer, fields_of(layer)).values():
        known(all(value_in(row, name) is not None for row in rows for name in names))
        xs = canvas.x.places([row[field_x] for row in rows])
        known(all(one <= after for one, after in zip(xs, xs[1:], strict=False)))
        ys = canvas.y.places([row[field_y] for row in rows])
        ends = [row[other["field"]] if "field" in other else other["datum"] for row in rows]
        floors = canvas.y.places([number(one) for one in ends])
        canvas.parts.append(
            f'<path d="{area(xs, ys, floors, is_stepped=is_stepped)}" fill="{colour(rows[0])}"'
            f' fill-opacity="{pale:g}" />'
        )
        canvas.lines.add(min(xs), min(ys + floors), max(xs), max(ys + floors))
    if layer.look.get("line", False):
        known(layer.look["line"] is True)
        above = {key: one for key, one in layer.channels.items() if key != "y2"}
        look = {key: one for key, one in layer.look.items() if key == "interpolate"}
        draw_line(Layer("line", look, above, layer.rows), canvas)


def draw_point(layer: Layer, canvas: Canvas) -> None:
    _known_channels(layer, "x", "y", "color", "size")
    look = layer.look
    colour, size, shape = colour_of(layer), size_of(layer, 30), text(look.get("shape", "circle"))
    is_filled, wide = look.get("filled", False), number(look.get("strokeWidth", 2))
    known(type(is_filled) is bool)
    painted = "fill" if is_filled else "stroke"
    tail = ("" if is_filled else thick(wide)) + see_through(look, 0.7) + " />"
    lower = number(look.get("yOffset", 0))
    fields = [layer.channels[name]["field"] for name in ("x", "y")]
    rows = drawn_rows(layer, fields)
    xs = canvas.x.places([row[fields[0]] for row in rows])
    ys = [y + lower for y in canvas.y.places([row[fields[1]] for row in rows])]
    for row, x, y in zip(rows, xs, ys, strict=True):
        area_of = size(row)
        canvas.parts.append(
            f'<path{moved(x, y)} d="{path(shape, area_of)}" {painted}="{colour(row)}"{tail}'
        )
        aside, above = reach(shape, area_of)
        more = 0 if is_filled else wide
        canvas.room.add(
            x - aside - more, y - above - more, x + aside + more, y + above + more
        )


def draw_rule(layer: Layer, canvas: Canvas) -> None:
    """From edge to edge, across one of the axes."""
    _known_channels(layer, "x", "y", "color")
    known(("x" in layer.channels) != ("y" in layer.channels))
    way = "x" if "x" in layer.channels else "y"
    place, scale = layer.channels[way], canvas.x if way == "x" else canvas.y
    colour, wide = colour_of(layer), number(layer.look.get("strokeWidth", 1))
    tail = f"{thick(wide)}{see_through(layer.look, 1)}{dash_of(layer)({})} />"
    if "datum" in place:
        # As often as there are rows, of which one is enough to see.
        found = [({}, number(place["datum"]))] if layer.rows else []
    else:
        rows = drawn_rows(layer, [place["field"]])
        found = [(row, row[place["field"]]) for row in rows]
    for row, value in found:
        at = scale.place(value)
        x, y = (at, 0.0) if way == "x" else (0.0, at)
        to = f'y2="{tenth(canvas.height)}"' if way == "x" else f'x2="{tenth(canvas.width)}"'
        canvas.parts.append(f'<line{moved(x, y)} {to} stroke="{colour(row)}"{tail}')
        right, low = (x, canvas.height) if way == "x" else (canvas.width, y)
        canvas.room.add(x - wide, y - wide, right + wide, low + wide)


_ALIGNED = {"left": "start", "center": "middle", "right": "end"}


def draw_text(layer: Layer, canvas: Canvas) -> None:
    _known_channels(layer, "x", "y", "text", "color")
    look = layer.look
    known(look.get("clip", False) is False and look.get("fontStyle", "normal") == "normal")
    align = _ALIGNED[look.get("align", "center")]
    size, at = number(look["fontSize"]), text(look.get("baseline", "middle"))
    named = part(layer.channels["text"], {"field", "type"})
    known(named["type"] == "nominal")
    anchor = "" if align == "start" else f' text-anchor="{align}"'
    bold = look.get("fontWeight", "normal")
    known(bold in ("normal", 600))
    weight = "" if bold == "normal" else f' font-weight="{bold}"'
    dx, dy, colour = number(look.get("dx", 0)), number(look.get("dy", 0)), colour_of(layer)
    for row in layer.rows:
        words = text(row.get(named["field"]))
        place = _at(layer, row, canvas)
        if place is None or not words:
            continue
        x, y = place[0] + dx, place[1] + dy
        canvas.parts.append(
            f'<text{anchor}{moved(x, y + baseline(at, size))} font-size="{size:g}px"{weight}'
            f' fill="{colour(row)}">{escape(words)}</text>'
        )
        canvas.room.join(text_box(words, x, y, size, align, at, is_bold=bool(weight)))


def _at(layer: Layer, row: Row, canvas: Canvas) -> tuple[float, float] | None:
    found: list[float] = []
    for name, scale, whole in (
        ("x", canvas.x, canvas.width),
        ("y", canvas.y, canvas.height),
    ):
        place = layer.channels[name]
        if "value" in place:
            end = {"width": canvas.width, "height": canvas.height}.get(str(place["value"]))
            found.append(number(place["value"]) if end is None else end)
            known(end is None or end == whole)
            continue
        value = value_in(row, place["field"])
        if value is None:
            return None
        found.append(scale.place(value))
    return found[0], found[1]


DRAWN = {
    "line": draw_line,
    "area": draw_area,
    "point": draw_point,
    "rule": draw_rule,
    "text": draw_text,
}
