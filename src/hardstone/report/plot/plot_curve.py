"""Lines and areas between two numeric axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hardstone.report.plot.plot_canvas import Canvas, known_channels
from hardstone.report.plot.plot_layer import Layer, Row, groups
from hardstone.report.plot.plot_paint import (
    colour_of,
    dash_of,
    fields_of,
    see_through,
    size_of,
    thick,
)
from hardstone.report.plot.plot_path import Run, area, line
from hardstone.report.plot.plot_reading import known, number, part, text, value_in
from hardstone.report.theme import CONFIG

_LINE = CONFIG["line"]
_ROUND = ' stroke-linecap="round" stroke-linejoin="round"'
_BROKEN = "break-paths-show-path-domains"


def draw_line(layer: Layer, canvas: Canvas) -> None:
    """A line for each group of rows, from left to right, broken where a value is missing."""
    known_channels(layer, "x", "y", "color", "detail", "size", "strokeDash")
    colour, dash = colour_of(layer), dash_of(layer)
    width = size_of(layer, layer.look.get("strokeWidth", _LINE["strokeWidth"]))
    known("strokeWidth" not in layer.look or "size" not in layer.channels)
    known(layer.look.get("invalid", _BROKEN) == _BROKEN)
    is_stepped = _is_stepped(layer)
    opacity = see_through(layer.look, 1)
    fields = fields_of(layer)
    # One line alone is not in a group, which is what keeps others away.
    room = canvas.lines if fields else canvas.room
    for rows in groups(layer, fields).values():
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
            room.add(min(xs) - wide, min(ys) - wide, max(xs) + wide, max(ys) + wide)


def _is_stepped(layer: Layer) -> bool:
    kind = layer.look.get("interpolate", "linear")
    known(kind in ("linear", "step-after"))
    return bool(kind == "step-after")


def _runs(layer: Layer, rows: Sequence[Row], canvas: Canvas) -> list[Run]:
    """The points from left to right, broken where there is no value."""
    field_x, field_y = layer.channels["x"]["field"], layer.channels["y"]["field"]
    across = [value_in(row, field_x) for row in rows]
    down = [value_in(row, field_y) for row in rows]
    known(None not in across)
    xs = canvas.along("x").places(across)  # type: ignore[arg-type]
    if None not in down:
        ys = canvas.along("y").places(down)  # type: ignore[arg-type]
        if any(one > after for one, after in pairwise(xs)):
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
        found[-1][1].append(canvas.along("y").place(value))
    return found


def draw_area(layer: Layer, canvas: Canvas) -> None:
    """An area for each group of rows, and the line above it where the mark has one."""
    known_channels(layer, "x", "y", "y2", "color", "detail")
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
        xs = canvas.along("x").places([row[field_x] for row in rows])
        known(all(one <= after for one, after in pairwise(xs)))
        ys = canvas.along("y").places([row[field_y] for row in rows])
        ends = [row[other["field"]] if "field" in other else other["datum"] for row in rows]
        floors = canvas.along("y").places([number(one) for one in ends])
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
