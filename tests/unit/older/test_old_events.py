"""Names and figures of older events are found in their texts, once."""

from __future__ import annotations

import pytest

from hardstone.model import Conditions, DataValue, Event, Result
from hardstone.older.old_events import with_data
from hardstone.older.old_results import result_from_second


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("load_short", "cpu reached 0.4 % of 1.0 % asked (42 %)", {"element": "cpu"}),
        ("load_short", "stress-ng: 4000/s asked, 2914/s reached", {"element": "stress-ng"}),
        ("not_seen", "lower/fifo: no verdict, because x: y", {"verdict": "lower/fifo"}),
        (
            "expiry_step_bounded",
            "latency and the time to arm hide the step of expiries of sleep, timerfd: the step is",
            {"mechanisms": ["sleep", "timerfd"]},
        ),
        (
            "shielded",
            "CPU 1: timers (new ones go to other CPUs already); interrupts (3 of 26 moved)",
            {"unchanged": ["timers"]},
        ),
        (
            "shielded",
            "CPU 1: interrupts (0 of 26 interrupts moved); timers (moved)",
            {"unchanged": ["interrupts"]},
        ),
        ("coverage", "vdso: calls covered 84.0 %", {}),
    ],
)
def test_what_a_text_names_is_data(name: str, text: str, data: dict[str, DataValue]) -> None:
    found = with_data(Event(name=name, text=text))
    assert (found.text, found.data) == (text, data)
    assert with_data(found) == found


def test_what_to_type_leaves_the_text() -> None:
    text = "what a shield changed is not put back; sudo hardstone shield --restore"
    found = with_data(Event(name="not_put_back", text=text))
    assert found.text == "what a shield changed is not put back"
    assert found.data == {"command": "sudo hardstone shield --restore"}


def test_data_that_is_there_is_left() -> None:
    event = Event(name="load_short", text="cpu reached little", data={"element": "disk"})
    assert with_data(event) is event


@pytest.mark.parametrize(("complete", "policy"), [(False, None), (True, "other")])
def test_a_result_without_an_end_never_told_how_it_was_scheduled(
    complete: bool, policy: str | None
) -> None:
    said = Conditions(
        load="heavy",
        policy="other",
        priority=0,
        clock="monotonic",
        memory_locked=False,
        realtime=False,
    )
    old = Result(test="TMR-P-LAT", status="failed", complete=complete, conditions=said)
    found = result_from_second(old).conditions
    assert (found.load, found.policy, found.realtime) == (
        "heavy",
        policy,
        False if complete else None,
    )


def test_what_an_unfinished_result_knew_is_kept() -> None:
    """Policy "other" is a condition, unless all that stood for "not known" stands beside it."""
    where = Conditions(
        load="none",
        cpu_config="shared",
        policy="other",
        priority=0,
        clock="tsc",
        memory_locked=True,
        realtime=False,
    )
    result = Result(test="TMR-P-LAT", status="failed", complete=False, conditions=where)
    assert result_from_second(result).conditions == where


@pytest.mark.parametrize(
    ("remedy", "words", "command"),
    [
        (
            "it has reserved it: hardstone shield --restore",
            "it has reserved it",
            "hardstone shield --restore",
        ),
        (
            "grant it (setcap); what to type: hardstone doctor",
            "grant it (setcap); what to type",
            "hardstone doctor",
        ),
        (
            "look at it; it says: hardstone show $(id)",
            "look at it; it says: hardstone show $(id)",
            None,
        ),
        ("raise ulimit -s", "raise ulimit -s", None),
        (None, None, None),
    ],
)
def test_a_remedy_parts_with_its_command(
    remedy: str | None, words: str | None, command: str | None
) -> None:
    old = Result(test="TMR-P-LAT", status="denied", remedy=remedy)
    found = result_from_second(old)
    assert (found.remedy, found.command) == (words, command)
