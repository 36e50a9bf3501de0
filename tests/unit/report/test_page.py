"""The page of a run: its header, stars and texts, how large it is, and that texts stay texts. Whole
pages are in golden/."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from hardstone.model import FORMULA, Conditions, Histogram, Result, RunDocument, Sweep
from hardstone.report.opening import Banner, head_of, short_commands
from hardstone.report.page import render_html
from hardstone.report.tables import MOST_ROWS
from hardstone.systems.rating import rate_run
from hardstone.units import format_count, format_ns
from hardstone.wording import series_text
from tests.changed_copy import replace
from tests.unit.comparison.compared import document_of, two_systems
from tests.unit.report import sample
from tests.unit.report.media import flat, sketched, words
from tests.unit.report.test_compare_page import Page

REST = "All other results are complete."


@pytest.fixture(scope="module")
def small() -> RunDocument:
    """The sample with few values; a test takes a changed copy."""
    return sample.document(count=500)


def static(document: RunDocument) -> str:
    return sketched(document, sample.SPECS.get)


@pytest.mark.slow
def test_only_linux_is_told_of_its_bound_of_idle_states(small: RunDocument) -> None:
    assert "--dma-latency 0" in static(small)
    nuttx = replace(small, system={**small.system, "kernel.name": "NuttX"})
    assert "--dma-latency" not in static(nuttx)


# What is above all figures


def run(*results: Result, planned: int = 0, **changed: object) -> RunDocument:
    """An incomplete run of `results`, and of `planned` tests that have none."""
    whole = sample.document(count=100)
    tests = [sample.planned(one) for one in results]
    tests += [sample.planned(Result(test=f"SEM-P-{n}", status="skipped")) for n in range(planned)]
    plan = replace(whole.plan, tests=tests)
    return replace(whole, **{"status": "incomplete", "results": [*results], "plan": plan} | changed)


def banner(document: RunDocument, title: str = "Incomplete run") -> Banner:
    (found,) = [one for one in head_of(document).banners if one.title == title]
    return found


def cut(test: str = "A-P-X", reason: str = "", status: str = "failed") -> Result:
    return Result(test=test, status=status, reason=reason or None, complete=False)


def skipped(test: str, why: str) -> Result:
    return Result(test=test, status="skipped", reason=f"not run: {why}")


WHOLE = Result(test="CLK-B-RES", status="measured")
KILLED, BAD_LINE = "the probe was killed by signal 9", "line 4: not JSON: trailing characters"
NO_FACTS = "The target sent no facts at the end of the run, so changes during the run are unknown."
GONE, ENDED = "the target is gone", "the tool was ended while this test ran"


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        # one test that broke is named, and no connection is blamed
        (run(WHOLE, cut("TMR-P-LAT", KILLED)), [f"TMR-P-LAT: {KILLED}.", REST]),
        (run(WHOLE, cut("TMR-P-LAT", BAD_LINE)), [f"TMR-P-LAT: {BAD_LINE}.", REST]),
        (
            run(WHOLE, cut(reason=GONE), skipped("B-P-X", GONE), skipped("C-P-X", GONE)),
            [f"A-P-X: {GONE}.", f"Did not run: B-P-X, C-P-X ({GONE}).", REST],
        ),
        (run(WHOLE), [NO_FACTS, REST]),
        (
            run(WHOLE, cut(reason=ENDED, status="measured"), planned=2, finished_utc=None),
            [
                "hardstone, or the machine it ran on, stopped before the run finished.",
                f"A-P-X: {ENDED}.",
                "Did not run: SEM-P-0, SEM-P-1.",
                REST,
            ],
        ),
    ],
)
def test_an_incomplete_run_says_what_broke_and_what_did_not_run(
    document: RunDocument, lines: list[str]
) -> None:
    found = banner(document)
    assert (found.lines, found.grave) == (lines, True)


@pytest.mark.slow
def test_banners_of_other_ends() -> None:
    many = banner(run(*(cut(f"A-P-{n}") for n in range(9)))).lines
    assert (len(many), many[6]) == (8, "And 3 more: see the table of all results.")
    stopped = run(WHOLE, skipped("A-P-X", "the run was interrupted"), status="interrupted")
    found = banner(stopped, "Interrupted run")
    assert found.lines[1:] == ["Did not run: A-P-X (the run was interrupted)."]
    assert not found.grave


@pytest.mark.parametrize(
    ("loads", "configs", "said"),
    [
        ([], [], ("storm", "single")),  # as plans were before there were lists
        (["none", "heavy"], ["shared", "single"], ("none, heavy", "shared, single")),
    ],
)
def test_conditions_come_from_the_plan(
    loads: list[str], configs: list[str], said: tuple[str, str]
) -> None:
    whole = run(WHOLE)
    own = {"load": "storm", "cpu_config": "single", "loads": loads, "cpu_configs": configs}
    facts = dict(head_of(replace(whole, plan=replace(whole.plan, **own))).facts)
    assert (facts["Load"], facts["CPU configuration"]) == said


@pytest.mark.slow
def test_conditions_that_are_not_known_are_said_to_be_unknown() -> None:
    document = sample.document(count=100)
    document.results = document.results[:1]
    document.results[0].conditions = Conditions(dma_latency_us=0)
    head = head_of(run(*document.results))
    assert head.summary.endswith("load not known, CPUs not known")
    assert dict(head.facts)["Load"] == dict(head.facts)["CPU configuration"] == "not known"
    page = sketched(document)
    told = dict(re.findall(r"<dt>([^<]+)</dt>\s*<dd[^>]*>([^<]+)</dd>", page))
    assert {told[name] for name in ("Policy", "Real-time", "Memory locked")} == {"not known"}
    assert told["cpu_dma_latency"] == "0 us"


HOSTILE = 'x"><script>alert(1)</script><b title="'


def test_title_and_link_preview_are_escaped_and_of_one_line(small: RunDocument) -> None:
    document = replace(small, system={"machine.cpu_model": HOSTILE, "kernel.name": "a\x1b[31m\nb"})
    page = static(document)
    assert "<script" not in page and "\x1b" not in page
    metas = re.findall(r'<meta (?:property|name)="([a-z:]+)" content="([^"]*)">', page)
    found = {name: html.unescape(text) for name, text in metas}
    title = flat(html.unescape(page.partition("<title>")[2].partition("</title>")[0]))
    assert title == f"{flat(found['og:title'])} - hardstone"
    assert 'x"><script>alert(1)' in title
    assert found["og:description"].startswith("Worst wake-up 3.70 ms")
    assert found["description"] in found["og:description"]
    assert page.index("og:title") < page.index("<style>")  # some read the first bytes only


def test_rows_without_values_say_why_and_those_that_were_not_run_share_a_line() -> None:
    text = words(static(sample.document(count=500)))
    assert "round trip SEM-P-RTP timeout: the partner did not answer within 10 s" in text
    assert "Not run: interrupt to thread, kernel preemption, tick, switch," in text


def test_one_or_two_results_are_not_folded() -> None:
    for count, is_open in ((1, True), (2, True), (3, False)):
        document = replace(run(*[WHOLE] * count), status="complete")
        assert ('<details class="fold result" open>' in static(document)) == is_open


def test_commands_share_what_all_of_them_end_with() -> None:
    tail = "--target local --load none --policy fifo --seed 1"
    made = short_commands([f"hardstone run A -p x=1 {tail}", f"hardstone run B {tail}"])
    assert made == [f"how='{tail}'", "hardstone run A -p x=1 $how", "hardstone run B $how"]
    quoted = [f"hardstone run {one} --target 'a b' --load x" for one in "AB"]
    assert short_commands(quoted) == quoted  # a shell would not split it as it is meant
    assert short_commands(made[1:2]) == made[1:2]


# What the page says


@pytest.mark.slow
def test_every_result_series_verdict_event_and_fact_appears(run: RunDocument, page: str) -> None:
    text = words(page)
    for result in run.results:
        told = [result.test, result.status, result.reason, result.remedy, result.command]
        told += [one.evidence for one in result.verdicts] + [one.text for one in result.events]
        assert [one for one in told if flat(one or "") not in text] == []
        for series in result.series:
            assert series_text(series) in text and flat(format_count(series.count)) in text
            assert series.max is None or format_ns(series.max) in text
    assert all(name.partition(".")[2] in text for name in run.system)
    assert "memory.total_bytes 8 254 390 272 4 127 195 136" in text


@pytest.mark.slow
def test_a_run_that_was_not_real_time_says_so_before_anything_else() -> None:
    """With the machine's own remedy if it has one; without: golden/sample-page.txt."""
    document = sample.document(realtime=False, count=500)
    document.system["limits.can_realtime"] = False
    document.system["limits.realtime_cause"] = "soft_limit"
    document.system["limits.rtprio_most"] = 99
    assert "Remedy: ulimit -r 99" in words(static(document))


@pytest.mark.slow
def test_an_unreadable_histogram_is_named_and_costs_only_its_own_figures() -> None:
    document = sample.document(count=500)
    document.results[2].series[0].histogram = Histogram(layout="unknown/1", buckets=[(1, 1)])
    text = words(sketched(document))
    assert "Figures that cannot be true CLK-P-BIN call" in text
    assert "jitter, period 1 ms, timer" in text
    assert "SEM-P-RTP" in text  # its ID, without a descriptor


# Stars


def glance(document: RunDocument) -> str:
    page = sketched(document)
    return page[page.index('id="glance"') : page.index('id="tests"')]


@pytest.mark.slow
def test_stars_of_every_category_come_first_and_say_why() -> None:
    """Computed on reading: the formula may have changed since one was stored."""
    document = replace(document_of(two_systems()), rating={"overall": "stale"})
    page = sketched(document)
    assert "stale" not in page
    part = page[page.index('id="glance"') : page.index('id="tests"')]
    _, rating = rate_run(document)[0]
    assert part.index('class="board"') < part.index("What failed")
    text = words(part)
    assert f"Why these stars Formula {FORMULA}." in text
    decisive = [one.decisive for one in rating.categories if one.decisive]
    assert decisive
    found = {source for _, _, source in Page(page).figures}
    for figure in decisive:
        assert f"{figure.address}, {figure.role}:" in text and figure.amount.source in found
    assert all(one.next_half in text for one in rating.categories)


@pytest.mark.slow
def test_a_run_in_which_nothing_is_rated_has_no_stars(small: RunDocument) -> None:
    rated = document_of(two_systems())
    sweep = Sweep(
        test="SIM-S-RT",
        solvers=["semaphore"],
        policies=["fifo"],
        threads=[2],
        masses=[],
        masses_least=10,
        masses_most=100,
        points_most=3,
        within_ns=0,
    )
    for one in (replace(small, results=[]), replace(rated, plan=replace(rated.plan, sweep=sweep))):
        assert 'class="board"' not in sketched(one)


# Safety and size


def test_the_page_is_small_and_loads_nothing(page: str) -> None:
    assert len(page.encode()) < 2_000_000
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b|https?:", outside)


def crowded(*counts: int) -> RunDocument:
    """A test for each of `counts`, with so many series of 32 highest values."""
    rng = np.random.default_rng(3)
    results = []
    for number, count in enumerate(counts):
        values = [sample.latencies(rng, 2_000, 900) for _ in range(count)]
        series = [sample.series("acquire", one, waiters=n) for n, one in enumerate(values)]
        results.append(sample.measured(f"SEM-P-{number}", series, realtime=True))
    return replace(sample.document(count=200), results=results)


@pytest.mark.slow
def test_a_page_of_many_series_has_the_worst_ones_and_says_where_the_others_are() -> None:
    document = crowded(41)
    text = words(static(document))
    command = f"hardstone show {document.id} SEM-P-0"
    more = f"{41 - MOST_ROWS} more: {command}"
    assert f"The {MOST_ROWS} series with the largest values. {more}" in text
    series = document.results[0].series
    highest = max(series, key=lambda one: one.max or 0)
    table = text.partition("Series Worst observed")[2].partition("The 12 series")[0]
    assert series_text(highest) in table and table.count("acquire, waiters") == MOST_ROWS
    worst = sorted((one.value_ns for each in series for one in each.worst), reverse=True)
    listed = text.partition("Worst values Value")[2]
    assert format_ns(worst[0]) in listed and format_ns(worst[1]) in listed
    more = flat(format_count(len(worst) - 2))
    assert f"and {more} more, down to {format_ns(worst[-1])}" in listed
    few = words(static(crowded(2)))
    assert "series with the largest values" not in few and "and 52 more, down to" in few


@pytest.mark.slow
def test_a_full_battery_is_short_and_says_once_what_all_tests_share() -> None:
    document = sample.battery()
    page = static(document)
    assert len(words(page).split()) < 16_000
    assert page.count("<table") < 3 * len(document.results)
    assert page.count('<details class="fold result') == len(document.results)
    for shared in ("what every test says of this machine", "open triangle is the upper bound"):
        assert page.count(shared) == 1
    setting = "Unless a test says otherwise: load heavy , CPU configuration shared , CPU 1 ,"
    assert setting in words(page)
    assert "<dt>Policy</dt>" not in page.split('id="tests"')[1].split('id="instrument"')[0]
    # A claim is one row for all of its cases, and one that failed is not folded.
    assert "15 claims hold: a, b, c, d" in words(page)
    assert "also x, y, z" not in words(page).partition("15 claims hold")[0]


@pytest.mark.slow
def test_a_full_battery_stays_below_two_megabytes() -> None:
    page = render_html(
        crowded(20, 4, 24, 0, 3, 0, 2, 0, 4, 2, 6, 3, 0, 0, 16, 10, 40, 6, 30, 10, 0, 9, 6, 6, 4),
        sample.SPECS.get,
    )
    assert len(page.encode()) < 2_000_000
