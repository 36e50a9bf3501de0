"""IRQ-S-SUS: each interrupt has one fate, and no ending costs a finished step."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from hardstone.model import StreamEvent, StreamSeries
from hardstone.stats.sustained import Step, bracket_of, steps_of
from tests import machine
from tests.running import Stream, measuring, run

SUS = "IRQ-S-SUS"
WAIT_S = 60

pytestmark = [
    pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime())),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU"),
]

FEW = ("-p", "interrupts=500", "-p", "period_min_ns=20us", "-p", "period_max_ns=80us")


@pytest.fixture
def backing() -> Iterator[Path]:
    path = Path("/dev/shm") / f"hardstone-test-{uuid.uuid4().hex}"
    yield path
    path.unlink(missing_ok=True)


def told(stream: Stream, name: str) -> list[StreamEvent]:
    return [one for one in stream.of(StreamEvent) if one.name == name]


def steps(stream: Stream) -> list[Step]:
    return steps_of([stream.read_by_the_toolkit()[0]])


def test_each_interrupt_has_one_fate(probe: Path, quick: list[str]) -> None:
    stream = run(probe, SUS, *FEW, *quick)
    assert stream.result.status == "measured"
    found = told(stream, "sustained_step")
    assert {one.data["source"] for one in found} >= {"timer"}
    for one in found:
        data = one.data
        fates = [data[f"{name}_count"] for name in ("seen", "lost", "merged", "unwatched")]
        assert sum(map(int, fates)) == data["interrupts_count"] == 500  # type: ignore[arg-type]
        assert not data["passed"] or data["lost_count"] == 0


def test_each_period_tried_has_its_loss(probe: Path, quick: list[str]) -> None:
    stream = run(probe, SUS, *FEW, *quick)
    losses = {
        (one.labels["source"], one.labels["period_ns"]): one
        for one in stream.of(StreamSeries)
        if one.name == "loss"
    }
    found = steps(stream)
    assert set(losses) == {(one.source, one.period_ns) for one in found}
    for one in found:
        loss = losses[one.source, one.period_ns]
        assert (loss.count, loss.min, loss.max) == (1, one.lost, one.lost)


def test_the_figure_is_the_shortest_period_that_passed(probe: Path, quick: list[str]) -> None:
    stream = run(probe, SUS, *FEW, *quick)
    found = steps(stream)
    for series in stream.of(StreamSeries):
        if series.name != "minimal_period":
            continue
        bracket = bracket_of(found, str(series.labels["source"]))
        assert series.min == (bracket.passed_ns or None)
        assert series.count == (1 if bracket.passed_ns else 0)


def test_a_search_goes_on_from_what_is_known(probe: Path, quick: list[str]) -> None:
    """Two periods that differ by less than 2 %: nothing is tried, and the figure is there."""
    bounds = ("passed_ns=50500,30us", "failed_ns=50us,0", "source_failed_ns=0,29900")
    known = ("-p", "source=timer,ipi", *(word for one in bounds for word in ("-p", one)))
    stream = run(probe, SUS, *FEW, *known, *quick)
    assert steps(stream) == []
    found = {
        one.labels["source"]: one.min
        for one in stream.of(StreamSeries)
        if one.name == "minimal_period"
    }
    assert found == {"timer": 50_500, "ipi": 30_000}
    why = {one.data["source"]: one.data["why"] for one in told(stream, "sustained_limit")}
    assert why == {"timer": "lost", "ipi": "source"}


def dump(probe: Path, path: Path) -> Stream:
    words = [str(probe), "dump", str(path), "--json"]
    done = subprocess.run(words, capture_output=True, check=False, timeout=WAIT_S)
    return Stream(SUS, done.returncode, done.stdout)


CUT = ("-p", "source=ipi,timer", "-p", "passed_ns=100us", "-p", "failed_ns=99900")
THEN = ("-p", "interrupts=1000000000")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_finished_search_is_kept_whatever_ends_the_next(
    probe: Path, quick: list[str], backing: Path, number: signal.Signals
) -> None:
    """That of `ipi` is over at once; that of `timer` is cut within a step, which is none then."""
    words = (*CUT, *THEN, "--backing", str(backing), *quick)
    with measuring(probe, SUS, *words) as running:
        give_up_s = time.monotonic() + WAIT_S
        while not (backing.exists() and told(dump(probe, backing), "sustained_limit")):
            assert time.monotonic() < give_up_s
            time.sleep(0.1)
        running.process.send_signal(number)
        sent = running.rest()
    stream = dump(probe, backing) if number == signal.SIGKILL else sent
    result, problem = stream.read_by_the_toolkit()
    assert problem is None and result.interrupted
    assert [one.data["source"] for one in told(stream, "sustained_limit")] == ["ipi"]
    (period,) = [one for one in stream.of(StreamSeries) if one.count and one.name != "loss"]
    assert period.labels == {"source": "ipi"} and period.min == 100_000
