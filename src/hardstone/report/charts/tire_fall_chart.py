"""The tire at some moments of simulated time: a panel each, side by side, at one scale."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.report.charts.frame import Row
from hardstone.report.theme import CONFIG, PALETTE, WIDTH, Spec, mark
from hardstone.simulation.kept import Frame

MOST_PANELS = 8
_COLUMNS = 4
_SPACING = 8
_AXIS_WIDTH = 30
_PANEL_WIDTH = (WIDTH - _AXIS_WIDTH) / _COLUMNS - _SPACING
_TALLEST = 3.0  # times as high as wide
_MOST_POINTS = 128  # more than a panel can show
_MARGIN = 0.06


def frames_chart(frames: Sequence[Frame]) -> Spec:
    """The tire at most MOST_PANELS of the moments, first and last among them.

    A line goes through the masses in the order of their springs; the mass that was on top has a
    dot. A metre is as long upwards as sideways. `frames`: at least one, of one simulation, in the
    order of time.
    """
    shown = shown_frames(frames)
    titles = [_moment(one) for one in shown]
    rows = [row for one, title in zip(shown, titles, strict=True) for row in _rows(one, title)]
    wide, high = _domains(shown)
    height = _PANEL_WIDTH * (high[1] - high[0]) / (wide[1] - wide[0])
    panel: Spec = {
        "width": _PANEL_WIDTH,
        "height": height,
        "layer": [_line(wide, high), _floor(), _top()],
    }
    return {
        "config": {**CONFIG, "facet": {"spacing": _SPACING}},
        "data": {"values": rows},
        "facet": {"field": "p", "type": "nominal", "sort": titles, "title": None},
        "columns": _COLUMNS,
        "spec": panel,
    }


def shown_frames(frames: Sequence[Frame], most: int = MOST_PANELS) -> list[Frame]:
    """As many as the chart has panels for, evenly chosen, with the first and the last."""
    if len(frames) <= most:
        return list(frames)
    return [frames[round(place * (len(frames) - 1) / (most - 1))] for place in range(most)]


def frames_text(frames: Sequence[Frame]) -> str:
    """The chart in words: where the tire is, and how wide and high."""
    return "; ".join(_spoken(one) for one in shown_frames(frames))


def _spoken(frame: Frame) -> str:
    xs, ys = ([point[axis] / 1e6 for point in frame.points_um] for axis in (0, 1))
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    return (
        f"after {_moment(frame)} {wide:.2f} m wide and {high:.2f} m high, "
        f"its lowest mass {min(ys):.2f} m above the floor"
    )


def _moment(frame: Frame) -> str:
    return f"{frame.at_ns / 1e6:.6g} ms"


def _rows(frame: Frame, title: str) -> list[Row]:
    stride = -(-len(frame.points_um) // _MOST_POINTS)
    points = frame.points_um[::stride]
    return [
        {"p": title, "n": float(number), "v": round(x / 1e6, 4), "w": round(y / 1e6, 4)}
        for number, (x, y) in enumerate(points)
    ]


def _domains(frames: Sequence[Frame]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of both axes, in m: all of the tire and the floor, no panel too tall or too low."""
    xs = [x / 1e6 for one in frames for x, _ in one.points_um]
    ys = [y / 1e6 for one in frames for _, y in one.points_um]
    low, high = min(0.0, *ys), max(0.0, *ys)
    middle, wide = (min(xs) + max(xs)) / 2, max(xs) - min(xs)
    tall = max(high - low, wide / _TALLEST, 1e-3) * (1 + 2 * _MARGIN)
    wide = max(wide * (1 + 2 * _MARGIN), tall / _TALLEST)
    low -= _MARGIN * tall
    return (middle - wide / 2, middle + wide / 2), (low, low + tall)


def _line(wide: tuple[float, float], high: tuple[float, float]) -> Spec:
    return {
        "mark": mark("line", interpolate="linear-closed", strokeWidth=1.3, color=PALETTE[0]),
        "encoding": {
            "x": {**_axis("v", wide), "axis": None},
            "y": {
                **_axis("w", high),
                "title": "height (m)",
                "axis": {"grid": False, "tickCount": 3},
            },
            "order": {"field": "n", "type": "quantitative"},
            "tooltip": [
                {"field": "p", "type": "nominal", "title": "simulated time"},
                {"field": "v", "type": "quantitative", "title": "across (m)", "format": ",.3f"},
                {"field": "w", "type": "quantitative", "title": "height (m)", "format": ",.3f"},
            ],
        },
    }


def _axis(field: str, ends: tuple[float, float]) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [round(end, 5) for end in ends], "nice": False, "zero": False},
    }


def _floor() -> Spec:
    return {
        "transform": [{"filter": "datum.n === 0"}],  # once a panel
        "mark": mark("rule", strokeWidth=1.5, color="var(--ink)"),
        "encoding": {"y": {"datum": 0, "type": "quantitative"}},
    }


def _top() -> Spec:
    """The mass that was on top when it was let go."""
    return {
        "transform": [{"filter": "datum.n === 0"}],
        "mark": mark("point", filled=True, opacity=1, size=22, color=PALETTE[1]),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "w", "type": "quantitative"},
        },
    }
