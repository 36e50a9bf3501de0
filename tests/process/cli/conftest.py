from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hardstone.calling import stay_in
from hardstone.cli.main import run
from hardstone.targets.probe_target import ProbeTarget
from hardstone.targets.transport import Transport
from tests.process.targets import sample


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def told(self) -> list[str]:
        """The messages, without the lines that are to be typed."""
        return [line for line in self.err.splitlines() if not line.startswith("    ")]

    @property
    def typed(self) -> list[str]:
        """What the messages say is to be typed."""
        return [line.strip() for line in self.err.splitlines() if line.startswith("    ")]

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def hardstone(capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Done]]:
    """Runs the command line in this process."""

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        stay_in(None)  # as in a new process
        code = run([str(one) for one in arguments])
        return Done(code, *capfd.readouterr())

    yield call
    stay_in(None)  # tests of commands to type come after it


@pytest.fixture
def target(tmp_path: Path) -> str:
    """A fake target on which every test of the register works."""
    ids = [test.id for test in sample.register().tests]
    return f"fake:{sample.scenario(tmp_path, {test: [*sample.stream(test)] for test in ids})}"


Lab = Callable[..., None]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Puts `make(name)` in place of the lab: a transport for what follows `lab:`."""

    def install(make: Callable[[str], Transport]) -> None:
        module = ModuleType("hardstone.targets.lab")
        module.lab_transport = make  # type: ignore[attr-defined]
        module.lab_target = lambda rest: ProbeTarget(make(rest))  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return install
