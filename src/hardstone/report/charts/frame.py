"""What the charts of a test have in common: panels, colours, dashes, legend."""

from __future__ import annotations

from hardstone.model import Unit
from hardstone.present.wording import shorten
from hardstone.report.groups import Group, Line
from hardstone.report.theme import CONFIG, DASHES, HEIGHT, PALETTE, PANEL_HEIGHT, WIDTH, Spec

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
