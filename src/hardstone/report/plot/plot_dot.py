"""Points and texts."""

from __future__ import annotations

from markupsafe import escape

from hardstone.report.plot.plot_box import baseline, text_box
from hardstone.report.plot.plot_canvas import Canvas, drawn_rows, known_channels, middles
from hardstone.report.plot.plot_layer import Layer
from hardstone.report.plot.plot_paint import by_name, colour_of, moved, see_through, size_of, thick
from hardstone.report.plot.plot_reading import known, number, part, text
from hardstone.report.plot.plot_symbol import path, reach

_ALIGNED = {"left": "start", "center": "middle", "right": "end"}
_USUAL_SIZE, _USUAL_WIDTH, _USUAL_OPACITY = 30, 2, 0.7


def draw_point(layer: Layer, canvas: Canvas) -> None:
    """A symbol for each row. Its size is its area in square pixels, as in Vega."""
    known_channels(layer, "x", "y", "yOffset", "color", "size", "shape")
    look = layer.look
    colour, size = colour_of(layer), size_of(layer, _USUAL_SIZE)
    shapes = by_name(layer.channels["shape"]) if "shape" in layer.channels else None
    known(shapes is None or "shape" not in look)
    usual = text(look.get("shape", "circle"))
    path(usual, _USUAL_SIZE)  # refused also where there are no rows
    is_filled, wide = look.get("filled", False), number(look.get("strokeWidth", _USUAL_WIDTH))
    known(type(is_filled) is bool)
    painted = "fill" if is_filled else "stroke"
    tail = ("" if is_filled else thick(wide)) + see_through(look, _USUAL_OPACITY) + " />"
    lower, more = number(look.get("yOffset", 0)), 0 if is_filled else wide
    rows = drawn_rows(layer)
    places = zip(middles(layer, rows, canvas, "x"), middles(layer, rows, canvas, "y"), strict=True)
    for row, (x, above) in zip(rows, places, strict=True):
        y, area = above + lower, size(row)
        shape = shapes.of(row) if shapes else usual
        canvas.parts.append(
            f'<path{moved(x, y)} d="{path(shape, area)}" {painted}="{colour(row)}"{tail}'
        )
        wing, top = reach(shape, area)
        wing, top = wing + more, top + more
        canvas.room.add(x - wing, y - top, x + wing, y + top)


def draw_text(layer: Layer, canvas: Canvas) -> None:
    """A text for each row that has one, escaped."""
    known_channels(layer, "x", "y", "yOffset", "text", "color")
    look = layer.look
    known(look.get("clip", False) is False)
    align = _ALIGNED[look.get("align", "center")]
    size, at = number(look["fontSize"]), text(look.get("baseline", "middle"))
    lower = baseline(at, size)
    named = part(layer.channels["text"], {"field", "type"})
    known(named["type"] == "nominal")
    anchor = "" if align == "start" else f' text-anchor="{align}"'
    bold, style = look.get("fontWeight", "normal"), look.get("fontStyle", "normal")
    known(bold in ("normal", 600) and style in ("normal", "italic"))
    weight = "" if bold == "normal" else f' font-weight="{bold}"'
    slope = "" if style == "normal" else f' font-style="{style}"'
    dx, dy, colour = number(look.get("dx", 0)), number(look.get("dy", 0)), colour_of(layer)
    rows = drawn_rows(layer)
    places = zip(middles(layer, rows, canvas, "x"), middles(layer, rows, canvas, "y"), strict=True)
    for row, (left, top) in zip(rows, places, strict=True):
        words, x, y = text(row.get(named["field"])), left + dx, top + dy
        if not words:
            continue
        canvas.parts.append(
            f'<text{anchor}{moved(x, y + lower)} font-size="{size:g}px"{weight}'
            f'{slope} fill="{colour(row)}">{escape(words)}</text>'
        )
        canvas.room.join(text_box(words, x, y, size, align, at, is_bold=bool(weight)))
