"""What was read as a run: results, descriptors, histograms, and what the file does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from hardstone.errors import InputError
from hardstone.importers.imported import NO_COUNT, Added, document_of
from hardstone.importers.reading import Reading, ReadSeries
from hardstone.importers.recognise import SourceFile
from hardstone.model import Conditions, Event, Loss, RunDocument, Series, Verdict
from hardstone.stats.consistency import contradictions

RUN_ID = "20261130T120000Z-abcdef"
FILE = SourceFile(
    name="board.json.gz",
    content=b"",
    sha256="ab" * 32,
    size_bytes=7,
    changed_utc="2026-11-30T11:00:00Z",
)
WHOLE = ReadSeries(
    name="wakeup",
    labels={"cpu": 3},
    count=10,
    min=2000,
    mean=3000.0,
    max=9000,
    step_ns=1000,
    buckets=[(2000, 6), (3000, 3)],
    bucket_width_ns=1000,
    overflow=1,
)
KNOWN = Conditions(load="none", policy="fifo", clock="monotonic")


def reading(*series: ReadSeries, **changed: Any) -> Reading:
    how: dict[str, Any] = {
        "version": "2.40",
        "conditions": KNOWN,
        "started_utc": "2026-11-30T10:00:00Z",
        **changed,
    }
    return Reading(tool="cyclictest", format="JSON", series=series or (WHOLE,), **how)


def made(*series: ReadSeries, **changed: Any) -> RunDocument:
    return document_of(reading(*series, **changed), FILE, RUN_ID)


def only(one: ReadSeries) -> Series:
    (result,) = made(one).results
    (series,) = result.series
    return series


def losses(document: RunDocument) -> dict[str, str]:
    assert document.imported is not None
    return {loss.what: loss.text for loss in document.imported.losses}


def test_a_file_becomes_an_ordinary_run() -> None:
    document = made(duration_ns=60 * 10**9, params={"interval_ns": 500_000}, command="cyclictest")
    assert (document.id, document.name, document.status) == (RUN_ID, "board", "complete")
    assert document.started_utc == "2026-11-30T10:00:00Z"
    assert document.finished_utc == "2026-11-30T10:01:00Z"
    assert document.plan.profile == "imported" and document.plan.tests == []
    (result,) = document.results
    assert (result.test, result.status, result.duration_ns) == ("TMR-P-LAT", "measured", 60 * 10**9)
    assert result.series[0].labels == {"cpu": 3, "part": "total"}  # the part by the moments
    assert result.params == {"interval_ns": 500_000} and result.conditions == KNOWN
    imported = document.imported
    assert imported is not None and imported.sha256 == FILE.sha256 and imported.size_bytes == 7
    assert (imported.tool, imported.version, imported.command) == (
        "cyclictest",
        "2.40",
        "cyclictest",
    )
    assert document.trust.grade == "indicative" and not [*contradictions(document)]


def test_series_are_grouped_by_their_tests() -> None:
    relative = replace(WHOLE, name="wakeup-relative")
    document = made(WHOLE, relative, replace(WHOLE, labels={"cpu": 4}))
    assert [(one.test, len(one.series)) for one in document.results] == [
        ("TMR-P-LAT", 2),
        ("cyclictest", 1),
    ]
    first, second = document.descriptors
    assert (first.id, second.id) == ("TMR-P-LAT", "cyclictest")
    (spec,) = first.series
    assert spec.begin == "the programmed expiry (release)" and spec.fixed == {"part": "total"}
    assert set(spec.labels) == {"part", "cpu"}
    assert second.series[0].name == "wakeup_relative"


def test_no_two_series_have_the_same_labels() -> None:
    (result,) = made(WHOLE, WHOLE, WHOLE).results
    assert [one.labels.get("number") for one in result.series] == [None, 2, 3]


def test_claims_and_events_are_kept_once() -> None:
    verdicts = [Verdict(name="missed_none", passed=False, evidence="3 missed")]
    events = [Event(name="stop", text="it stopped")]
    relative = replace(WHOLE, name="wakeup-relative")
    document = made(WHOLE, relative, verdicts=verdicts, events=events)
    assert document.results[0].verdicts == verdicts and document.results[0].events == events
    assert document.results[1].verdicts == [] and document.results[1].events == []
    assert [one.name for one in document.descriptors[0].verdicts] == ["missed_none"]
    alone = document_of(replace(reading(), series=[], verdicts=verdicts), FILE, RUN_ID)
    assert [one.test for one in alone.results] == ["TMR-P-LAT"]


def test_buckets_of_one_width_keep_it() -> None:
    histogram = only(WHOLE).histogram
    assert histogram.layout == "linear/1000/0"
    assert histogram.buckets == [(2, 6), (3, 3)] and histogram.overflow == 1
    assert histogram.is_cut is msgspec.UNSET


def test_the_grid_of_buckets_begins_where_it_must() -> None:
    shifted = replace(WHOLE, buckets=[(2500, 6), (3500, 3)], min=2500)
    assert only(shifted).histogram.layout == "linear/1000/2500"
    negative = replace(WHOLE, buckets=[(-2000, 6), (3000, 3)], min=-1500)
    assert only(negative).histogram.layout == "linear/1000/-2000"
    assert only(negative).histogram.buckets == [(0, 6), (5, 3)]
    below = replace(WHOLE, underflow=1, count=11, min=500)
    assert only(below).histogram.layout == "linear/1000/2000"
    with pytest.raises(InputError, match="not on its grid"):
        only(replace(WHOLE, buckets=[(2000, 6), (3500, 3)]))


def test_a_negative_value_is_possible_where_the_file_has_one() -> None:
    early = replace(WHOLE, buckets=[(-2000, 6), (3000, 3)], min=-2000, mean=500.0)
    assert not [*contradictions(made(early))]
    for mean in (2600.0, 3700.0):  # 6 of 2000 to 2999, 3 of 3000 to 3999, 1 of 4000 to 9000
        assert not [*contradictions(made(replace(WHOLE, mean=mean, step_ns=1)))]


def test_what_was_dropped_makes_the_histogram_cut() -> None:
    dropped = replace(WHOLE, overflow=None, count=9, max=None)
    histogram = only(dropped).histogram
    assert histogram.is_cut is True and histogram.overflow == 0
    assert "dropped values" in losses(made(dropped))["overflow"]


VALUES = replace(
    WHOLE, count=None, min=None, mean=None, max=None, buckets=None, values=[3000, 1000, 8000]
)


def test_single_values_give_their_figures() -> None:
    series = only(VALUES)
    assert (series.count, series.min, series.mean, series.max) == (3, 1000, 4000, 8000)
    assert series.stddev == pytest.approx(3605.551, rel=1e-6)
    assert series.histogram.layout == "linear/1000/0"
    assert series.histogram.buckets == [(1, 1), (3, 1), (8, 1)]
    exact = only(replace(VALUES, step_ns=1))
    assert exact.histogram.layout == "log-linear/10"
    assert "single values" not in losses(made(VALUES))


def test_a_summary_has_no_distribution() -> None:
    summary = replace(WHOLE, buckets=None, overflow=0)
    series = only(summary)
    assert series.histogram.layout == "none" and series.histogram.overflow == 10
    found = losses(made(summary))
    assert "no quantiles" in found["distribution"] and "single values" not in found


def test_a_mean_without_a_count_is_one_value() -> None:
    mean = ReadSeries(name="wakeup", mean=500.0)
    series = only(mean)
    assert (series.count, series.derived) == (1, NO_COUNT)
    found = losses(made(mean))
    assert {"count", "distribution", "extremes"} <= found.keys()
    assert found["extremes"] == "The file has no minimum or maximum."


def test_a_thread_without_values_has_no_figures() -> None:
    never = replace(WHOLE, count=0, buckets=[], overflow=0)
    series = only(never)
    assert (series.count, series.min, series.mean, series.max) == (0, None, None, None)
    assert not [*contradictions(made(never, WHOLE))]


def test_what_a_file_does_not_say_is_listed_once() -> None:
    document = made(WHOLE, replace(WHOLE, labels={"cpu": 4}))
    assert document.imported is not None
    kinds = [loss.what for loss in document.imported.losses]
    assert sorted(kinds) == ["resolution", "single values"]
    assert "up to 1 us" in losses(document)["resolution"]
    empty = document_of(
        reading(version=None, started_utc=None, conditions=Conditions()), FILE, RUN_ID
    )
    found = losses(empty)
    assert found["conditions"] == (
        "The file does not say the load, the scheduling policy or the clock."
    )
    assert "which version of cyclictest" in found["version"]
    assert "its last change" in found["time"] and empty.started_utc == FILE.changed_utc
    piped = document_of(reading(started_utc=None), replace(FILE, changed_utc=None), RUN_ID)
    assert "the import" in losses(piped)["time"]


def test_a_loss_of_some_series_names_them() -> None:
    relative = replace(WHOLE, name="wakeup-relative", buckets=None, overflow=0)
    document = made(WHOLE, relative)
    assert document.imported is not None
    named = {(loss.what, loss.series) for loss in document.imported.losses}
    assert ("distribution", "wakeup_relative") in named and ("single values", "wakeup") in named
    assert ("resolution", "") in named


def test_a_wide_bucket_is_a_loss() -> None:
    wide = replace(WHOLE, buckets=[(0, 9)], bucket_width_ns=50_000, overflow=0, count=9)
    assert "50 us" in losses(made(wide))["bucket width"]


def test_an_impossible_time_is_that_of_the_file() -> None:
    for odd in ("1901-01-01T00:00:00Z", "yesterday"):
        document = made(started_utc=odd, duration_ns=10)
        assert document.started_utc == FILE.changed_utc and "time" in losses(document)
        assert document.finished_utc is None


def test_a_file_that_was_cut_off_is_interrupted() -> None:
    document = made(is_cut=True)
    assert document.status == "interrupted" and document.results[0].interrupted


@pytest.mark.parametrize(
    "wrong",
    [
        replace(WHOLE, count=11),
        replace(WHOLE, min=5000),
        replace(WHOLE, max=2500),
        replace(WHOLE, mean=1000.0),
        replace(WHOLE, mean=2100.0, overflow=0, count=9, max=3000, min=2000, buckets=[(3000, 9)]),
        replace(WHOLE, mean=2200.0, step_ns=1),  # of 6 above 2000 and 3 above 3000
        replace(WHOLE, mean=8000.0),
        replace(VALUES, count=4),
        replace(VALUES, max=9000),
    ],
)
def test_a_file_that_contradicts_itself_is_untrustworthy(wrong: ReadSeries) -> None:
    document = made(wrong)
    assert document.trust.grade == "untrustworthy"
    assert len([*contradictions(document)]) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        replace(WHOLE, max=2**63),
        replace(WHOLE, min=-(2**70)),
        replace(WHOLE, count=2**64),
        replace(WHOLE, mean=float("nan")),
        replace(WHOLE, mean=float("inf")),
        replace(WHOLE, buckets=[(2000, -1), (3000, 10)]),
        replace(WHOLE, buckets=[(3000, 1), (2000, 8)]),
        replace(WHOLE, buckets=[(2**63, 9)]),
        replace(WHOLE, labels={"cpu": "\ud800"}),
    ],
)
def test_what_no_document_can_have_is_refused(wrong: ReadSeries) -> None:
    with pytest.raises(InputError) as error:
        made(wrong)
    assert "\n" not in str(error.value)


def test_a_file_without_a_unit_takes_that_of_its_reader() -> None:
    told = [Loss(what="unit", text="The text does not state its unit.")]
    unsure = reading(WHOLE, losses=told)
    in_ns = document_of(unsure, FILE, RUN_ID, Added(unit="ns"))
    (series,) = in_ns.results[0].series
    assert (series.min, series.mean, series.max) == (2, 3.0, 9)
    assert series.histogram.layout == "linear/1/0" and series.step is msgspec.UNSET
    assert "unit" not in losses(in_ns) and "resolution" not in losses(in_ns)
    in_us = document_of(unsure, FILE, RUN_ID, Added(unit="us"))
    assert in_us.results[0].series[0].min == 2000 and "unit" not in losses(in_us)
    assert "unit" in losses(document_of(unsure, FILE, RUN_ID))
    again = document_of(reading(VALUES, losses=told), FILE, RUN_ID, Added(unit="ns"))
    (series,) = again.results[0].series
    assert (series.min, series.mean, series.max) == (1, 4, 8)
    with pytest.raises(InputError, match="has its values in"):
        document_of(reading(), FILE, RUN_ID, Added(unit="ns"))


def test_what_a_person_adds_is_in_the_run() -> None:
    added = Added(name="idle board", load="stress-ng --cpu 4")
    document = document_of(reading(conditions=Conditions()), FILE, RUN_ID, added)
    assert document.name == "idle board"
    assert document.results[0].conditions.load == "stress-ng --cpu 4" == document.plan.load
    assert "load" not in losses(document)["conditions"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.json", "a"), ("b.txt.gz", "b"), ("/x/c", "c"), (".json", ".json"), ("d\n.txt", "d?")],
)
def test_a_run_has_the_name_of_its_file(file: str, name: str) -> None:
    assert document_of(reading(), replace(FILE, name=file), RUN_ID).name == name


def test_foreign_text_is_bounded() -> None:
    unknown = {f"key {number}": "x" * 5000 for number in range(1000)}
    document = made(command="c" * 100_000, unknown=unknown)
    assert document.imported is not None and len(document.imported.unknown) == 256
    assert {len(text) for text in document.imported.unknown.values()} == {4096}
    assert document.imported.command is not None and len(document.imported.command) == 4096
