"""The events of POS-B-INV as an inventory: the three means, contradictions, and hostile events."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.model import Event
from hardstone.stats.posix_data import posix_data
from hardstone.stats.posix_inventory import CallState, PosixInventory, PosixOption
from hardstone.stats.posix_reading import (
    MOST_LIMITS,
    MOST_OPTIONS,
    MOST_PARTS,
    MOST_PROBLEMS,
    inventory_of,
)
from tests.unit.stats import inventories


def read(*found: Event) -> PosixInventory:
    return inventory_of(inventories.result(list(found)))


def one(told: str, name: str = "spawn") -> PosixOption:
    option = read(inventories.options("1003.1d", {name: told})).option(name)
    assert option is not None
    return option


def test_the_three_means_are_kept_apart() -> None:
    found = one("200112 200809 partly")
    assert (found.headers, found.sysconf, found.call) == (200112, 200809, "partly")
    assert found.part == "1003.1d"


@pytest.mark.parametrize(
    ("told", "headers", "sysconf", "is_known"),
    [
        ("none none missing", None, None, True),
        ("-1 unknown missing", -1, None, False),
        ("0 200809 works", 0, 200809, True),
    ],
)
def test_what_is_not_there_is_no_number(
    told: str, headers: int | None, sysconf: int | None, is_known: bool
) -> None:
    found = one(told)
    assert (found.headers, found.sysconf, found.is_sysconf_known) == (headers, sysconf, is_known)


@pytest.mark.parametrize("call", get_args(CallState))
def test_every_outcome_of_a_call_is_read(call: str) -> None:
    assert one(f"200809 200809 {call}").call == call


@pytest.mark.parametrize(
    ("told", "contradictions"),
    [
        ("200809 200809 works", []),
        ("200809 200809 fails", ["claimed_but_fails"]),
        ("200809 unknown missing", ["claimed_but_fails"]),
        ("200809 200809 partly", ["claimed_but_partly"]),
        ("200809 200809 denied", []),
        ("200809 200809 untried", []),
        ("none none works", ["works_but_not_claimed"]),
        ("-1 unknown works", ["works_but_not_claimed"]),
        ("none unknown works", []),
        ("0 unknown works", []),
        ("0 200809 works", []),
        ("0 none works", ["works_but_not_claimed"]),
        ("none 200809 works", []),
        ("none none partly", []),
        ("-1 none missing", []),
        ("200809 none works", ["works_but_not_claimed", "headers_and_sysconf_differ"]),
        ("-1 200809 works", ["headers_and_sysconf_differ"]),
        ("200809 none fails", ["headers_and_sysconf_differ"]),
        ("200112 200809 works", []),
    ],
)
def test_contradictions_between_the_means(told: str, contradictions: list[str]) -> None:
    assert one(told).contradictions == contradictions


@pytest.mark.parametrize("name", posix_data().pathconf)
def test_of_pathconf_0_is_a_claim(name: str) -> None:
    assert one("0 0 works", name).contradictions == []
    assert one("0 0 fails", name).contradictions == ["claimed_but_fails"]
    assert one("0 none works", name).contradictions == [
        "works_but_not_claimed",
        "headers_and_sysconf_differ",
    ]


def test_a_whole_inventory() -> None:
    found = inventory_of(inventories.result())
    assert found.is_whole and found.problems == []
    assert list(found.parts()) == list(posix_data().parts)
    assert sum(map(len, found.parts().values())) == len(found.options) == 68
    failing = found.option("message_passing")
    assert failing is not None and failing.why == "mq_open: Function not implemented"
    assert [(limit.name, limit.is_below) for limit in found.limits if limit.is_below] == [
        ("timer_max", True)
    ]
    assert found.clocks == dict.fromkeys(
        ("realtime", "monotonic", "process_cputime", "thread_cputime"), 1
    )
    assert [(one.name, one.is_satisfied, one.missing_count) for one in found.profiles] == [
        ("PSE51", True, 0),
        ("PSE52", True, 0),
        ("PSE53", False, 2),
        ("PSE54", False, 3),
    ]
    assert found.profiles[3].denied_count == 1
    assert found.named_only == ["1003.1h", "1003.21"]
    assert [claim.is_true for claim in found.claims] == [False, True, True, False]


def test_several_events_of_a_part_are_one_part() -> None:
    found = read(
        inventories.options("1003.1d", {"spawn": inventories.WORKS}),
        inventories.options("1003.1d", {"timeouts": inventories.WORKS}),
    )
    assert [one.name for one in found.parts()["1003.1d"]] == ["spawn", "timeouts"]


def test_a_part_of_a_later_probe_is_shown_after_the_known_ones() -> None:
    found = read(
        inventories.options("1003.1z", {"later": inventories.WORKS}),
        inventories.options("1003.1d", {"spawn": inventories.WORKS}),
    )
    assert list(found.parts()) == ["1003.1d", "1003.1z"]


HOSTILE = (
    "<script>alert(1)</script>",
    "\x1b[31m200809 200809 works",
    "200809 200809",
    "200809 200809 works works",
    "200809  200809 works",
    "2e5 200809 works",
    "-2 200809 works",
    "unknown 200809 works",
    "200809 200809 WORKS",
    "\u0662\u0660\u0660\u0668 200809 works",
    "9" * 5000 + " 200809 works",
    7,
    True,
    None,
    ["200809", "200809", "works"],
)


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_an_option_without_three_words_is_left_out_and_said(value: Any) -> None:
    found = read(inventories.event("posix_options", part="1003.1d", spawn=value))
    assert found.options == []
    (problem,) = found.problems
    assert "left out" in problem and len(problem) < 200 and "\x1b" not in problem


@pytest.mark.parametrize("name", ["", "<b>", "UPPER", "a" * 49, "a b", "a\n", "1st"])
def test_a_name_that_is_none_is_left_out(name: str) -> None:
    found = read(inventories.options("1003.1d", {name: inventories.WORKS}))
    assert found.options == [] and len(found.problems) == 1


@pytest.mark.parametrize("part", [None, 7, ["1003.1b"], "1003", "<b>", "1003." + "1" * 40])
def test_a_part_that_is_none_is_left_out(part: Any) -> None:
    found = read(inventories.event("posix_options", part=part, spawn=inventories.WORKS))
    assert found.options == [] and len(found.problems) == 1


def test_too_many_options_and_limits_are_bounded() -> None:
    many = [
        inventories.options(
            "1003.1b", {f"o{batch}_{place}": "none none works" for place in range(60)}
        )
        for batch in range(40)
    ]
    limits = [
        inventories.event("posix_limits", **{f"l{batch}_{place}": 1 for place in range(60)})
        for batch in range(20)
    ]
    bad = [inventories.options("1003.1b", {f"o{place}": "x"}) for place in range(1000)]
    named = inventories.event("posix_named_only", parts=",".join(f"1003.{n}" for n in range(999)))
    found = read(*many, *limits, *bad, named)
    assert len(found.options) == MOST_OPTIONS and len(found.limits) == MOST_LIMITS
    assert len(found.named_only) == MOST_PARTS
    assert len(found.problems) == MOST_PROBLEMS + 1 and found.problems[-1].startswith("and ")


def test_reports_that_differ_are_said_and_the_first_is_kept() -> None:
    found = read(
        inventories.options("1003.1d", {"spawn": "none none fails"}),
        inventories.options("1003.1d", {"spawn": "none none works"}),
        inventories.options("1003.1d", {"timeouts": "none none works"}),
        inventories.options("1003.1d", {"timeouts": "none none works"}),
    )
    assert [one.call for one in found.options] == ["fails", "works"]
    assert len(found.problems) == 1 and "'spawn'" in found.problems[0]


def test_a_limit_clock_or_profile_that_is_none_is_left_out() -> None:
    found = read(
        inventories.event("posix_limits", mq_prio_max="many", rtsig_max=True, timer_max=-2),
        inventories.event("posix_clocks", realtime_ns=0, monotonic_ns=-1, other=5),
        inventories.event("posix_profile", profile="PSE55", is_satisfied=True, missing_count=0),
        inventories.event("posix_profile", profile="PSE51", is_satisfied="yes", missing_count=0),
        inventories.event("posix_profile", profile="PSE52", is_satisfied=True, missing_count=3),
        inventories.event("posix_profile", profile="PSE53", is_satisfied=False, missing_count=0),
        inventories.event(
            "posix_profile", profile="PSE54", is_satisfied=True, missing_count=0, missing="spawn"
        ),
    )
    assert (found.limits, found.clocks, found.profiles) == ([], {}, [])
    assert len(found.problems) == 11


def test_a_state_in_place_of_a_call_is_not_repeated() -> None:
    found = read(
        inventories.options("1003.1d", {"spawn": "none none missing"}),
        inventories.event("posix_option_why", option="spawn", call="missing", why="not in libc"),
    )
    assert found.options[0].why == "not in libc"


def test_names_of_missing_options_are_checked() -> None:
    (found,) = read(
        inventories.event(
            "posix_profile",
            profile="PSE51",
            is_satisfied=False,
            missing_count=3,
            missing="spawn,<img>, timeouts",
        )
    ).profiles
    assert found.missing == ["spawn", "timeouts"] and found.missing_count == 3


def test_a_reason_is_short_and_belongs_to_an_option() -> None:
    found = read(
        inventories.options("1003.1d", {"spawn": "none none fails"}),
        inventories.event("posix_option_why", option="spawn", call="posix_spawn", why="x" * 5000),
        inventories.event("posix_option_why", option=["spawn"], call="y", why="z"),
        inventories.event("posix_option_why", option="timeouts"),
    )
    assert len(found.options[0].why) == 300
    assert len(found.problems) == 2


def test_values_that_the_probe_dropped_are_said() -> None:
    found = read(
        inventories.event(
            "posix_options", part="1003.1d", spawn="none none fails", data_dropped_count=4
        )
    )
    assert len(found.options) == 1
    assert found.problems == ["values '4' left out: the probe had no room for them"]


def test_a_result_that_is_not_whole_says_so() -> None:
    assert not inventory_of(inventories.result(complete=False)).is_whole
    assert not inventory_of(inventories.result(interrupted=True)).is_whole
    denied = inventory_of(inventories.result([], status="denied", reason="no right"))
    assert (denied.status, denied.reason, denied.options) == ("denied", "no right", [])


Values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())
Names = st.sampled_from(
    [
        *("posix_options", "posix_option_why", "posix_limits", "posix_clocks"),
        *("posix_profile", "posix_named_only", "throttled"),
    ]
)
Keys = st.text() | st.sampled_from(
    ["part", "spawn", "option", "call", "why", "profile", "is_satisfied", "missing", "parts"]
)


@pytest.mark.slow
@given(st.lists(st.tuples(Names, st.dictionaries(Keys, Values))))
def test_no_event_raises(told: list[tuple[str, dict[str, Any]]]) -> None:
    found = read(*(Event(name=name, text="", data=data) for name, data in told))
    msgspec.json.encode(found)
