"""What is told while a run measures: a live line, a recording that grows, steps of a search."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from hardstone.campaign.campaign import Campaign
from hardstone.campaign.collect import MeasuringFinished, RunStarted, Snapshot, Tick
from hardstone.catalogue import load_catalogue
from hardstone.cli.progress import (
    LiveReporter,
    PassiveReporter,
    PlainReporter,
    StepProgress,
    suitable,
)
from hardstone.cli.recording import LiveRecording, PlainRecording, RecordingReporter
from hardstone.event_names import LOOKED
from hardstone.memory import Memory
from hardstone.model import Event, PlannedTest, Result, Worst
from hardstone.plan.make import Request, make_plan
from hardstone.store.store import Store
from hardstone.targets.fake import FakeTarget
from hardstone.targets.host_memory import HostMemory
from tests.process.cli.recordings import SECOND_NS, TEST, lines, play
from tests.process.targets import sample
from tests.unit.stats import make
from tests.unit.stats.test_sustained import step_event


def live(tmp_path: Path, *steps: object, load: str = "none") -> str:
    target = FakeTarget(sample.scenario(tmp_path, {"SEM-P-SIG": list(steps)}))
    request = Request(tests=("SEM-P-SIG",), load=(load,))
    register, loads = target.probe_list(), target.load_list()
    plan = make_plan(request, register, load_catalogue(), known_loads=loads)
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80)
    with LiveReporter(console) as reporter:
        Campaign(target, Store(tmp_path / "store"), reporter.take).run(plan, target.facts())
    return written.getvalue()


def test_the_live_line_names_test_position_and_time_left_and_loads_in_full(tmp_path: Path) -> None:
    load = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu 1"
    text = live(tmp_path, *sample.stream("SEM-P-SIG"), load=f"none,{load}")
    assert f"…: {load}" in " ".join(text.split())
    for plain in (load, "none,heavy"):  # a load alone is in no name
        assert "…: " not in live(tmp_path, *sample.stream("SEM-P-SIG"), load=plain)
    text = live(tmp_path, *sample.stream("SEM-P-SIG"))
    assert "SEM-P-SIG  1 of 1" in text and " left" in text


def test_a_failure_stays_above_the_live_line(tmp_path: Path) -> None:
    text = live(tmp_path, {"exit": 70, "stderr": "[red]no\x1b[2J\x07"})
    assert "SEM-P-SIG failed: the probe ended with exit code 70: [red]no" in text
    assert "\x1b[2J" not in text and "\x07" not in text


@pytest.mark.parametrize(
    ("quiet", "is_screen", "terminal", "chosen"),
    [
        (True, True, "xterm", "quiet"),
        (False, False, "xterm", "plain"),
        (False, True, "dumb", "plain"),
        (False, True, "xterm", "live"),
    ],
)
def test_the_reporter_suits_standard_error(
    monkeypatch: pytest.MonkeyPatch, terminal: str, chosen: str, *, quiet: bool, is_screen: bool
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_screen)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", terminal)
    made: list[str] = []

    def named(name: str) -> Callable[..., PassiveReporter]:
        return lambda *_: made.append(name) or PassiveReporter()  # type: ignore[func-returns-value]

    suitable(named("quiet"), named("plain"), named("live"), quiet=quiet)
    assert made == [chosen]


# ---- recordings ----


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
    assert "is above 2.50 us; measurement continues" in text
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
    assert err.count("the live view is not available: copying would disturb") == 1
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

        def look(second: int = second) -> Snapshot:
            looked.append(second)
            return Snapshot(None, cost_ns, "nothing is recorded yet")

        reporter.take(Tick(sample.planned(), second * SECOND_NS + late_ns, look))
    assert looked == seconds


def test_a_breach_is_told_again_only_if_it_has_grown(capfd: pytest.CaptureFixture[str]) -> None:
    reporter = watching()
    found = [recorded(worst_ns) for worst_ns in (2000, 3000, 3000, 4000, 4000)]
    for second, result in enumerate(found, 1):
        tick = Tick(sample.planned(), second * SECOND_NS, lambda result=result: Snapshot(result, 0))
        reporter.take(tick)
    reporter.take(MeasuringFinished(sample.planned(), 1, 1, found[-1]))
    told = capfd.readouterr().err.splitlines()
    assert [line.split(" is above")[0].removeprefix("hardstone: ") for line in told] == [
        "3 us, 5 s after the start",
        "4 us, 5 s after the start",
    ]


def test_the_rate_is_that_since_the_look_before(capfd: pytest.CaptureFixture[str]) -> None:
    reporter = watching(PlainRecording)
    for second, count in ((1, 500), (11, 2500), (21, 3500)):
        result = recorded(2000, count)
        reporter.take(
            Tick(sample.planned(), second * SECOND_NS, lambda result=result: Snapshot(result, 0))
        )
    told = [line.split(", worst")[0] for line in capfd.readouterr().err.splitlines()]
    assert told == [
        "hardstone: 1 s: 500 wake-ups",
        "hardstone: 11 s: 2500 wake-ups, 200 per s",
        "hardstone: 21 s: 3500 wake-ups, 100 per s",
    ]


# ---- steps of a search ----


class Told:
    """What is told at ticks of a search that has done `events` by then."""

    def __init__(self, seconds: int = 3600, test: str = "IRQ-S-SUS") -> None:
        plan = make_plan(Request(tests=(test,)), sample.register(), load_catalogue())
        self.planned: PlannedTest = msgspec.structs.replace(
            plan.tests[0], expected_ns=seconds * SECOND_NS
        )
        self.steps = StepProgress()
        self.look_count = 0
        self.events: list[Event] = []
        self.cost_ns = 0

    def look(self) -> Snapshot:
        self.look_count += 1
        return Snapshot(make.result("IRQ-S-SUS", events=self.events), self.cost_ns)

    def at(self, second: int) -> list[str]:
        return self.steps.lines(Tick(self.planned, second * SECOND_NS, self.look))


def test_each_step_is_told_once() -> None:
    told = Told()
    assert told.at(1) == []
    told.events = [step_event(1000, lost=4), step_event(2000)]
    first, second = told.at(20)
    assert "1 us" in first and "left" not in first
    assert "2 us" in second and "left" in second
    assert told.at(40) == []
    told.events.append(step_event(1400))
    assert len(told.at(60)) == 1


@pytest.mark.parametrize(("cost_ns", "seconds", "most"), [(0, 100, 11), (SECOND_NS, 300, 3)])
def test_nobody_looks_at_each_tick(cost_ns: int, seconds: int, most: int) -> None:
    told = Told()
    told.cost_ns = cost_ns
    for second in range(seconds):
        told.at(second)
    assert told.look_count <= most


def test_a_short_search_and_another_test_are_left_alone() -> None:
    for told in (Told(seconds=5), Told(test="TMR-P-LAT")):
        told.events = [step_event(1000)]
        assert told.at(100) == [] and told.look_count == 0


def test_the_next_measurement_begins_anew() -> None:
    told = Told()
    told.events = [step_event(1000), step_event(2000)]
    assert len(told.at(50)) == 2
    told.events = [step_event(1000)]
    assert len(told.at(1)) == 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("local", "1 test, about 2 s"),
        ("lab:debian,deterministic", "1 test, about 2 s of guest time, which takes longer"),
    ],
)
def test_an_estimate_in_time_of_a_guest_says_so(target: str, said: str) -> None:
    plan = make_plan(Request(tests=(TEST,)), sample.register(), load_catalogue())
    one = msgspec.structs.replace(plan.tests[0], expected_ns=2 * SECOND_NS)
    shown = msgspec.structs.replace(plan, tests=[one], target=target)
    assert PlainReporter().start_text(shown) == said
