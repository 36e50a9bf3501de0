"""Several conditions in one report: told apart and compared, with their loads and their work, small
and quick enough; and the same in the terminal. The words are in golden/matrix-*.txt."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from hardstone.model import Conditions, LoadReached, Result, RunDocument, Verdict
from hardstone.present.measured_tables import is_short, load_figure, load_table, reached_text
from hardstone.report.page import render_html
from hardstone.stats.conditions import comparisons_in, ratio_to_first
from hardstone.terminal.whole_run import print_whole
from hardstone.wording import ratio_text
from tests.unit.report import matrix, sample
from tests.unit.report.media import Sketches, flat, printed, sketched, words
from tests.unit.stats import make

TESTS = ("TMR-P-JIT", "RSP-P-FIX", "CLK-P-BIN", "TMR-P-LAT")


@pytest.fixture(scope="module")
def run() -> RunDocument:
    return matrix.document()


@pytest.fixture(scope="module")
def page(run: RunDocument) -> str:
    return render_html(run, sample.SPECS.get, bundle=lambda: "live()", drawer=Sketches())


def copy_of(run: RunDocument) -> RunDocument:
    """Of two tests in place of four."""
    some = [one for one in run.results if one.test in ("RSP-P-FIX", "TMR-P-LAT")]
    few = msgspec.structs.replace(run, results=some)
    return msgspec.convert(msgspec.to_builtins(few), RunDocument)


def part(page: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}".*?</section>', page, flags=re.DOTALL)
    return str(found)


def whole(*results: Result, width: int = 80) -> str:
    return flat(printed(print_whole, make.document(results=list(results)), width))


# Which are compared


@pytest.mark.slow
def test_every_test_has_every_condition_once(run: RunDocument) -> None:
    found = comparisons_in(run)
    assert [one.test for one in found] == list(TESTS)
    for one in found:
        assert one.conditions == matrix.CONDITIONS
        for row in one.series:
            for result, series in zip(one.results, row.found, strict=True):
                assert result is not None
                assert (series in result.series) if series else result.status == "denied"


def test_a_ratio_is_to_the_first_condition(run: RunDocument) -> None:
    row = comparisons_in(run)[0].series[0]
    first, second = row.found[0], row.found[1]
    assert first is not None and second is not None and first.max and second.max
    assert ratio_to_first(row, 0) is None
    assert ratio_to_first(row, 1) == second.max / first.max
    texts = [ratio_text(one) for one in (0.091, 0.999, 1.44, 9.96, 1234.0)]
    assert texts == ["0.091", "1.0", "1.4", "10", "1\N{NO-BREAK SPACE}234"]
    lacking = msgspec.structs.replace(second, max=0, min=0)
    counts = msgspec.structs.replace(second, unit="count")
    for found in ([None, second], [lacking, second], [second, None], [counts, counts]):
        assert ratio_to_first(type(row)(row.key, list(found)), 1) is None


@pytest.mark.slow
def test_one_condition_is_not_set_beside_anything() -> None:
    alone = sample.document(count=300)
    for result in alone.results:
        result.conditions = alone.results[0].conditions
    assert comparisons_in(alone) == []
    assert 'id="beside"' not in sketched(alone)


# The page


@pytest.mark.slow
def test_links_lead_to_the_results_and_each_test_has_its_charts(page: str) -> None:
    anchors = re.findall(r'id="([^"]+)"', page)
    links = re.findall(r'href="#([^"]+)"', page)
    beside = part(page, "beside")
    assert beside.count("></div>") == beside.count("data-chart=") == 2 * len(TESTS)
    assert len(links) > 40 and set(links) <= set(anchors)
    assert len(anchors) == len(set(anchors))


@pytest.mark.slow
def test_sections_are_told_apart_and_fold_what_was_moved(page: str) -> None:
    titles = re.findall(r'<h4 id="result-\d+-title">(.*?)</h4>', page, flags=re.DOTALL)
    texts = [words(title) for title in titles]
    assert len(texts) == len(set(texts)) == 24
    assert any(text.endswith("heavy, single") for text in texts)
    moved = r"""<details class="aside">\s*<summary>What was moved.*?</details>"""
    folded = re.findall(moved, page, flags=re.DOTALL)
    assert len(folded) == page.count(matrix.NOT_MOVED) == 7
    assert all(matrix.NOT_MOVED in one for one in folded)
    assert "The load was lower than requested: cpu: 10 % asked, 5 % reached." in page
    assert "shortened names" not in page and '<dl class="glossary loads">' not in page
    assert "--load none --load heavy --cpu-config shared,single,shielded" in page
    assert page.count("--load heavy --cpu-config single") == len(TESTS)


@pytest.mark.slow
def test_claims_that_differ_are_shown_and_what_does_not_count_is_no_failure(
    run: RunDocument,
) -> None:
    again = copy_of(run)
    for place, result in enumerate(again.results[:6]):
        result.test, result.series = "TMR-B-EDGE", []
        result.verdicts = [Verdict(name="never_early", passed=place != 4, evidence="seen")]
    beside = part(sketched(again), "beside")
    assert words(beside).count("FAIL") == beside.count('<td class="failed">') == 1
    assert words(beside).count("pass") >= 5
    for result in again.results[:6]:
        result.test = "THR-B-RR"
        result.verdicts = [Verdict(name="first_slice", passed=False, evidence="1 s")]
    beside = part(sketched(again), "beside")
    assert "FAIL" not in words(beside) and 'class="failed"' not in beside
    assert '<td class="uncounted"><strong>fail</strong>' in beside


@pytest.mark.slow
def test_many_conditions_are_all_in_the_table(run: RunDocument) -> None:
    again = copy_of(run)
    for place, result in enumerate(again.results):
        result.test = "TMR-P-JIT"
        result.conditions.load = f"storm={place + 1}"
    again.plan = msgspec.structs.replace(again.plan, tests=[])
    beside = part(sketched(again), "beside")
    assert all(f"storm={place}, " in beside for place in range(1, 13))


# Loads


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "per_s", "-"),
        (100000.0, "per_s", "100\xa0000/s"),
        (79307.7818, "per_s", "79\xa0308/s"),
        (99.96, "rounds_per_s", "100 rounds/s"),
        (2.25, "rounds_per_s", "2.25 rounds/s"),
        (0.0287, "share", "2.87 %"),
        (0.1, "share", "10 %"),
        (240.0, "processes", "240 processes"),
        (12.5, "jobs", "12.5 jobs"),
        (3.0, "sheep", "3 sheep"),
        (1e308, "share", "inf %"),
        (1e300, "per_s", "1e+300/s"),
    ],
)
def test_a_figure_of_a_load(value: float | None, unit: str, text: str) -> None:
    assert load_figure(value, unit) == text


@pytest.mark.slow
def test_a_mean_does_not_hide_the_cpu_that_did_least(run: RunDocument) -> None:
    one = msgspec.structs.replace(matrix.reached(0.0825)[0], least=0.03)
    assert not is_short(matrix.reached(0.0825)[0]) and is_short(one)
    table = load_table(run)
    assert table is not None and table.rows[0].is_short == [False, True, False]
    again = copy_of(run)
    result = next(found for found in again.results if found.load)
    result.load[0] = one
    table = load_table(again)
    assert table is not None
    assert (table.rows[0].reached[0], table.rows[0].is_short[0]) == ("3 to 9.98 %", True)
    assert reached_text(result).startswith("cpu 8.25 % (lowest 3 %) of 10 %, network ")


def test_a_load_says_by_what_it_interrupts() -> None:
    result = make.result("IRQ-P-LAT")
    for how, shown in (("kernel timers", " (kernel timers)"), (None, "")):
        fields = {"element": "interrupt", "degree": "1000/s", "asked": 1000.0, "reached": 999.0}
        result.load = [LoadReached(**fields, unit="per_s", processes=1, how=how)]  # type: ignore[arg-type]
        assert reached_text(result) == f"interrupt{shown} 999/s of 1\xa0000/s"


@pytest.mark.slow
@pytest.mark.parametrize(("reached", "falls_short"), [(0.0, True), (0.5, False)])
def test_a_continuous_element_is_short_without_a_round(
    run: RunDocument, reached: float, falls_short: bool
) -> None:
    again = copy_of(run)
    for one in (one for result in again.results for one in result.load):
        one.reached = reached if one.element == "search" else one.reached
    table = load_table(again)
    assert table is not None and table.rows[2].is_short == [falls_short] * 3


LONG = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --hdd 1 --cpu 1" + "0" * 30


def with_loads(run: RunDocument, none: str, heavy: str, config: str = "") -> RunDocument:
    """`run` with other loads in place of its two, and with one configuration if so asked."""
    again = copy_of(run)
    other = {"none": none, "heavy": heavy}
    for conditions in (result.conditions for result in again.results):
        conditions.load = other[conditions.load]
        conditions.cpu_config = config or conditions.cpu_config
    tests = [
        msgspec.structs.replace(one, load=other[one.load], cpu_config=config or one.cpu_config)
        for one in again.plan.tests
    ]
    again.plan = msgspec.structs.replace(again.plan, tests=tests, loads=[none, heavy])
    return again


@pytest.mark.slow
def test_loads_that_are_cut_are_told_in_full_in_page_and_summary(run: RunDocument) -> None:
    again = with_loads(run, f"{LONG}1", f"{LONG}2")
    page = sketched(again)
    beside = part(page, "beside")
    legend = re.findall(r"<dt>(.*?)</dt><dd>(stress-ng.*?)</dd>", beside)
    assert [load for _, load in legend] == [f"{LONG}1", f"{LONG}2"]
    text = "".join(printed(print_whole, again).split())
    for short, load in legend:
        assert len(short) <= 36 and words(beside).count(short) > 2
        assert f"{short}:{load}".replace(" ", "") in text
    assert page.count('<dl class="glossary loads">') == 1
    assert "#2, shielded: denied: cpusets cannot be made" in words(beside)
    alone = with_loads(run, LONG, LONG, "shared")
    page = sketched(alone)
    assert 'id="beside"' not in page
    assert f"<dd>{LONG}</dd>" in part(page, "load")
    text = printed(print_whole, alone).split("shortened names")[1]
    assert LONG.replace(" ", "") in "".join(text.split())


# Cells


def under(under_load: str, counts: dict[str, int], **more: object) -> Result:
    """Series by name with so many values each, the worst by the order of the names."""
    series = [
        sample.series(name, 1_000 * place + np.arange(count))
        for place, (name, count) in enumerate(counts.items(), 1)
    ]
    return make.result(conditions=Conditions(load=under_load), series=series, **more)


def table_of(counts: int, others: int) -> str:
    results = [under("none", {"wakeup": counts}), under("heavy", {"wakeup": others})]
    page = sketched(make.document(results=results))
    return page[page.index('id="beside"') : page.index("The charts show ")]


def test_a_quantile_is_shown_where_the_fewest_values_allow_it() -> None:
    assert table_of(20_000, 20_000).count("p99.9 ") == 2
    apart = table_of(20_000, 200)
    assert "p99.9 " not in apart and apart.count("p90 ") == 2


@pytest.mark.parametrize(("count", "is_told"), [(1000, False), (950, False), (800, True)])
def test_counts_stand_in_the_cells_where_they_differ(count: int, is_told: bool) -> None:
    assert (f"{count} values" in table_of(1000, count)) == is_told


def test_every_series_is_shown() -> None:
    counts = dict.fromkeys(("alpha", "beta", "gamma", "delta", "epsilon", "zeta"), 100)
    text = whole(*(under(load, counts) for load in ("none", "heavy")))
    assert all(name in text for name in counts) and "more series" not in text


def test_the_load_average_stands_below_the_elements() -> None:
    results = [
        under(
            load,
            {"wakeup": 100},
            load=[matrix.reached()[0]] if load != "none" else [],
            environment={"load_average_1min_milli": milli},
        )
        for load, milli in (("none", 300), ("storm", 203_110), ("storm", 242_270))
    ]
    table = load_table(make.document(results=results))
    assert table is not None
    assert (table.rows[-1].name, table.rows[-1].reached) == ("load average", ["203 to 242"])
    assert [row.load for row in table.rows] == ["storm"] * len(table.rows)
    for result in results[1:]:
        result.environment.clear()
    unknown = load_table(make.document(results=results))
    assert unknown is not None and unknown.rows[-1].name == "cpu"


# Calibrated work

UNEQUAL = "the amounts of work differ, so the times are not comparable"


def fixed(load: str, add: int) -> Result:
    series = [
        sample.series("time", np.arange(10_000_000, 10_000_100), kind=kind)
        for kind in ("add", "copy")
    ]
    calibrated = {"add_operations": add, "copy_operations": 57_092}
    where = Conditions(load=load, realtime=True)
    return make.result("RSP-P-FIX", series=series, conditions=where, calibrated=calibrated)


def test_equal_work_stands_once() -> None:
    """Unequal work is told: golden/conditions-*.txt."""
    equal = fixed("none", 36_696_328), fixed("heavy", 36_696_328)
    said = whole(*equal)
    assert said.count("36 696 328") == said.count("57 092") == 1
    page = words(sketched(make.document(results=list(equal))))
    assert "time, add, 36 696 328 operations" in page
    assert UNEQUAL not in said + page.lower()
    alone = whole(equal[0], width=140)
    for kind, work in (("add", "36 696 328"), ("copy", "57 092")):
        assert f"{kind}, {work} operations 100" in alone
