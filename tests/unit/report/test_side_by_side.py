"""Several conditions in one report: told apart, compared, small and quick enough."""

from __future__ import annotations

import io
import re

import msgspec
import pytest

from hardstone.model import Result, RunDocument, Verdict
from hardstone.present.load_table import is_short, load_table, reached_text
from hardstone.present.wording import ratio_text
from hardstone.report.drawing import Drawer
from hardstone.report.page import render_html
from hardstone.stats.comparison import comparisons_in, ratio_to_first
from hardstone.terminal.whole_run import print_whole
from tests.unit.report import matrix, sample
from tests.unit.report.sketches import sketched

TESTS = ("TMR-P-JIT", "RSP-P-FIX", "CLK-P-BIN", "TMR-P-LAT")


@pytest.fixture(scope="module")
def run() -> RunDocument:
    return matrix.document()


@pytest.fixture(scope="module")
def page(run: RunDocument) -> str:
    with Drawer(2) as drawer:
        return render_html(run, sample.SPECS.get, drawer=drawer)


def words(text: str) -> str:
    return " ".join(re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL).split())


def part(page: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}".*?</section>', page, flags=re.DOTALL)
    return str(found)


def summary(run: RunDocument, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    print_whole(run, out)
    return out.getvalue()


@pytest.mark.slow
def test_every_test_has_every_condition_once(run: RunDocument) -> None:
    found = comparisons_in(run)
    assert [one.test for one in found] == list(TESTS)
    for one in found:
        assert one.conditions == matrix.CONDITIONS
        assert [result is not None for result in one.results] == [True] * 6


def test_a_cell_is_the_series_of_its_condition(run: RunDocument) -> None:
    (latency,) = [one for one in comparisons_in(run) if one.test == "TMR-P-LAT"]
    for row in latency.series:
        for result, series in zip(latency.results, row.found, strict=True):
            assert result is not None
            assert (series in result.series) if series else result.status == "denied"


def test_a_ratio_is_to_the_first_condition(run: RunDocument) -> None:
    row = comparisons_in(run)[0].series[0]
    first, second = row.found[0], row.found[1]
    assert first is not None and second is not None and first.max and second.max
    assert ratio_to_first(row, 0) is None
    assert ratio_to_first(row, 1) == second.max / first.max
    assert [ratio_text(one) for one in (0.091, 0.999, 1.44, 9.96, 1234.0)] == [
        "0.091",
        "1.0",
        "1.4",
        "10",
        "1\N{NO-BREAK SPACE}234",
    ]


def test_there_is_no_ratio_to_nothing_and_none_of_counts(run: RunDocument) -> None:
    row = comparisons_in(run)[0].series[0]
    second = row.found[1]
    assert second is not None
    lacking = msgspec.structs.replace(second, max=0, min=0)
    for found in ([None, second], [lacking, second], [second, None]):
        assert ratio_to_first(type(row)(row.key, found), 1) is None
    counts = [msgspec.structs.replace(second, unit="count") for _ in range(2)]
    assert ratio_to_first(type(row)(row.key, list(counts)), 1) is None


@pytest.mark.slow
def test_one_condition_is_not_set_beside_anything() -> None:
    alone = sample.document(count=300)
    for result in alone.results:
        result.conditions = alone.results[0].conditions
    assert comparisons_in(alone) == []
    assert 'id="beside"' not in sketched(alone)


@pytest.mark.slow
def test_the_page_is_small(page: str) -> None:
    assert len(page.encode()) < 2 << 20


def test_the_page_says_what_differs(page: str) -> None:
    beside = part(page, "beside")
    text = words(beside)
    for load in matrix.LOADS:
        for config in matrix.CONFIGS:
            assert text.count(f"{load}, {config}") >= len(TESTS)
    assert "heavy, shielded: denied: cpusets cannot be made: EPERM; run as root." in text
    assert "load fell short" in text
    assert beside.count("<svg ") == 2 * len(TESTS)
    assert beside.count("data-chart=") == 2 * len(TESTS)


def test_the_figures_of_a_cell_are_those_of_its_result(run: RunDocument, page: str) -> None:
    text = words(part(page, "beside"))
    for result in run.results[:6]:
        worst = max(one.max or 0 for one in result.series)
        assert f"{worst / 1000:.3g} us" in text


def test_quantiles_need_values_in_every_condition(run: RunDocument, page: str) -> None:
    (fixed,) = re.findall(
        r'<article id="beside-2".*?</article>', part(page, "beside"), flags=re.DOTALL
    )
    assert {one.count for one in run.results[6].series} == {500}
    assert "p90" in words(fixed) and "p99" not in words(fixed).split("Drawn")[0]


def test_links_lead_to_the_results(page: str) -> None:
    anchors = set(re.findall(r'id="([^"]+)"', page))
    links = re.findall(r'href="#([^"]+)"', page)
    assert len(links) > 40 and set(links) <= anchors
    assert len(re.findall(r'id="([^"]+)"', page)) == len(anchors)


def test_sections_are_told_apart_and_fold_what_was_moved(page: str) -> None:
    titles = re.findall(r'<h3 id="result-\d+-title">(.*?)</h3>', page, flags=re.DOTALL)
    texts = [words(title) for title in titles]
    assert len(texts) == len(set(texts)) == 23
    assert any(text.endswith("under heavy, single") for text in texts)
    folded = re.findall(r"<details>\s*<summary>What was moved.*?</details>", page, flags=re.DOTALL)
    assert len(folded) == 7
    assert all(matrix.NOT_MOVED in one for one in folded)
    assert page.count(matrix.NOT_MOVED) == 7
    assert "The load fell short: cpu: 10 % asked, 5 % reached." in page


def test_asked_and_reached(run: RunDocument, page: str) -> None:
    table = load_table(run)
    assert table is not None
    cpu, network, search = table.rows
    assert (cpu.asked, cpu.reached) == ("10 %", ["9.98 %", "5 to 9.98 %", "9.98 %"])
    assert cpu.is_short == [False, True, False]
    assert (network.element, search.asked) == ("network=4000/s", "continuous")
    text = words(part(page, "load"))
    assert "heavy cpu=10ms/100ms 10 % 9.98 % 5 to 9.98 % 9.98 %" in text


@pytest.mark.slow
def test_a_mean_does_not_hide_the_cpu_that_did_least(run: RunDocument) -> None:
    one = msgspec.structs.replace(matrix.reached(0.0825)[0], least=0.03)
    assert not is_short(matrix.reached(0.0825)[0]) and is_short(one)
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    result = next(found for found in again.results if found.load)
    result.load[0] = one
    table = load_table(again)
    assert table is not None
    cell = (table.rows[0].reached[0], table.rows[0].is_short[0])
    assert cell == ("3 to 9.98 %", True)
    assert reached_text(result).startswith("cpu 8.25 % (lowest 3 %) of 10 %, network ")


@pytest.mark.parametrize(("reached", "falls_short"), [(0.0, True), (0.5, False)])
def test_a_continuous_element_is_short_without_a_round(
    run: RunDocument, reached: float, falls_short: bool
) -> None:
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    for result in again.results:
        for one in result.load:
            one.reached = reached if one.element == "search" else one.reached
    table = load_table(again)
    assert table is not None and table.rows[2].is_short == [falls_short] * 3


def test_commands_name_the_condition(page: str) -> None:
    assert "--load none --load heavy --cpu-config shared,single,shielded" in page
    assert len(re.findall(r"--load heavy --cpu-config single", page)) == len(TESTS)


@pytest.mark.slow
def test_claims_that_differ_are_shown(run: RunDocument) -> None:
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    for place, result in enumerate(again.results[:6]):
        result.test, result.series = "TMR-B-EDGE", []
        result.verdicts = [matrix.verdict(place != 4)]
    beside = part(sketched(again), "beside")
    assert words(beside).count("FAIL") == 1 and words(beside).count("pass") >= 5


@pytest.mark.slow
def test_a_claim_that_does_not_count_is_no_failure_in_any_condition(run: RunDocument) -> None:
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    for result in again.results[:6]:
        result.test, result.series = "THR-B-RR", []
        result.verdicts = [Verdict(name="first_slice", passed=False, evidence="1 s")]
    beside = part(sketched(again), "beside")
    assert "FAIL" not in words(beside)
    assert '<td class="uncounted"><strong>fail</strong>' in beside


@pytest.mark.slow
def test_many_conditions_are_all_in_the_table(run: RunDocument) -> None:
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    for place, result in enumerate(again.results):
        result.test = "TMR-P-JIT"
        result.conditions.load = f"storm={place + 1}"
    again.plan = msgspec.structs.replace(again.plan, tests=[])
    page = sketched(again)
    assert all(f"storm={place}, " in part(page, "beside") for place in range(1, 25))


def widest(text: str) -> int:
    """Of all lines but commands, which are never wrapped."""
    return max(len(line) for line in text.splitlines() if not line.startswith("    "))


@pytest.mark.slow
def test_the_summary_fits_into_80_columns(
    run: RunDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = summary(run, monkeypatch)
    assert widest(text) <= 80
    flat = " ".join(text.split())
    assert all(test in text for test in TESTS)
    assert "none heavy heavy heavy" in flat and "shared shared single shielded" in flat
    assert "load: requested and reached" in text and "5 to 9.98 %" in text
    assert "TMR-P-LAT [heavy, shielded] denied: cpusets cannot be made: EPERM" in flat
    assert "TMR-P-LAT [heavy, single] load: cpu: 10 % asked, 5 % reached" in flat
    assert matrix.NOT_MOVED not in flat


LONG = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --hdd 1 --cpu 1" + "0" * 30


def with_loads(run: RunDocument, none: str, heavy: str, config: str = "") -> RunDocument:
    """`run` with other loads in place of its two, and with one configuration if so asked."""
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
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
def test_loads_that_are_cut_are_told_in_full_in_page_and_summary(
    run: RunDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = with_loads(run, f"{LONG}1", f"{LONG}2")
    page = sketched(again)
    legend = re.findall(r"<dt>(.*?)</dt><dd>(stress-ng.*?)</dd>", part(page, "beside"))
    assert [load for _, load in legend] == [f"{LONG}1", f"{LONG}2"]
    text = summary(again, monkeypatch)
    flat = "".join(text.split())
    for short, load in legend:
        assert len(short) <= 36 and words(part(page, "beside")).count(short) > len(TESTS)
        assert f"{short}:{load}".replace(" ", "") in flat
    assert widest(text) <= 80
    assert page.count('<dl class="glossary loads">') == 1


def test_short_loads_need_no_legend(run: RunDocument, page: str) -> None:
    assert "shortened names" not in page
    assert '<dl class="glossary loads">' not in page


@pytest.mark.slow
def test_one_cut_load_is_told_where_nothing_stands_beside_it(
    run: RunDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = with_loads(run, LONG, LONG, "shared")
    page = sketched(again)
    assert 'id="beside"' not in page
    assert f"<dd>{LONG}</dd>" in part(page, "load")
    assert LONG.replace(" ", "") in "".join(
        summary(again, monkeypatch).split("shortened names")[1].split()
    )


@pytest.mark.slow
def test_what_did_not_run_is_named_as_its_column(run: RunDocument) -> None:
    again = with_loads(run, f"{LONG}1", f"{LONG}2")
    text = words(part(sketched(again), "beside"))
    assert "#2, shielded: denied: cpusets cannot be made" in text


@pytest.mark.slow
def test_a_hostile_load_is_words_in_page_and_summary(
    run: RunDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    nasty = "stress-ng:</script><b>\x1b[2J" + "x" * 100
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    results: list[Result] = again.results
    for result in results:
        if result.conditions.load == "heavy":
            result.conditions.load = nasty
            result.load[:1] = [
                msgspec.structs.replace(one, element=nasty, degree=nasty, unit=nasty)
                for one in result.load[:1]
            ]
    page = sketched(again)
    text = summary(again, monkeypatch)
    assert "<b>" not in page and "\x1b" not in page + text
    assert widest(text) <= 80
