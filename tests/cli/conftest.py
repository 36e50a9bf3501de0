from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hardstone.cli.main import run
from tests.targets import sample


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
def hardstone(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs the command line in this process."""

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        code = run([str(one) for one in arguments])
        return Done(code, *capfd.readouterr())

    return call


@pytest.fixture
def target(tmp_path: Path) -> str:
    """A fake target on which every test of the register works."""
    ids = [test.id for test in sample.register().tests]
    return f"fake:{sample.scenario(tmp_path, {test: [*sample.stream(test)] for test in ids})}"
