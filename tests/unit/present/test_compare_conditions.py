"""Conditions of all systems side by side."""

from __future__ import annotations

from hardstone.model import Tool
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import ConditionRow
from hardstone.subjects import Subject, published_system
from tests.unit.present.made_systems import QNX, run_with, spread, switching
from tests.unit.stats.make import plan_of, result


def rows(*subjects: Subject) -> dict[str, ConditionRow]:
    return {one.name: one for one in compare_view(list(subjects)).conditions}


def test_what_differs_is_marked_and_what_is_alike_is_not() -> None:
    one = run_with(result(), plan=plan_of([], policy="fifo"), tool=Tool(version="1", libc="glibc"))
    other = run_with(result(), plan=plan_of([], policy="rr"), tool=Tool(version="1", libc="musl"))
    found = rows(one, other)
    assert found["policy"] == ConditionRow("policy", ["fifo", "rr"], differs=True)
    assert found["libc"].differs and not found["load"].differs and not found["profile"].differs


def test_what_is_not_known_is_not_said_to_differ() -> None:
    found = rows(switching(spread(500)), QNX)
    assert found["policy"] == ConditionRow("policy", ["fifo", "-"], differs=False)
    assert found["kernel"].differs


def test_a_published_system_is_shown_with_the_load_whose_figures_it_has() -> None:
    for asked, shown in (("none", "none"), ("heavy", "heavy"), ("other", "heavy")):
        assert rows(published_system("lynx", asked), QNX)["load"].cells == [shown, "-"]


def test_facts_that_differ_between_runs_have_a_row() -> None:
    def booted(line: str | None) -> Subject:
        return run_with(result(), system={"kernel.cmdline": line, "kernel.rt_period_us": 1})

    found = rows(booted("isolcpus=1"), booted("quiet"), QNX)
    assert found["kernel.cmdline"].cells == ["isolcpus=1", "quiet", "-"]
    assert "kernel.rt_period_us" not in found
    assert rows(booted("quiet"), booted(None))["kernel.cmdline"].cells == ["quiet", "none"]


def test_counts_of_the_decisive_series_differ_by_more_than_a_tenth() -> None:
    name = "values of THR-P-SLS/2/switch"
    first = switching(spread(500))
    alike = rows(first, switching(spread(500, 2, 19_000)), QNX)[name]
    assert not alike.differs and alike.cells[2] == "-"
    assert rows(first, switching(spread(500, 2, 15_000)))[name].differs


def test_the_load_comes_first() -> None:
    assert next(iter(rows(switching(spread(500)), QNX))) == "load"
