"""`hardstone shield` hands everything to the probe, and becomes it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hardstone.errors import EXIT_USAGE
from tests.process.targets import sample

Shield = Callable[..., tuple[int, list[str]]]
START = "from hardstone.cli.main import main; main()"


@pytest.fixture
def shield(tmp_path: Path) -> Callable[..., tuple[int, list[str]]]:
    """Exit code, and the words that the probe was given."""
    probe = sample.executable(tmp_path, "lines(repr(sys.argv)); sys.exit(7)")

    def call(*words: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            [sys.executable, "-c", START, "shield", *words],
            env={**os.environ, "HARDSTONE_PROBE": str(probe)},
            capture_output=True,
            text=True,
            check=False,
        )
        given = ast.literal_eval(done.stdout) if done.stdout else []
        assert given[:1] in ([], [str(probe)])
        return done.returncode, given[1:]

    return call


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
def test_the_words_are_passed_on(shield: Shield, words: list[str], passed: list[str]) -> None:
    assert shield(*words) == (7, ["shield", *passed])


def test_a_policy_that_is_none(shield: Shield) -> None:
    assert shield("--policy", "deadline", "--", "true") == (EXIT_USAGE, [])


def test_what_is_reserved(probe: Path) -> None:
    """Needs no right."""
    done = subprocess.run(
        [sys.executable, "-c", START, "shield", "--show", "--json"],
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
