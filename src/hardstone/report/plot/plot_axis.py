"""What marks an axis has, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from hardstone.report.plot.label_text import Labeller, formatter, labeller, plain
from hardstone.report.plot.plot_direction import Direction
from hardstone.report.plot.plot_reading import known, number, numbers
from hardstone.report.plot.plot_scale import Bands, Scale
from hardstone.report.plot.plot_ticks import tick_step, ticks
from hardstone.report.theme import Spec

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
    """The axis of a direction along `length` pixels; NotKnownError for what Vega has to draw."""
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


def _values(one: Direction, scale: Scale, length: float) -> tuple[list[float], Labeller]:
    """The values that have marks, and how they are written."""
    said = one.axis
    count = said.get("tickCount", ceil(length / _PIXELS_A_MARK))
    known(type(count) is int and count > 0 and not {"labelExpr", "format"} <= said.keys())
    known("values" in said or not scale.is_log)
    if "tickMinStep" in said:
        known("tickCount" not in said and number(said["tickMinStep"]) == 1)
        count = min(count, int(scale.high - scale.low) + 1)
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
