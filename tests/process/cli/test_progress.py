"""Reporters: a live line on a terminal, nothing that a target says gets through as is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from hardstone.campaign import Campaign, CampaignEvent, Warned
from hardstone.catalogue import load_catalogue
from hardstone.cli.progress import LiveReporter, Unopened, suitable
from hardstone.plan import Request, make_plan
from hardstone.store import Store
from hardstone.targets.fake import FakeTarget
from tests.process.targets import sample


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


def test_the_live_line_names_test_position_and_time_left(tmp_path: Path) -> None:
    text = live(tmp_path, *sample.stream("SEM-P-SIG"))
    assert "SEM-P-SIG  1 of 1" in text
    assert " left" in text


def test_loads_that_are_cut_in_the_live_line_are_told_in_full(tmp_path: Path) -> None:
    load = "stress-ng:--matrix 2 --vm 3 --vm-bytes 1G --cpu 1"
    text = live(tmp_path, *sample.stream("SEM-P-SIG"), load=f"none,{load}")
    assert f"…: {load}" in " ".join(text.split())
    for plain in (load, "none,heavy"):  # a load alone is in no name
        assert "…: " not in live(tmp_path, *sample.stream("SEM-P-SIG"), load=plain)


def test_a_failure_stays_above_the_live_line(tmp_path: Path) -> None:
    text = live(tmp_path, {"exit": 70, "stderr": "[red]no\x1b[2J\x07"})
    assert "SEM-P-SIG failed: the probe ended with exit code 70: [red]no" in text
    assert "\x1b[2J" not in text and "\x07" not in text


class Screen(io.StringIO):
    """Standard error on a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("quiet", "stream", "terminal", "chosen"),
    [
        (True, Screen, "xterm", "quiet"),
        (False, io.StringIO, "xterm", "plain"),
        (False, Screen, "dumb", "plain"),
        (False, Screen, "xterm", "live"),
    ],
)
def test_the_reporter_suits_standard_error(
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    terminal: str,
    chosen: str,
    *,
    quiet: bool,
) -> None:
    monkeypatch.setattr("sys.stderr", stream())
    monkeypatch.setenv("TERM", terminal)
    taken: list[str] = []

    class Named(Unopened):
        def __init__(self, name: str) -> None:
            self._name = name

        def take(self, event: CampaignEvent) -> None:
            taken.append(self._name)

    one = suitable(
        lambda: Named("quiet"), lambda: Named("plain"), lambda console: Named("live"), quiet=quiet
    )
    one.take(Warned("a word"))
    assert taken == [chosen]
