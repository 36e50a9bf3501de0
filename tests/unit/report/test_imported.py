"""The page, the paper and the picture of a run that was read from a file of another tool."""

from __future__ import annotations

import numpy as np
import pytest

from hardstone.model import Histogram, Loss
from hardstone.present.answer import answer_of
from hardstone.present.origin import imported_lines
from hardstone.report import charts, picture
from hardstone.report.chart_frame import group
from hardstone.report.lead import lead_of
from hardstone.report.tables import table_of
from hardstone.stats.histogram import bins_of
from hardstone.stats.quantiles import upper_bound
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests import imported
from tests.unit.report.media import paper, printed, sketched, words
from tests.unit.stats import make

QUIET = [2500 + 37 * number % 9000 for number in range(3000)]
LATE = [*QUIET, *[57_000] * 80]
DROPPED = Loss(what="overflow", text="The tool dropped values, and does not say how many.")
RUNS = {
    "histogram": imported.imported_run(imported.cyclictest(LATE), unknown={"new_key": "[1]"}),
    "overflow": imported.imported_run(imported.cyclictest(LATE, buckets=20)),
    "cut": imported.imported_run(
        imported.cyclictest(LATE, buckets=20, is_cut=True), losses=[DROPPED]
    ),
    "bare": imported.imported_run(imported.bare(1760)),
    "means": imported.imported_run(
        result=imported.imported_result(imported.only_mean(), test="zephyr"), tool="zephyr"
    ),
    "no maximum": imported.imported_run(imported.cyclictest(QUIET, min=None, mean=None, max=None)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_the_page_says_whose_figures_they_are_and_what_is_not_said(kind: str) -> None:
    document = RUNS[kind]
    tool = document.imported
    assert tool is not None
    page = words(sketched(document))
    assert "hardstone did not measure it" in page
    assert page.count(tool.losses[0].text) == 2  # at the top, and with the file
    assert "What the file does not say" in page and "SHA-256" in page
    for wrong in (
        *("Reproduce", "no record of its instrument", "No facts about", "No recorded fact"),
        *("every test ran", "Idle states", "not bound", "Worst / reference", "Solaris"),
    ):
        assert wrong not in page, wrong


def test_what_each_page_has_in_the_place_of_quantiles() -> None:
    said = {
        "overflow": "80 values past the last bucket: not drawn, but included in count and maximum",
        "cut": "the file has no count of the values above 20 us, so no quantile",
        "bare": "the file has minimum, mean and maximum only, so no quantile",
        "means": "the file has a mean only, so no quantile",
    }
    for kind, text in said.items():
        assert text in words(sketched(RUNS[kind])), kind
    assert "1 key of the file not known to hardstone" in words(sketched(RUNS["histogram"]))
    assert "Not drawn" not in words(sketched(RUNS["bare"]))
    assert "zephyr 1 series W" not in words(sketched(RUNS["means"]))


def test_a_mean_of_a_number_of_values_that_is_not_known_is_shown() -> None:
    cut = Histogram(layout="none", buckets=[], overflow=1, is_cut=True)
    (row,) = table_of([imported.bare(1, histogram=cut)], None, 0.999, {}).rows
    assert (row.count, row.mean, row.worst) == ("-", "5 us", "34 us")
    (row,) = table_of([imported.bare(1, mean=34_000.0, least=34_000)], None, 0.999, {}).rows
    assert (row.count, row.mean) == ("1", "-")  # the mean of a single value says nothing


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_paper_and_picture_say_it_too(kind: str) -> None:
    document = RUNS[kind]
    first, *_ = paper(document)
    assert "hardstone did not measure it" in first
    drawn = picture.picture(document)
    assert "Read by hardstone, not measured by it" in drawn
    assert "cyclictest-hist.txt, histogram file of" in drawn


def test_what_has_no_bars_leads_no_page() -> None:
    for kind, has_lead in (("histogram", True), ("cut", True), ("bare", False), ("means", False)):
        lead = lead_of(RUNS[kind], answer_of(RUNS[kind]))
        assert (lead is not None) is has_lead, kind


# ---- charts ----


def test_no_bucket_of_any_layout_is_split() -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(1500, 90_000, 5000)
    found = [
        make.series(values.tolist()).histogram,
        imported.cyclictest(values).histogram,
        imported.linear(values, 50_000, 0).histogram,
        imported.linear(values - 40_000, 700, -60_000).histogram,
    ]
    for chosen in (found, found[:2], found[1:3], found[3:]):
        edges = charts.grid(chosen)
        for one in chosen:
            assert sum(each.count for each in charts.draw_bins(one, edges)) == 5000
            bins = bins_of(one)
            inside = np.array(edges)[:, None]
            assert not ((bins.lower < inside) & (inside <= bins.upper)).any()


def test_a_curve_ends_where_the_file_ends() -> None:
    whole = imported.cyclictest(LATE)
    assert charts.curve(whole)[-1] == (57_999.0, 1 / 3080)
    ends = charts.curve(imported.cyclictest(LATE, buckets=20))
    assert ends[-1][0] < 20_000
    assert ends[-1][1] == pytest.approx(80 / 3080)
    assert charts.curve(imported.cyclictest(LATE, buckets=20, is_cut=True)) == []
    assert charts.curve(imported.bare()) == []


def test_a_curve_begins_where_values_are_known() -> None:
    below = imported.linear([-900] * 30 + list(range(1000, 6000, 50)), 1000, 1000)
    (x, share), *_ = charts.curve(below)
    assert (x, share) == (1000.0, pytest.approx(100 / 130))


def test_only_charts_of_values_say_that_some_are_not_drawn() -> None:
    page = words(sketched(RUNS["overflow"]))
    said = "Not drawn: 80 values above the last bucket."
    assert f"tick at the average. With cpu 0. {said}" not in page
    assert said in page
    assert "All figures are under Tests" in words(sketched(RUNS["means"]))


def test_the_bound_stands_at_the_maximum() -> None:
    series = imported.cyclictest(LATE, buckets=20)
    spec = charts.exceedance_chart(group([series]), "ns")
    (bound,) = [row for row in spec["data"]["values"] if "b" in row]
    assert (bound["v"], bound["b"]) == (57_999.0, upper_bound(0, 3080))


@pytest.mark.slow
def test_nothing_bounds_what_is_above_the_worst_where_values_are_missing() -> None:
    whole = imported.cyclictest(LATE)
    lacking = Loss(what="values", text="The trace dropped 12 values.")
    page = words(sketched(imported.imported_run(whole, losses=[lacking])))
    assert "upper bound, at 95 %" not in page and "Share of values above each duration." in page
    assert "upper bound, at 95 %" in words(sketched(imported.imported_run(whole)))
    rows = charts.exceedance_without_bound(group([whole]), "ns")["data"]["values"]
    assert rows and not any("b" in row for row in rows)


def test_what_a_file_lacks_is_not_drawn_at_0() -> None:
    lacking = imported.cyclictest(QUIET, min=None, mean=None, max=None)
    spec = charts.histogram_chart(group([lacking]), "ns")
    assert not [row for row in spec["data"]["values"] if "w" in row]
    spec = charts.range_chart(group([imported.only_mean()]), "ns")
    (row,) = spec["data"]["values"]
    assert row["avg"] == 1200.0
    assert not {"min", "max", "w", "v"} & row.keys()


def test_a_page_names_threads() -> None:
    two = [imported.cyclictest(QUIET, labels={"part": "total", "thread": one}) for one in (0, 1)]
    page = words(sketched(imported.imported_run(*two)))
    assert "all threads" in page and "thread 1" in page and "all CPUs" not in page


HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\n${7*7}"


def test_texts_of_a_file_are_escaped_and_on_one_line() -> None:
    document = imported.imported_run(
        imported.bare(),
        tool=HOSTILE,
        version=HOSTILE,
        form=HOSTILE,
        command=HOSTILE,
        losses=[Loss(what="unit", text=HOSTILE, series=HOSTILE)],
        unknown={HOSTILE: HOSTILE},
    )
    page = sketched(document)
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    for print_it in (print_screen, print_whole):
        assert "\u202e" not in printed(print_it, document)
    assert "\n" not in "".join(imported_lines(document))
    assert "<script>" not in picture.picture(document)
