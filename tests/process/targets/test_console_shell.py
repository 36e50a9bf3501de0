"""The real probe behind a terminal and a shell: Linux as the board."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hardstone.model import PlannedTest
from hardstone.stream import StreamReader
from hardstone.targets.base import RunOptions, Stop
from hardstone.targets.console.address import ConsoleSettings, parse_console
from hardstone.targets.console.console_target import ConsoleTarget, ConsoleTransport
from hardstone.targets.console.line import DescriptorLine, Line
from hardstone.targets.local import local_target
from hardstone.targets.transport import Limits
from tests import machine
from tests.process.targets import sample
from tests.waiting import LONGEST_S

OPTIONS = RunOptions(cpu=machine.cpu(), policy="other", clock="monotonic")


@pytest.fixture
def console(probe: Path) -> Iterator[ConsoleTarget]:
    """A target behind the terminal of a shell whose prompt is "board> "."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        ["sh", "-i"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"PS1": "board> ", "PATH": os.environ["PATH"]},
        start_new_session=True,
    )
    os.close(slave)
    os.set_blocking(master, False)

    def opener(settings: ConsoleSettings) -> Line:
        return DescriptorLine(master, settings.name, None, lambda: None)

    settings = parse_console(f"console:pty:/dev/pts/0,program={probe}")
    try:
        with closing(ConsoleTarget(ConsoleTransport(settings, opener))) as found:
            yield found
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def streamed(
    target: ConsoleTarget, planned: PlannedTest, stop: Stop, *, is_stopped: bool = False
) -> StreamReader:
    reader = StreamReader(planned.test)

    def on_idle(said: str = "") -> None:
        if is_stopped:
            stop.set()

    for line in target.run(planned, OPTIONS, "/nowhere/1.rec", stop, on_idle):
        reader.feed(line)
    return reader


@pytest.mark.slow
def test_the_real_probe_answers_behind_a_shell_as_it_does_here(
    console: ConsoleTarget, probe: Path
) -> None:
    """Also a register of 70 KB, which is more than the buffer of a terminal."""
    here = local_target(probe, limits=Limits(LONGEST_S))
    console.open()
    assert console.probe_list() == here.probe_list()
    assert console.load_list() == here.load_list()
    assert console.shield_look() is not None
    assert (
        console.facts(with_counter=False).facts.keys()
        == here.facts(with_counter=False).facts.keys()
    )


@pytest.mark.slow
def test_a_test_is_measured_behind_a_shell(console: ConsoleTarget) -> None:
    console.open()
    planned = sample.planned("TMR-P-LAT", samples=20, duration_ns=0)
    result = streamed(console, planned, Stop()).finish()
    assert result.complete and result.series[0].count == 20


@pytest.mark.slow
def test_a_test_behind_a_shell_ends_early_on_request(console: ConsoleTarget) -> None:
    console.open()
    planned = sample.planned("TMR-P-LAT", duration_ns=100_000_000_000, deadline_ns=200_000_000_000)
    result = streamed(console, planned, Stop(), is_stopped=True).finish()
    assert result.complete and result.interrupted
