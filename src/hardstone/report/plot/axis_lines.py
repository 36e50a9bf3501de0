"""An axis as it is drawn: grid, marks, texts and title, and what room they take."""

from __future__ import annotations

from markupsafe import escape

from hardstone.report.plot.plot_axis import Axis, Label
from hardstone.report.plot.plot_box import Box, baseline, text_box
from hardstone.report.plot.plot_paint import moved, thick
from hardstone.report.plot.plot_reading import known, number
from hardstone.report.plot.tenth import tenth
from hardstone.report.plot.text_size import shown
from hardstone.report.theme import CONFIG

_LOOK = CONFIG["axis"]
_SIZE, _TICK, _PADDING = _LOOK["labelFontSize"], _LOOK["tickSize"], 2
_GRID = f' stroke="{_LOOK["gridColor"]}"{thick(_LOOK["gridWidth"])} />'
_RULE = f' stroke="{_LOOK["domainColor"]}" />'
_INK = f' font-size="{_SIZE}px" fill="{_LOOK["labelColor"]}">'


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
