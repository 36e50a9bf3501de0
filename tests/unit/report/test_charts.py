"""The charts draw what the series hold, and nothing else."""

from __future__ import annotations

import re
from math import log
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Conditions, RunDocument, Series
from hardstone.present.overview import timings
from hardstone.report import charts
from hardstone.report.chart_frame import (
    MOST_LINES,
    common_numbers,
    group,
    interactive,
    ticks,
)
from hardstone.report.drawing import Drawer, packed, render, tidy
from hardstone.report.figures import (
    KINDS,
    MOST_CHARTS,
    charts_each,
    figure_of,
    figures_of,
    notes_on_drawing,
)
from hardstone.stats.histogram import histogram_of
from hardstone.stats.identity import LogLinear, edges_of, index_of
from hardstone.stats.quantiles import exceedance
from tests.unit.report import sample
from tests.unit.stats import make

VALUES = st.lists(st.integers(0, 2**62), min_size=1, max_size=60)


def of(test: str, run: RunDocument) -> list[Series]:
    return next(result.series for result in run.results if result.test == test)


def rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = spec["data"]["values"]
    return values


@pytest.mark.slow
@given(VALUES, st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_drawn_bins_hold_every_value_and_split_no_bucket(values: list[int], bits: int) -> None:
    held = histogram_of(np.array(values), layout=f"log-linear/{bits}")
    edges = charts.grid([held])
    bins = charts.draw_bins(held, edges)
    assert sum(one.count for one in bins) == len(values)
    assert bins[0].low <= min(values)
    assert max(values) < bins[-1].high
    for one in bins:
        assert edges_of(index_of(one.low, LogLinear(bits)), LogLinear(bits))[0] == one.low
        inside = [value for value in values if one.low <= value < one.high]
        assert one.count == len(inside)


@pytest.mark.slow
@given(VALUES)
@settings(max_examples=60, deadline=None)
def test_points_of_the_exceedance_curve_are_exact(values: list[int]) -> None:
    series = sample.series("latency", np.array(values))
    series.histogram = histogram_of(np.array(values))
    points = charts.curve(series)
    shares = [share for _, share in points]
    assert shares == sorted(shares, reverse=True)
    assert points[-1][0] == float(max(values))
    for value, share in points[1:-1]:
        assert share == pytest.approx(sum(one > value for one in values) / len(values))


def test_the_bound_and_the_worst_observed_are_drawn_for_every_line(run: RunDocument) -> None:
    lines = group(of("SEM-P-SIG", run))
    bounds = [row for row in rows(charts.exceedance_chart(lines, "ns")) if "b" in row]
    assert [row["b"] for row in bounds] == pytest.approx([3 / 20_000] * 4, rel=0.01)
    worst = [row["v"] for row in rows(charts.histogram_chart(lines, "ns")) if "w" in row]
    assert worst == [line.series.max for line in lines.lines]


def test_missing_seconds_are_gaps_and_joined_seconds_keep_their_maximum(run: RunDocument) -> None:
    series = next(s for s in of("TMR-P-LAT", run) if None in s.maxima_per_s)
    points = charts.course(series, 1)
    assert [value for _, value in points[11:14]] == [None, None, None]
    joined = charts.course(series, 7)
    assert max(v for _, v in joined if v is not None) == max(v for _, v in points if v is not None)


def test_a_gap_breaks_the_line_and_a_lone_second_is_a_dot() -> None:
    series = sample.series("wakeup", np.array([1, 2]), cpu=0)
    series.maxima_per_s = [5, 6, None, 7, None, None, 8, 9]
    drawing = render(charts.time_chart(group([series]), "ns"))
    (path,) = re.findall(r'd="([^"]*)"[^>]*stroke="var\(--series', drawing)
    assert path.count("M") == 3
    assert path.count("Z") == 1


def test_a_day_of_seconds_is_drawn_with_few_points() -> None:
    long = sample.series("wakeup", np.array([5, 6]), cpu=0)
    long.maxima_per_s = [7] * 86_400
    assert len(rows(charts.time_chart(group([long]), "ns"))) <= charts.MOST_POINTS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_every_chart_of_every_result_compiles_live(run: RunDocument, kind: Any) -> None:
    """As pictures they are drawn in test_legible.py."""
    vl_convert = pytest.importorskip("vl_convert")
    for result in run.results:
        found = [series for series in result.series if kind.shows(series)]
        if found:
            spec = kind.chart(group(found), "ns")
            assert vl_convert.vegalite_to_vega(interactive(spec))["marks"]


def test_empty_and_lone_series_have_no_distribution() -> None:
    empty = sample.series("a", np.array([], dtype=np.int64))
    lone = sample.series("a", np.array([5]))
    assert [kind.title for kind in KINDS if kind.shows(empty)] == []
    assert [kind.chart for kind in KINDS if kind.shows(lone)] == [charts.range_chart]
    assert charts.curve(empty) == []
    assert charts.draw_bins(empty.histogram, []) == []


def test_series_are_told_apart_by_panels_colours_and_dashes(run: RunDocument) -> None:
    found = group(of("TMR-P-JIT", run))
    assert found.panels == ["period 1 ms", "period 10 ms", "period 100 ms"]
    assert found.colours == ["timer", "nanosleep", "timerfd", "setitimer"]
    both = group(of("TMR-P-LAT", run))
    assert (both.panels, both.dashes) == ([], ["wakeup", "release"])


ALIKE = {
    "colours": [sample.series(name, np.arange(100, 2000)) for name in ("one", "two", "three")],
    "dashes": [
        sample.series(name, np.arange(100 * (cpu + 1), 2000), cpu=cpu)
        for cpu in (0, 9)
        for name in ("wakeup", "release")
    ],
}


@pytest.mark.parametrize("kind", ALIKE)
@pytest.mark.parametrize(
    "chart", [charts.exceedance_chart, charts.histogram_chart, charts.time_chart]
)
def test_lines_that_cover_each_other_are_all_seen(kind: str, chart: Any) -> None:
    found = ALIKE[kind]
    for series in found:
        series.maxima_per_s = [700, 900, 1999]
    lines = group(found)
    assert [line.is_over for line in lines.lines][:2] == [False, True]
    spec = chart(lines, "ns")
    drawn = {(row["i"], row["o"]) for row in rows(spec)}
    assert {(0, "under"), (1, "over")} <= drawn
    image = render(spec)
    look = "stroke-dasharray" if kind == "colours" else 'stroke-width="3.5"'
    assert look in image
    assert render(chart(group(found[:1]), "ns")).count(look) == 0


def test_lines_apart_and_tails_that_end_apart_are_of_equal_weight() -> None:
    apart = [sample.series("one", np.arange(9)), sample.series("two", np.arange(100, 900))]
    bulk = np.full(1000, 500)
    tails = [
        sample.series(f"to {worst}", np.concatenate([bulk, [worst]]))
        for worst in (900, 90_000, 95_000)
    ]
    assert not any(line.is_over for line in (*group(apart).lines, *group(tails).lines))


def test_a_chart_tells_the_numbers_by_which_no_line_is_named() -> None:
    """As the number of waiters, which the levels of the system limit."""
    values = np.arange(10, 40)
    some = [sample.series("acquire", values, kind=kind, waiters=97) for kind in ("one", "two")]
    assert common_numbers(some) == common_numbers(some[:1]) == "waiters 97"
    other = sample.series("acquire", values, kind="one", waiters=8)
    assert common_numbers([*some, other]) == ""
    with Drawer() as drawer:
        figure = figure_of(KINDS[0], some, "SEM-P-ARC", "a", drawer)
        plain = figure_of(KINDS[0], [*some, other], "SEM-P-ARC", "b", drawer)
    assert figure and figure.about == f"{KINDS[0].about} With waiters 97."
    assert plain and plain.about == KINDS[0].about


def test_of_a_rate_no_chart_shows_its_largest_values_as_the_worst(run: RunDocument) -> None:
    result = msgspec.structs.replace(
        run.results[0],
        series=[sample.series("throughput", np.array([3, 4, 5] * 9000), unit="bytes_per_s")],
    )
    with Drawer() as drawer:
        shown = figures_of(result, "a", MOST_CHARTS, drawer)
    assert {figure.title for figure in shown} == {"Histogram", "Average and worst observed"}
    assert all("the largest" in one.about or "the minimum" in one.about for one in shown)


def test_the_number_of_charts_is_bounded(run: RunDocument) -> None:
    few = [result for result in run.results if result.series]
    assert charts_each(few, MOST_CHARTS) == len(KINDS)
    assert charts_each(few * 4, MOST_CHARTS) * len(few) * 4 <= MOST_CHARTS


def test_packed_data_give_the_rows_again(run: RunDocument) -> None:
    spec = charts.exceedance_chart(group(of("TMR-P-LAT", run)), "ns")
    again = [
        {**line["keys"], **dict(zip(line["fields"], point, strict=True))}
        for line in packed(spec)["lines"]
        for point in line["points"]
    ]
    for row, copy in zip(rows(spec), again, strict=True):
        assert row.keys() == copy.keys()
        assert copy["v"] == pytest.approx(row["v"], rel=1e-4)


@pytest.mark.slow
@given(st.floats(0.5, 1e18), st.floats(1.05, 1e12))
@settings(max_examples=80, deadline=None)
def test_axes_have_a_few_marks_inside(low: float, ratio: float) -> None:
    assert ticks(low, low * 0.8) == []
    marks = ticks(low, low * ratio)
    assert marks == sorted(marks)
    assert len(marks) <= 16
    assert all(low <= mark <= low * ratio * (1 + 1e-9) for mark in marks)


@pytest.mark.parametrize(
    "text", ["a\x00b", "a\x00", "\b", "\uffff", "\\\x1b", "\x1b[31m", "\x07", "\ufffe"]
)
def test_texts_that_would_end_the_process_are_refused(text: str) -> None:
    spec = charts.range_chart(group([sample.series("a", np.array([1, 2]))]), "ns")
    spec["data"]["values"][0]["name"] = text
    with pytest.raises(ValueError, match="cannot be drawn"):
        render(spec)


def test_a_label_with_backslashes_is_drawn() -> None:
    found = [sample.series("a", np.array([1, n + 2]), path=f"C:\\bin\\{n}") for n in range(2)]
    assert "C:\\bin" in render(charts.range_chart(group(found), "ns"))


def test_a_chart_has_the_twelve_lines_with_the_highest_maxima_and_says_so() -> None:
    many = [
        sample.series(
            "acquire", np.array([n, *[10 * (n * 7 % 40) + 400] * 20]), kind=f"k{n % 2}", cpu=n // 2
        )
        for n in range(40)
    ]
    found = group(many)
    highest = sorted((series.max or 0 for series in many), reverse=True)[: len(found.lines)]
    assert sorted((line.series.max or 0 for line in found.lines), reverse=True) == highest
    assert 0 < len(found.lines) <= MOST_LINES
    count = len(found.lines)
    said = f"{40 - count} series in the table only: the charts show the {count} with the highest"
    assert notes_on_drawing(many, len(KINDS))[0].startswith(said)


def test_a_line_without_a_course_of_time_is_said_where_that_chart_is() -> None:
    long, short = (sample.series("wakeup", np.arange(5, 30), cpu=cpu) for cpu in (0, 1))
    long.maxima_per_s, short.maxima_per_s = [5, 6, 6, 5], [6]
    said = "Over time: 1 series not drawn, too short or without times."
    assert said in notes_on_drawing([long, short], len(KINDS))
    assert said not in notes_on_drawing([long, short], 2)
    assert notes_on_drawing([long], len(KINDS)) == []


def tidied(inner: str, attributes: str = "") -> str:
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"{attributes}>'
    return tidy(f"{start}{inner}</svg>")


def test_a_drawing_with_anything_but_shapes_is_refused() -> None:
    for inner in ("<script>x</script>", "<image href='x'/>", "<a href='x'><g/></a>"):
        with pytest.raises(ValueError, match="holds a"):
            tidied(inner)
    assert "onload" not in tidied("<g/>", ' onload="x"')


def test_a_drawing_says_nothing_that_holds_anyway() -> None:
    path = '<path d="M0,0" fill="red" opacity="1" stroke-width="1"/>'
    text = tidied(f'<g><g transform="translate(0,0)">{path}</g></g>')
    assert text.endswith('focusable="false"><path d="M0,0" fill="red" /></svg>')
    assert tidied(f"<g>{path}{path}</g>").count("<g") == 0
    overriding = tidied('<g stroke-width="3"><path d="M0,0" stroke="red" stroke-width="1"/></g>')
    assert 'stroke="red" stroke-width="1"' in overriding
    assert '<g stroke-width="3">' in overriding


def test_conditions_whose_names_are_cut_alike_keep_rows_of_their_own() -> None:
    load = "cpu=10ms/100ms@cpu+disk=10ms/100ms+network={}/s"
    places = [(load.format(n), "shielded") for n in (100, 200)] + [("none", "shared")]
    found = [make.result(conditions=Conditions(load=one, cpu_config=two)) for one, two in places]
    rows = charts.glance_chart(timings(make.document(results=found)))["data"]["values"]
    assert len({row["c"] for row in rows}) == 3


@pytest.mark.parametrize(
    ("path", "drawn"),
    [
        ("M1,2L3,2L3,5L3,5L7,9", "M1,2H3V5L7,9"),
        ("M1,2L1,2", "M1,2H1"),
        ("M1,1M2,2L2,4", "M1,1M2,2V4"),
        ("M1.234,2.345L1.2341,9", "M1.2,2.3V9"),
        ("M1,2L3,4L1,2", "M1,2L3,4L1,2"),
        ("M0,0h3v4h-3Z", "M0,0h3v4h-3Z"),
        ("M1,2C3,4,5,6,7,8", "M1,2C3,4,5,6,7,8"),
    ],
)
def test_lines_along_the_axes_are_short(path: str, drawn: str) -> None:
    assert f'd="{drawn}"' in tidied(f'<path d="{path}" stroke="#0"/>')


@pytest.mark.slow
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=400), st.integers(1, 90))
def test_a_thinned_curve_has_the_points_of_one_gone_through_point_by_point(
    values: list[int], resolution: int
) -> None:
    series = make.series(values)
    points = [
        (float(one.value), one.probability)
        for one in exceedance(series.histogram)
        if min(values) <= one.value < max(values)
    ]
    kept = points[:1]
    if points:
        wide = max(log(max(values) / points[0][0]), 1e-9) / resolution
        tall = max(log(points[0][1] / (1 / len(values))), 1e-9) / resolution
    for value, share in points[1:]:
        if log(value / kept[-1][0]) >= wide or log(kept[-1][1] / share) >= tall:
            kept.append((value, share))
    assert charts.curve(series, resolution)[1:-1] == kept
