"""An axis: its grid, its marks, texts and title, and what room they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from markupsafe import escape

from hardstone.report.plot.label_text import formatter, labeller, plain
from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_direction import Direction
from hardstone.report.plot.plot_paint import moved, thick
from hardstone.report.plot.plot_reading import known, number, numbers
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.plot.plot_ticks import tick_step, ticks
from hardstone.report.plot.tenth import tenth
from hardstone.report.plot.text_size import shown
from hardstone.report.theme import CONFIG, Spec

_LOOK = CONFIG["axis"]
_SIZE, _TICK, _PADDING = _LOOK["labelFontSize"], _LOOK["tickSize"], 2
_GRID = f' stroke="{_LOOK["gridColor"]}"{thick(_LOOK["gridWidth"])} />'
_RULE = f' stroke="{_LOOK["domainColor"]}" />'
_INK = f' font-size="{_SIZE}px" fill="{_LOOK["labelColor"]}">'
_PIXELS_A_MARK = 40
_LITTLE = 1e-9


@dataclass(frozen=True)
class Label:
    """`at` is where its mark stands, along the axis."""

    text: str
    at: float


@dataclass(frozen=True)
class Axis:
    """An axis along `length` pixels."""

    one: Direction
    length: float
    labels: Sequence[Label]
    is_banded: bool

    def marks(self) -> list[int]:
        """To whole pixels, so that they are sharp; halves go up, also where a logarithm has lost
        a little."""
        more = _LITTLE + (0 if self.is_banded else 0.5)
        return [floor(one.at + more) for one in self.labels]


def axis_of(one: Direction, scale: Scale | Bands, length: float) -> Axis:
    if isinstance(scale, Bands):
        known(not one.axis.keys() & {"values", "labelExpr", "format", "tickCount", "tickMinStep"})
        known(one.axis.get("labelAngle", 0) == 0)
        places = [scale.start(name) + scale.width / 2 for name in scale.names]
        labels = [Label(*both) for both in zip(scale.names, places, strict=True)]
        return Axis(one, length, labels, is_banded=scale.width > 0)
    known(not one.axis.keys() & {"labelLimit", "labelAngle", "ticks", "domain"})
    known("grid" in one.axis)
    values, say = _values(one, scale, length)
    places = scale.places(values)
    return Axis(
        one, length, [Label(say(v), at) for v, at in zip(values, places, strict=True)], False
    )


def _values(one: Direction, scale: Scale, length: float):  # type: ignore[no-untyped-def]
    """The values that have marks, and how they are written."""
    said = one.axis
    count = said.get("tickCount", ceil(length / _PIXELS_A_MARK))
    known(type(count) is int and count > 0 and not {"labelExpr", "format"} <= said.keys())
    known("values" in said or not scale.is_log)
    if "tickMinStep" in said:
        known("tickCount" not in said and number(said["tickMinStep"]) == 1)
        count = min(count, int(scale.high - scale.low) + 1)
    known(not {"values", "tickCount"} <= said.keys())
    known("values" in said or scale.high > scale.low)
    values = (
        _chosen(said, scale, count) if "values" in said else ticks(scale.low, scale.high, count)
    )
    known(scale.is_log or "labelExpr" in said or "format" in said or "values" not in said)
    if "labelExpr" in said:
        return values, labeller(said["labelExpr"])
    if "format" in said:
        return values, formatter(said["format"], is_log=scale.is_log)
    return values, plain(tick_step(scale.low, scale.high, count))


def _chosen(said: Spec, scale: Scale, count: int) -> list[float]:
    """Those of the specification; of too many on a linear axis, Vega leaves out every second."""
    values = sorted(numbers(said["values"]))
    known(all(scale.low <= value <= scale.high for value in values))
    if scale.is_log or len(values) < 2:
        return values
    ends = [values[0], values[-1]]
    while len(values) > count and len(values) >= 3:
        values = values[::2]
    return values if len(values) >= 3 else ends


def grid(axis: Axis, height: float, across: float) -> list[str]:
    """Lines through the plot, `across` pixels long."""
    if not axis.one.axis.get("grid", False) or not axis.labels:
        return []
    lines = axis.marks()
    if axis.one.way == "x":
        far = f' y2="{tenth(across)}"'
        found = [f"<line{moved(at, -across)}{far}{_GRID}" for at in lines]
        return _group(found, height)
    return _group([f'<line{moved(0, at)} x2="{tenth(across)}"{_GRID}' for at in lines], 0)


def axis_lines(axis: Axis, height: float) -> tuple[list[str], Box]:
    """Everything but the grid, and its room in the plot."""
    return (_below if axis.one.way == "x" else _beside)(axis, height)


def _group(parts: list[str], down: float) -> list[str]:
    """To the middle of pixels."""
    return [f"<g{moved(0.5, down + 0.5)}>", *parts, "</g>"] if parts else []


def _below(axis: Axis, height: float) -> tuple[list[str], Box]:
    ticks_shown = axis.one.axis.get("ticks", True)
    tick = _TICK if ticks_shown else 0
    down: float = tick + _PADDING
    parts = [f'<line{moved(at, 0)} y2="{_TICK}"{_RULE}' for at in axis.marks() if ticks_shown]
    room = Box()
    if ticks_shown:
        for at in axis.marks():
            room.add(at - 1, -1, at + 1, tick + 1)
    placed: list[Placed] = []
    for one in axis.labels:
        # At an end of the axis a label begins or ends there.
        near, far = abs(one.at), abs(axis.length - one.at)
        align = "start" if near < far and near <= 1 else "end" if far <= 1 else "middle"
        align = "middle" if axis.is_banded else align
        spot = _text_place(one, axis)
        text = shown(one.text, _SIZE, axis.one.axis.get("labelLimit", 0))
        placed.append((text, spot, align, text_box(text, spot, down, _SIZE, align, "top")))
    for text, spot, align, box in _apart(placed, axis):
        anchor = "" if align == "start" else f' text-anchor="{align}"'
        place = moved(spot, down + baseline("top", _SIZE))
        parts.append(f"<text{anchor}{place}{_INK}{escape(text)}</text>")
        room.join(box)
    if axis.one.axis.get("domain", True):
        parts.append(f'<line x2="{tenth(axis.length)}"{_RULE}')
    low = max(0.0, room.bottom)
    room.add(0, 0, axis.length, low)
    if axis.one.title:
        title, size = axis.one.title, _LOOK["titleFontSize"]
        middle, top = axis.length / 2, low + _LOOK["titlePadding"]
        parts.append(
            f'<text text-anchor="middle"{moved(middle, top + baseline("top", size))}'
            f' font-size="{size}px" fill="{_LOOK["titleColor"]}">{escape(title)}</text>'
        )
        room.join(text_box(title, middle, top, size, "middle", "top"))
    whole = Box()
    whole.join(room, 0, height)
    return _group(parts, height), whole


def _beside(axis: Axis, height: float) -> tuple[list[str], Box]:
    ticks_shown = axis.one.axis.get("ticks", True)
    tick = _TICK if ticks_shown else 0
    aside = -(tick + _PADDING)
    parts = [f'<line{moved(0, at)} x2="{-_TICK}"{_RULE}' for at in axis.marks() if ticks_shown]
    room = Box()
    if ticks_shown:
        for at in axis.marks():
            room.add(-tick - 1, at - 1, 1, at + 1)
    placed: list[Placed] = []
    for one in axis.labels:
        spot = _text_place(one, axis)
        text = shown(one.text, _SIZE, axis.one.axis.get("labelLimit", 0))
        placed.append((text, spot, "end", text_box(text, aside, spot, _SIZE, "end", "middle")))
    for text, spot, align, box in _apart(placed, axis):
        place = moved(aside, spot + baseline("middle", _SIZE))
        parts.append(f'<text text-anchor="{align}"{place}{_INK}{escape(text)}</text>')
        room.join(box)
    if axis.one.axis.get("domain", True):
        parts.append(f'<line{moved(0, height)} y2="{tenth(-height)}"{_RULE}')
    left = max(0.0, -room.left)
    room.add(-left, 0, 0, height)
    if axis.one.title:
        title, size = axis.one.title, _LOOK["titleFontSize"]
        x, middle = -left - _LOOK["titlePadding"], height / 2
        up = tenth(baseline("bottom", size))
        parts.append(
            f'<text text-anchor="middle" transform="translate({tenth(x)},{tenth(middle)})'
            f' rotate(-90) translate(0,{up})" font-size="{size}px"'
            f' fill="{_LOOK["titleColor"]}">{escape(title)}</text>'
        )
        lying = text_box(title, 0, 0, size, "middle", "bottom")
        room.add(x + lying.top, middle + lying.left, x + lying.bottom, middle + lying.right)
    return _group(parts, 0), room


def _text_place(one: Label, axis: Axis) -> float:
    """Vega writes the names of bands half a pixel before their middle."""
    return one.at - 0.5 if axis.is_banded else one.at


Placed = tuple[str, float, str, Box]


def _apart(placed: list[Placed], axis: Axis) -> list[Placed]:
    """Without those that come too near to the one before, as Vega's "greedy" leaves them out:
    never fewer than two."""
    how = axis.one.axis.get("labelOverlap", _LOOK["labelOverlap"])
    known(how in (False, "greedy"))
    placed = [one for one in placed if one[3].right - one[3].left > 1]
    if how is False or len(placed) < 3:
        return placed
    gap = number(axis.one.axis.get("labelSeparation", _LOOK["labelSeparation"]))
    kept = placed[:1]
    for one in placed[1:]:
        if not _is_near(kept[-1][3], one[3], gap):
            kept.append(one)
    if len(kept) < 3 and kept[-1] is not placed[-1]:
        kept = [*kept[:1], placed[-1]]
    return kept


def _is_near(one: Box, other: Box, gap: float) -> bool:
    return gap > max(
        *(other.left - one.right, one.left - other.right),
        *(other.top - one.bottom, one.top - other.bottom),
    )
