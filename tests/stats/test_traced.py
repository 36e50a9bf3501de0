"""The task that ran before a value, from lines that a kernel wrote and lines that it did not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Trace
from hardstone.stats.traced import Task, ran_before

OWN = "hardstone-probe"


def line(prev: str, following: str, cpu: int = 1, at: str = "812.004711", prio: int = 49) -> str:
    return (
        f"  {prev}-77  [{cpu:03}] d..2. {at}: sched_switch: prev_comm={prev} prev_pid=77 "
        f"prev_prio={prio} prev_state=R ==> next_comm={following} next_pid=80 next_prio=0"
    )


def found(*lines: str, cpu: int | None = 1) -> Task | None:
    return ran_before(Trace(at_ns=1, value_ns=1, cpu=cpu, lines=list(lines)))


def test_it_is_the_task_that_was_switched_from() -> None:
    lines = (line("swapper/1", OWN), line("hog", OWN), line(OWN, "swapper/1"))
    assert found(*lines) == Task("hog", 77, 49)


def test_another_cpu_does_not_count() -> None:
    assert found(line("hog", OWN), line("other", OWN, cpu=0)) == Task("hog", 77, 49)
    assert found(line("other", OWN, cpu=0)) is None


@pytest.mark.parametrize("name", ["a b", "irq/24-eth0", "x prev_pid=3", "[001] 1.0: y", "=> ==> z"])
def test_a_name_may_look_like_a_field(name: str) -> None:
    assert found(line(name, OWN)) == Task(name, 77, 49)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# tracer: nop",
        line("hog", "swapper/1"),
        line("hog", OWN).replace("next_prio", "next"),
        line("hog", OWN).replace("sched_switch", "sched_wakeup"),
        line("hog", OWN) + " more=1",
    ],
)
def test_other_lines_name_nobody(text: str) -> None:
    assert found(text) is None


@given(st.lists(st.text(max_size=200), max_size=4))
def test_any_text_is_read(lines: list[str]) -> None:
    assert found(*lines) is None
