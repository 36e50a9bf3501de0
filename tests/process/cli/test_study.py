"""`hardstone study`: the parts of each paper on made-up targets, cut off, resumed and laid out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import (
    EXIT_OK,
)
from hardstone.store.store import Store
from hardstone.study.papers import load_papers
from hardstone.study.procedure import measured_tests
from tests import sweeps
from tests.process.cli.conftest import Done
from tests.process.targets import sample

Hardstone = Callable[..., Done]
PAPERS = list(load_papers())
SHORT = "latstat-2007"  # one part
THREE = "dedicated-systems-2012"


def fake(folder: Path, tests: dict[str, list[str]] | None = None, **changed: Any) -> str:
    """A fake target on which every test works: a root's machine of two CPUs."""
    folder.mkdir(exist_ok=True)
    facts = json.loads((sample.GOLDEN / "facts.json").read_text())
    facts["facts"] |= sweeps.facts(**{"user.effective_id": 0, "tracing.tracer": "nop"})
    facts["facts"] |= changed.pop("facts", {})
    works = {one.id: sample.stream(one.id) for one in sample.register().tests}
    sweep = [
        {"test": "SIM-S-RT", "params": {"masses": "..900"}, "steps": sweeps.held()},
        {"test": "SIM-S-RT", "params": {"masses": "901.."}, "steps": sweeps.missing()},
        {
            "test": "SIM-P-RF",
            "params": {"masses": "1.."},
            "steps": sweeps.stream(None, "SIM-P-RF", 7),
        },
    ]
    fields = {"facts": facts, "shield": sample.shield_look(), "under": sweep} | changed
    return f"fake:{sample.scenario(folder, works | (tests or {}), **fields)}"


@pytest.fixture
def target(tmp_path: Path) -> str:
    return fake(tmp_path / "target")


def stored() -> list[tuple[str, str]]:
    """Name and status of the stored runs, in the order of measuring."""
    return [(one.name, one.status) for one in Store().runs()]


@pytest.mark.parametrize("name", PAPERS)
def test_a_whole_study(hardstone: Hardstone, target: str, name: str) -> None:
    done = hardstone("study", name, "--quick", "--target", target)
    assert done.code == EXIT_OK, done.err
    count = len(stored())
    assert sorted(stored()) == [
        (f"study {name} quick {number}/{count}", "complete") for number in range(1, count + 1)
    ]
    tests = {one.test for run in Store().runs() for one in Store().load(run.id).plan.tests}
    assert tests >= set(measured_tests(name))
    parts = [one for one in done.told if one.startswith("hardstone: part ")]
    assert parts[0].startswith(f"hardstone: part 1 of {count}: ") and parts[0].endswith(
        "left in all"
    )
    assert len(parts) == count
    (told,) = (one for one in done.told if "stored: " in one)
    assert all(run.id in told for run in Store().runs())
    for exhibit in load_papers()[name].exhibits:
        assert exhibit.number.partition(" ")[2] in done.out
