"""The task that ran before a value, from lines of the probe and lines that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Trace
from hardstone.stats.traced import Task, ran_before

BEGINS, ENDS = "[001] 812.004000000: the value begins", "[001] 812.009000000: the value ends"
HOG = Task("hog", 77, 49)


def line(prev: str, pid: int = 77, cpu: int = 1, prio: int = 49) -> str:
    return (
        f"[{cpu:03}] 812.004711123: sched_switch: prev_comm={prev} prev_pid={pid} "
        f"prev_prio={prio} ==> next_pid=80"
    )


def found(*lines: str, cpu: int | None = 1) -> Task | None:
    return ran_before(Trace(at_ns=1, value_ns=1, cpu=cpu, lines=list(lines)))


def test_it_is_the_task_of_the_last_switch_within_the_value() -> None:
    lines = (line("a"), BEGINS, line("b"), line("hog"), ENDS, line("hardstone-probe"))
    assert found(*lines) == HOG


def test_a_switch_before_the_value_is_none_of_it() -> None:
    assert found(line("hog"), BEGINS, ENDS) is None


def test_a_long_value_begins_before_its_excerpt() -> None:
    assert found(line("hog"), ENDS) == HOG


def test_a_switch_may_be_among_lost_events() -> None:
    lost = "[001] 812.006000000: LOST 12 EVENTS"
    assert found(BEGINS, line("hog"), lost, ENDS) is None
    assert found(BEGINS, lost, line("hog"), ENDS) == HOG
    assert found(BEGINS, line("hog"), lost.replace("[001]", "[000]"), ENDS) == HOG


def test_an_excerpt_without_an_end_names_nobody() -> None:
    assert found(BEGINS, line("hog")) is None


def test_another_thread_of_a_probe_is_a_task_as_any() -> None:
    assert found(BEGINS, line("hardstone-probe", 5), ENDS) == Task("hardstone-probe", 5, 49)


def test_another_cpu_does_not_count() -> None:
    assert found(BEGINS, line("hog"), line("other", cpu=0), ENDS) == HOG
    assert found(BEGINS, line("other", cpu=0), ENDS) is None
    assert found(BEGINS, line("other", cpu=0), ENDS, cpu=None) is not None


@pytest.mark.parametrize("name", ["a b", "irq/24-eth0", "x prev_pid=3", "[001] 1.0: y", "=> ==> z"])
def test_a_name_may_look_like_a_field(name: str) -> None:
    assert found(BEGINS, line(name), ENDS) == Task(name, 77, 49)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# tracer: nop",
        line("hog").replace("next_pid", "next"),
        line("hog").replace("sched_switch", "sched_wakeup"),
        line("hog") + " more=1",
        "x" + line("hog"),
    ],
)
def test_other_lines_name_nobody(text: str) -> None:
    assert found(BEGINS, text, ENDS) is None


@pytest.mark.slow
@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_is_read(lines: list[str]) -> None:
    assert found(*lines, ENDS) is None
