"""The figures of a paper: just the cells of their exhibit, each kind told apart without colours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from hardstone.kernel.results import kernel_time_of
from hardstone.model import Result, RunDocument
from hardstone.report.chart_frame import Spec
from hardstone.report.drawing import encoded, render
from hardstone.study.charts import PaperFigure
from hardstone.study.exhibits import Cell, Column, LaidOut, Row, StudyView
from hardstone.study.figures import figures_of_exhibit
from hardstone.study.layout import lay_out
from hardstone.study.papers import Axis, paper_named
from hardstone.systems.subjects import MeasuredRun, subjects_of
from tests.changed_copy import replace
from tests.unit.golden import assert_as_stored
from tests.unit.kernel.blocked import kernel_result
from tests.unit.report.test_legible import covered
from tests.unit.simulation.tires import labelled, labels, real_fast, real_time
from tests.unit.stats import make
from tests.unit.study import made_exhibits as made
from tests.unit.study import made_runs

GUEST = "guest rt (instruction time)"
FORMS = {
    "averages and maxima": made.averages_and_maxima,
    "kinds under two loads": made.by_kind,
    "jitter": made.jitter,
}


def drawn(laid: LaidOut, columns: Sequence[Column] = made.COLUMNS) -> list[PaperFigure]:
    return figures_of_exhibit(laid, made.view(laid, columns=columns))


def rows_of(figure: PaperFigure) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = figure.spec["data"]["values"]
    return rows


def panel_of(spec: Spec) -> Spec:
    panel: Spec = spec.get("spec", spec)
    return panel


def axis(figure: PaperFigure, channel: str = "y") -> Spec:
    for layer in panel_of(figure.spec)["layer"]:
        found: Spec = layer["encoding"].get(channel, {})
        if "scale" in found:
            return found
    raise AssertionError(channel)


def run_of(*results: Result, **changed: object) -> MeasuredRun:
    document: RunDocument = make.document(results=list(results), **changed)  # type: ignore[arg-type]
    return subjects_of(document)[0]


# ---- bars ----


def test_a_quantity_that_is_lost_everywhere_keeps_its_place() -> None:
    laid = made.by_kind()
    lost = made.row(
        "lynx", [made.LOST, *[made.UNCOVERED] * 4], load="none", unit=None, statistic="max"
    )
    figures = drawn(replace(laid, rows=(*laid.rows, lost)))
    assert [one["c"] for one in rows_of(figures[0]) if one["g"] == "lynx"] == ["qnx"]


def test_a_figure_without_a_value_is_not_drawn() -> None:
    assert drawn(made.lost_figure()) == []
    assert drawn(made.table()) == [] and drawn(made.without_results()) == []
    words = made.row("all", [Cell("published", "close to 1 s"), *[made.UNCOVERED] * 4], unit=None)
    assert drawn(made.laid(made.exhibit(), [words])) == []


def test_words_where_others_have_a_bar_are_named() -> None:
    cells = [Cell("published", "close to 1 s"), made.LOST, made.LOST, made.measured(9), made.LOST]
    (figure,) = drawn(made.laid(made.exhibit(), [made.row("all", cells)]))
    assert "Published in words: qnx close to 1 s." in figure.about
    assert "close to" not in json.dumps(rows_of(figure))


def test_a_bound_is_marked_and_is_no_plain_bar() -> None:
    bound = msgspec.structs.replace(made.amount(100), value=None, below=100.0)
    cells = [Cell("published", "< 0.1 us", amount=bound), *[made.published(200)] * 2]
    (figure,) = drawn(
        made.laid(made.exhibit(), [made.row("all", [*cells, made.measured(90), made.apart(90)])])
    )
    assert [one.get("w") for one in rows_of(figure)] == ["<", None, None, None, None]
    assert "< and >: a bound." in figure.about


@pytest.mark.parametrize(
    ("high", "value", "words", "is_log"),
    [
        (35, 30_000, "", False),
        (35, 60_000, "The paper's axis ends at 35 us; here it is longer, for 60 us.", False),
        (35, 9_000_000, "The paper's axis ends at 35 us; here it is logarithmic, up to 9 ms", True),
        (None, 60_000, "", False),
        (None, 900_000, "The axis is logarithmic: the values differ too much for bars.", True),
    ],
)
def test_the_axis_is_the_papers_and_says_where_it_is_not(
    high: float | None, value: int, words: str, is_log: bool
) -> None:
    paper_axis = Axis(title="worst, us", low=0, high=high)
    cells = [made.published(9_000), made.published(20_000), made.LOST, made.measured(value)]
    laid = made.laid(made.exhibit(y=paper_axis), [made.row("all", [*cells, made.UNCOVERED])])
    (figure,) = drawn(laid)
    y = axis(figure)
    assert words in figure.about and ("axis" in figure.about) == bool(words)
    assert (y["scale"].get("type") == "log") == is_log
    kinds = {layer["mark"]["type"] for layer in panel_of(figure.spec)["layer"]} - {"text"}
    assert kinds == ({"point"} if is_log else {"bar"})  # no bar stands on a logarithmic axis
    assert y["title"].startswith("worst, us")
    low, top = y["scale"]["domain"]
    assert low <= 9_000 and top >= value
    if high == 35 and value == 30_000:
        assert (low, top) == (0, 35_000)


@pytest.mark.parametrize(
    ("title", "unit", "label"),
    [
        ("worst (us)", "ns", "datum.value / 1000,"),
        ("jitter, ms", "ns", "datum.value / 1e+06,"),
        ("worst", "ns", "' us'"),
        ("throughput", "bytes_per_s", "B/s"),
    ],
)
def test_each_axis_has_a_unit(title: str, unit: Any, label: str) -> None:
    cells = [made.published(2_000, unit), *[made.UNCOVERED] * 3, made.measured(3_000, unit)]
    laid = made.laid(made.exhibit(y=Axis(title=title)), [made.row("all", cells, unit=unit)])
    (figure,) = drawn(laid)
    assert label in axis(figure)["axis"]["labelExpr"] and axis(figure)["title"] == title


def test_lines_join_the_groups_of_one_system() -> None:
    rows = [
        made.row(
            f"{n} threads", [made.published(n * 100), made.LOST, made.LOST, made.measured(n * 70)]
        )
        for n in (2, 10, 128)
    ]
    laid = made.laid(made.exhibit(form="lines"), rows, count=4)
    (figure,) = drawn(laid, made.COLUMNS[:4])
    kinds = [layer["mark"]["type"] for layer in figure.spec["layer"]]
    assert kinds[:4] == ["line", "line", "point", "point"]


@pytest.mark.parametrize("name", FORMS)
def test_bars_can_be_drawn_and_read(name: str) -> None:
    for figure in drawn(FORMS[name]()):
        svg = render(figure.spec)
        assert svg.startswith("<svg") and covered(svg) == []


def test_hostile_names_are_data_and_never_code() -> None:
    attack = "'); alert(1); //\x1b[31m\u202e<script>\\n\n"
    laid = made.averages_and_maxima()
    rows = [replace(one, label=attack, load=attack) for one in laid.rows]
    columns = [
        replace(one, short=f"{attack}{n}", title=attack) for n, one in enumerate(made.COLUMNS)
    ]
    for figure in drawn(replace(laid, rows=tuple(rows)), columns):
        encoded(figure.spec)
        assert not {"\x1b", "\u202e"} & set(figure.alt + figure.about)
        expressions = json.dumps([layer["transform"] for layer in figure.spec["layer"]])
        assert "alert" not in expressions
        assert render(figure.spec).startswith("<svg")


def test_specifications_as_stored(request: pytest.FixtureRequest) -> None:
    found = {
        f"{name}: {figure.title}": "\n".join(
            [
                figure.about,
                figure.alt,
                *(json.dumps(row) for row in rows_of(figure)),
                *(f"{one['mark']} {one['transform']}" for one in figure.spec["layer"]),
                json.dumps(axis(figure)["scale"]),
            ]
        )
        for name, laid in FORMS.items()
        for figure in drawn(laid())
    }
    assert_as_stored(request, "figures.txt", found)


# ---- share of kernel time ----


def kernel_exhibit() -> LaidOut:
    columns = 4
    rows = [
        made.row(
            statistic,
            [made.published(off), made.published(on), made.measured(own), made.apart(own)],
            statistic=statistic,
        )
        for statistic, off, on, own in (
            ("time_90", 40e6, 1.4e6, 3e5),
            ("time_99", 129e6, 3.4e6, 9e5),
            ("max", 1127e6, 14.6e6, 2e6),
        )
    ]
    what = made.exhibit("Figure 1", "curves", title="Share of kernel time", tests=["KRN-P-PRE"])
    return made.laid(what, rows, count=columns)


def kernel_columns() -> list[Column]:
    own = run_of(kernel_result())
    return [
        made.old("qnx", "off"),
        made.old("ce7", "on"),
        made.machine("m", "m", own),
        made.guest(own),
    ]


def test_the_share_of_kernel_time_has_three_points_of_each_side_and_a_curve_for_each_run() -> None:
    (figure,) = drawn(kernel_exhibit(), kernel_columns())
    points = [(one["c"], one["v"], one["b"]) for one in rows_of(figure) if "b" in one]
    assert sorted(points) == [
        *(("off", 40e6, 0.9), ("off", 129e6, 0.99), ("off", 1127e6, 1.0)),
        *(("on", 1.4e6, 0.9), ("on", 3.4e6, 0.99), ("on", 14.6e6, 1.0)),
    ]
    lines = {(one["c"], one["h"]) for one in rows_of(figure) if "s" in one}
    assert lines == {("m", "measured"), (GUEST, "not comparable")}
    layers = figure.spec["layer"]
    assert [one["mark"]["type"] for one in layers] == ["line", "line", "point"]
    assert layers[1]["mark"]["strokeDash"] == [4, 3] and layers[2]["mark"]["filled"] is False
    assert "Dashed line: measured, not comparable." in figure.about
    assert render(figure.spec).startswith("<svg")


def test_a_curve_ends_where_its_values_do_not_suffice() -> None:
    own = run_of(kernel_result(count=300))
    columns = [*kernel_columns()[:2], made.machine("m", "m", own), made.guest()]
    (figure,) = drawn(kernel_exhibit(), columns)
    curve = [one for one in rows_of(figure) if "s" in one]
    assert curve and max(one["s"] for one in curve) <= 0.9
    assert "m: the curve ends before 99 % of kernel time, whose length needs" in figure.about
    (whole,) = drawn(kernel_exhibit(), kernel_columns())
    assert max(one["s"] for one in rows_of(whole) if "s" in one) > 0.99
    assert "the curve ends" not in whole.about


@pytest.mark.slow
def test_a_length_without_an_upper_end_is_dotted() -> None:
    found = kernel_result()
    lengths = kernel_time_of(found, is_whole_only=True).whole.blocking.lengths  # type: ignore[union-attr]
    assert all(one is not None and one.high_ns is not None for one in lengths.values())
    (sure,) = drawn(kernel_exhibit(), kernel_columns())
    assert not any("u" in one for one in rows_of(sure)) and "Dotted" not in sure.about
    few = next(
        (number, one)
        for number in range(50, 400, 10)
        for one in [kernel_time_of(kernel_result(count=number), is_whole_only=True)]
        if one is not None
        and one.whole.blocking is not None
        and any(q is not None and q.high_ns is None for q in one.whole.blocking.lengths.values())
    )[0]
    columns = [
        *kernel_columns()[:2],
        made.machine("m", "m", run_of(kernel_result(count=few))),
        made.guest(),
    ]
    (figure,) = drawn(kernel_exhibit(), columns)
    assert any("u" in one for one in rows_of(figure)) and "Dotted" in figure.about
    assert [3] in [one["mark"].get("strokeDash", [0])[1:] for one in figure.spec["layer"]]


def test_a_guest_alone_stands_beside_the_published_points() -> None:
    columns = kernel_columns()
    alone = replace(kernel_exhibit(), columns=(0, 1, 3))
    (figure,) = figures_of_exhibit(
        alone, made.view(alone, columns=[*columns[:2], made.machine(), columns[3]])
    )
    assert {one["h"] for one in rows_of(figure)} == {"published", "not comparable"}


# ---- a distribution ----


def test_a_distribution_has_a_rule_at_each_published_figure() -> None:
    values = np.random.default_rng(3).normal(5_000, 500, 4_000).astype(int).tolist()
    subject = run_of(make.result("TMR-P-LAT", values))
    source = f"{subject.id} TMR-P-LAT/total/wakeup"

    def own(statistic: str) -> Cell:
        amount = msgspec.structs.replace(
            made.amount(5_000, statistic=statistic), source=f"{source} {statistic}"
        )
        return Cell("measured", "5 us", amount=amount, source=amount.source)

    rows = [
        made.row(
            "total",
            [made.published(value, statistic=statistic), own(statistic)],
            statistic=statistic,
        )
        for statistic, value in (("mean", 4_000), ("p99.9999", 13_000), ("max", 32_000))
    ]
    what = made.exhibit("no number: total", "lines", tests=["TMR-P-LAT"])
    columns = [made.old("qnx", "solaris"), made.machine("m", "m", subject)]
    (figure,) = drawn(made.laid(what, rows, count=2), columns)
    rules = [(one["l"], one["v"]) for one in rows_of(figure) if one.get("h") == "published"]
    assert rules == [("average 4 us", 4_000), ("p99.9999 13 us", 13_000), ("maximum 32 us", 32_000)]
    low, high = axis(figure, "x")["scale"]["domain"]
    assert low < 4_000 and high > 32_000
    assert sum(one.get("n", 0) for one in rows_of(figure)) > 4_000
    assert covered(render(figure.spec)) == []
    lost = made.laid(what, [made.row("total", [made.LOST, made.LOST])], count=2)
    assert drawn(lost, columns) == []


# ---- the tire ----


def tire(number: str, form: str, title: str, test: str, *rows: Any) -> LaidOut:
    what = made.exhibit(number, form, title=title, tests=[test], systems=["linux"])
    return made.laid(what, rows or [made.row("1 thread", [made.LOST, made.UNCOVERED])], count=2)


def tire_columns(*results: Result) -> list[Column]:
    return [made.old("linux-rt", "linux"), made.machine("m", "m", run_of(*results))]


def test_total_times_are_of_the_policy_that_the_figure_names() -> None:
    found = [
        real_fast(n, t, policy=p) for n in (400, 800) for t in (1, 2) for p in ("fifo", "other")
    ]
    laid = tire("Figure 5", "lines", "Linux under SCHED_OTHER (CFS)", "SIM-P-RF")
    (figure,) = drawn(
        laid, tire_columns(*found, real_fast(800, 1, policy="other", solver="barrier"))
    )
    assert {one["p"].split(",")[0] for one in rows_of(figure)} == {"other"}
    assert [(one["c"], one["v"]) for one in rows_of(figure)] == [
        *(("1 thread", 400), ("1 thread", 800), ("2 threads", 400), ("2 threads", 800)),
    ]
    fifo = tire("Figure 6", "lines", "Xenomai under SCHED_FIFO", "SIM-P-RF")
    (other,) = drawn(fifo, tire_columns(*found))
    assert {one["p"].split(",")[0] for one in rows_of(other)} == {"fifo"}
    assert drawn(fifo, tire_columns(found[1])) == []


def test_total_times_of_another_simulation_are_drawn_alone_and_say_so() -> None:
    short = [real_fast(n, 1) for n in (400, 800)]
    for one in short:
        one.params["simulated_s"] = 1
    laid = tire("Figure 6", "lines", "Xenomai under SCHED_FIFO", "SIM-P-RF")
    (figure,) = drawn(laid, tire_columns(*short))
    assert "Not comparable: 1 s simulated, in the study 60 s." in figure.about
    (both,) = drawn(laid, tire_columns(*short, real_fast(1_200, 1), real_fast(1_600, 1)))
    assert [one["v"] for one in rows_of(both)] == [1_200, 1_600]
    assert "Not comparable" not in both.about


def test_a_map_of_several_runs_has_a_miss_of_any_of_them() -> None:
    """Whatever conditions each of them names: the second has two loads, the first one."""
    laid = tire("Figure 13", "map", "Linux under SCHED_FIFO", "SIM-S-RT")
    held = run_of(real_time(400, 2), real_time(800, 2))
    missed = subjects_of(
        make.document(
            run_id="20261121T032300Z-1a2b3d",
            results=[real_time(400, 2, missed=1), real_time(400, 2, load="heavy")],
        )
    )
    columns = [made.old("linux-rt", "linux"), made.machine("m", "m", held, *missed)]
    (figure,) = drawn(laid, columns)
    by_panel = {(one["p"], one["v"]): one["l"] for one in rows_of(figure) if "v" in one}
    assert by_panel["fifo, none", 400] == 1 and by_panel["fifo, heavy", 400] == 0


HELD, MISSED_FROM = ((14_000, None), (57_000, 12)), ((6_000, 1), (24_000, 12))


def masses(value: int, threads: int | None, statistic: str) -> Row:
    cells = [made.published(value, "count"), made.UNCOVERED]
    row = made.row(f"{threads or 'any'} threads", cells, statistic=statistic, unit="count")
    return replace(row, address=f"SIM-S-RT/{threads}/missed" if threads else "SIM-S-RT/missed")


def test_a_map_has_the_points_of_its_policy_and_the_published_ones_hollow() -> None:
    laid = tire(
        *("Figure 9", "map", "Hard real time, Xenomai under SCHED_FIFO", "SIM-S-RT"),
        *(masses(value, count, "most without a miss") for value, count in HELD),
    )
    found = [real_time(n, t, missed=n > 400) for n in (400, 800) for t in (1, 2)]
    slow = real_time(400, 1)
    slow.params["step_ns"] = 500_000
    (figure,) = drawn(laid, tire_columns(*found, real_time(400, 1, policy="other"), slow))
    own = [(one["v"], one["y"]) for one in rows_of(figure) if "v" in one]
    assert sorted(own) == [(400, "1"), (400, "2"), (800, "1"), (800, "2")]
    published = [(one["m"], one.get("y")) for one in rows_of(figure) if "m" in one]
    assert published == [(14_000, None), (57_000, "12")]
    layers = panel_of(figure.spec)["layer"]
    assert [one["mark"]["type"] for one in layers] == ["point", "point", "rule"]
    assert layers[1]["mark"]["filled"] is False
    assert layers[0]["encoding"]["y"]["sort"] == ["12", "2", "1"]
    assert render(figure.spec).startswith("<svg")


def test_published_points_are_drawn_where_no_run_has_the_policy() -> None:
    laid = tire(
        *("Figure 10", "map", "Hard real time, Linux under SCHED_OTHER (CFS)", "SIM-S-RT"),
        *(masses(value, count, "fewest with a miss") for value, count in MISSED_FROM),
    )
    fifo = [real_time(n, 1) for n in (400, 800)]
    for columns in (tire_columns(*fifo), [made.old("linux-rt", "linux"), made.machine()]):
        (figure,) = drawn(laid, columns)
        shown = [(one["m"], one["y"]) for one in rows_of(figure)]
        assert shown == [(6_000, "1"), (24_000, "12")]
        assert "Hollow triangles: published" in figure.about and "cross" not in figure.about
        drawing = render(figure.spec)
        assert drawing.startswith("<svg") and "not counted" not in drawing


def test_a_grey_square_is_explained_where_there_is_one() -> None:
    laid = tire("Figure 13", "map", "Linux under SCHED_FIFO", "SIM-S-RT")
    held = [real_time(n, 1) for n in (400, 800)]
    (figure,) = drawn(laid, tire_columns(*held))
    assert "Grey square" not in figure.about
    cut = real_time(1_200, 1, status="failed", reason="no", series=[], events=[])
    (figure,) = drawn(laid, tire_columns(*held, cut))
    assert "Grey square: it failed or was cut off" in figure.about


def test_a_period_of_words_alone_has_no_lost_bar() -> None:
    """Figure 6a of Obenland: the text has all four systems, of a period that is not known."""
    paper = paper_named("obenland-2000")
    jitter = labelled(
        "jitter", "ns", [5_000] * 5, {"period_ns": 1_000_000, "mechanism": "timer-handler"}
    )
    done = make.result("TMR-P-JIT", series=[jitter], conditions=made_runs.conditions())
    view = lay_out(paper, [made_runs.run(done)])
    (laid,) = [one for one in view.exhibits if one.exhibit.number == "Figure 6a"]
    (figure,) = figures_of_exhibit(laid, view)
    assert {one["h"] for one in rows_of(figure)} == {"measured"}
    assert "lynx < 200 us, low; solaris-2proc < 200 us" in figure.about


def test_the_first_trial_has_points_of_its_short_step_only() -> None:
    laid = tire("Figure 8", "map", "First trial with a step of 0.5 ms, Linux", "SIM-S-RT")
    slow = [real_time(n, n, missed=n > 24, policy="other") for n in (4, 24, 40)]
    assert drawn(laid, tire_columns(*slow)) == []
    for one in slow:
        one.params["step_ns"] = 500_000
    (figure,) = drawn(laid, tire_columns(*slow))
    assert len(rows_of(figure)) == 3 and "3 points measured, 1 of them missed" in figure.alt


def test_a_period_is_the_sum_of_its_measured_parts() -> None:
    def step(masses: int, step_ns: int) -> Result:
        found = real_time(masses, 1, step_ns=step_ns)
        own = labels(masses, 1, "semaphore", "fifo")
        found.series += [
            labelled("dispatch", "ns", [40_000] * 50, own),
            labelled("idle", "ns", [10_000_000 - 40_000 - step_ns] * 50, own),
        ]
        return found

    laid = tire("Figure 1", "picture", "Time of one step: T = T_i + T_s + T_w", "SIM-S-RT")
    columns = tire_columns(step(400, 200_000), step(800, 400_000), step(4_000, 2_000_000))
    (figure,) = drawn(laid, columns)
    bars = [(one["g"], one["b"], one["t"]) for one in rows_of(figure)]
    small, large = ("m, 400 nodes, 1 thread", "m, 4\u00a0000 nodes, 1 thread")
    assert bars == [
        *((small, 0, 40_000), (small, 40_000, 240_000), (small, 240_000, 10_000_000)),
        *((large, 0, 40_000), (large, 40_000, 2_040_000), (large, 2_040_000, 10_000_000)),
    ]
    assert covered(render(figure.spec)) == []
    assert drawn(laid, tire_columns(real_time(400, 1))) == []  # a run without these series
    other = tire("Figure 3", "picture", "The tire", "SIM-S-RT")
    assert drawn(other, columns) == []


def test_a_guest_is_named_in_curves_and_maps() -> None:
    found = [real_time(n, 1) for n in (400, 800)]
    laid = tire("Figure 13", "map", "Linux under SCHED_FIFO", "SIM-S-RT")
    columns = [made.old("linux-rt", "linux"), made.guest(run_of(*found))]
    (figure,) = drawn(laid, columns)
    assert {one["p"] for one in rows_of(figure)} == {f"{GUEST}: fifo"}


def test_views_without_runs_have_no_curves() -> None:
    laid = tire("Figure 13", "map", "Linux under SCHED_FIFO", "SIM-S-RT")
    empty: StudyView = made.view(laid, columns=[made.old("qnx"), made.machine()])
    assert figures_of_exhibit(laid, empty) == []
