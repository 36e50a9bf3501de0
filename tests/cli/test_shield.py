"""`hardstone shield` hands everything to the probe, and becomes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.cli.main import run

Call = tuple[str, list[str]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Call]:
    """What would have been executed; signals are as they were afterwards."""
    found: list[Call] = []
    probe = tmp_path / "hardstone-probe"
    probe.write_text("#!/bin/sh\n")
    probe.chmod(0o755)
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    monkeypatch.setattr(os, "execv", lambda path, words: found.append((str(path), list(words))))
    monkeypatch.setattr(signal, "signal", lambda number, what: None)
    return found


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["--show"], ["--show", "--text"]),
        (["--show", "--json"], ["--show", "--json"]),
        (["--restore"], ["--restore", "--text"]),
        (["--restore", "--forget"], ["--restore", "--forget", "--text"]),
        (["--", "ls", "-l", "--", "x y"], ["--text", "--", "ls", "-l", "--", "x y"]),
        (["ls", "--show"], ["--text", "--", "ls", "--show"]),
        (
            ["-a", "1", "--priority", "5", "--policy", "rr", "--verbose", "--", "true"],
            [
                "--cpu",
                "1",
                "--policy",
                "rr",
                "--priority",
                "5",
                "--verbose",
                "--text",
                "--",
                "true",
            ],
        ),
        (
            ["--cpus", "1-2", "--settings", "cpuset", "--", "$(id)"],
            ["--cpus", "1-2", "--settings", "cpuset", "--text", "--", "$(id)"],
        ),
    ],
    ids=lambda words: " ".join(words)[:20],
)
def test_the_words_are_passed_on(calls: list[Call], words: list[str], passed: list[str]) -> None:
    assert run(["shield", *words]) == 0
    ((path, given),) = calls
    assert path == os.environ["HARDSTONE_PROBE"]
    assert given == ["hardstone-probe", "shield", *passed]


def test_a_policy_that_is_none(calls: list[Call]) -> None:
    assert run(["shield", "--policy", "deadline", "--", "true"]) == 2
    assert calls == []


def test_what_is_reserved(probe: Path) -> None:
    """Needs no right."""
    start = "from hardstone.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "shield", "--show", "--json"],
        env={**os.environ, "HARDSTONE_PROBE": str(probe)},
        capture_output=True,
        check=True,
    )
    shown = json.loads(done.stdout)
    assert shown["schema"] == "hardstone.shield/1"
    assert {setting["name"] for setting in shown["settings"]} == {
        "cpuset",
        "interrupts",
        "workqueues",
        "timers",
        "watchdog",
        "governor",
        "dma_latency",
    }
