"""`hardstone latstat` on a target that plays a scenario: its plan and its threshold."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import EXIT_GATE, EXIT_OK, EXIT_USAGE
from hardstone.event_names import THRESHOLD
from hardstone.store import Store
from tests.process.cli.recordings import SECOND_NS, Hardstone, last, lines, play


def test_it_is_a_plan_of_one_test(hardstone: Hardstone, tmp_path: Path) -> None:
    target = play(tmp_path, lines())
    words = ("-D", "24h", "-i", "250", "-a", "0-1", "-p", "80", "-m", "--threshold", "100")
    done = hardstone("latstat", "--target", target, *words, "--dry-run", "--json")
    plan = done.document
    (test,) = plan["tests"]
    assert test["duration_ns"] == 86_400 * SECOND_NS
    given = {"interval_ns": 250_000, "threshold_ns": 100_000, "cpus": [0, 1]}
    assert test["params"] == {**given, "parts": "auto"}
    assert (plan["priority"], plan["name"], plan["watched_ns"]) == (80, "latstat", None)


@pytest.mark.parametrize(
    ("words", "seconds"), [((), 600), (("-D", "0"), 30 * 86_400), (("-D", "90"), 90)]
)
def test_how_long_it_takes(
    hardstone: Hardstone, tmp_path: Path, words: tuple[str, ...], seconds: int
) -> None:
    done = hardstone("latstat", "--target", play(tmp_path, lines()), *words, "--dry-run", "--json")
    assert done.document["tests"][0]["duration_ns"] == seconds * SECOND_NS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--go-on"], "--go-on needs a threshold"),
        (["--on-threshold", "true"], "--on-threshold needs a threshold"),
        (["--threshold", "1ms", "--on-threshold", "no-such-program x"], "there is no program"),
        (["--threshold", "1ms", "--on-threshold", "'"], "No closing quotation"),
        (["--threshold", "1ms", "--on-threshold", " "], "there is no command"),
        (["-a", "0-"], "is not a list of CPUs"),
        (["-a", "0,99"], "CPU 99 is not available"),
        (["--load", "none,heavy"], "under one load in one CPU configuration, not 2"),
        (["--threshold", "soon"], "is not a duration"),
        (["--threshold", "soon", "--go-on"], "is not a duration"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    hardstone: Hardstone, tmp_path: Path, words: list[str], said: str
) -> None:
    done = hardstone("latstat", "--target", play(tmp_path, lines()), *words)
    assert (done.code, said in done.err) == (EXIT_USAGE, True), done.err
    assert Store().runs() == []


def test_a_threshold_that_stops(hardstone: Hardstone, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    crossed = lines(crossed_ns=2500, status="failed", reason="threshold crossed")
    hook = f"sh -c 'env > {noted}; echo loud; echo loud >&2'"
    target = play(tmp_path, crossed)
    done = hardstone("latstat", "--target", target, "--threshold", "2500ns", "--on-threshold", hook)
    assert done.code == EXIT_GATE
    assert "3 us on CPU 1" in done.err and "measuring stopped" in done.err
    assert "loud" not in done.err + done.out
    variables = dict(line.split("=", 1) for line in noted.read_text().splitlines() if "=" in line)
    assert variables["HARDSTONE_VALUE_NS"] == "3000"
    assert variables["HARDSTONE_THRESHOLD_NS"] == "2500"
    assert variables["HARDSTONE_CPU"] == "1"
    assert variables["HARDSTONE_RUN"] == last().id


def test_a_threshold_at_which_it_goes_on(hardstone: Hardstone, tmp_path: Path) -> None:
    words = ("--threshold", "2500ns", "--go-on")
    target = play(tmp_path, lines(seconds=600))
    done = hardstone("latstat", "--target", target, *words)
    assert done.code == EXIT_GATE
    assert "measuring goes on" in done.err
    document = last()
    assert document.plan.tests[0].params["threshold_ns"] == 0
    (event,) = [one for one in document.results[0].events if one.name == THRESHOLD]
    assert event.data["value_ns"] == 3000
    below = play(tmp_path, lines(seconds=600))
    assert hardstone("latstat", "--target", below, "--threshold", "9us", "--go-on").code == EXIT_OK
