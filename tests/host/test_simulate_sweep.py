"""A small sweep with the real probe: points, steps and blocks are as many as were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardstone.cli import simulating
from hardstone.cli.simulate import command
from hardstone.model import Result
from hardstone.plan.sweep_results import masses_of, missed_of, single
from hardstone.store import Store

WORDS = ("--threads", "1,2", "--masses", "400,404", "-D", "50ms", "--blocks", "2", "--no-fast")


def event(result: Result, name: str) -> dict[str, Any]:
    (data,) = [one.data for one in result.events if one.name == name]
    return data


def test_a_sweep_on_this_machine(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    options = command.commands["realtime"].make_context("realtime", [*WORDS, "-q"]).params
    simulating.simulate("realtime", options, wants_report=False)
    document = Store().load("last")
    points = [one for one in document.results if one.test == "SIM-S-RT"]
    if any(one.status == "denied" for one in points):
        pytest.skip(f"denied: {points[0].reason}")
    (pictures,) = [one for one in document.results if one.test == "SIM-P-RF"]
    assert sum(table.name == "frame" for table in pictures.tables) == 8
    places = [(masses_of(one), single(one.params["threads"])) for one in points]
    assert sorted(places[:4]) == [(400, 1), (400, 2), (404, 1), (404, 2)]
    assert len(places) == 6  # each curve once more, with its blocks
    for one in points:
        said = event(one, "simulation")
        assert (said["masses_count"], said["threads_count"]) == (
            masses_of(one),
            single(one.params["threads"]),
        )
        assert said["released_count"] == 5 >= said["missed_count"] == missed_of(one.series)
        blocks = [table for table in one.tables if table.name == "blocks"]
        kept = said["threads_count"] if one.params["block_steps"] else 0
        assert len(blocks) == kept
        assert all(len(table.columns["step"]) == 2 for table in blocks)
