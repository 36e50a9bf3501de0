"""What the page of a run says, and how large it is."""

from __future__ import annotations

import html
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from hardstone.model import Histogram, RunDocument, Trust, Verdict
from hardstone.present.wording import series_text
from hardstone.report import render_html, write_html
from hardstone.units import format_count, format_ns
from tests.unit.report import sample
from tests.unit.report.hostile import hostile_document, hostile_lookup
from tests.unit.report.sketches import Sketches, sketched


def static(document: RunDocument) -> str:
    return sketched(document, sample.SPECS.get)


def words(page: str) -> str:
    """The text of a page as a reader sees it."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.mark.slow
def test_every_result_appears_with_status_reason_and_remedy(run: RunDocument, page: str) -> None:
    text = words(page)
    for result in run.results:
        assert result.test in text
        assert result.status in text
        assert " ".join((result.reason or "").split()) in text
        assert " ".join((result.remedy or "").split()) in text
        assert (result.command or "") in text


def test_every_series_appears_with_count_and_worst_observed(run: RunDocument, page: str) -> None:
    text = words(page)
    for result in run.results:
        for series in result.series:
            assert series_text(series) in text
            assert " ".join(format_count(series.count).split()) in text
            assert series.max is None or format_ns(series.max) in text


def test_verdicts_events_facts_and_what_moved_appear(run: RunDocument, page: str) -> None:
    text = words(page)
    for result in run.results:
        for verdict in result.verdicts:
            assert verdict.evidence in text
        for event in result.events:
            assert event.text in text
    for name in run.system:
        assert name.partition(".")[2] in text
    assert "memory.total_bytes 8 254 390 272 4 127 195 136" in text


def page_of_claims(run: RunDocument, **passed: bool) -> str:
    """The page of a run whose first result makes these claims for THR-B-NEW."""
    again = msgspec.convert(msgspec.to_builtins(run), RunDocument)
    again.results[0].test, again.results[0].series = "THR-B-NEW", []
    again.results[0].verdicts = [
        Verdict(name=f"{name}/fifo", passed=value, evidence="seen")
        for name, value in passed.items()
    ]
    return static(again)


@pytest.mark.slow
def test_a_claim_that_does_not_count_is_no_failure(run: RunDocument) -> None:
    text = words(page_of_claims(run, lower=True, lowered_setschedparam=False))
    assert "1 of 2 claims hold, the others do not count for a rating" in text
    assert "fail seen Does not count for a rating. The study of 2012 found" in text


@pytest.mark.slow
def test_a_claim_that_counts_is_a_failure(run: RunDocument) -> None:
    page = page_of_claims(run, lower=False, lowered_setschedparam=True)
    assert "1 of 2 claims failed" in words(page)
    assert '<td class="failed">FAIL</td>' in page


def test_the_words_that_stand_in_every_report(page: str) -> None:
    text = words(page)
    limit = (
        "the largest value of this run, of a throughput the least. It says nothing about code "
        "paths that were not taken."
    )
    assert f"Worst observed: {limit}" in text
    assert "worst case" not in text.lower()
    assert "Indicative only a hypervisor is below (kvm)" in text
    bound = "none of 30 000 values is above 3.70 ms; at 95 % confidence fewer than 1 in 10 000 are"
    assert bound in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "at the instrument's limit: a pair of time stamps costs 27 ns" in text


@pytest.mark.slow
def test_a_test_without_descriptor_shows_its_id(run: RunDocument) -> None:
    assert "SEM-P-RTP" in words(sketched(run))


def test_the_page_is_small_and_loads_nothing(page: str) -> None:
    assert len(page.encode()) < 2_000_000
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", outside)
    assert "http:" not in outside
    assert "https:" not in outside


@pytest.mark.slow
def test_without_scripts_nothing_but_drawings_is_in_the_page(run: RunDocument) -> None:
    page = render_html(run, bundle=lambda: None)
    assert "<script" not in page
    assert page.count("<svg") >= 20
    assert "script-src 'none'" in html.unescape(page)


@pytest.mark.slow
def test_a_run_that_was_not_real_time_says_so_before_anything_else() -> None:
    text = words(static(sample.document(realtime=False, count=500)))
    assert text.index("Not scheduled as real-time") < text.rindex("bench-board, heavy load")
    assert "CAP_SYS_NICE" in text


@pytest.mark.slow
def test_the_machines_own_remedy_is_preferred() -> None:
    document = sample.document(realtime=False, count=500)
    document.system["limits.realtime_remedy"] = "ulimit -r 99"
    assert "Remedy: ulimit -r 99" in words(static(document))


@pytest.mark.slow
@pytest.mark.parametrize("status", ["interrupted", "incomplete"])
def test_an_unfinished_run_is_labelled(status: str) -> None:
    document = msgspec.structs.replace(sample.document(count=500), status=status)
    text = words(static(document))
    assert f"{status.capitalize()} run" in text
    assert "Did not run: THR-P-SLS (interrupted before it began)." in text


@pytest.mark.slow
def test_an_untrustworthy_run_is_labelled() -> None:
    trust = Trust(grade="untrustworthy", reasons=["the counters of CPU 0 and 1 disagree"])
    text = words(static(msgspec.structs.replace(sample.document(count=500), trust=trust)))
    assert "Do not rely on these figures the counters of CPU 0 and 1 disagree" in text


def test_a_run_without_results_is_a_page_all_the_same() -> None:
    empty = msgspec.structs.replace(
        sample.document(count=500), results=[], instrument=None, system={}, environment_moved=[]
    )
    text = words(static(empty))
    assert "No test of this run measured a time." in text
    assert "This run has no record of its instrument." in text


@pytest.mark.slow
def test_an_unreadable_histogram_is_named_and_costs_only_its_own_figures() -> None:
    document = sample.document(count=500)
    document.results[2].series[0].histogram = Histogram(layout="unknown/1", buckets=[(1, 1)])
    text = words(static(document))
    assert "Figures that contradict each other CLK-P-BIN call" in text
    assert "jitter, period 1 ms, timer" in text


@pytest.mark.slow
def test_texts_never_become_markup() -> None:
    page = render_html(hostile_document(), hostile_lookup, bundle=lambda: "/* no charts */")
    assert "<script>window.hit" not in page
    assert "<img" not in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert "\u2028" not in "".join(re.findall(r"<script.*?</script>", page, flags=re.S))
    assert len(re.findall(r"<script\b", page)) == len(re.findall(r"</script>", page))


@pytest.mark.slow
def test_write_replaces_the_whole_file_and_leaves_nothing_behind(
    tmp_path: Path, run: RunDocument
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_html(run, path, bundle=lambda: None, drawer=Sketches())
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_a_place_that_cannot_be_written_raises(tmp_path: Path, run: RunDocument) -> None:
    with pytest.raises(OSError):
        path = tmp_path / "missing" / "report.html"
        write_html(run, path, bundle=lambda: None, drawer=Sketches())


def crowded(*counts: int) -> RunDocument:
    """A test for each of `counts`, with so many series of 32 highest values."""
    rng = np.random.default_rng(3)
    document = sample.document(count=200)
    document.results = [
        sample.measured(
            f"SEM-P-{number}",
            [
                sample.series("acquire", sample.latencies(rng, 2_000, 900), waiters=n)
                for n in range(count)
            ],
            realtime=True,
        )
        for number, count in enumerate(counts)
    ]
    return document


@pytest.mark.slow
def test_a_page_of_many_series_lists_the_8_highest_of_each_and_says_so() -> None:
    document = crowded(41)
    page = static(document)
    assert page.count('<div class="worst">') == 1
    listed = page.split('<div class="worst">')[1].split("</details>")[0]
    assert listed.count("<tr>") == 24 * (1 + 8)
    shown = f"the 8 highest of each; all 32 in `hardstone show {document.id} --json`"
    assert f"of 24 of 41 series, with their times: {shown}" in words(page)
    highest = max(one.value_ns for one in document.results[0].series[0].worst)
    assert format_ns(highest) in words(listed)


def test_a_page_of_few_series_lists_all_highest_values() -> None:
    page = static(crowded(2))
    assert page.split('<div class="worst">')[1].count("<tr>") >= 2 * (1 + 32)
    assert "the 8 highest" not in words(page)


@pytest.mark.slow
def test_a_full_battery_stays_below_two_megabytes() -> None:
    page = render_html(
        crowded(20, 4, 24, 0, 3, 0, 2, 0, 4, 2, 6, 3, 0, 0, 16, 10, 40, 6, 30, 10, 0, 9, 6, 6, 4),
        sample.SPECS.get,
    )
    assert len(page.encode()) < 2_000_000
