"""Which series of a test are drawn, and how they are distinguished.

Up to six lines share one panel. Beyond that one label makes the panels (small
multiples) and the others the colours; a pair of names with equal labels, such as
`wakeup` and `release`, is distinguished by dashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hardstone.model import Series
from hardstone.wording import label_text, shorten

ONE_PANEL_LINES = 6
MOST_COLOURS = 8
MOST_LINES = 12
MOST_PANELS = 6
NAME = "name"
_ALIKE = 1.05


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


def _varying(found: list[Series]) -> list[str]:
    keys = [NAME, *dict.fromkeys(key for series in found for key in series.labels)]
    return [key for key in keys if len({_value(series, key) for series in found}) > 1]


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
    if _count(found, keys) <= ONE_PANEL_LINES:
        return None
    fitting = [
        key
        for key in keys
        if _count(found, [key]) <= MOST_PANELS
        and _count(found, [other for other in keys if other != key]) <= MOST_COLOURS
    ]
    return min(fitting, key=lambda key: _preference(found, key), default=None)


def _preference(found: list[Series], key: str) -> tuple[bool, int]:
    return not key.endswith(("_ns", "_bytes")), _count(found, [key])


def _largest(found: list[Series], keys: list[str], limit: int) -> list[Series]:
    """The series whose colours are the `limit` with the highest values, in their order."""
    highest: dict[str, float] = {}
    for series in found:
        colour = _combined(series, keys)
        highest[colour] = max(highest.get(colour, 0), series.max or 0)
    kept = set(sorted(highest, key=lambda colour: -highest[colour])[:limit])
    return [series for series in found if _combined(series, keys) in kept]


def _highest(found: list[Series]) -> list[Series]:
    """The series with the highest values, in their order."""
    places = sorted(range(len(found)), key=lambda place: -(found[place].max or 0))[:MOST_LINES]
    return [found[place] for place in sorted(places)]


def _is_over(line: Line, lines: list[Line]) -> bool:
    """Whether `line` would hide one below it: mostly equal values and an equal maximum."""
    below = [one for one in lines if one.number < line.number and one.panel == line.panel]
    return any(_shared(line.series, one.series) for one in below)


def _shared(upper: Series, lower: Series) -> bool:
    least = min(upper.count, lower.count)
    if upper.histogram.layout != lower.histogram.layout or least <= 0:
        return False
    if not _ends_alike(upper.max or 0, lower.max or 0):
        return False
    held = dict(lower.histogram.buckets)
    shared = sum(min(count, held.get(index, 0)) for index, count in upper.histogram.buckets)
    return least <= 2 * shared


def _ends_alike(one: float, other: float) -> bool:
    """Whether both maxima are about equal. Otherwise both tails are visible."""
    return max(one, other) <= _ALIKE * max(1.0, min(one, other))


def group(found: list[Series]) -> Group:
    """Panels, colours and dashes for series of one unit, at most MOST_LINES of them."""
    varying = _varying(found)
    dashed = NAME in varying and len(varying) > 1 and len({one.name for one in found}) == 2
    keys = [key for key in varying if not (dashed and key == NAME)]
    highest = _highest(found)
    panel = _panel_key(highest, keys)
    coloured = [key for key in keys if key != panel]
    drawn = _largest(highest, coloured, MOST_COLOURS)
    lines = [
        Line(
            series=series,
            colour=_combined(series, coloured),
            number=number,
            panel=shorten(_value(series, panel)) if panel else "",
            dash=shorten(_value(series, NAME)) if dashed else "",
        )
        for number, series in enumerate(drawn)
    ]
    lines = [replace(line, is_over=_is_over(line, lines)) for line in lines]
    return Group(
        lines,
        colours=_unique([line.colour for line in lines]),
        panels=_unique([line.panel for line in lines]) if panel else [],
        dashes=_unique([line.dash for line in lines]) if dashed else [],
        left_out=len(found) - len(drawn),
    )
