"""What Vega-Lite specifications of charts share: colours that follow the page, which series are
drawn and how they are told apart, scales, axes, marks.

Up to six lines share one panel. Beyond that one label makes the panels (small
multiples) and the others the colours; a pair of names with equal labels, such as
`wakeup` and `release`, is distinguished by dashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, floor, inf, log10
from typing import Any

from hardstone.model import Series, Unit
from hardstone.wording import label_text, shorten

Spec = dict[str, Any]

WIDTH = 360
HEIGHT = 190
_PANEL_HEIGHT = 104
PALETTE = [f"var(--series-{number})" for number in range(1, 9)]
_DASHES = [[1, 0], [5, 3]]
_INK, _QUIET, _RULE = "var(--ink)", "var(--quiet)", "var(--rule)"
_FONT = "system-ui, sans-serif"

_NS_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, ',.4~f') + ' s'"
    " : datum.value >= 1e6 ? format(datum.value / 1e6, '.4~f') + ' ms'"
    " : datum.value >= 1e3 ? format(datum.value / 1e3, '.4~f') + ' us'"
    " : format(datum.value, '.4~f') + ' ns'"
)
LABEL_OF_UNIT: dict[Unit, str] = {
    "ns": _NS_LABEL,
    "count": "format(datum.value, ',')",
    "bytes_per_s": "format(datum.value, '.3~s') + 'B/s'",
}

CONFIG: Spec = {
    "background": None,
    "font": _FONT,
    "padding": {"left": 8, "right": 8, "top": 4, "bottom": 4},
    "aria": False,
    "view": {"stroke": None},
    "mark": {"aria": False},
    "line": {"strokeWidth": 1.5, "strokeCap": "round", "strokeJoin": "round"},
    "axis": {
        "labelColor": _QUIET,
        "labelFontSize": 11,
        "titleColor": _QUIET,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domainColor": _RULE,
        "tickColor": _RULE,
        "gridColor": _RULE,
        "gridWidth": 0.6,
        "tickSize": 4,
        "labelOverlap": "greedy",
        "labelSeparation": 10,  # a browser may set text wider than it was measured
        "labelLimit": 0,
        "titleLimit": 0,
        "aria": False,
    },
    "legend": {
        "orient": "bottom",
        "direction": "horizontal",
        "columns": 3,
        "title": None,
        "labelColor": _INK,
        "labelFontSize": 11,
        "labelLimit": 0,
        "symbolType": "stroke",
        "symbolStrokeWidth": 2,
        "rowPadding": 3,
        "columnPadding": 14,
        "offset": 8,
        "aria": False,
    },
    "header": {
        "title": None,
        "labelColor": _INK,
        "labelFontSize": 11,
        "labelAnchor": "start",
        "labelPadding": 3,
        "labelOrient": "top",
    },
    "facet": {"spacing": 14},
}


def mark(kind: str, **more: Any) -> Spec:
    """A mark, named so that `interactive` can find it."""
    return {"type": kind, **more}


def interactive(spec: Spec) -> Spec:
    """The same chart with drag to pan, shift and wheel to zoom, and tooltips."""
    inner = spec.get("spec", spec)
    layers = [_with_tooltip(layer) for layer in inner["layer"]]
    zoom = {
        "name": "zoom",
        "select": {
            "type": "interval",
            "encodings": inner.get("usermeta", {}).get("zoom", ["x", "y"]),
            "zoom": "wheel![event.shiftKey]",
            "clear": "dblclick",
        },
        "bind": "scales",
    }
    layers[0] = {**layers[0], "params": [zoom]}
    changed = {**inner, "layer": layers}
    return {**spec, "spec": changed} if "spec" in spec else changed


def _with_tooltip(layer: Spec) -> Spec:
    marked = {"clip": True, **layer["mark"]}
    if marked["type"] not in ("line", "area") or "tooltip" not in layer.get("encoding", {}):
        return {**layer, "mark": marked}
    # A line has one tooltip for all of it: invisible points carry one for each value.
    return {**layer, "mark": {**marked, "point": {"opacity": 0, "size": 90, "aria": False}}}


_ONE_PANEL_LINES = 6
MOST_COLOURS = 8
MOST_LINES = 12
MOST_PANELS = 6
NAME = "name"
_ABOUT_EQUAL = 1.05


@dataclass(frozen=True)
class Line:
    """A series with its place in a figure."""

    series: Series
    colour: str
    number: int = 0
    panel: str = ""
    dash: str = ""
    is_over: bool = False  # drawn over a line that it would hide


@dataclass(frozen=True)
class Group:
    """The lines of one figure in order; `left_out` counts the series that are not drawn."""

    lines: list[Line]
    colours: list[str] = field(default_factory=list)
    panels: list[str] = field(default_factory=list)
    dashes: list[str] = field(default_factory=list)
    left_out: int = 0

    def only(self, series: list[Series]) -> Group:
        """The same figure with fewer series; every line keeps its colour."""
        kept = [line for line in self.lines if any(line.series is one for one in series)]
        panels = _unique([line.panel for line in kept]) if self.panels else []
        dashes = self.dashes if len(_unique([line.dash for line in kept])) > 1 else []
        return Group(kept, self.colours, panels, dashes, self.left_out)


def _unique(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _value(series: Series, key: str) -> str:
    if key == NAME:
        return series.name.replace("_", " ")
    return label_text(key, series.labels[key]) if key in series.labels else "-"


def _combined(series: Series, keys: list[str]) -> str:
    parts = [_value(series, key) for key in keys if key == NAME or key in series.labels]
    return shorten(", ".join(parts) or series.name.replace("_", " "))


def _count(found: list[Series], keys: list[str]) -> int:
    return len({_combined(series, keys) for series in found})


def common_numbers(found: list[Series]) -> str:
    """Numeric labels that are equal for all series, so that no line names them: "waiters 97"."""
    same = set.intersection(*(set(series.labels.items()) for series in found))
    return ", ".join(
        label_text(key, value)
        for key, value in found[0].labels.items()
        if isinstance(value, int) and (key, value) in same
    )


def _panel_key(found: list[Series], keys: list[str]) -> str | None:
    """The label that makes the panels: few of them, few colours left, sizes before names."""
    if _count(found, keys) <= _ONE_PANEL_LINES:
        return None
    fitting = [
        key
        for key in keys
        if _count(found, [key]) <= MOST_PANELS
        and _count(found, [other for other in keys if other != key]) <= MOST_COLOURS
    ]
    return min(
        fitting,
        key=lambda key: (not key.endswith(("_ns", "_bytes")), _count(found, [key])),
        default=None,
    )


def _largest(found: list[Series], keys: list[str]) -> list[Series]:
    """The series of the MOST_COLOURS colours with the highest values, in their order."""
    highest: dict[str, float] = {}
    for series in found:
        colour = _combined(series, keys)
        highest[colour] = max(highest.get(colour, 0), series.max or 0)
    kept = set(sorted(highest, key=lambda colour: -highest[colour])[:MOST_COLOURS])
    return [series for series in found if _combined(series, keys) in kept]


def _hides(upper: Series, lower: Series) -> bool:
    """Whether the line of `upper`, drawn later, would hide that of `lower`: at least half of the
    values are equal, and so are the maxima, about; otherwise both tails are visible."""
    least = min(upper.count, lower.count)
    if upper.histogram.layout != lower.histogram.layout or least <= 0:
        return False
    lowest, highest = sorted((upper.max or 0, lower.max or 0))
    if highest > _ABOUT_EQUAL * max(1.0, lowest):
        return False
    counts = dict(lower.histogram.buckets)
    shared = sum(min(count, counts.get(index, 0)) for index, count in upper.histogram.buckets)
    return least <= 2 * shared


def group(found: list[Series]) -> Group:
    """Panels, colours and dashes for series of one unit, at most MOST_LINES of them."""
    labels = [NAME, *dict.fromkeys(key for series in found for key in series.labels)]
    varying = [key for key in labels if len({_value(series, key) for series in found}) > 1]
    dashed = NAME in varying and len(varying) > 1 and len({one.name for one in found}) == 2
    keys = [key for key in varying if not (dashed and key == NAME)]
    # Those with the highest values, in their order.
    places = sorted(range(len(found)), key=lambda place: -(found[place].max or 0))[:MOST_LINES]
    highest = [found[place] for place in sorted(places)]
    panel = _panel_key(highest, keys)
    coloured = [key for key in keys if key != panel]
    drawn = _largest(highest, coloured)
    lines: list[Line] = []
    for number, series in enumerate(drawn):
        place = shorten(_value(series, panel)) if panel else ""
        below = [line.series for line in lines if line.panel == place]
        lines.append(
            Line(
                series=series,
                colour=_combined(series, coloured),
                number=number,
                panel=place,
                dash=shorten(_value(series, NAME)) if dashed else "",
                is_over=any(_hides(series, one) for one in below),
            )
        )
    return Group(
        lines,
        colours=_unique([line.colour for line in lines]),
        panels=_unique([line.panel for line in lines]) if panel else [],
        dashes=_unique([line.dash for line in lines]) if dashed else [],
        left_out=len(found) - len(drawn),
    )


SMALLEST_DRAWN = 0.5
_FINE_RATIO = 6
_DECADES_RATIO = 200
_MOST_DECADES = 8
_WIDEST_MARGIN = 0.15  # of the logarithm of what the values span, on either side
_LEAST_MARGIN = 1.001


def drawn(value: float) -> float:
    """The place of `value` on a logarithmic axis: 0 and below stand at 0.5."""
    return max(float(value), SMALLEST_DRAWN)


def domain(values: Iterable[float], margin: float = 1.04) -> tuple[float, float]:
    """Ends of an axis that holds all `values`, a little wider; (1, 10) for none. Values that are
    close together have less of a margin, so that they fill the axis."""
    low, high = inf, -inf
    for value in values:
        low, high = min(low, drawn(value)), max(high, drawn(value))
    if low > high:
        return 1.0, 10.0
    if high > low:
        margin = min(margin, max((high / low) ** _WIDEST_MARGIN, _LEAST_MARGIN))
    return low / margin, high * margin


def ticks(low: float, high: float) -> list[float]:
    """Round marks between `low` and `high`: decades, 1-2-5, or even steps where it is narrow.

    None where `high` is not above `low`.
    """
    if high <= low:
        return []
    if high / low < _FINE_RATIO:
        step = 10 ** floor(log10((high - low) / 3))
        step *= 5 if (high - low) / step > 15 else 2 if (high - low) / step > 6 else 1
        return [round(n * step, 9) for n in range(ceil(low / step), floor(high / step) + 1)]
    steps = (1,) if high / low > _DECADES_RATIO else (1, 2, 5)
    first, last = floor(log10(low)), ceil(log10(high))
    stride = ceil((last - first) / _MOST_DECADES)
    powers = [power for power in range(first, last + 1) if power % stride == 0]
    marks = [step * 10.0**power for power in powers for step in steps]
    return [mark for mark in marks if low <= mark <= high]


def value_scale(low: float, high: float) -> Spec:
    return {"type": "log", "domain": [low, high], "nice": False, "clamp": True}


def value_axis(low: float, high: float, unit: Unit) -> Spec:
    """Axis of the measured quantity, marked in the units that people read."""
    return {"values": ticks(low, high), "labelExpr": LABEL_OF_UNIT[unit], "grid": True}


def value_channel(field: str, low: float, high: float, unit: Unit, title: str) -> Spec:
    """The measured quantity on a logarithmic axis from `low` to `high`."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{title} (log)",
    }


_TITLE_OF_UNIT: dict[Unit, str] = {"ns": "duration", "count": "count", "bytes_per_s": "throughput"}
_PLAIN_UNIT: dict[Unit, str] = {"ns": "ns", "bytes_per_s": "B/s"}
_LEGEND_CHARACTERS = 62
Row = dict[str, float | str | None]


def number_in(row: Row, field: str) -> float:
    """The number in a field of `row`; 0 where it has none."""
    value = row.get(field)
    return float(value) if isinstance(value, int | float) else 0.0


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
    legend: Spec | None = None
    if len(group.colours) > 1:
        # As many columns as fit below the chart.
        longest = max(len(name) for name in group.colours)
        legend = {"columns": max(1, min(3, _LEGEND_CHARACTERS // (longest + 4)))}
    return {
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": group.colours, "range": PALETTE[: len(group.colours)]},
        "legend": legend,
    }


def apart(group: Group) -> Spec:
    """What keeps lines of one colour apart: their number, and dashes where the group has any."""
    detail: Spec = {"detail": {"field": "i", "type": "nominal"}}
    is_any_over = any(line.is_over for line in group.lines)
    if not group.dashes:
        if is_any_over:
            # A line that covers another one leaves it visible in gaps.
            detail["strokeDash"] = _by_place(over=[5, 5], under=[1, 0])
        return detail
    if is_any_over:
        # Both have one colour, so that gaps would not show: the upper one has wider dashes.
        detail["size"] = _by_place(over=3.5, under=1.5)  # the latter is that of a line
    detail["strokeDash"] = {
        "field": "d",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": group.dashes, "range": _DASHES[: len(group.dashes)]},
        "legend": {"orient": "top", "offset": 2},
    }
    return detail


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
    return {
        **base,
        "facet": facet,
        "columns": 1,
        "spec": {**panel, "height": _PANEL_HEIGHT},
        **more,
    }
