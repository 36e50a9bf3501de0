"""What part of POSIX works: the events of POS-B-INV as an inventory, contradictions of the three
means, hostile events; and the answer, by options and by measurements of the run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.model import Conditions, Event, Result
from hardstone.posix.analysis import (
    MOST_LIMITS,
    MOST_OPTIONS,
    MOST_PARTS,
    MOST_PROBLEMS,
    Measured,
    PartCoverage,
    PointAnswer,
    PosixInventory,
    PosixOption,
    answers_in,
    coverage_of,
    inventory_of,
    posix_data,
    to_measure,
)
from tests.process.targets import sample
from tests.unit.posix import inventories
from tests.unit.posix.inventories import WORKS, claim, event, options
from tests.unit.stats import make


def read(*found: Event) -> PosixInventory:
    return inventory_of(inventories.result(list(found)))


def one(told: str, name: str = "spawn") -> PosixOption:
    return read(options("1003.1d", {name: told})).option(name)


@pytest.mark.parametrize(
    ("told", "headers", "sysconf", "is_known"),
    [
        ("200112 200809 partly", 200112, 200809, True),
        ("none none missing", None, None, True),
        ("-1 unknown missing", -1, None, False),
        ("0 200809 works", 0, 200809, True),
    ],
)
def test_the_three_means_are_kept_apart(
    told: str, headers: int | None, sysconf: int | None, is_known: bool
) -> None:
    found = one(told)
    assert (found.headers, found.sysconf, found.is_sysconf_known) == (headers, sysconf, is_known)
    assert (found.part, found.call) == ("1003.1d", told.rpartition(" ")[2])


FAILS, PARTLY = "claimed_but_fails", "claimed_but_partly"
NOT_CLAIMED, DIFFER = "works_but_not_claimed", "headers_and_sysconf_differ"


@pytest.mark.parametrize(
    ("told", "contradictions"),
    [
        ("200809 200809 works", []),
        ("200809 200809 fails", [FAILS]),
        ("200809 unknown missing", [FAILS]),
        ("200809 200809 partly", [PARTLY]),
        ("200809 200809 denied", []),
        ("200809 200809 untried", []),
        ("none none works", [NOT_CLAIMED]),
        ("-1 unknown works", [NOT_CLAIMED]),
        ("none unknown works", []),
        ("0 unknown works", []),
        ("0 200809 works", []),
        ("0 none works", [NOT_CLAIMED]),
        ("none 200809 works", []),
        ("none none partly", []),
        ("-1 none missing", []),
        ("200809 none works", [NOT_CLAIMED, DIFFER]),
        ("-1 200809 works", [DIFFER]),
        ("200809 none fails", [DIFFER]),
        ("200112 200809 works", []),
    ],
)
def test_contradictions_between_the_means(told: str, contradictions: list[str]) -> None:
    found = one(told)
    assert (found.call, found.contradictions) == (told.split()[2], contradictions)


@pytest.mark.parametrize("name", posix_data().pathconf)
def test_of_pathconf_0_is_a_claim(name: str) -> None:
    assert one("0 0 works", name).contradictions == []
    assert one("0 0 fails", name).contradictions == [FAILS]
    assert one("0 none works", name).contradictions == [NOT_CLAIMED, DIFFER]


def test_a_whole_inventory() -> None:
    found = inventory_of(inventories.result())
    assert found.is_whole and found.problems == []
    assert list(found.parts()) == list(posix_data().parts)
    assert sum(map(len, found.parts().values())) == len(found.options) == 68
    assert found.option("message_passing").why == "mq_open: Function not implemented"
    assert [limit.name for limit in found.limits if limit.is_below] == ["timer_max"]
    clocks = ("realtime", "monotonic", "process_cputime", "thread_cputime")
    assert found.clocks == dict.fromkeys(clocks, 1)
    assert [(one.name, one.is_satisfied, one.missing_count) for one in found.profiles] == [
        ("PSE51", True, 0),
        ("PSE52", True, 0),
        ("PSE53", False, 2),
        ("PSE54", False, 3),
    ]
    assert found.profiles[3].denied_count == 1
    assert found.named_only == ["1003.1h", "1003.21"]
    assert [claim.is_true for claim in found.claims] == [False, True, True, False]


def test_several_events_of_a_part_are_one_and_a_later_part_comes_last() -> None:
    parts = [("1003.1z", "later"), ("1003.1d", "spawn"), ("1003.1d", "timeouts")]
    found = read(*(options(part, {name: WORKS}) for part, name in parts)).parts()
    names = {part: [one.name for one in found[part]] for part in found}
    assert list(names.items()) == [("1003.1d", ["spawn", "timeouts"]), ("1003.1z", ["later"])]


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
NO_NAMES = ["", "<b>", "UPPER", "a" * 49, "a b", "a\n", "1st"]
NO_PARTS = [None, 7, ["1003.1b"], "1003", "<b>", "1003." + "1" * 40]


@pytest.mark.parametrize(
    "data",
    [
        *({"part": "1003.1d", "spawn": value} for value in HOSTILE),
        *({"part": "1003.1d", name: WORKS} for name in NO_NAMES),
        *({"part": part, "spawn": WORKS} for part in NO_PARTS),
    ],
    ids=repr,
)
def test_an_option_that_is_none_is_left_out_and_said(data: dict[str, Any]) -> None:
    found = read(Event(name="posix_options", text="", data=data))
    assert found.options == []
    (problem,) = found.problems
    assert "left out" in problem and len(problem) < 200 and "\x1b" not in problem


def test_too_many_options_and_limits_are_bounded() -> None:
    def names(letter: str, batch: int, value: object) -> dict[str, Any]:
        return {f"{letter}{batch}_{place}": value for place in range(60)}

    many = [options("1003.1b", names("o", batch, "none none works")) for batch in range(40)]
    limits = [event("posix_limits", **names("l", batch, 1)) for batch in range(20)]
    bad = [options("1003.1b", {f"o{place}": "x"}) for place in range(1000)]
    named = event("posix_named_only", parts=",".join(f"1003.{n}" for n in range(999)))
    found = read(*many, *limits, *bad, named)
    assert len(found.options) == MOST_OPTIONS and len(found.limits) == MOST_LIMITS
    assert len(found.named_only) == MOST_PARTS
    assert len(found.problems) == MOST_PROBLEMS + 1 and found.problems[-1].startswith("and ")


def test_reports_that_differ_are_said_and_the_first_is_kept() -> None:
    reports = [("spawn", "fails"), ("spawn", "works"), ("timeouts", "works"), ("timeouts", "works")]
    found = read(*(options("1003.1d", {name: f"none none {call}"}) for name, call in reports))
    assert [one.call for one in found.options] == ["fails", "works"]
    (problem,) = found.problems
    assert "'spawn'" in problem


def profile(name: str, is_satisfied: object, missing_count: int, **data: Any) -> Event:
    data |= {"profile": name, "is_satisfied": is_satisfied, "missing_count": missing_count}
    return event("posix_profile", **data)


def test_a_limit_clock_or_profile_that_is_none_is_left_out() -> None:
    found = read(
        event("posix_limits", mq_prio_max="many", rtsig_max=True, timer_max=-2),
        event("posix_clocks", realtime_ns=0, monotonic_ns=-1, other=5),
        profile("PSE55", True, 0),
        profile("PSE51", "yes", 0),
        profile("PSE52", True, 3),
        profile("PSE53", False, 0),
        profile("PSE54", True, 0, missing="spawn"),
    )
    assert (found.limits, found.clocks, found.profiles) == ([], {}, [])
    assert len(found.problems) == 11


def test_names_of_missing_options_are_checked() -> None:
    (found,) = read(profile("PSE51", False, 3, missing="spawn,<img>, timeouts")).profiles
    assert found.missing == ["spawn", "timeouts"] and found.missing_count == 3


def why(**data: Any) -> Event:
    return event("posix_option_why", **data)


def test_a_reason_is_short_and_belongs_to_an_option() -> None:
    found = read(
        options("1003.1d", {"spawn": "none none fails"}),
        why(option="spawn", call="posix_spawn", why="x" * 5000),
        why(option=["spawn"], call="y", why="z"),
        why(option="timeouts"),
    )
    assert len(found.options[0].why) == 300
    assert len(found.problems) == 2


def test_a_state_in_place_of_a_call_is_not_repeated() -> None:
    missing = options("1003.1d", {"spawn": "none none missing"})
    found = read(missing, why(option="spawn", call="missing", why="not in libc"))
    assert found.options[0].why == "not in libc"


def test_values_that_the_probe_dropped_are_said() -> None:
    found = read(event("posix_options", part="1003.1d", spawn=WORKS, data_dropped_count=4))
    assert len(found.options) == 1
    assert found.problems == ["values '4' left out: the probe had no room for them"]


def test_a_result_that_is_not_whole_says_so() -> None:
    assert not inventory_of(inventories.result(complete=False)).is_whole
    assert not inventory_of(inventories.result(interrupted=True)).is_whole
    denied = inventory_of(inventories.result([], status="denied", reason="no right"))
    assert (denied.status, denied.reason, denied.options) == ("denied", "no right", [])


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())
KINDS = ["options", "option_why", "limits", "clocks", "profile", "named_only", "later"]
KEYS = ["part", "spawn", "option", "call", "why", "profile", "is_satisfied", "missing", "parts"]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            Event,
            name=st.sampled_from([f"posix_{kind}" for kind in KINDS]),
            text=st.just(""),
            data=st.dictionaries(st.text() | st.sampled_from(KEYS), VALUES),
        )
    )
)
def test_no_event_raises(told: list[Event]) -> None:
    msgspec.json.encode(read(*told))


# ---- the answer ----

FAIL, MISSING, DENIED = "200809 200809 fails", "none none missing", "200809 200809 denied"
UNTRIED, PART = "200809 200809 untried", "none none partly"


def coverage(**odd: str) -> PartCoverage:
    return coverage_of(inventory_of(inventories.result(inventories.events(odd))), "1003.1b")


def point(name: str, *others: Result, **odd: str) -> PointAnswer:
    found = inventories.result(inventories.events(odd))
    (answer,) = answers_in(inventories.document(*others, found=found))
    return next(one for one in answer.points if one.name == name)


def measured(name: str, *others: Result) -> Measured:
    return point(name, *others).measured[0]


@pytest.mark.parametrize(
    ("odd", "found", "working", "missing", "not_known"),
    [
        ({}, "full", 14, [], []),
        ({"timers": FAIL, "fsync": MISSING}, "partial", 12, ["timers", "fsync"], []),
        ({"timers": "200809 200809 partly"}, "partial", 13, [], []),
        # what was not tried never counts as working
        ({"memlock": DENIED, "timers": UNTRIED}, "not known", 12, [], ["timers", "memlock"]),
        ({"memlock": DENIED, "timers": "none none fails"}, "partial", 12, ["timers"], ["memlock"]),
    ],
)
def test_a_part_is_covered_by_real_calls(
    odd: dict[str, str], found: str, working: int, missing: list[str], not_known: list[str]
) -> None:
    told = coverage(**odd)
    assert (told.coverage, told.missing, told.not_known) == (found, missing, not_known)
    assert (told.working_count, told.options_count) == (working, 14)


def test_none_is_every_option_missing() -> None:
    every = posix_data().parts["1003.1b"].options
    assert coverage(**dict.fromkeys(every, MISSING)).coverage == "none"


def test_an_option_that_was_not_reported_is_not_known() -> None:
    few = read(options("1003.1b", {"timers": WORKS}))
    found = coverage_of(few, "1003.1b")
    assert found.coverage == "not known" and len(found.not_known) == 13
    assert coverage_of(few, "1003.1c").coverage == "not known"


@pytest.mark.parametrize(
    ("semaphores", "messages", "answer"),
    [
        (WORKS, WORKS, "yes"),
        (WORKS, FAIL, "partly"),
        (FAIL, MISSING, "no"),
        (WORKS, DENIED, "not known"),
        (FAIL, DENIED, "not known"),
        (PART, DENIED, "partly"),
        (DENIED, UNTRIED, "not known"),
    ],
)
def test_a_point_by_its_options(semaphores: str, messages: str, answer: str) -> None:
    odd = {"semaphores": semaphores, "message_passing": messages}
    assert point("interprocess communication", **odd).by_options == answer
    assert point("power-fail notice").by_options == "no option"


def behaviour(*are_true: bool, **changed: object) -> Result:
    claims = [claim("ab"[place], "x", is_true=one) for place, one in enumerate(are_true)]
    return make.result("THR-B-PRI", series=[], verdicts=claims, **changed)


@pytest.mark.parametrize(
    ("results", "judgement", "status", "reason", "failed"),
    [
        ([behaviour(True, True)], "holds", "measured", "", []),
        ([behaviour(True, False)], "fails", "measured", "", ["b"]),
        # of any result
        ([behaviour(False), behaviour(True)], "fails", "measured", "", ["a"]),
        # what was cut off never holds
        ([behaviour(True, complete=False)], "nothing", "incomplete", "", []),
        ([behaviour(status="denied", reason="no right")], "nothing", "denied", "no right", []),
    ],
)
def test_a_point_by_claims_of_the_run(
    results: list[Result], judgement: str, status: str, reason: str, failed: list[str]
) -> None:
    found = measured("priority scheduling", *results)
    assert (found.judgement, found.status, found.failed) == (judgement, status, failed)
    assert (found.reason or "") == reason
    if judgement == "holds":
        assert found.claims_count == 2


def test_a_point_by_figures_of_the_run() -> None:
    found = measured("kernel preemption", make.result("KRN-P-PRE", [10, 20, 9000]))
    assert (found.judgement, found.statistic, found.value) == ("figures", "max", 9000)
    assert found.values_count == 3 and found.labels == {"part": "total"}


def test_fine_timers_are_the_smallest_step_of_expiries() -> None:
    steps = [make.series([4000, 9000], "expiry_step"), make.series([3000, 20_000], "expiry_step")]
    steps.append(make.series([1], "step"))
    resolution = make.result("CLK-B-RES", series=steps, verdicts=[claim("a", "x")])
    found = measured("fine timers", resolution)
    assert (found.judgement, found.statistic, found.value) == ("holds", "min", 3000)


def test_only_the_series_of_a_kind_answers() -> None:
    series = [make.series([value], "latency") for value in (7000, 99_000)]
    for one_, kind in zip(series, ("mq", "pipe"), strict=True):
        one_.labels = {"kind": kind, "scope": "process"}
    messages = make.result("MSG-P-LAT", series=series)
    told = point("interprocess communication", messages).measured[1]
    assert (told.test, told.value) == ("MSG-P-LAT", 7000)
    assert told.labels == {"kind": "mq", "scope": "process"}
    memory = measured("shared memory", messages)
    assert (memory.judgement, memory.status) == ("nothing", "measured")


def test_only_results_under_the_same_condition_answer() -> None:
    other = make.result("KRN-P-PRE", conditions=Conditions(load="none", cpu_config="shared"))
    assert measured("kernel preemption", other).judgement == "absent"


def test_only_tests_that_are_known_are_named_to_measure() -> None:
    (answer,) = answers_in(inventories.document(make.result("KRN-P-PRE")))
    found = to_measure(answer)
    assert "CLK-B-RES" in found and "KRN-P-PRE" not in found and len(set(found)) == len(found)


def test_resolutions_stand_beside_those_seen() -> None:
    seen = {"claimed": 7, "step": 42, "expiry_step": 9}
    series = {name: make.series([value], name) for name, value in seen.items()}
    for name, one_ in series.items():
        is_timer = name == "expiry_step"
        one_.labels = {"mechanism": "timerfd"} if is_timer else {"clock": "CLOCK_MONOTONIC"}
    resolution = make.result("CLK-B-RES", series=list(series.values()))
    (answer,) = answers_in(inventories.document(resolution))
    found = {one.name: (one.kind, one.claimed_ns, one.seen_ns) for one in answer.clocks}
    assert found["monotonic"] == ("clock", 1, 42)
    assert found["realtime"] == ("clock", 1, None)
    assert found["timerfd"] == ("timer", None, 9)


def test_a_run_under_several_conditions_has_an_answer_for_each() -> None:
    where = [Conditions(load=load, cpu_config="shared") for load in ("none", "heavy")]
    document = make.document(results=[inventories.result(conditions=one) for one in where])
    assert [one.under for one in answers_in(document)] == ["none", "heavy"]
    assert answers_in(make.document()) == []


def test_series_and_labels_of_the_points_are_those_of_the_register() -> None:
    tests = {one.id: one for one in sample.register().tests}
    known = {name for part in posix_data().parts.values() for name in part.options}
    assert all(set(point.options) <= known and point.tests for point in posix_data().points)
    asked = [one for point in posix_data().points for one in point.tests if one.test in tests]
    assert asked
    for one_ in asked:
        spec = tests[one_.test]
        assert one_.series is None or one_.series in {series.name for series in spec.series}
        choices = {param.label: param.choices for param in spec.params if param.label}
        for label, value in one_.labels.items():
            fixed = {series.fixed.get(label) for series in spec.series}
            assert value in choices.get(label, fixed)
