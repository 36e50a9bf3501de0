"""Average and worst of each system as a pair of bars on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hardstone.model import Unit
from hardstone.report.charts.frame import unit_title
from hardstone.report.charts.scale import domain, drawn, value_axis, value_scale
from hardstone.report.charts.system_style import GREY, Standard, room_for, standard_layers
from hardstone.report.theme import CONFIG, PALETTE, Spec, mark

AVERAGE, WORST = "average", "worst"
Kind = Literal["value", "below", "above", "missing", "nothing"]
_STEP, _TIGHT_STEP = 27, 23
_MANY = 9
_WHOLE = 404  # as wide as charts with an axis of values are
_WIDEST_LABEL = 160
_LABEL_WIDTH = 6.2
_TEXT_WIDTH = 7.0  # of the widest fonts that browsers take for sans-serif
_TEXT_GAP = 8
_MOST_FOR_TEXT = 0.55
_WORDS_LEFT = 0.35  # to the left of the bars the names leave room above them


@dataclass(frozen=True)
class Bar:
    """One figure of one system. `end` is its value or bound; None where it is "missing", or where
    there is "nothing", neither average nor worst. `text` is what it says, such as "< 100 ns" or
    "not published"."""

    name: str
    which: str
    kind: Kind
    end: float | None
    text: str
    is_grey: bool = False


def chart(bars: Sequence[Bar], unit: Unit, title: str, standards: Sequence[Standard] = ()) -> Spec:
    """Two bars for each system, with their figures in words. A figure below a bound has a hollow
    bar that ends in a triangle to the left, one above a bound a triangle to the right; what may
    not be compared is grey, what is missing is named."""
    names = list(dict.fromkeys(one.name for one in bars))
    label = min(max(map(len, names), default=0) * _LABEL_WIDTH, _WIDEST_LABEL)
    width = int(_WHOLE - label)
    low, high = domain([one.end for one in bars if one.end is not None], 1.6)
    shown, low, high = room_for(standards, low, high)
    high = _with_room(bars, low, high, width)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, unit),
        "title": f"{title} (log)",
    }
    return {
        "config": CONFIG,
        "data": {"values": [_row(one, low) for one in sorted(bars, key=_alike)]},
        "layer": [
            _filled(x, low, unit, _y(names, is_open=bool(shown))),
            _hollow(low, unit),
            *_ends(),
            *_texts(),
            *standard_layers(shown, (low, high), "x", middle=_WORDS_LEFT),
        ],
        "width": width,
        "height": {"step": _TIGHT_STEP if len(names) >= _MANY else _STEP, "for": "position"},
        "usermeta": {"zoom": ["x"]},
    }


def _with_room(bars: Sequence[Bar], low: float, high: float, width: int) -> float:
    """The end of an axis on which every bar has room for its words to the right."""
    most = high
    for one in bars:
        words = min((len(one.text) * _TEXT_WIDTH + _TEXT_GAP) / width, _MOST_FOR_TEXT)
        end = drawn(one.end) if one.end is not None else low
        most = max(most, low * (end / low) ** (1 / (1 - words)))
    return most


def _alike(one: Bar) -> tuple[str, str, bool]:
    """Rows that share their fields follow one another, so that the page has these once."""
    return one.which, one.kind, one.is_grey


def _row(one: Bar, low: float) -> dict[str, Any]:
    return {
        "u": one.name,
        "c": one.which,
        "k": one.kind,
        "e": "grey" if one.is_grey else "plain",
        "z": one.text,
        "v": low if one.end is None else drawn(one.end),
    }


def _y(names: Sequence[str], *, is_open: bool) -> Spec:
    axis: Spec = {"labelLimit": _WIDEST_LABEL, "labelOverlap": False, "grid": False}
    axis.update(ticks=False, domain=False)
    scale: Spec = {"domain": list(names)}  # in their order, whichever figures are missing
    if is_open:  # above the first bars, for the words of the yardsticks
        scale["paddingOuter"] = 1
    return {"field": "u", "type": "nominal", "title": None, "axis": axis, "scale": scale}


# Room between the bars of a pair. A bar that is thinner than its band does not stand in the middle
# of it: Vega-Lite moves it by a share of the outer band.
_ASIDE: Spec = {"paddingInner": 0.18, "paddingOuter": 0.09}
_PLACE: Spec = {
    "y": {"field": "u", "type": "nominal"},
    "yOffset": {"field": "c", "type": "nominal", "sort": [AVERAGE, WORST], "scale": _ASIDE},
}


def _colour() -> Spec:
    return {
        "condition": {"test": "datum.e === 'grey'", "value": GREY},
        "field": "c",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": [AVERAGE, WORST], "range": PALETTE[:2]},
        "legend": {"symbolType": "square", "symbolSize": 80},
    }


def _tips(unit: Unit) -> list[Spec]:
    return [
        {"field": "u", "type": "nominal", "title": "system"},
        {"field": "c", "type": "nominal", "title": "figure"},
        {"field": "z", "type": "nominal", "title": "says"},
        {"field": "v", "type": "quantitative", "title": unit_title("drawn at", unit)},
    ]


def _filled(x: Spec, low: float, unit: Unit, y: Spec) -> Spec:
    return {
        "transform": [{"filter": "datum.k === 'value' || datum.k === 'above'"}],
        "mark": mark("bar", height={"band": 1}),
        "encoding": {
            "x": x,
            "x2": {"datum": low},
            **_PLACE,
            "y": y,
            "color": _colour(),
            "tooltip": _tips(unit),
        },
    }


def _hollow(low: float, unit: Unit) -> Spec:
    """Anything from the left end up to the bound."""
    return {
        "transform": [{"filter": "datum.k === 'below'"}],
        "mark": mark("bar", height={"band": 1}, filled=False, strokeDash=[2, 2], strokeWidth=1.2),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "x2": {"datum": low},
            **_PLACE,
            "color": _colour(),
            "tooltip": _tips(unit),
        },
    }


def _ends() -> list[Spec]:
    return [
        {
            "transform": [{"filter": f"datum.k === '{kind}'"}],
            "mark": mark("point", shape=f"triangle-{side}", filled=True, size=50, opacity=1),
            "encoding": {
                "x": {"field": "v", "type": "quantitative"},
                **_PLACE,
                "color": _colour(),
            },
        }
        for kind, side in (("below", "left"), ("above", "right"))
    ]


def _texts() -> list[Spec]:
    """The figures beside their bars; why one is missing at the left end."""
    look: Spec = {"align": "left", "baseline": "middle", "fontSize": 10}
    known = mark("text", dx=6, color="var(--ink)", **look)
    missing = mark("text", dx=3, fontStyle="italic", color=GREY, **look)
    encoding: Spec = {
        "x": {"field": "v", "type": "quantitative"},
        **_PLACE,
        "text": {"field": "z", "type": "nominal"},
    }
    return [
        {
            "transform": [{"filter": "datum.k !== 'missing' && datum.k !== 'nothing'"}],
            "mark": known,
            "encoding": {
                **encoding,
                "color": {
                    "condition": {"test": "datum.e === 'grey'", "value": GREY},
                    "value": "var(--ink)",
                },
            },
        },
        {
            "transform": [{"filter": "datum.k === 'missing'"}],
            "mark": missing,
            "encoding": encoding,
        },
        {
            "transform": [{"filter": "datum.k === 'nothing'"}],
            "mark": missing,
            "encoding": {key: one for key, one in encoding.items() if key != "yOffset"},
        },
    ]
