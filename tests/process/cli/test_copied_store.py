"""A store that is copied while a run goes on: a command on the copy does not disturb the run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import EXIT_OK
from hardstone.store.store import Store
from tests.process.cli.conftest import Done, Lab
from tests.process.cli.forked import Forked, at_run
from tests.process.targets import sample

TESTS = ("SEM-P-SIG", "SEM-P-RTP")


def test_the_run_finishes_with_all_its_results(
    hardstone: Callable[..., Done], lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(memory))
    store, copy = tmp_path / "store", tmp_path / "copy"
    seen: list[str] = []

    def list_a_copy() -> None:
        before = {path: path.stat().st_ino for path in memory.rglob("*")}
        shutil.copytree(store, copy)
        with Forked("runs", "--store", copy) as tool:
            assert tool.wait() == EXIT_OK
            seen.extend([tool.out, tool.err])
        assert before == {path: path.stat().st_ino for path in memory.rglob("*")} != {}

    streams: dict[str, list[Any]] = {test: [*sample.stream(test)] for test in TESTS}
    target = at_run(lab, f"fake:{sample.scenario(tmp_path, streams)}", 2, list_a_copy)
    done = hardstone("run", *TESTS, "--target", target, "--store", store)
    assert done.code == EXIT_OK, done.err
    (run,) = Store(store).runs()
    assert (run.status, run.tests) == ("complete", 2)
    assert list(memory.iterdir()) == []
    out, said = seen
    assert "incomplete" in out and run.id in out
    assert f"the journal of run {run.id} in {copy} is a copy" in said
    assert f"it is still recorded in {store}" in said
    assert [one.test for one in Store(copy).load(run.id).results] == list(TESTS)
