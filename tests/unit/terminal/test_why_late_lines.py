"""The terminal names what was seen beside the worst values, and nothing where nobody watched."""

from __future__ import annotations

import io

import pytest

from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.stats import make, recorded


@pytest.fixture(autouse=True)
def of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def screen(*results: object) -> list[str]:
    stream = io.StringIO()
    print_screen(make.document(results=list(results)), stream)
    return stream.getvalue().splitlines()


def whole(*results: object) -> str:
    stream = io.StringIO()
    print_whole(make.document(results=list(results)), stream)
    return " ".join(stream.getvalue().split())


def test_the_screen_names_the_cause_of_each_test() -> None:
    lines = screen(recorded.with_cause(migrations_count=1))
    (at,) = [number for number, line in enumerate(lines) if line.startswith("why late")]
    told = " ".join(" ".join(lines[at : at + 2]).split())
    assert "TMR-P-LAT 2 ms at 10.50 s, CPU 1: seen in that second: 1 migration" in told
    assert all(len(line) <= 80 for line in lines[at : at + 2])


def test_waiting_for_the_cpu_is_not_cut_and_blames_no_priority() -> None:
    result = recorded.with_cause(run_delay_ns=2_900_000)
    told = " ".join(" ".join(screen(result)).split())
    assert "2.90 ms of waiting for the CPU, behind a task or throttled (usually 900 us)" in told
    assert "any task in a part of the kernel that cannot be preempted" in whole(result)


def test_the_screen_stays_within_its_lines() -> None:
    lines = screen(*[recorded.with_cause(migrations_count=1)] * 12)
    assert len(lines) <= 37
    assert any("and 9 more, with --all" in line or "and 10 more" in line for line in lines)


def test_all_of_it_has_the_others_too() -> None:
    said = whole(recorded.with_cause(migrations_count=1))
    assert "why the worst values were late" in said
    assert said.count("none seen") == 2
    assert "not proven" in said


def test_a_run_without_counters_has_no_such_lines() -> None:
    assert not any(line.startswith("why late") for line in screen(make.result()))
    assert "why the worst" not in whole(make.result())


@pytest.mark.slow
def test_all_of_it_has_every_worst_value() -> None:
    said = whole(recorded.with_many(40))
    assert all(
        f"task-{number} (pid {number + 97}) ran before it" in said for number in range(3, 43)
    )
    alone = " ".join(" ".join(screen(recorded.with_many(40))).split())
    assert "task-" not in alone
