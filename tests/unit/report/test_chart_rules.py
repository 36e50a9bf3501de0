"""Rules of every chart, over all specifications that runs, sweeps and comparisons make."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import msgspec
import numpy as np
import pytest

from hardstone.comparison.charts import Standard, room_for
from hardstone.model import Result, Series
from hardstone.present.answer import answer_of
from hardstone.report import charts
from hardstone.report.chart_frame import Spec, group
from hardstone.report.drawing import Drawer
from hardstone.report.figures import figures_of, notes_on_drawing
from hardstone.report.lead import lead_chart, worst_second_chart
from tests.unit.report import sample
from tests.unit.report.test_legible import Noted, specs

FEW = charts.LEAST_VALUES - 1
# What is drawn on an axis that its values do not fill: words have the room, or the axis has ends.
FILLED = 0.6


@pytest.fixture(scope="module")
def battery() -> list[Spec]:
    run, drawer = sample.document(), Noted()
    answer = answer_of(run)
    for is_narrow in (False, True):
        assert lead_chart(run, answer, drawer, limits=[1_000_000], is_narrow=is_narrow)
        assert worst_second_chart(answer, drawer, is_narrow=is_narrow)
    return [*drawer.specs, *specs()]


def panel_of(spec: Spec) -> Spec:
    found: Spec = spec.get("spec", spec)
    return found


def layers_of(spec: Spec) -> Iterator[Spec]:
    panel = panel_of(spec)
    for layer in panel.get("layer", [panel]):
        yield from layers_of(layer) if "layer" in layer else [layer]


def scales_of(spec: Spec) -> dict[str, Spec]:
    """The scale of each position, which all layers of a panel share."""
    found: dict[str, Spec] = {}
    for layer in layers_of(spec):
        for channel in ("x", "y"):
            scale = layer.get("encoding", {}).get(channel, {}).get("scale")
            if scale and ("type" in scale or channel not in found):
                found[channel] = scale
    return found


def test_no_bar_stands_on_a_logarithmic_axis(battery: list[Spec]) -> None:
    assert len(battery) > 60
    kinds = {layer["mark"]["type"] for spec in battery for layer in layers_of(spec)}
    assert {"bar", "point", "rule", "tick"} <= kinds  # bars of a linear axis are left
    for spec in battery:
        scales = scales_of(spec)
        for layer in layers_of(spec):
            if layer["mark"]["type"] == "bar":
                logarithmic = [one for one in "xy" if scales.get(one, {}).get("type") == "log"]
                assert logarithmic == [], layer


def test_a_filled_outline_stands_on_no_value_and_a_band_on_a_figure(battery: list[Spec]) -> None:
    """What is filled up from an end of a logarithmic axis would be a bar too."""
    for spec in battery:
        for layer in layers_of(spec):
            if layer["mark"]["type"] == "area":
                base = layer["encoding"]["y2"]
                assert "field" in base or base == {"datum": charts.FLOOR}


def extent(spec: Spec, channel: str) -> tuple[float, float] | None:
    """The least and the largest value that is drawn along `channel`; lines with data of their own
    are yardsticks."""
    found: list[float] = []
    rows = spec["data"]["values"]
    for layer in layers_of(spec):
        if "data" in layer:
            continue
        encoding = layer.get("encoding", {})
        for name in (channel, f"{channel}2"):
            one = encoding.get(name, {})
            if one.get("type", "quantitative") != "quantitative":
                continue
            if isinstance(one.get("datum"), int | float):
                found.append(one["datum"])
            found += [row[one["field"]] for row in rows if number(row.get(one.get("field")))]
    return (min(found), max(found)) if found else None


def number(value: Any) -> bool:
    return isinstance(value, int | float)


def test_values_fill_most_of_every_axis(battery: list[Spec]) -> None:
    """Words to the right of dots fill the rest of a chart of pairs."""
    checked = 0
    for spec in battery:
        has_words = any(
            layer["mark"]["type"] == "text" and layer["encoding"].get("yOffset")
            for layer in layers_of(spec)
        )
        for channel, scale in scales_of(spec).items():
            ends, drawn = scale.get("domain"), extent(spec, channel)
            is_numeric = ends and all(map(number, ends))
            if not is_numeric or drawn is None or (has_words and channel == "x"):
                continue
            low, high = (max(min(one, ends[1]), ends[0]) for one in drawn)
            if scale.get("type") == "log":
                share = log(high / low) / log(ends[1] / ends[0])
            else:
                share = (high - low) / (ends[1] - ends[0])
            checked += 1
            assert share >= FILLED or high == low, (channel, ends, drawn, spec)
    assert checked > 60


def test_a_yardstick_far_away_leaves_the_axis_to_the_values() -> None:
    """10 us and 1 ms, beside values of 100 to 120 us."""
    near, far = Standard(130_000, "near"), Standard(10_000, "far")
    shown, low, high = room_for([near, far, Standard(1_000_000, "far")], 90_000, 140_000)
    assert (shown, low) == ([near], 90_000)
    assert high < 150_000
    (kept, end) = room_for([Standard(20_000_000, "near")], 1_000, 10_000_000)[::2]
    assert kept and end > 20_000_000


def few_and_many() -> Result:
    rng = np.random.default_rng(39)
    return msgspec.structs.replace(
        sample.document().results[0],
        test="SEM-P-ARC",
        series=[
            sample.series("acquire", sample.latencies(rng, count, 900 + 500 * count), waiters=count)
            for count in (1, FEW, FEW + 1)
        ],
    )


def test_fewer_than_twenty_values_are_dots_and_no_distribution() -> None:
    result = few_and_many()
    with Drawer() as drawer:
        found = {one.title: one.drawing.spec for one in figures_of(result, "a", 9, drawer)}
    for title in ("Exceedance", "Histogram"):
        lines = {row["c"] for row in found[title]["data"]["values"]}
        assert lines == {f"waiters {FEW + 1}"}
    rows = found["Average and worst observed"]["data"]["values"]
    for series in result.series[:2]:
        own = [row for row in rows if row["c"] == f"waiters {series.count}"]
        dots = sorted(row["v"] for row in own if "v" in row)
        assert dots == sorted(one.value_ns for one in series.worst)
        assert not any("min" in row or "max" in row for row in own)
    (many,) = [row for row in rows if row["c"] == f"waiters {FEW + 1}"]
    assert (many["min"], many["max"], many["w"]) == (
        result.series[2].min,
        result.series[2].max,
        result.series[2].max,
    )


@pytest.mark.slow
def test_a_result_of_few_values_has_a_chart_however_few_charts_there_are() -> None:
    result = msgspec.structs.replace(few_and_many(), series=few_and_many().series[:2])
    result.series[1].maxima_per_s = []
    with Drawer() as drawer:
        (only,) = figures_of(result, "a", 1, drawer)
    assert only.title == "Average and worst observed"
    assert only.about.endswith("A series of fewer than 20 values has a dot for each of them.")
    assert notes_on_drawing(result.series, 1) == []
    assert notes_on_drawing(few_and_many().series, 1) == [
        "2 series have fewer than 20 values: in the table only."
    ]


def lasting(*maxima: int | None) -> Series:
    series = sample.series("wakeup", np.arange(1, 40), cpu=0)
    series.maxima_per_s = list(maxima)
    return series


@pytest.mark.parametrize(
    ("maxima", "drawn"),
    [
        ((50, 60, 55, 3), [50, 60, 55]),  # the recording ended early in its last second
        ((50, 60, 55, None), [50, 60, 55]),
        ((50, 60, 55, 55), [50, 60, 55, 55]),
        ((50, 60, 55, 900), [50, 60, 55, 900]),  # the worst is never left out
        ((50, 60, None, 3), [50, 60, None, 3]),
        ((50,), [50]),
    ],
)
def test_a_last_second_that_ended_early_is_no_fall(
    maxima: tuple[int | None, ...], drawn: list[int | None]
) -> None:
    assert [value for _, value in charts.course(lasting(*maxima), 1)] == drawn
    rows = charts.time_chart(group([lasting(*maxima)]), "ns")["data"]["values"]
    assert [row["v"] for row in rows] == drawn
