"""Static pictures drawn without Vega are those that Vega draws."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardstone.report import svg
from hardstone.report.charts import bars, exceedance_chart, histogram_chart, over_time
from hardstone.report.groups import group
from hardstone.report.plot import static_plot
from hardstone.report.plot.label_text import labeller
from hardstone.report.plot.plot_box import Box, text_box
from hardstone.report.theme import CONFIG, LABEL_OF_UNIT, Spec
from tests.unit.report import sample
from tests.unit.report.drawings import Drawn, Item, read
from tests.unit.report.plot_specs import specs

pytestmark = pytest.mark.slow

ROUNDED = 0.16  # both are rounded to tenths
MEASURED = 4.0  # pixels by which Vega's measure of a text may differ
SIZES = {"11px": 11.0, "10px": 10.0}


def ours(spec: Spec, name: str = "") -> Drawn:
    drawn = static_plot.draw(spec)
    assert drawn is not None, name
    return read(drawn)


def assert_alike(found: Drawn, wanted: Drawn, name: str = "") -> None:
    """The same marks and texts in the same order; what has data in its place, exactly."""
    assert [(one.tag, one.text, one.look) for one in found.items] == [
        (one.tag, one.text, one.look) for one in wanted.items
    ], name
    followed = [*found.items[1:], None]
    for one, other, after in zip(found.items, wanted.items, followed, strict=True):
        # A symbol of a legend is followed by its text, both where the texts before end.
        is_measured = bool(one.turned) or _is_of_legend(one, after) or one.tag == "text"
        assert one.is_like(other, MEASURED if is_measured else ROUNDED), (name, one, other)
    for one, other in zip(_axis_texts(found), _axis_texts(wanted), strict=True):
        assert one.is_like(other, ROUNDED), (name, one, other)
    for side in ("width", "height"):
        assert abs(getattr(found, side) - getattr(wanted, side)) <= MEASURED
    assert max(abs(a - b) for a, b in zip(found.corner, wanted.corner, strict=True)) <= MEASURED


def _is_of_legend(one: Item, after: Item | None) -> bool:
    look = dict(after.look) if after is not None else {}
    return one.tag == "path" and look.get("fill") == "var(--ink)" and "font-size" in look


def _axis_texts(drawn: Drawn) -> list[Item]:
    quiet = [one for one in drawn.texts() if ("fill", "var(--quiet)") in one.look]
    return [one for one in quiet if not one.turned]


def test_every_picture_is_that_of_vega() -> None:
    for name, spec in specs().items():
        assert_alike(ours(spec, name), read(svg.by_vega(spec)), name)


def test_no_text_covers_another_or_is_cut_off() -> None:
    for name, spec in specs().items():
        _assert_readable(ours(spec, name), name)


def _assert_readable(drawn: Drawn, name: str) -> None:
    boxes = [_box_of(one) for one in drawn.texts()]
    for one in boxes:
        assert one.left + drawn.corner[0] >= 0 and one.right + drawn.corner[0] <= drawn.width, name
        assert one.top + drawn.corner[1] >= 0 and one.bottom + drawn.corner[1] <= drawn.height, name
    kinds = [dict(one.look).get("fill") for one in drawn.texts()]
    plain = [box for box, kind in zip(boxes, kinds, strict=True) if kind != "var(--bad)"]
    for at, one in enumerate(plain):
        assert not any(_is_over(one, other) for other in plain[at + 1 :]), name


def _box_of(one: Item) -> Box:
    look = dict(one.look)
    size, align = SIZES[look["font-size"]], look.get("text-anchor", "start")
    ((x, y),) = one.points
    if not one.turned:
        return text_box(one.text, x, y, size, align)
    lying = text_box(one.text, 0, 0, size, align, "bottom")
    return Box(x + lying.top, y + lying.left, x + lying.bottom, y + lying.right)


def _is_over(one: Box, other: Box) -> bool:
    return (
        min(one.right, other.right) - max(one.left, other.left) > 1
        and min(one.bottom, other.bottom) - max(one.top, other.top) > 4
    )


VALUES = st.lists(st.integers(0, 2**44), min_size=1, max_size=40)


@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(["ns", "count", "bytes_per_s"]))
@settings(max_examples=8, deadline=None)
def test_charts_of_any_values_are_those_of_vega(lists: list[list[int]], unit: Any) -> None:
    found = [
        sample.series(f"line {at}", np.array(values), unit=unit, step_ns=10**8)
        for at, values in enumerate(lists)
    ]
    modules = (exceedance_chart, histogram_chart, bars)
    timed = [one for one in found if over_time.is_drawable(one)]
    drawn = [module.chart(group(found), unit) for module in modules]
    drawn += [over_time.chart(group(timed), unit)] if timed else []
    for spec in drawn:
        plotted = static_plot.draw(spec)
        if plotted is not None:  # Vega draws what has no room, such as an axis of one value
            assert_alike(read(plotted), read(svg.by_vega(spec)))


FINITE = st.floats(-1e9, 1e9).map(lambda one: round(one, 4))


def linear(low: float, high: float, count: int) -> Spec:
    axis = {"grid": True, "tickCount": count}
    scale = {"domain": [low, high], "nice": False}
    x = {"field": "a", "type": "quantitative", "title": "across", "scale": scale, "axis": axis}
    return {
        "config": CONFIG,
        "data": {"values": [{"a": low, "c": "one"}]},
        "width": 360,
        "height": 190,
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 12, "color": "var(--ink)"},
                "encoding": {"x": x, "y": {**x, "title": "down"}},
            }
        ],
    }


@given(FINITE, st.sampled_from([0.003, 0.02, 0.7, 1, 5.5, 37, 812, 65_000]), st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_marks_of_linear_axes_are_those_of_vega(low: float, span: float, count: int) -> None:
    spec = linear(low, low + span, count)
    assert_alike(ours(spec), read(svg.by_vega(spec)))


LABELS = (
    *LABEL_OF_UNIT.values(),
    exceedance_chart.SHARE_LABEL,
    "format(datum.value, '~s')",
    "format(100 / (1 + pow(10, -datum.value)), '.5~f') + ' %'",
)
NUMBERS = [
    *(digits * 10.0**power for power in range(-9, 15) for digits in (1, 1.26, 2.4, 9.9996)),
    *(0.5, 1.5, 2.5, 999.99995, 0.00005, 999_999.5, 123456789.123, 1e6 - 0.01),
]


@pytest.mark.parametrize("label", LABELS)
def test_numbers_are_written_as_vega_writes_them(label: str) -> None:
    values = [one for one in NUMBERS if "pow" not in label or one < 20]
    said = [f"{one.text}" for one in _labels(label, values)]
    assert [labeller(label)(one) for one in values] == said


def _labels(label: str, values: list[float]) -> list[Item]:
    spec: Spec = {
        "config": {"background": None},
        "data": {"values": [{"value": one, "at": at} for at, one in enumerate(values)]},
        "transform": [{"calculate": label, "as": "said"}],
        "mark": "text",
        "encoding": {
            "text": {"field": "said", "type": "nominal"},
            "y": {"field": "at", "type": "quantitative", "axis": None},
        },
    }
    drawn = read(svg.by_vega(spec)).texts()
    assert len(drawn) == len(values)
    return drawn


def leaves(spec: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a specification that holds a text, a number or a truth value."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key not in ("config", "tooltip") and path[-1:] != ("data",):
                yield from leaves(value, (*path, key))
    elif isinstance(spec, list):
        for at, value in enumerate(spec):
            yield from leaves(value, (*path, at))
    else:
        yield path


def changed(spec: Spec, path: tuple[Any, ...], amount: float) -> Spec:
    """The specification with another value of the same type there."""
    found = copy.deepcopy(spec)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    if isinstance(value, bool):
        inner[path[-1]] = not value
    elif isinstance(value, int | float):
        inner[path[-1]] = value * amount
    else:
        inner[path[-1]] = None if value is not None and amount < 1 else f"{value or ''}x"
    return found


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_specification_with_one_value_changed_is_refused_or_drawn_as_vega_draws_it(
    data: st.DataObject,
) -> None:
    spec = specs()[data.draw(st.sampled_from(sorted(specs())))]
    path = data.draw(st.sampled_from(list(leaves(spec))))
    other = changed(spec, path, data.draw(st.sampled_from([0.5, 1.25])))
    drawn = static_plot.draw(other)
    if drawn is not None:
        assert_alike(read(drawn), read(svg.by_vega(other)), str(path))


def test_the_tests_find_a_mark_that_moved() -> None:
    drawn = ours(specs()["phase"])
    for one, other in pairwise(one for one in drawn.items if one.tag == "path"):
        assert one.is_like(one, ROUNDED) and not one.is_like(other, ROUNDED)
