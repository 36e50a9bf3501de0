"""What is drawn without Vega is what Vega draws, and is seen; the rest is left to Vega."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hardstone.compare.charts import Dot, spread_chart
from hardstone.compare.figures import compare_figures
from hardstone.kernel.analysis import kernel_time_of
from hardstone.kernel.charts import blocking_chart, section_chart
from hardstone.kernel.tables import kernel_history
from hardstone.model import Series, Unit
from hardstone.present.overview import timings
from hardstone.report import svg
from hardstone.report.charts import (
    SHARE_LABEL,
    bar_chart,
    distribution_chart,
    exceedance_chart,
    glance_chart,
    histogram_chart,
    is_drawable,
    loss_chart,
    phase_chart,
    time_chart,
    with_joins,
)
from hardstone.report.figures import KINDS
from hardstone.report.groups import group
from hardstone.report.plot import static_plot
from hardstone.report.plot.label_text import labeller
from hardstone.report.plot.plot_box import Box, text_box
from hardstone.report.theme import CONFIG, LABEL_OF_UNIT, Spec
from hardstone.simulation.figures import tire_figures
from hardstone.simulation.results import points_of
from hardstone.stats.noise import GapPoint
from hardstone.stats.sustained import Step
from tests.unit.present.compared import made_run, made_view, six_systems, twenty_systems
from tests.unit.report import sample
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.media import Sketches
from tests.unit.stats.blocked import kernel_result
from tests.unit.stats.tires import whole_sweep

Point = tuple[float, float]
MOVE = re.compile(r"translate\(([-\d.]+),([-\d.]+)\)")
STEP = re.compile(r"([MLHVhvAZ])([^MLHVhvAZ]*)")
PLACES = {"transform", "d", "x2", "y2"}
ROUNDED = 0.16  # both are rounded to tenths
MEASURED = 4.0  # pixels by which Vega's measure of a text may differ


# A specification of every chart that is drawn without Vega


@cache
def specs() -> dict[str, Spec]:
    """By the name of the chart and of what it shows."""
    made = (_of_a_run, _of_odd_series, _others, _of_sweeps, _of_kernels, _of_comparisons)
    return {name: spec for one in made for name, spec in one()}


def _of_a_run() -> Iterator[tuple[str, Spec]]:
    """Of each kind of chart, one of each make: panels, dashes, colours."""
    run = sample.document(count=3000)
    yield "glance", glance_chart(timings(run))
    results = [one for one in run.results if one.test in ("TMR-P-JIT", "TMR-P-LAT", "SEM-P-SIG")]
    for kind in KINDS:
        for result in results:
            shown = [one for one in result.series if kind.shows(one)]
            if shown:
                yield f"{kind.title} {result.test}", kind.chart(group(shown), shown[0].unit)


def _of_odd_series() -> Iterator[tuple[str, Spec]]:
    units: tuple[Unit, ...] = ("ns", "count", "bytes_per_s")
    for unit in units:
        odd = [
            sample.series("a <b>&\"'", np.array([0, 0, 0]), unit=unit),
            sample.series("b", np.array([-5, 4, 2**40]), unit=unit),
            sample.series("c", np.array([7, 7]), unit=unit),
            sample.series("c", np.array([9, 8]), unit=unit),
        ]
        for kind in KINDS if unit == "ns" else KINDS[-1:]:
            shown = [one for one in odd if kind.shows(one)]
            if shown:
                yield f"odd {kind.title} {unit}", kind.chart(group(shown), unit)
    alike = [_latencies("first", 3), _latencies("second", 3), _latencies("third", 4)]
    yield "alike", exceedance_chart(group(alike), "ns")
    yield "unsorted", _backwards(exceedance_chart(group(alike), "ns"))
    yield "limits", distribution_chart(group(alike[:1]), "ns", [1000, 2_000, 10**6])
    silent = [_latencies("silent", 5, silent_s=(1, 3, 4))]
    joined = group(silent)
    yield "unsorted gaps", _backwards(time_chart(joined, "ns"))
    yield "joins", with_joins(time_chart(joined, "ns"), joined, [2 * 10**9])


def _backwards(spec: Spec) -> Spec:
    """A line is drawn from left to right, whatever the order of its rows."""
    return {**spec, "data": {"values": spec["data"]["values"][::-1]}}


def _latencies(name: str, seed: int, silent_s: tuple[int, ...] = ()) -> Series:
    values = np.random.default_rng(seed).lognormal(7.5, 0.4, 6000).astype(np.int64)
    return sample.series(name, values, silent_s=silent_s)


def _others() -> Iterator[tuple[str, Spec]]:
    points = [GapPoint(at * 1e4 - 9e5, 250 + at * at, at % 4 == 0) for at in range(180)]
    yield "phase", phase_chart(points, has_tick=True)
    yield "gaps", phase_chart(points, has_tick=False)
    steps = [Step("timer", 10**at, 1000, 100 - 20 * at, 0, 0, False, at > 3) for at in range(2, 6)]
    yield "loss", loss_chart(steps)
    dots = [
        Dot(name, kind, 1.5 + at * len(kind), at == 2)
        for at, name in enumerate(("PREEMPT_RT", "Linux", "other"))
        for kind in ("wake-up", "switch", "interrupt")
    ]
    yield "spread", spread_chart(dots, ["Linux", "PREEMPT_RT", "nothing", "other"])


def _of_sweeps() -> Iterator[tuple[str, Spec]]:
    """But for the maps, which are left to Vega."""
    for loads in (["none"], ["none", "heavy"]):
        document = whole_sweep(loads)
        for figure in tire_figures(document, points_of(document), Sketches(), live=False):
            if not figure.id.startswith(("tire-hard", "tire-soft")):
                yield f"{figure.id} {len(loads)}", figure.drawing.spec


def _of_kernels() -> Iterator[tuple[str, Spec]]:
    time = kernel_time_of(kernel_result())
    assert time is not None and time.reference is not None
    found = [time.whole, *time.operations]
    yield "section", section_chart(found, kernel_history())
    yield "blocking", blocking_chart([*found, time.reference])


def _of_comparisons() -> Iterator[tuple[str, Spec]]:
    """One of each make."""
    kernels = [kernel_result(seed) for seed in range(1, 8)]
    views = {
        "six": six_systems(),
        "20": twenty_systems(),
        "kernels": made_view([made_run(n, results=[one]) for n, one in enumerate(kernels, 1)]),
    }
    seen = set()
    for name, view in views.items():
        for spec in (
            one.drawing.spec for one in compare_figures(view, Sketches(), live=False).all()
        ):
            made = _make(spec), "facet" in spec
            if made not in seen:
                seen.add(made)
                yield f"{name} {made[0]}", spec


def _make(spec: Spec) -> str:
    return " ".join(layer["mark"]["type"] for layer in spec.get("spec", spec)["layer"])


# A drawing read back


@dataclass(frozen=True)
class Item:
    """A mark or a text: its look, and its points from the corner of the plot. `turned` is what
    else its transform says."""

    tag: str
    look: tuple[tuple[str, str], ...]
    text: str
    turned: str
    points: tuple[Point, ...]
    is_closed: bool

    def is_like(self, other: Item, tolerance: float) -> bool:
        """Of the same look, on the same line within `tolerance` in both directions."""
        if (self.tag, self.look, self.text) != (other.tag, other.look, other.text):
            return False
        if self.turned != other.turned or self.is_closed != other.is_closed:
            return False
        if len(self.points) == len(other.points) and all(
            abs(x - other_x) <= tolerance and abs(y - other_y) <= tolerance
            for (x, y), (other_x, other_y) in zip(self.points, other.points, strict=True)
        ):
            return True
        return all(_is_on(one, other.points, tolerance) for one in self.points) and all(
            _is_on(one, self.points, tolerance) for one in other.points
        )


@dataclass(frozen=True)
class Drawn:
    width: float
    height: float
    corner: Point
    items: list[Item]

    def texts(self) -> list[Item]:
        return [one for one in self.items if one.tag == "text"]


def read(drawing: str) -> Drawn:
    """All that is seen, in its order; of marks that cover each other exactly, one."""
    root = ElementTree.fromstring(drawing)  # noqa: S314  a drawing of ours or of Vega
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    (whole,) = root
    move = MOVE.match(whole.get("transform", ""))
    assert move is not None
    found: list[Item] = []
    for one in whole:
        _collect(one, 0, 0, found)
    kept = [one for one, before in zip(found, [None, *found], strict=False) if one != before]
    return Drawn(width, height, (float(move[1]), float(move[2])), kept)


def _collect(element: ElementTree.Element, x: float, y: float, found: list[Item]) -> None:
    transform = element.get("transform", "")
    move = MOVE.match(transform)
    if move:
        x, y = x + float(move[1]), y + float(move[2])
    for child in element:
        _collect(child, x, y, found)
    if element.tag == "g" or element.get("opacity") == "0":
        return
    look = {key: value for key, value in element.attrib.items() if key not in PLACES}
    if "stroke" not in look:
        look.pop("stroke-width", None)
    points, is_closed = _points(element)
    places = tuple((round(x + one, 2), round(y + other, 2)) for one, other in points)
    turned = transform[move.end() :] if move else transform
    text = element.text or ""
    found.append(Item(element.tag, tuple(sorted(look.items())), text, turned, places, is_closed))


def _points(element: ElementTree.Element) -> tuple[list[Point], bool]:
    if element.tag == "line":
        ends = [(0.0, 0.0), (float(element.get("x2", 0)), float(element.get("y2", 0)))]
        return ends, False
    if element.tag != "path":
        return [(0.0, 0.0)], False
    found: list[Point] = []
    x = y = 0.0
    for command, text in STEP.findall(element.attrib["d"]):
        numbers = [float(one) for one in text.split(",") if one]
        if command in "MLA":
            x, y = numbers[-2:]
        elif command in "Hh":
            x = numbers[0] + (x if command == "h" else 0)
        elif command in "Vv":
            y = numbers[0] + (y if command == "v" else 0)
        found.append((x, y))
    return found, "Z" in element.attrib["d"]


def _is_on(point: Point, line: tuple[Point, ...], tolerance: float) -> bool:
    ends = pairwise(line) if len(line) > 1 else [(line[0], line[0])]
    return any(_is_near(point, one, other, tolerance) for one, other in ends)


def _is_near(point: Point, one: Point, other: Point, tolerance: float) -> bool:
    across, down = other[0] - one[0], other[1] - one[1]
    length = across * across + down * down
    share = ((point[0] - one[0]) * across + (point[1] - one[1]) * down) / length if length else 0
    share = min(max(share, 0), 1)
    return (
        abs(one[0] + share * across - point[0]) <= tolerance
        and abs(one[1] + share * down - point[1]) <= tolerance
    )


def drawn_here(spec: Spec, name: str = "") -> Drawn:
    found = static_plot.draw(spec)
    assert found is not None, name
    return read(found)


# What Vega draws


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


@pytest.mark.slow
def test_every_picture_is_that_of_vega() -> None:
    for name, spec in specs().items():
        assert_alike(drawn_here(spec, name), read(svg.by_vega(spec)), name)


@pytest.mark.slow
def test_the_tests_find_a_mark_that_moved() -> None:
    drawn = drawn_here(specs()["phase"])
    for one, other in pairwise(one for one in drawn.items if one.tag == "path"):
        assert one.is_like(one, ROUNDED) and not one.is_like(other, ROUNDED)


VALUES = st.lists(st.integers(0, 2**44), min_size=1, max_size=40)
FINITE = st.floats(-1e9, 1e9).map(lambda one: round(one, 4))


@pytest.mark.slow
@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(["ns", "count", "bytes_per_s"]))
@settings(max_examples=6, deadline=None)
def test_charts_of_any_values_are_those_of_vega(lists: list[list[int]], unit: Any) -> None:
    found = [
        sample.series(f"line {at}", np.array(values), unit=unit, step_ns=10**8)
        for at, values in enumerate(lists)
    ]
    timed = [one for one in found if is_drawable(one)]
    charts = [chart(group(found), unit) for chart in (exceedance_chart, histogram_chart)]
    charts.append(bar_chart(group(found), unit))
    charts += [time_chart(group(timed), unit)] if timed else []
    for spec in charts:
        plotted = static_plot.draw(spec)
        if plotted is not None:  # Vega draws what has no room, such as an axis of one value
            assert_alike(read(plotted), read(svg.by_vega(spec)))


@pytest.mark.slow
@given(FINITE, st.sampled_from([0.003, 0.02, 0.7, 1, 5.5, 37, 812, 65_000]), st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_marks_of_linear_axes_are_those_of_vega(low: float, span: float, count: int) -> None:
    axis = {"grid": True, "tickCount": count}
    scale = {"domain": [low, low + span], "nice": False}
    x = {"field": "a", "type": "quantitative", "title": "across", "scale": scale, "axis": axis}
    mark = {"type": "point", "filled": True, "size": 12, "color": "var(--ink)"}
    spec = {
        "config": CONFIG,
        "data": {"values": [{"a": low, "c": "one"}]},
        "width": 360,
        "height": 200,  # of 190 marks fall on half a pixel, where the last digit decides
        "layer": [{"mark": mark, "encoding": {"x": x, "y": {**x, "title": "down"}}}],
    }
    assert_alike(drawn_here(spec), read(svg.by_vega(spec)))


LABELS = (
    *LABEL_OF_UNIT.values(),
    SHARE_LABEL,
    "format(datum.value, '~s')",
    "format(100 / (1 + pow(10, -datum.value)), '.5~f') + ' %'",
)
NUMBERS = [
    *(digits * 10.0**power for power in range(-9, 15) for digits in (1, 1.26, 2.4, 9.9996)),
    *(0.5, 1.5, 2.5, 999.99995, 0.00005, 999_999.5, 123456789.123, 1e6 - 0.01),
]


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_numbers_are_written_as_vega_writes_them(label: str) -> None:
    values = [one for one in NUMBERS if "pow" not in label or one < 20]
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
    said = [one.text for one in read(svg.by_vega(spec)).texts()]
    assert [labeller(label)(one) for one in values] == said


def leaves(spec: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a specification that holds a text, a number or a truth value."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key not in ("config", "tooltip") and path[-1:] != ("data",):
                yield from leaves(value, (*path, key))
    elif isinstance(spec, list):
        for place, value in enumerate(spec):
            yield from leaves(value, (*path, place))
    else:
        yield path


def changed(spec: Spec, path: tuple[Any, ...], amount: float) -> Spec:
    """The specification with another value of the same type there."""
    found = copy.deepcopy(spec)
    inner = at(found, path[:-1])
    value = inner[path[-1]]
    if isinstance(value, bool):
        inner[path[-1]] = not value
    elif isinstance(value, int | float):
        inner[path[-1]] = value * amount
    else:
        inner[path[-1]] = None if value is not None and amount < 1 else f"{value or ''}x"
    return found


@pytest.mark.slow
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


# What is seen


@pytest.mark.slow
def test_no_text_covers_another_or_is_cut_off_and_each_line_has_a_stroke() -> None:
    """A symbol that is a stroke, of marks that have none, is filled and so not seen."""
    for name, spec in specs().items():
        drawn = drawn_here(spec, name)
        _assert_readable(drawn, name)
        for one in drawn.items:
            if one.tag in ("path", "line") and not one.is_closed and len(one.points) == 2:
                assert "stroke" in dict(one.look), name


def _assert_readable(drawn: Drawn, name: str) -> None:
    boxes = [_box_of(one) for one in drawn.texts()]
    for one in boxes:
        assert one.left + drawn.corner[0] >= 0 and one.right + drawn.corner[0] <= drawn.width, name
        assert one.top + drawn.corner[1] >= 0 and one.bottom + drawn.corner[1] <= drawn.height, name
    kinds = [dict(one.look).get("fill") for one in drawn.texts()]
    plain = [box for box, kind in zip(boxes, kinds, strict=True) if kind != "var(--bad)"]
    for place, one in enumerate(plain):
        assert not any(_is_over(one, other) for other in plain[place + 1 :]), name


def _box_of(one: Item) -> Box:
    look = dict(one.look)
    size, align = {"11px": 11.0, "10px": 10.0}[look["font-size"]], look.get("text-anchor", "start")
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("section", ["0%", "25%", "50%", "75%", "90%", "100%"]),
        ("kernels line line point", ["0%", "50%", "90%"]),
    ],
)
def test_an_axis_of_shares_has_all_its_marks(name: str, labels: list[str]) -> None:
    shown = [one for one in drawn_here(specs()[name]).texts() if one.text.endswith("%")]
    first = [one for one in shown if one.points[0][0] == shown[0].points[0][0]]
    assert [one.text for one in first][: len(labels)] == labels
    heights = sorted(one.points[0][1] for one in first[: len(labels)])
    assert all(below - above > 11 for above, below in pairwise(heights))


@pytest.mark.slow
def test_a_figure_stands_beside_the_middle_of_its_bar() -> None:
    """Texts have the middle of a band; a bar that is moved within its band is beside it."""
    names = [name for name in specs() if name.split()[1:3] == ["bar", "bar"]]
    assert names
    for picture in (drawn_here(specs()[name]) for name in names):
        bounds = [[y for _, y in one.points] for one in picture.items if _is_bar(one)]
        middles = {round((min(one) + max(one)) / 2, 1) for one in bounds}
        small = [one for one in picture.texts() if dict(one.look)["font-size"] == "10px"]
        texts = [one.points[0][1] for one in small]
        assert middles and texts
        for middle in middles:
            # the line on which a text of 10 px stands is 3 px below its middle
            assert min(abs(y - 3 - middle) for y in texts) <= 0.2, middle


def _is_bar(one: Item) -> bool:
    """A rectangle from the left end; symbols of the legend begin elsewhere."""
    places = {x for x, _ in one.points}
    return one.is_closed and len(places) == 2 and min(places) == 0


# What is left to Vega

# What has a meaning of its own in one of a few words.
WORDS = {
    *("type", "interpolate", "shape", "orient", "baseline", "align", "labelExpr", "format"),
    *("filter", "invalid", "labelOverlap", "symbolType", "test", "fontStyle", "nice", "clamp"),
}


def objects(spec: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a specification that is an object, but for the rows of data."""
    if isinstance(spec, dict):
        yield path
        for key, value in spec.items():
            yield from objects(value, (*path, key))
    elif isinstance(spec, list) and path[-1:] != ("values",):
        for place, value in enumerate(spec):
            yield from objects(value, (*path, place))


def at(spec: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        spec = spec[key]
    return spec


def few_rows(spec: Spec) -> Spec:
    """A copy with at most some sixty rows, which is drawn faster."""
    rows = spec["data"]["values"]
    few = {**spec, "data": {"values": rows[:: -(-len(rows) // 60)]}}
    return copy.deepcopy(few if static_plot.draw(few) else spec)


@pytest.mark.slow
def test_a_key_or_a_word_that_is_not_known_is_left_to_vega_wherever_it_is() -> None:
    for name, spec in specs().items():
        found = few_rows(spec)
        for path in objects(spec):
            inner = at(found, path)
            inner["zz"] = 1
            assert static_plot.draw(found) is None, (name, path)
            del inner["zz"]
            if "config" in path or "tooltip" in path:
                continue
            for key in WORDS & inner.keys():
                kept, inner[key] = inner[key], "zz"
                assert static_plot.draw(found) is None, (name, path, key)
                inner[key] = kept
        assert static_plot.draw(found) is not None


@pytest.mark.slow
def test_what_is_left_to_vega_is_drawn_by_it() -> None:
    spec = copy.deepcopy(specs()["loss"])
    spec["layer"][0]["mark"]["strokeOpacity"] = 0.5
    assert static_plot.draw(spec) is None
    assert 'stroke-opacity="0.5"' in svg.render(spec)


MARKS = ["circle", "trail", "boxplot", "image", "arc", "geoshape", None]
COLOURS = ['"/><script>', "url(#a)", "red;x:y", 'red"', 1, None]
RANGE = ("encoding", "color", "scale", "range", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "values"),
    [
        ("loss", ("layer", 1, "mark", "type"), MARKS),
        ("limits", ("layer", 0, *RANGE), COLOURS),
        ("limits", ("layer", 1, *RANGE), COLOURS),
        ("limits", ("layer", -1, "mark", "color"), COLOURS),
        ("limits", (), [None, 1, "text", [], {}, {"layer": []}, {"facet": {}}]),
    ],
)
def test_a_mark_a_colour_or_a_specification_that_is_none_is_left_to_vega(
    name: str, path: tuple[Any, ...], values: list[Any]
) -> None:
    for value in values:
        spec = copy.deepcopy(specs()[name])
        if path:
            at(spec, path[:-1])[path[-1]] = value
        assert static_plot.draw(spec if path else value) is None, value


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text(max_size=4),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_odd_values_of_the_data_never_fail(data: st.DataObject) -> None:
    spec = copy.deepcopy(specs()[data.draw(st.sampled_from(["alike", "loss", "limits", "glance"]))])
    rows = spec["data"]["values"]
    row = rows[data.draw(st.integers(0, len(rows) - 1))]
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(ODD)
    _assert_sound(spec)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_an_odd_specification_never_fails(data: st.DataObject) -> None:
    spec = copy.deepcopy(specs()[data.draw(st.sampled_from(sorted(specs())))])
    inner = at(spec, data.draw(st.sampled_from(list(objects(spec)))))
    if inner:
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(ODD)
    _assert_sound(spec)


@pytest.mark.slow
def test_an_empty_chart_is_drawn_or_left_to_vega() -> None:
    for spec in specs().values():
        _assert_sound({**spec, "data": {"values": []}})


def _assert_sound(spec: Any) -> None:
    """What is drawn is whole, and has no number that is none."""
    try:
        drawn = svg.plotted(spec)
    except ValueError:  # characters that XML forbids
        return
    for one in ElementTree.fromstring(drawn).iter() if drawn else ():  # noqa: S314
        assert not any("nan" in value or "inf" in value for value in one.attrib.values())


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_name_that_is_code_stays_a_name(attack: str) -> None:
    name = "".join(one for one in attack if one.isprintable())[:18]
    series = [sample.series(f"{name} {place}", np.array([place, 5, 9, 70])) for place in (1, 2)]
    drawn = svg.plotted(exceedance_chart(group(series), "ns"))
    assert drawn is not None
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert {one.tag for one in root.iter()} <= {"svg", "g", "path", "line", "text"}
    assert not any(key.startswith("on") for one in root.iter() for key in one.attrib)
    assert f"{name} 1" in [one.text for one in root.iter("text")]


@pytest.mark.slow
def test_common_charts_need_no_converter_and_leave_nothing_that_a_page_may_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is drawn is as Vega's drawings are after `tidy`."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for name, spec in specs().items():
        before = msgspec.json.encode(spec)
        drawn = svg.render(spec)
        assert drawn.startswith("<svg "), name
        assert msgspec.json.encode(spec) == before
        plain = static_plot.draw(spec)
        assert plain is not None
        again = ElementTree.fromstring(svg.tidy(plain))  # noqa: S314
        for one, other in zip(ElementTree.fromstring(plain).iter(), again.iter(), strict=True):  # noqa: S314
            assert (one.tag, one.attrib, one.text) == (other.tag, other.attrib, other.text)


def test_a_glance_of_hundreds_of_results_is_drawn() -> None:
    rows = [{"c": f"row {place}", "m": 10.0, "w": 20.0 + place} for place in range(400)]
    spec = {**glance_chart([]), "data": {"values": rows}}
    assert svg.render(spec).count("<text") > 400
