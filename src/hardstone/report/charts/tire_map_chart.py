"""Hard and soft map: threads against masses, a mark for each measured point."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.charts.frame import Row
from hardstone.report.charts.tire_frame import masses_axis
from hardstone.report.theme import CONFIG, WIDTH, Spec, mark
from hardstone.simulation.analysis import Cell

MISSED, HELD, NOT_COUNTED = "a deadline was missed", "none was missed", "not counted"
_HARD = {MISSED: "var(--bad)", HELD: "var(--good)", NOT_COUNTED: "var(--quiet)"}
_SHAPES = {MISSED: "circle", HELD: "cross", NOT_COUNTED: "square"}
_SIZES: dict[str, float] = {MISSED: 70, HELD: 22, NOT_COUNTED: 22}
# Upper ends of the shares that have a colour of their own.
SHARES = (
    ("none", 0.0, "var(--good)"),
    ("below 1 %", 0.01, "var(--series-5)"),
    ("below 10 %", 0.1, "var(--series-2)"),
    ("below 50 %", 0.5, "var(--bad)"),
    ("50 % and more", 2.0, "var(--series-4)"),
)
_ROW = 17
_MANY = 12
_SMALL_ROW = 9


def row_of(panel: str, cell: Cell) -> Row:
    return {
        "p": panel,
        "y": str(cell.curve.threads),
        "h": MISSED if cell.has_missed else HELD if cell.has_held else NOT_COUNTED,
        "c": share_name(cell.share),
        "v": cell.masses,
        "l": cell.missed_count,
        "n": cell.released_count,
        "s": cell.share,
        "b": cell.bound,
    }


def share_name(share: float | None) -> str:
    """The class of a share of missed steps; where it is not known it has no colour."""
    if share is None:
        return NOT_COUNTED
    if share == 0:
        return SHARES[0][0]
    return next(name for name, high, _ in SHARES[1:] if share < high)


def hard_chart(rows: Sequence[Row]) -> Spec:
    """A dot where any deadline was missed, another mark where none was."""
    names = [one for one in _HARD if any(row["h"] == one for row in rows)]

    def scale(of: dict[str, str]) -> Spec:
        return {"domain": names, "range": [of[name] for name in names]}

    legend: Spec = {"columns": 3, "symbolSize": 60, "symbolStrokeWidth": 1}
    look: Spec = {
        "color": {"field": "h", "type": "nominal", "scale": scale(_HARD), "legend": legend},
        "shape": {"field": "h", "type": "nominal", "scale": scale(_SHAPES), "legend": legend},
        "size": {"field": "z", "type": "quantitative", "scale": None, "legend": None},
    }
    return _chart([{**row, "z": _SIZES[str(row["h"])]} for row in rows], look)


def soft_chart(rows: Sequence[Row]) -> Spec:
    """The colour of a square is the share of missed steps."""
    colours = {name: value for name, _, value in SHARES} | {NOT_COUNTED: "var(--quiet)"}
    names = [one for one in colours if any(row["c"] == one for row in rows)]
    look: Spec = {
        "color": {
            "field": "c",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": names, "range": [colours[name] for name in names]},
            "legend": {"columns": 3, "symbolType": "square", "symbolSize": 80},
        },
        "shape": {"value": "square"},
        "size": {"value": 90},
    }
    return _chart(rows, look)


def _chart(rows: Sequence[Row], look: Spec) -> Spec:
    threads = sorted({str(row["y"]) for row in rows}, key=int, reverse=True)
    height = {"step": _ROW if len(threads) <= _MANY else _SMALL_ROW}
    encoding: Spec = {
        "x": masses_axis(rows),
        "y": {
            "field": "y",
            "type": "ordinal",
            "sort": threads,
            "title": "threads",
            "axis": {
                "grid": True,
                "ticks": False,
                "labelOverlap": False if len(threads) <= _MANY else "greedy",
            },
        },
        **look,
        "tooltip": [
            {"field": "y", "type": "nominal", "title": "threads"},
            {"field": "v", "type": "quantitative", "title": "masses", "format": ",.0f"},
            {"field": "l", "type": "quantitative", "title": "missed", "format": ",.0f"},
            {"field": "n", "type": "quantitative", "title": "of", "format": ",.0f"},
            {"field": "b", "type": "quantitative", "title": "95 % bound", "format": ".3~%"},
        ],
    }
    layer = {"mark": mark("point", filled=True, opacity=1), "encoding": encoding}
    panels = list(dict.fromkeys(str(row["p"]) for row in rows))
    base: Spec = {"config": CONFIG, "data": {"values": list(rows)}}
    panel: Spec = {
        "width": WIDTH,
        "height": height,
        "layer": [layer],
        "usermeta": {"zoom": ["x"]},
    }
    if len(panels) < 2:
        return {**base, **panel}
    facet = {"field": "p", "type": "nominal", "sort": panels, "title": None}
    return {**base, "facet": facet, "columns": 1, "spec": panel}
