"""Rules, bars and ticks."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.plot.plot_canvas import (
    Canvas,
    drawn_rows,
    known_channels,
    middles,
    starts_of,
)
from hardstone.report.plot.plot_direction import Way
from hardstone.report.plot.plot_layer import Layer, Row
from hardstone.report.plot.plot_paint import colour_of, dash_of, moved, see_through, thick
from hardstone.report.plot.plot_reading import known, number, part, text
from hardstone.report.plot.plot_scale import Bands
from hardstone.report.plot.tenth import tenth

_LEAST = 0.25


def draw_rule(layer: Layer, canvas: Canvas) -> None:
    """From edge to edge across one of the axes, or between two values of a row."""
    known_channels(layer, "x", "y", "x2", "color")
    wide = number(layer.look.get("strokeWidth", 1))
    tail = f"{thick(wide)}{see_through(layer.look, 1)}{dash_of(layer)({})} />"
    colour = colour_of(layer)
    for row, (x, y, right, low) in _ends(layer, canvas):
        far = f' x2="{tenth(right - x)}"' if right != x else ""
        far += f' y2="{tenth(low - y)}"' if low != y else ""
        canvas.parts.append(f'<line{moved(x, y)}{far} stroke="{colour(row)}"{tail}')
        canvas.room.add(min(x, right) - wide, y - wide, max(x, right) + wide, max(y, low) + wide)


Ends = tuple[float, float, float, float]


def _ends(layer: Layer, canvas: Canvas) -> list[tuple[Row, Ends]]:
    """Where the rule of each row begins and ends."""
    if "x2" in layer.channels:
        rows = drawn_rows(layer)
        lefts, rights = middles(layer, rows, canvas, "x"), _other_end(layer, rows, canvas, "x")
        heights = middles(layer, rows, canvas, "y")
        known(isinstance(canvas.y, Bands))
        between = zip(rows, lefts, heights, rights, strict=True)
        return [(row, (x, y, right, y)) for row, x, y, right in between]
    known(("x" in layer.channels) != ("y" in layer.channels))
    way: Way = "x" if "x" in layer.channels else "y"
    place, scale = layer.channels[way], canvas.along(way)
    if "datum" in place:
        # Vega draws as many as there are rows, of which one is enough to see.
        found: list[tuple[Row, float]] = [({}, number(place["datum"]))] if layer.rows else []
    else:
        found = [(row, row[place["field"]]) for row in drawn_rows(layer)]
    if way == "x":
        spots = [(row, scale.place(value)) for row, value in found]
        return [(row, (at, 0.0, at, canvas.height)) for row, at in spots]
    spots = [(row, scale.place(value)) for row, value in found]
    return [(row, (0.0, at, canvas.width, at)) for row, at in spots]


def _other_end(layer: Layer, rows: Sequence[Row], canvas: Canvas, way: Way) -> list[float]:
    """The channel x2 or y2."""
    other = part(layer.channels[f"{way}2"], {"field", "datum"})
    known(len(other) == 1)
    if "datum" in other:
        return canvas.along(way).places([number(other["datum"])] * len(rows))
    named = text(other["field"])
    return canvas.along(way).places([number(row.get(named)) for row in rows])


def draw_bar(layer: Layer, canvas: Canvas) -> None:
    """Along the axis of numbers, over a share of a band of the other axis."""
    known_channels(layer, "x", "y", "x2", "y2", "yOffset", "color")
    look, colour = layer.look, colour_of(layer)
    way: Way = "x" if "x2" in layer.channels else "y"
    across: Way = "y" if way == "x" else "x"
    is_filled, wide = look.get("filled", True), number(look.get("strokeWidth", 1))
    known(
        type(is_filled) is bool
        and (not is_filled or not {"strokeDash", "strokeWidth"} & look.keys())
    )
    rows = drawn_rows(layer)
    known(
        way == "x"
        or all(type(row.get(layer.channels["y2"]["field"])) in (int, float) for row in rows)
    )
    share = _share(look["height" if way == "x" else "width"])
    known(("width" if way == "x" else "height") not in look)
    starts, width = starts_of(layer, rows, canvas, across)
    whole = canvas.bands(across).width
    lefts, rights = middles(layer, rows, canvas, way), _other_end(layer, rows, canvas, way)
    painted = see_through(look, 1) + " />"
    if not is_filled:
        painted = thick(wide) + dash_of(layer)({}) + painted
    for row, start, one, other in zip(rows, starts, lefts, rights, strict=True):
        thickness = max(_LEAST, width * share)
        # Vega-Lite moves a bar in a band of a band by a share of the outer one.
        first = start + whole * (1 - share) / 2
        box = (min(one, other), first, abs(one - other), thickness)
        x, y, w, h = box if way == "x" else (box[1], box[0], box[3], box[2])
        key = "fill" if is_filled else "stroke"
        canvas.parts.append(f'<path d="{_rectangle(x, y, w, h)}" {key}="{colour(row)}"{painted}')
        more = 0 if is_filled else wide
        canvas.room.add(x - more, y - more, x + w + more, y + h + more)


def _share(size: object) -> float:
    return number(part(size, {"band"})["band"])


def draw_tick(layer: Layer, canvas: Canvas) -> None:
    """A short thick line across the axis of numbers, as long as a band."""
    known_channels(layer, "x", "y")
    thickness, paint = number(layer.look["thickness"]), colour_of(layer)
    along: Way = "y" if isinstance(canvas.x, Bands) else "x"
    known("width" not in layer.look or along == "y")
    number(layer.look.get("bandSize", 0))
    share = _share(layer.look["width"]) if "width" in layer.look else 1.0
    rows = drawn_rows(layer)
    starts, width = starts_of(layer, rows, canvas, "x" if along == "y" else "y")
    for row, start, at in zip(rows, starts, middles(layer, rows, canvas, along), strict=True):
        first, long = start + width * (1 - share) / 2, width * share
        box = (at - thickness / 2, first, thickness, long)
        x, y, w, h = box if along == "x" else (box[1], box[0], box[3], box[2])
        canvas.parts.append(
            f'<path d="{_rectangle(x, y, w, h)}" fill="{paint(row)}" opacity="0.7" />'
        )
        canvas.room.add(x, y, x + w, y + h)


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    wide = tenth(width)
    return f"M{tenth(x)},{tenth(y)}h{wide}v{tenth(height)}h{tenth(-width)}Z"
