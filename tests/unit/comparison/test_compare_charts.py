"""The pictures of a comparison draw its figures: bounds as bounds, grey as grey."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
import vl_convert  # type: ignore[import-untyped,unused-ignore]

from hardstone.comparison.charts import GREY, MOST_OVERLAID
from hardstone.comparison.figures import LEAST_COST, CompareFigures, compare_figures, shown_row
from hardstone.comparison.view import ComparedCell, ComparedRow, CompareView
from hardstone.report import drawing
from hardstone.report.chart_frame import interactive
from hardstone.report.figures import Figure
from hardstone.stats.two_runs import shift_function
from hardstone.systems.subjects import Amount, Missing, published_system
from tests.changed_copy import replace
from tests.unit.comparison.compared import (
    emulated_systems,
    made_run,
    made_view,
    six_systems,
    twenty_systems,
    two_systems,
)
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import kernel_result
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.media import Sketches

VIEWS = {"2": two_systems, "6": six_systems, "grey": emulated_systems, "20": twenty_systems}
ODD = "\x00\x1b[31m\U0010ffff\ufffe\u202e\udc80 A=1+1"


@cache
def figures(name: str) -> CompareFigures:
    return compare_figures(VIEWS[name](), Sketches(has_scripts=True))


def of(view: CompareView) -> CompareFigures:
    return compare_figures(view, Sketches())


def rows(figure: Figure) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = figure.drawing.spec["data"]["values"]
    return values


def kind(figure: Figure) -> str:
    return figure.id.rpartition("-")[2]


def row_of(view: CompareView, address: str) -> ComparedRow:
    return next(row for test in view.tests for row in test.rows if row.address == address)


def pair_of(view: CompareView, address: str) -> Figure:
    """The bars of a row, as the only decisive one."""
    only = replace(view, decisive=[row_of(view, address)], tests=[])
    return of(only).summary[0]


def tick() -> ComparedCell:
    return row_of(two_systems(), "CLK-P-DUR/tick").cells[0]


def bars_of(*cells: ComparedCell) -> Figure:
    """Of two systems with these cells."""
    (figure,) = summary_of(*cells)
    return figure


def summary_of(*cells: ComparedCell) -> list[Figure]:
    view = two_systems()
    row = replace(row_of(view, "CLK-P-DUR/tick"), cells=list(cells))
    return of(replace(view, decisive=[row], tests=[])).summary[:1]


@pytest.mark.slow
def test_every_make_of_picture_can_be_drawn_and_moved() -> None:
    found = [one for name in VIEWS for one in figures(name).all()]
    makes = {(kind(one).strip("0123456789"), "facet" in one.drawing.spec): one for one in found}
    for figure in makes.values():
        drawn = drawing.render(figure.drawing.spec)
        assert drawn.startswith("<svg ") and "NaN" not in drawn and "undefined" not in drawn
        assert vl_convert.vegalite_to_vega(interactive(figure.drawing.spec))["marks"]


def layers(figure: Figure) -> list[dict[str, Any]]:
    spec = figure.drawing.spec
    found: list[dict[str, Any]] = spec.get("spec", spec)["layer"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_ids_are_unique_texts_are_there_and_no_legend_has_twenty_colours(name: str) -> None:
    found = figures(name)
    shown = [*found.summary, *found.kernel]
    shown += [one for each in found.by_test.values() for one in each]
    assert len({one.id for one in shown}) == len(shown)
    for one in shown:
        assert (
            one.id.startswith("chart-") and one.title and one.about and one.alt and one.drawing.data
        )
        assert one.table is not None and one.table.rows
        colours = [layer.get("encoding", {}).get("color", {}) for layer in layers(one)]
        legends = [colour["scale"]["domain"] for colour in colours if colour.get("legend")]
        assert all(len(domain) <= 8 for domain in legends)


@pytest.mark.slow
def test_two_systems_have_every_kind_of_picture_of_each_test_drawn_once() -> None:
    view, found = two_systems(), figures("2")
    assert set(found.by_test) == {one.test for one in view.tests} and found.notes == []
    for each in found.by_test.values():
        assert [kind(one) for one in each] == ["pair", "exceedance", "shift", "time", "histogram"]
    assert len(found.summary) == len(view.decisive) + 1
    again = found.by_test["CLK-P-DUR"][0]
    assert any(one.drawing is again.drawing and one.id != again.id for one in found.summary)
    assert len({id(one.drawing) for one in found.all()}) == len(found.all())


@pytest.mark.slow
def test_up_to_six_curves_share_a_chart_and_seven_have_panels() -> None:
    runs = [made_run(n) for n in range(1, MOST_OVERLAID + 2)]
    for count in (MOST_OVERLAID, MOST_OVERLAID + 1):
        exceedance = of(made_view(runs[:count])).by_test["CLK-P-DUR"][1]
        is_many = count > MOST_OVERLAID
        assert ("facet" in exceedance.drawing.spec) == is_many
        assert len({row["p" if is_many else "c"] for row in rows(exceedance)}) == count
        for channel in ("color", "strokeDash") if not is_many else ():
            looks = layers(exceedance)[0]["encoding"][channel]["scale"]["range"]
            assert len(set(map(str, looks))) == MOST_OVERLAID


def test_panels_have_the_reference_behind_and_in_its_own() -> None:
    view, found = twenty_systems(), figures("20")
    exceedance = found.by_test["TMR-P-LAT"][0]
    name = "3 board 3 (reference)"
    own = [(row["v"], row["s"]) for row in rows(exceedance) if row["p"] == name]
    drawn = [one for one in layers(exceedance) if "data" in one]
    (behind,) = [one for one in drawn if one["mark"]["type"] == "line"]
    assert [(row["v"], row["s"]) for row in behind["data"]["values"]] == own
    assert {row["e"] for row in rows(exceedance) if row["p"] == name} == {"reference"}
    assert view.columns[view.reference].number == 3
    assert "the reference, 3 board 3" in exceedance.about


def test_a_page_of_twenty_has_a_bound_and_says_what_it_leaves_out() -> None:
    found = figures("20")
    panels = [one for one in found.all() if "facet" in one.drawing.spec]
    assert 4 * len(panels) + len(found.all()) - len(panels) <= LEAST_COST + 2
    assert panels and "histograms of CLK-P-DUR" in found.notes[0]
    assert [kind(one) for one in found.by_test["TMR-P-LAT"]] == [
        *("exceedance", "shift", "time", "histogram")
    ]
    size = sum(len(one.drawing.data or "") for one in found.all())
    assert size < 1_000_000


@pytest.mark.slow
def test_two_systems_have_every_chart_of_a_whole_battery() -> None:
    view = two_systems()
    tests = [replace(one, test=f"{one.test}{n}") for n in range(7) for one in view.tests]
    found = of(replace(view, tests=tests))
    assert len(tests) >= 48 and found.notes == []
    kinds = {"pair", "exceedance", "shift", "time", "histogram"}
    assert all({kind(one) for one in each} == kinds for each in found.by_test.values())


def test_systems_keep_their_order_whichever_figures_are_missing() -> None:
    figure = pair_of(six_systems(), "MUT-P-ARN/inherit/acquire")
    domain = figure.drawing.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert [name.split()[0] for name in domain] == list("123456")


def bars() -> Iterator[tuple[str, Figure]]:
    below = Amount("ns", "mean", "a study", below=100.0)
    above = Amount("ns", "max", "a study", above=5_000.0)
    none = ComparedCell(Missing("denied: no right"), Missing("denied: no right"))
    yield "figures of the cells", pair_of(six_systems(), "THR-P-SLS/128/switch")
    yield "two alike", bars_of(tick(), tick())
    yield "bounds", bars_of(replace(tick(), mean=below, worst=above), tick())
    yield "what is missing", bars_of(none, replace(tick(), mean=Missing("not published")))
    grey = replace(tick(), worst_why="5 values, the reference 500")
    yield "the worst alone is grey", bars_of(tick(), grey)
    yield "one is emulated", pair_of(emulated_systems(), "CLK-P-DUR/tick")
    yield "equals the tick", pair_of(two_systems(), "THR-P-SLS/2/switch")


@pytest.mark.slow
def test_bars_are_the_figures_of_the_cells(request: pytest.FixtureRequest) -> None:
    texts = {}
    for name, figure in bars():
        shown = [row | {"v": f"{row['v']:.6g}"} for row in rows(figure)]
        lines = ["; ".join(f"{key} {value}" for key, value in row.items()) for row in shown]
        texts[name] = "\n".join([figure.title, figure.about, figure.alt, *lines])
    assert_as_stored(request, "bars.txt", texts)
    below = Amount("ns", "mean", "a study", below=100.0)
    shown = layers(bars_of(replace(tick(), mean=below), tick()))
    hollow = next(one for one in shown if "'below'" in str(one.get("transform")))
    assert hollow["mark"]["filled"] is False
    none = ComparedCell(Missing("denied"), Missing("denied"))
    assert summary_of(none, none) == []


@pytest.mark.slow
def test_what_may_not_be_compared_is_grey_everywhere() -> None:
    found = figures("grey")
    exceedance = found.by_test["CLK-P-DUR"][1]
    scale = exceedance.drawing.spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["range"][1] == GREY and scale["range"][0] != GREY
    assert "grey" in exceedance.about
    kinds = [kind(one) for each in found.by_test.values() for one in each]
    assert "shift" not in kinds  # of two systems that may be compared one has no distribution


def lines_across(figure: Figure) -> list[float]:
    return [
        layer["data"]["values"][0]["k"]
        for layer in figure.drawing.spec["layer"]
        if "data" in layer and layer["mark"]["type"] == "rule"
    ]


def test_yardsticks_are_lines_with_words_in_pictures_of_latency_alone() -> None:
    found = figures("2")
    for one in found.by_test["TMR-P-LAT"]:
        if kind(one) != "shift":
            assert 10_000.0 in lines_across(one)
            texts = [layer["data"]["values"] for layer in layers(one) if "data" in layer]
            assert any(row.get("z", "").startswith("10 us") for each in texts for row in each)
    assert all(lines_across(one) == [] for one in found.by_test["CLK-P-DUR"])


@pytest.mark.slow
def test_a_yardstick_far_from_every_figure_is_left_out() -> None:
    slow = made_view([made_run(1, 100.0), made_run(2, 100.0)])
    near = lines_across(of(slow).by_test["TMR-P-LAT"][0])
    assert 1_000_000.0 in near
    fast = made_view([made_run(1, 0.01), made_run(2, 0.01)])
    assert lines_across(of(fast).by_test["TMR-P-LAT"][0]) == []


def test_the_shift_function_is_that_of_the_statistics() -> None:
    view = two_systems()
    shift = figures("2").by_test["CLK-P-DUR"][2]
    first, second = row_of(view, "CLK-P-DUR/tick").cells
    assert first.series and second.series and shift.table
    wanted = shift_function(first.series.histogram, second.series.histogram)
    assert [(row[4], row[5]) for row in shift.table.rows] == [(one.q, one.ratio) for one in wanted]
    drawn = [row["m"] for row in rows(shift) if "m" in row]
    assert drawn == [one.ratio for one in wanted]


@pytest.mark.slow
def test_predictability_is_worst_over_mean() -> None:
    view, found = six_systems(), figures("6")
    spread = found.summary[-1]
    assert spread.id == "chart-predictability"
    cells = [cell for row in view.decisive for cell in row.cells]
    known = {round(cell.predictability, 9) for cell in cells if cell.predictability}
    assert rows(spread) and {round(one["v"], 9) for one in rows(spread)} <= known
    names = spread.drawing.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert len(names) == len(view.columns)
    kinds = {one["h"] for one in rows(spread)}
    shapes = spread.drawing.spec["layer"][0]["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == len(kinds) <= 8
    assert "more decisive figures" in spread.about


def test_tests_of_one_series_name_are_told_apart() -> None:
    view = two_systems()
    decisive = [
        replace(row, label="acquire") for row in view.decisive if row.address.endswith("/acquire")
    ]
    (*_, spread) = of(replace(view, decisive=decisive, tests=[])).summary
    assert {one["h"] for one in rows(spread)} == {
        f"{row.address.split('/')[0]} acquire" for row in decisive
    }


def test_the_row_that_is_drawn_is_a_decisive_one() -> None:
    view = six_systems()
    test = next(one for one in view.tests if one.test == "THR-P-SLS")
    chosen = shown_row(test, [row_of(view, "THR-P-SLS/10/switch")])
    assert chosen and chosen.address == "THR-P-SLS/10/switch"
    assert shown_row(replace(test, rows=[]), view.decisive) is None


def test_published_systems_alone_have_bars() -> None:
    view = made_view([published_system("qnx"), published_system("ce7")])
    found = of(view)
    assert found.summary and found.kernel == []
    assert {kind(one) for each in found.by_test.values() for one in each} == {"pair"}


def kernel_view(count: int) -> CompareView:
    results = [kernel_result(seed) for seed in range(1, count + 1)]
    return made_view([made_run(n, results=[one]) for n, one in enumerate(results, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 7])
def test_kernel_time_stands_beside_the_points_of_hp(count: int) -> None:
    sections, rates = of(kernel_view(count)).kernel
    assert "HP 1987" in sections.about and "HP" not in rates.about
    assert sections.table is not None
    systems = {row[0] for row in sections.table.rows}
    assert systems == {*range(1, count + 1), None}
    assert sum(row[-1] == "published" for row in sections.table.rows) == 6
    assert drawing.render(sections.drawing.spec).startswith("<svg ")
    assert drawing.render(rates.drawing.spec).startswith("<svg ")


@pytest.mark.slow
def test_a_name_that_is_code_stays_a_name() -> None:
    odd = [f"{ATTACKS[0]}{ODD}", f"'+alert(1)+'\"{ODD}"]
    view = two_systems()
    columns = [replace(one, label=name) for one, name in zip(view.columns, odd, strict=True)]
    rows_of = [replace(one, label=f"{one.label}{odd[0]}") for one in view.decisive]
    found = of(replace(view, columns=columns, decisive=rows_of))
    for one in {kind(figure): figure for figure in found.all()}.values():
        drawn = drawing.render(one.drawing.spec)
        assert drawn.startswith("<svg ") and "<script" not in drawn
        text = msgspec.json.encode(one.drawing.spec).decode()
        assert "datum.value === '" not in text
        assert "\x00" not in one.alt and "\x1b" not in one.title + one.about
