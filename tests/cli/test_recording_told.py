"""What is told of a recording while it grows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hardstone.campaign import Campaign
from hardstone.catalogue import load_catalogue
from hardstone.cli.recording_told import LiveRecording, PlainRecording
from hardstone.event_names import LOOKED
from hardstone.memory import Memory
from hardstone.plan import Request, make_plan
from hardstone.store import Store
from hardstone.targets.fake import FakeTarget
from hardstone.targets.host_memory import HostMemory
from tests.cli.recordings import TEST, lines, play


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
