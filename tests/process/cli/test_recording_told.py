"""What is told of a recording while it grows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hardstone.campaign import Campaign, Look, MeasuringFinished, RunStarted, Tick
from hardstone.catalogue import load_catalogue
from hardstone.cli.recording_told import LiveRecording, PlainRecording, RecordingReporter
from hardstone.event_names import LOOKED
from hardstone.memory import Memory
from hardstone.model import Result, Worst
from hardstone.plan import Request, make_plan
from hardstone.store import Store
from hardstone.targets.fake import FakeTarget
from hardstone.targets.host_memory import HostMemory
from tests.process.cli.recordings import SECOND_NS, TEST, lines, play
from tests.process.targets import sample
from tests.unit.stats import make


class Recorded(FakeTarget):
    """Leaves a recording, as a probe does while it measures."""

    def run(self, planned, options, backing, stop, on_idle=lambda: None):  # type: ignore[no-untyped-def]
        Path(backing).write_bytes(b"recorded")
        yield from super().run(planned, options, backing, stop, on_idle)


class Guarded(Recorded):
    """A copy of whose memory would disturb."""

    def memory(self, run_id: str, journal: Path) -> Memory:
        return NoCopy(run_id, journal)


class NoCopy(HostMemory):
    def copy(self, path: str) -> None:
        return None


def viewed(folder: Path, reporter: Any, kind: type[FakeTarget] = Recorded, **dump: Any) -> Any:
    """The outcome of a recording of 2.5 seconds."""
    steps = [{"delay_s": 2.5}, *lines()]
    path = play(folder, steps, real_time=True, dump=lines(is_cut=True, **dump))
    target = kind(Path(path.removeprefix("fake:")))
    request = Request(tests=(TEST,), duration="10m", watched="2500ns")
    plan = make_plan(request, target.probe_list(), load_catalogue())
    with reporter as telling:
        return Campaign(target, Store(folder / "store"), telling.take).run(plan, target.facts())


def test_the_live_view_shows_the_distribution(tmp_path: Path) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    values = (900, *[1500] * 90, 12_000)
    outcome = viewed(tmp_path, LiveRecording(None, console), values=values)
    text = written.getvalue()
    for said in ("elapsed", "left", "wake-ups", "12 us", "1 us", "10 us", "\N{FULL BLOCK}"):
        assert said in text, said
    assert max(len(line) for line in text.splitlines() if "\x1b" not in line) <= 80
    assert "is above 2.50 us; measuring goes on" in text
    (event,) = [one for one in outcome.document.results[0].events if one.name == LOOKED]
    assert int(event.data["looks_count"]) >= 1 and int(event.data["cost_ns"]) > 0


def test_on_a_pipe_a_line_says_how_far_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    viewed(tmp_path, PlainRecording(None))
    err = capfd.readouterr().err
    assert "3 wake-ups, worst 3 us at 5 s" in err
    assert err.count("wake-ups") == 1  # the next line would come ten seconds later


def test_where_a_copy_would_disturb_there_is_no_view(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = viewed(tmp_path, PlainRecording(None), Guarded)
    err = capfd.readouterr().err
    assert err.count("there is no view of the recording: a copy would disturb") == 1
    assert outcome.document.results[0].series[0].count == 3
    assert "is above 2.50 us" in err  # of the result


def watching(kind: type[RecordingReporter] = RecordingReporter) -> RecordingReporter:
    """A reporter of a run that has begun, with a threshold at which measuring goes on."""
    reporter = kind(None)
    request = Request(tests=(TEST,), watched="2500ns")
    plan = make_plan(request, sample.register(), load_catalogue())
    reporter.take(RunStarted("run", plan))
    return reporter


def recorded(worst_ns: int, count: int = 1) -> Result:
    series = make.series([1000] * (count - 1) + [worst_ns])
    series.worst = [Worst(value_ns=worst_ns, at_ns=5 * SECOND_NS, index=count - 1)]
    return make.result(series=[series])


@pytest.mark.parametrize(
    ("kind", "cost_ns", "seconds"),
    [
        (RecordingReporter, 0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        (RecordingReporter, 33_000_000, [1, 4, 7, 10]),  # 3.3 s: the tick nearest to it
        (PlainRecording, 33_000_000, [1, 11]),
    ],
)
def test_looking_takes_a_hundredth_of_a_cpu(
    kind: type[RecordingReporter], cost_ns: int, seconds: list[int]
) -> None:
    reporter = watching(kind)
    looked = []
    for second in range(1, 13):
        late_ns = second * 10_000_000  # a tick is late, and each by more than the one before

        def look(second: int = second) -> Look:
            looked.append(second)
            return Look(None, cost_ns, "nothing is recorded yet")

        reporter.take(Tick(sample.planned(), second * SECOND_NS + late_ns, look))
    assert looked == seconds


def test_a_breach_is_told_again_only_if_it_has_grown(capfd: pytest.CaptureFixture[str]) -> None:
    reporter = watching()
    found = [recorded(worst_ns) for worst_ns in (2000, 3000, 3000, 4000, 4000)]
    for second, result in enumerate(found, 1):
        tick = Tick(sample.planned(), second * SECOND_NS, lambda result=result: Look(result, 0))
        reporter.take(tick)
    reporter.take(MeasuringFinished(sample.planned(), 1, 1, found[-1]))
    told = capfd.readouterr().err.splitlines()
    assert [line.split(" is above")[0].removeprefix("hardstone: ") for line in told] == [
        "3 us, 5 s after the begin",
        "4 us, 5 s after the begin",
    ]


def test_the_rate_is_that_since_the_look_before(capfd: pytest.CaptureFixture[str]) -> None:
    reporter = watching(PlainRecording)
    for second, count in ((1, 500), (11, 2500), (21, 3500)):
        result = recorded(2000, count)
        reporter.take(
            Tick(sample.planned(), second * SECOND_NS, lambda result=result: Look(result, 0))
        )
    told = [line.split(", worst")[0] for line in capfd.readouterr().err.splitlines()]
    assert told == [
        "hardstone: 1 s: 500 wake-ups",
        "hardstone: 11 s: 2500 wake-ups, 200 per s",
        "hardstone: 21 s: 3500 wake-ups, 100 per s",
    ]
