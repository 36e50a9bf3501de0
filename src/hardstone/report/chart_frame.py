"""What Vega-Lite specifications of charts share: scales, axes, marks, the frame."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, inf, log10

from hardstone.model import Unit
from hardstone.report.groups import Group, Line
from hardstone.report.theme import (
    CONFIG,
    DASHES,
    HEIGHT,
    LABEL_OF_UNIT,
    PALETTE,
    PANEL_HEIGHT,
    WIDTH,
    Spec,
)
from hardstone.wording import shorten

SMALLEST_DRAWN = 0.5
_FINE_RATIO = 6
_DECADES_RATIO = 200
_MOST_DECADES = 8


def drawn(value: float) -> float:
    """Where `value` stands on a logarithmic axis: 0 and below stand at 0.5."""
    return max(float(value), SMALLEST_DRAWN)


def domain(values: Iterable[float], margin: float = 1.04) -> tuple[float, float]:
    """Ends of an axis that holds all `values`, a little wider; (1, 10) for none."""
    low, high = inf, -inf
    for value in values:
        low, high = min(low, drawn(value)), max(high, drawn(value))
    if low > high:
        return 1.0, 10.0
    return low / margin, high * margin


def ticks(low: float, high: float) -> list[float]:
    """Round marks between `low` and `high`: decades, 1-2-5, or even steps where it is narrow.

    None where `high` is not above `low`.
    """
    if high <= low:
        return []
    if high / low < _FINE_RATIO:
        return _even(low, high)
    steps = (1,) if high / low > _DECADES_RATIO else (1, 2, 5)
    first, last = floor(log10(low)), ceil(log10(high))
    stride = ceil((last - first) / _MOST_DECADES)
    powers = [power for power in range(first, last + 1) if power % stride == 0]
    marks = [step * 10.0**power for power in powers for step in steps]
    return [mark for mark in marks if low <= mark <= high]


def _even(low: float, high: float) -> list[float]:
    step = 10 ** floor(log10((high - low) / 3))
    step *= 5 if (high - low) / step > 15 else 2 if (high - low) / step > 6 else 1
    return [round(n * step, 9) for n in range(ceil(low / step), floor(high / step) + 1)]


def value_scale(low: float, high: float) -> Spec:
    return {"type": "log", "domain": [low, high], "nice": False, "clamp": True}


def value_axis(low: float, high: float, unit: Unit) -> Spec:
    """Axis of the measured quantity, marked in the units that people read."""
    return {"values": ticks(low, high), "labelExpr": LABEL_OF_UNIT[unit], "grid": True}


_TITLE_OF_UNIT: dict[Unit, str] = {"ns": "duration", "count": "count", "bytes_per_s": "throughput"}
_PLAIN_UNIT: dict[Unit, str] = {"ns": "ns", "bytes_per_s": "B/s"}
_LEGEND_CHARACTERS = 62
_ABOVE: Spec = {"orient": "top", "offset": 2}
Row = dict[str, float | str | None]


def value_title(group: Group, unit: Unit) -> str:
    """What the axis of values shows: the name of the series where they have but one."""
    names = {line.series.name for line in group.lines}
    return shorten(names.pop().replace("_", " ")) if len(names) == 1 else _TITLE_OF_UNIT[unit]


def unit_title(title: str, unit: Unit) -> str:
    """A heading with the unit of plain numbers: "above (ns)"."""
    return title if unit == "count" else f"{title} ({_PLAIN_UNIT[unit]})"


def keys(line: Line) -> Row:
    """The fields by which a row of data finds its panel, colour and dash."""
    row: Row = {"c": line.colour, "i": line.number, "o": "over" if line.is_over else "under"}
    if line.panel:
        row["p"] = line.panel
    if line.dash:
        row["d"] = line.dash
    return row


def colour(group: Group) -> Spec:
    """Colour by line; without a legend where there is but one."""
    encoding: Spec = {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": group.colours, "range": PALETTE[: len(group.colours)]},
    }
    return {**encoding, "legend": _legend(group)}


def _legend(group: Group) -> Spec | None:
    """As many columns as fit below the chart; none where there is but one colour."""
    if len(group.colours) < 2:
        return None
    longest = max(len(name) for name in group.colours)
    return {"columns": max(1, min(3, _LEGEND_CHARACTERS // (longest + 4)))}


def apart(group: Group) -> Spec:
    """What keeps lines of one colour apart: their number, and dashes where the group has any."""
    detail: Spec = {"detail": {"field": "i", "type": "nominal"}}
    if any(line.is_over for line in group.lines):
        detail.update(_over(group))
    if not group.dashes:
        return detail
    scale = {"domain": group.dashes, "range": DASHES[: len(group.dashes)]}
    return {
        **detail,
        "strokeDash": {
            "field": "d",
            "type": "nominal",
            "sort": None,
            "scale": scale,
            "legend": _ABOVE,
        },
    }


def _over(group: Group) -> Spec:
    """A line that covers another one leaves it visible: in gaps, or beside wider dashes."""
    if group.dashes:  # of one colour, so that gaps would not show
        return {"size": _by_place(over=3.5, under=1.5)}  # the latter is that of a line
    return {"strokeDash": _by_place(over=[5, 5], under=[1, 0])}


def _by_place(*, over: object, under: object) -> Spec:
    scale = {"domain": ["under", "over"], "range": [under, over]}
    return {"field": "o", "type": "ordinal", "scale": scale, "legend": None}


def apart_points(group: Group, size: int) -> Spec:
    """Marks at one place: the one on top is smaller."""
    if not any(line.is_over for line in group.lines):
        return {}
    return {"size": _by_place(over=size * 0.3, under=size)}


def tooltip(group: Group, *fields: tuple[str, str, str]) -> list[Spec]:
    """Fields (name, title, number format) with what the line is called."""
    entries: list[Spec] = [{"field": "c", "type": "nominal", "title": "series"}]
    if group.dashes:
        entries.append({"field": "d", "type": "nominal", "title": "view"})
    numbers = [
        {"field": name, "type": "quantitative", "title": title, "format": pattern}
        for name, title, pattern in fields
    ]
    return entries + numbers


def figure(group: Group, rows: list[Row], layers: list[Spec], **more: object) -> Spec:
    """The whole chart: one panel, or one below the other for the panels of the group."""
    base: Spec = {"config": CONFIG, "data": {"values": rows}}
    # The width of a line and the area of a mark are both called size.
    sizes = {"scale": {"size": "independent"}}
    panel: Spec = {"width": WIDTH, "layer": layers, "resolve": sizes}
    if not group.panels:
        return {**base, **panel, "height": HEIGHT, **more}
    facet = {"field": "p", "type": "nominal", "sort": group.panels, "title": None}
    return {**base, "facet": facet, "columns": 1, "spec": {**panel, "height": PANEL_HEIGHT}, **more}
