"""The picture of a specification without Vega, or None where it holds anything not known here.

Positions are those of Vega, the widths of texts aside: it measures with the fonts it finds.
"""

from __future__ import annotations

from math import ceil

from hardstone.report.plot.axis_lines import axis_lines
from hardstone.report.plot.legend_box import placed_legends
from hardstone.report.plot.plot_box import Box
from hardstone.report.plot.plot_frame import frame_of
from hardstone.report.plot.plot_layer import rows_of
from hardstone.report.plot.plot_paint import moved
from hardstone.report.plot.plot_panels import panels
from hardstone.report.plot.plot_reading import NotKnownError, known, part
from hardstone.report.theme import CONFIG, Spec

_TOP = {"config", "data", "layer", "width", "height", "resolve", "usermeta"}
_PADDING = CONFIG["padding"]


def draw(spec: Spec) -> str | None:
    """SVG text, or None where Vega has to draw it."""
    try:
        return _whole(*panels(spec), 0, 0) if "facet" in spec else _single(spec)
    except NotKnownError:
        return None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None  # not built as specifications are


def _single(spec: Spec) -> str:
    found = part(spec, _TOP)
    known(found["config"] == CONFIG)
    frame = frame_of(found, rows_of(found["data"]))
    below, below_room = axis_lines(frame.x, frame.height)
    beside, beside_room = axis_lines(frame.y, frame.height)
    canvas = frame.drawn(frame.layers)
    across = Box(0, 0, frame.width, frame.height)
    across.join(canvas.lines)
    across.join(below_room)
    legends, room = placed_legends(frame.layers, across)
    for one in (across, beside_room, canvas.room):
        room.join(one)
    parts = [*frame.grids(), *below, *beside, *canvas.parts, *legends]
    return _whole(parts, room, frame.width, frame.height)


def _whole(parts: list[str], room: Box, width: float, height: float) -> str:
    """The drawing around an area of this size, which begins at 0."""
    left, top = max(0, ceil(-room.left)), max(0, ceil(-room.top))
    across = left + width + max(0, ceil(room.right - width))
    down = top + height + max(0, ceil(room.bottom - height))
    across += _PADDING["left"] + _PADDING["right"]
    down += _PADDING["top"] + _PADDING["bottom"]
    size = f'width="{across:g}" height="{down:g}" viewBox="0 0 {across:g} {down:g}"'
    place = moved(left + _PADDING["left"], top + _PADDING["top"])
    return (
        f'<svg {size} aria-hidden="true" focusable="false">'
        f'<g fill="none" stroke-miterlimit="10"{place}>{"".join(parts)}</g></svg>'
    )
