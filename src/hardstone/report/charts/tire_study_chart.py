"""The largest simulation without a miss, by threads: the study beside this run."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.charts.frame import Row, colour, tooltip
from hardstone.report.charts.scale import domain, value_scale
from hardstone.report.charts.tire_frame import MOST_LINES, count_axis, group_of, shape_channel
from hardstone.report.theme import CONFIG, HEIGHT, WIDTH, Spec, mark

HELD, MISSED_FROM = "none missed up to", "missed at"
_STEP = 0.1
_SHAPES = {HELD: "triangle-up", MISSED_FROM: "triangle-down"}


def row_of(who: str, threads: int | None, masses: int, kind: str) -> Row:
    """`threads` None: of any number, drawn as a line."""
    return {"p": "", "c": who, "h": kind, "v": threads, "m": masses}


def _apart(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Points of one number of threads a little beside each other; `n` is that number."""
    middle = (len(names) - 1) / 2
    return [
        {**row, "n": at, "v": at + _STEP * (names.index(str(row["c"])) - middle)}
        if isinstance(at := row["v"], int | float)
        else row
        for row in rows
    ]


def chart(rows: Sequence[Row]) -> Spec:
    """A mark for each number of masses; at most MOST_LINES systems."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[:MOST_LINES]
    rows = _apart([row for row in rows if row["c"] in names], names)
    group = group_of(rows, names)
    low, high = domain([float(row["m"] or 1) for row in rows], 1.3)
    threads = [row["v"] for row in rows]
    most = max([float(one) for one in threads if isinstance(one, int | float)], default=1.0)
    y: Spec = {
        "field": "m",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": count_axis(low, high),
        "title": "masses (log)",
    }
    kinds = [kind for kind in _SHAPES if any(row["h"] == kind for row in rows)]
    points: Spec = {
        "transform": [{"filter": "isValid(datum.v)"}],
        "mark": mark("point", filled=True, size=70, opacity=1),
        "encoding": {
            "x": {
                "field": "v",
                "type": "quantitative",
                "title": "threads",
                "scale": {"domain": [0, most + 1], "nice": False},
                "axis": {"grid": False, "tickMinStep": 1},
            },
            "y": y,
            "color": colour(group),
            "shape": shape_channel(kinds, _SHAPES),
            "tooltip": tooltip(group, ("n", "threads", ",.0f"), ("m", "masses", ",.0f")),
        },
    }
    lines: Spec = {
        "transform": [{"filter": "!isValid(datum.v)"}],
        "mark": mark("rule", strokeDash=[5, 3], strokeWidth=1.5),
        "encoding": {"y": y, "color": colour(group)},
    }
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [points, lines],
        "resolve": {"scale": {"size": "independent"}},
    }
