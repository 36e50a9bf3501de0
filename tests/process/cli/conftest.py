from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hardstone.calling import stay_in
from hardstone.cli.main import run
from hardstone.schema import FOLDER, file_name
from hardstone.targets.base import Target
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


Hardstone = Callable[..., Done]


@pytest.fixture
def hardstone(capfd: pytest.CaptureFixture[str]) -> Iterator[Hardstone]:
    """Runs the command line in this process."""

    def call(*arguments: object) -> Done:
        capfd.readouterr()
        stay_in(None)  # as in a new process
        code = run([str(one) for one in arguments])
        return Done(code, *capfd.readouterr())

    yield call
    stay_in(None)  # tests of commands to type come after it


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A fake target on which every test of the register works."""
    tests = {test.id: [*sample.stream(test.id)] for test in sample.register().tests}
    return f"fake:{sample.scenario(tmp_path_factory.mktemp('target'), tests)}"


def facts_with(changed: Mapping[str, Any]) -> dict[str, Any]:
    """The document of facts of the sample machine, with other ones."""
    document: dict[str, Any] = json.loads((sample.GOLDEN / "facts.json").read_text())
    return {**document, "facts": document["facts"] | changed}


Lab = Callable[..., None]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Puts something else in place of the lab: `make(name)` is the transport for what follows
    `lab:`, or `target(name)` the target."""

    def install(
        make: Callable[[str], Transport] | None = None,
        *,
        target: Callable[[str], Target] | None = None,
    ) -> None:
        module = ModuleType("hardstone.targets.lab")
        module.lab_transport = make  # type: ignore[attr-defined]
        module.lab_target = target or (lambda rest: ProbeTarget(make(rest)))  # type: ignore
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return install


def validate(document: Any) -> None:
    """A document that a command prints is as its schema says."""
    contract = json.loads((FOLDER / file_name(document["schema"])).read_text())
    Draft202012Validator(contract).validate(document)
