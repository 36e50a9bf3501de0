"""Interrupts on this machine: each one sent is accounted for, and the kernel has counted it; what
was sent, counted and compared under a flood, and in a search, is what the series hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from hardstone.stats.sustained import Step, bracket_of, steps_of
from tests import machine
from tests.running import Stream, above, children, has_ended, measuring, run
from tests.waiting import wait_until

realtime = machine.needs(machine.no_realtime())
FATES = ("seen", "in_other", "ambiguous", "not_seen", "not_watched")
MANY = 20_000


def events(stream: Stream, name: str) -> dict[str, StreamEvent]:
    """The events of that name, by source."""
    return {str(one.data["source"]): one for one in stream.told(name)}


def by_source(stream: Stream, series: str) -> dict[str, StreamSeries]:
    return {str(one.labels["source"]): one for one in stream.named(series)}


def measured(probe: Path, test: str, *options: str) -> Stream:
    stream = run(probe, test, *options)
    assert stream.result.status == "measured", stream.result.reason
    return stream


@pytest.fixture
def rate(quick: list[str]) -> list[str]:
    """Of the counter; the CPU stays the probe's choice."""
    return quick[:2]


@pytest.fixture
def two_cpus() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a second CPU")


@pytest.mark.parametrize(
    ("test", "series", "many"),
    [("IRQ-P-LAT", "delivery", MANY), ("IRQ-P-DLT", "service", MANY // 10)],
)
def test_each_of_20000_interrupts_is_accounted_for(
    probe: Path, two_cpus: None, rate: list[str], test: str, series: str, many: int
) -> None:
    stream = measured(probe, test, "--samples", str(many), *rate)
    accounted, values = events(stream, "interrupts_accounted"), by_source(stream, series)
    for source in ("ipi", "timer"):
        data = accounted[source].data
        assert data["sent_count"] >= many
        assert sum(data[f"{fate}_count"] for fate in FATES) == data["sent_count"]
        assert values[source].count == data["seen_count"] == many
        assert data["refused_count"] == 0
    counted = events(stream, "interrupts_counted")
    for source in ("ipi", "timer"):
        data = counted[source].data
        assert data["sent_count"] >= many
        # one that is sent while another's call waits for that CPU is served with it
        assert data["kernel_count"] >= 0.99 * data["sent_count"]


def test_a_thread_is_woken_by_interrupts(probe: Path, two_cpus: None, rate: list[str]) -> None:
    stream = measured(probe, "IRQ-P-TLT", "--samples", "2000", *rate)
    values = by_source(stream, "send_to_thread")
    assert {source: one.count for source, one in values.items()} == {"ipi": 2000, "timer": 2000}
    for source, event in events(stream, "interrupts_counted").items():
        assert event.data["kernel_count"] >= 0.99 * event.data["sent_count"], source


def test_the_portable_clock_is_enough(probe: Path, two_cpus: None) -> None:
    stream = measured(probe, "IRQ-P-LAT", "--samples", "500", "--clock", "monotonic")
    assert {one.count for one in stream.of(StreamSeries)} == {500}


# ---- IRQ-S-SUS: a search ----

SUS = "IRQ-S-SUS"
FEW = ("-p", "interrupts=500", "-p", "period_min_ns=20us", "-p", "period_max_ns=80us")


def steps(stream: Stream) -> list[Step]:
    return steps_of([stream.read_by_the_toolkit()[0]])


@realtime
@pytest.mark.parametrize("test", ["IRQ-P-LAT", "IRQ-P-TLT", "IRQ-S-SUS"])
def test_a_test_and_its_load_do_not_share_a_device(probe: Path, test: str) -> None:
    words = ("-p", "uio=7", "--load", "interrupt=5/s@/dev/uio7", "--samples", "200")
    stream = run(probe, test, *words, "-p", "source=timer").checked()
    assert stream.result.status == "unsupported"
    assert stream.result.reason == "the test and its load are both to use UIO device 7"
    assert stream.result.remedy
    other = run(probe, test, *words[:3], "interrupt=5/s@/dev/uio8", *words[4:]).checked()
    assert "both to use" not in (other.result.reason or "")


def test_a_search_holds_together(probe: Path, two_cpus: None, quick: list[str]) -> None:
    """Each interrupt has one fate, each period its loss; the shortest that passed is the figure."""
    searched = measured(probe, SUS, *FEW, *quick)
    tried = [one.data for one in searched.told("sustained_step")]
    assert {data["source"] for data in tried} >= {"timer"}
    for data in tried:
        fates = [data[f"{name}_count"] for name in ("seen", "lost", "merged", "unwatched")]
        assert sum(map(int, fates)) == data["interrupts_count"] == 500  # type: ignore[arg-type]
        assert not data["passed"] or data["lost_count"] == 0
    lost = searched.named("loss")
    losses = {(one.labels["source"], one.labels["period_ns"]): one for one in lost}
    found = steps(searched)
    assert set(losses) == {(one.source, one.period_ns) for one in found}
    for one in found:
        loss = losses[one.source, one.period_ns]
        assert (loss.count, loss.min, loss.max) == (1, one.lost, one.lost)
    for source, series in by_source(searched, "minimal_period").items():
        bracket = bracket_of(found, source)
        assert series.min == (bracket.passed_ns or None)
        assert series.count == (1 if bracket.passed_ns else 0)


def test_a_search_goes_on_from_what_is_known(probe: Path, two_cpus: None, quick: list[str]) -> None:
    """Two periods that differ by less than 2 %: nothing is tried, and the figure is there."""
    bounds = ("passed_ns=50500,30us", "failed_ns=50us,0", "source_failed_ns=0,29900")
    known = ("-p", "source=timer,ipi", *(word for one in bounds for word in ("-p", one)))
    stream = run(probe, SUS, *FEW, *known, *quick)
    assert steps(stream) == []
    found = {source: one.min for source, one in by_source(stream, "minimal_period").items()}
    assert found == {"timer": 50_500, "ipi": 30_000}
    why = {source: one.data["why"] for source, one in events(stream, "sustained_limit").items()}
    assert why == {"timer": "lost", "ipi": "source"}


# ---- IRQ-P-TRK: under a flood ----

TRK = "IRQ-P-TRK"
BLOCK = 250
LATE_NS = 2_000_000


def by_flood(stream: Stream, name: str) -> dict[str, StreamSeries]:
    return {str(one.labels["flood"]): one for one in stream.named(name)}


def told(stream: Stream, event: str) -> dict[str, dict[str, object]]:
    """Data of each event of that name, by flood."""
    return {str(one.data["flood"]): dict(one.data) for one in stream.told(event)}


@realtime
def test_every_value_under_a_flood_has_its_difference(probe: Path, quick: list[str]) -> None:
    stream = measured(probe, TRK, "--samples", "300", *quick)
    rates, latencies = told(stream, "flood_rate"), by_flood(stream, "latency")
    assert {"packets", "timers"} <= set(rates)
    assert all(rate["done_count"] for rate in rates.values())
    for flood in rates:
        latency, added = latencies[flood], by_flood(stream, "added")[flood]
        assert latency.count == added.count == 300
        baseline = told(stream, "added_baseline")[flood]
        assert baseline["value_count"] == 300
        assert added.min is not None and added.max is not None and latency.max is not None
        least, most = baseline["least_median_ns"], baseline["most_median_ns"]
        assert isinstance(least, int) and isinstance(most, int)
        effects = [int(str(baseline[f"{name}effect_ns"])) for name in ("least_", "", "most_")]
        assert effects == sorted(effects)
        assert added.min == 0 or baseline["below_count"] == 0
        assert latency.max - most <= added.max <= latency.max - least
    # two blocks under each flood, and one without it around and between them
    assert latencies["none"].count == 3 * BLOCK * len(rates)


@realtime
def test_a_flood_that_cannot_run_gives_no_figures(
    probe: Path, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/dev/shm")
    stream = run(probe, TRK, "-p", "flood=disk,timers", "--samples", "20", *quick)
    assert "not on a disk" in str(told(stream, "flood_not_run")["disk"]["reason"])
    assert not any(by_flood(stream, name)["disk"].count for name in ("latency", "added"))
    assert by_flood(stream, "added")["timers"].count == 20
    alone = run(probe, TRK, "-p", "flood=disk", "--samples", "20", *quick)
    assert (alone.result.status, alone.sample_count) == ("unsupported", 0)


@realtime
def test_lateness_under_a_flood_is_found_under_that_flood(broken: Callable[..., Stream]) -> None:
    """Sleeps that end 2 ms late while packets are sent are added by packets, by nothing else."""
    words = ("-p", "flood=packets,timers", "--samples", "500")
    stream = broken("flooded_late", TRK, *words)
    late = {
        flood: above(series, LATE_NS * 9 // 10) / series.count
        for flood, series in by_flood(stream, "added").items()
    }
    without = by_flood(stream, "latency")["none"]
    assert late["packets"] > 3 * late["timers"]
    assert late["packets"] > 3 * above(without, LATE_NS) / without.count


@realtime
def test_the_flood_is_ordinary_and_dies_with_the_probe(probe: Path, quick: list[str]) -> None:
    words = ("-p", "flood=packets", "--samples", "1000000", *quick)
    with measuring(probe, TRK, *words) as running:
        (child,) = wait_until(lambda: children(running.pid))
        wait_until(lambda: os.sched_getscheduler(child) == os.SCHED_OTHER)
        assert os.sched_getaffinity(child) == {machine.cpu()}
        running.process.kill()
    wait_until(lambda: has_ended(child))
