"""What each paper ran, as plans: lengths, tests, conditions, and what a system lacks of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import pytest

from hardstone.model import Plan
from hardstone.plan.params import PlanError
from hardstone.study.papers import load_papers
from hardstone.study.procedure import (
    LENGTHS,
    Here,
    Length,
    Procedure,
    about_minutes,
    measured_tests,
    plan_of,
    planned_ns,
    procedure_of,
)
from hardstone.targets.probe_target import decode_shield
from tests.process.targets import sample
from tests.sweeps import facts

PAPERS = load_papers()
MOST_S = {"quick": 180, "default": 900}
# A root's machine on which all can be had but what is named in CANNOT.
FIT: dict[str, Any] = facts(
    **{
        "kernel.preemption_choices": "none, voluntary, full, lazy",
        "limits.can_lock": True,
        "limits.can_realtime": True,
        "limits.priority_max": 99,
        "limits.priority_min": 1,
        "tracing.tracer": "nop",
        "user.effective_id": 0,
        "virtual.container": None,
    }
)


def here(**changed: Any) -> Here:
    """A machine that is FIT; facts are named with __ for the point."""
    own = {name.replace("__", "."): changed.pop(name) for name in list(changed) if "__" in name}
    found = Here(
        target="local",
        facts=FIT | own,
        register=sample.register(),
        loads=sample.loads(),
        shield=decode_shield(json.dumps(sample.shield_look()).encode()),
    )
    return replace(found, **changed)


def procedure(name: str, length: Length = "default", *, on: Here | None = None) -> Procedure:
    return procedure_of(PAPERS[name], length, on or here())


def plans(name: str, length: Length = "default", on: Here | None = None) -> list[Plan]:
    system = on or here()
    return [plan_of(part, system) for part in procedure(name, length, on=system).parts]


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("length", MOST_S)
def test_the_lengths_are_kept(name: str, length: Length) -> None:
    total_s = sum(planned_ns(one, sample.register()) for one in plans(name, length)) / 1e9
    assert total_s <= MOST_S[length]
    assert about_minutes(name, length) == math.ceil(total_s / 60)


@pytest.mark.parametrize("name", PAPERS)
def test_each_length_is_longer(name: str) -> None:
    totals = [
        sum(planned_ns(one, sample.register()) for one in plans(name, length)) for length in LENGTHS
    ]
    assert totals == sorted(totals) and totals[0] < totals[1] < totals[2]


def test_as_published_has_the_lengths_of_the_papers() -> None:
    latstat, *_ = plans("latstat-2007", "as-published")
    assert latstat.tests[0].samples == 300_000_000
    hours = planned_ns(latstat, sample.register()) / 3600e9
    assert 83 < hours < 84
    *_, sustained = plans("dedicated-systems-2012", "as-published")
    assert sustained.tests[0].params["interrupts"] == 1_000_000_000
    _, realtime, realfast = plans("garre-2014", "as-published")
    assert realtime.sweep is not None and realfast.sweep is not None
    assert realtime.sweep.threads == [1, 6, 12, 18, 24]
    assert realfast.sweep.threads == [1, 6, 12, 24]
    assert realfast.sweep.masses[-1] == 5900 and len(realfast.sweep.masses) == 59
    point = next(one for one in realfast.tests if not one.params["frames"])
    assert point.params["simulated_s"] == 60


@pytest.mark.parametrize("name", PAPERS)
def test_every_test_of_an_exhibit_is_measured(name: str) -> None:
    paper = PAPERS[name]
    exhibits = {test for one in paper.exhibits for test in one.tests}
    rows = [row for one in paper.exhibits for row in one.rows]
    asked = {row.at.partition("/")[0] for row in rows if row.at} | exhibits
    asked |= {test for row in rows for test in row.tests}
    asked |= {test for one in paper.conclusions for test in one.tests}
    assert asked <= set(measured_tests(name))
    made = {one.test for plan in plans(name) for one in plan.tests}
    assert set(measured_tests(name)) <= made


@pytest.mark.parametrize("name", PAPERS)
def test_threads_have_the_highest_priority_and_locked_memory(name: str) -> None:
    for plan in plans(name):
        assert plan.priority == 99 and plan.policy in ("fifo", "other")


def conditions(name: str, on: Here | None = None) -> dict[str, tuple[list[str], list[str]]]:
    return {
        one.test: (plan.loads, plan.cpu_configs)
        for plan in plans(name, on=on)
        for one in plan.tests
    }


ALL = ["shared", "single", "shielded"]


def test_conditions_are_those_of_the_papers() -> None:
    obenland = conditions("obenland-2000")
    assert obenland["RSP-P-FIX"] == (["none", "heavy"], ALL)
    assert obenland["MSG-P-LAT"] == (["none", "heavy"], ALL)
    assert obenland["MSG-P-THR"] == (["none"], ALL)  # Table 10 is without load
    for plain in ("dedicated-systems-2012", "hp-1987", "garre-2014"):
        assert all(one == (["none"], ["shared"]) for one in conditions(plain).values())
    assert [(one.loads, one.cpu_configs) for one in plans("latstat-2007")] == [
        (["latstat"], ["shielded"]),
        (["none"], ["shielded"]),
        (["none"], ["shared"]),
        (["latstat"], ["shared"]),
    ]
    first, *others = plans("hp-1987")
    assert first.preemption_models == ["none", "full"]
    assert not any(one.preemption_models for one in others)


def test_signals_go_between_two_processes() -> None:
    (signal,) = (
        one
        for one in plans("obenland-2000")[0].tests
        if (one.test, one.load, one.cpu_config) == ("SIG-P-LAT", "none", "shared")
    )
    assert signal.params["scopes"] == ["process"]


# what, facts that rule it out, and what it takes
LACKING = [
    ("obenland-2000", {"limits__can_realtime": False}, "real-time priority", "grant-rights"),
    ("hp-1987", {"limits__realtime_reason": "rtprio is 98"}, "the highest real", "grant-rights"),
    ("hp-1987", {"limits__priority_max": None}, "the highest real-time priority", "grant-rights"),
    ("hp-1987", {"limits__can_lock": False}, "locked memory", "grant-rights"),
    ("hp-1987", {"virtual__emulated": True}, "times that may be compared", "kvm"),
    ("hp-1987", {"virtual__time": "instructions"}, "times that may be compared", "hardware"),
    ("obenland-2000", {"loads": None}, "load heavy", "makes load"),
    ("latstat-2007", {"loads": None}, "load latstat", "makes load"),
    ("obenland-2000", {"cpu__allowed": "0"}, "CPU configuration single", "more CPUs"),
    ("obenland-2000", {"cpu__allowed": "0"}, "CPU configuration shielded", "more CPUs"),
    ("obenland-2000", {"user__effective_id": 1000}, "CPU configuration single", "sudo"),
    ("latstat-2007", {"user__effective_id": 1000}, "CPU configuration shielded", "sudo"),
    ("obenland-2000", {"virtual__container": "docker"}, "CPU configuration single", "host"),
    ("hp-1987", {"kernel__preemption_choices": None}, "kernel preemption off and on", "lab:"),
    ("hp-1987", {"target": "lab:debian"}, "kernel preemption off and on", "preempt=full"),
    ("obenland-2000", {"cpu__allowed": "0", "target": "lab:x"}, "CPU configuration si", "--cpus 2"),
    ("hp-1987", {"tracing__tracer": None}, "what the kernel does within", "CONFIG_FTRACE"),
    (
        "latstat-2007",
        {"tracing__tracer": None, "user__effective_id": 7},
        "what the kernel does within",
        "as root",
    ),
    ("dedicated-systems-2012", {}, "128 threads of different priorities", "more priorities"),
    ("dedicated-systems-2012", {}, "the interrupts of an external device", "uio=N"),
    ("dedicated-systems-2012", {"target": "lab:x"}, "the interrupts of an ext", "--device edu"),
    ("garre-2014", {}, "as many threads on each CPU", "12 hardware threads"),
    ("obenland-2000", {}, "the load's packets from another machine", "network="),
]


@pytest.mark.parametrize(("name", "changed", "what", "remedy"), LACKING)
def test_what_cannot_be_had_is_said_with_what_it_would_take(
    name: str, changed: dict[str, Any], what: str, remedy: str
) -> None:
    found = {one.what: one for one in procedure(name, on=here(**changed)).missing}
    (one,) = (one for key, one in found.items() if key.startswith(what))
    assert remedy in one.remedy and one.why
    assert str(one).startswith(f"Not available here: {one.what}, since {one.why}. To have ")
    assert str(one).endswith(f"{'them' if one.is_many else 'it'}: {one.remedy}")
    assert "\n" not in str(one)


def test_a_long_reason_is_whole_and_a_longer_one_says_that_it_is_cut() -> None:
    def why(reason: str) -> str:
        changed = {"limits__can_realtime": False, "limits__realtime_reason": reason}
        found = procedure("obenland-2000", on=here(**changed)).missing
        return next(one.why for one in found if one.what == "real-time priority")

    reason = (
        "CAP_SYS_NICE is missing, RLIMIT_RTPRIO is 0, and this process cannot gain capabilities "
        "(they are not in its bounding set)"
    )
    assert why(reason) == reason
    assert why(reason * 3).endswith("\N{HORIZONTAL ELLIPSIS}")
    assert "\x1b" not in why(f"{reason}\x1b[2J")


WIDE = {"limits__priority_max": 255, "cpu__allowed": "0-23"}


@pytest.mark.parametrize("name", PAPERS)
def test_nothing_is_missed_that_is_there(name: str) -> None:
    system = here(**WIDE)
    found = procedure_of(PAPERS[name], "default", system, params=DEVICE.get(name, ())).missing
    left = {"the load's packets from another machine and its serial interrupts"}
    assert {one.what for one in found} == (left if name == "obenland-2000" else set())


DEVICE = {"dedicated-systems-2012": ("uio=0",)}


def test_threads_have_the_next_priority_where_the_highest_is_refused() -> None:
    for changed in ({"limits__realtime_reason": "rtprio is 98"}, {"limits__priority_max": None}):
        for plan in plans("garre-2014", on=here(**changed)):
            assert plan.priority is None


def test_facts_that_are_not_known_rule_nothing_out() -> None:
    system = replace(here(), facts={"limits.priority_max": 99})
    found = procedure("obenland-2000", on=system)
    assert [one.what for one in found.missing] == [
        "the load's packets from another machine and its serial interrupts"
    ]
    assert found.parts[0].request.cpu_config == tuple(ALL)


def test_a_cpu_that_cannot_be_reserved() -> None:
    look = decode_shield(json.dumps(sample.shield_look(cpuset="no cgroups\x1b")).encode())
    found = procedure("latstat-2007", on=here(shield=look))
    (one,) = found.missing
    assert (
        one.what == "CPU configuration shielded"
        and one.why == "no cgroups\N{REPLACEMENT CHARACTER}"
    )
    assert found.parts[0].request.cpu_config == ("shared",)


def reached(name: str) -> set[tuple[str, str, str, str]]:
    """Test, load, CPU configuration and kind of semaphore that a study measures by default."""
    return {
        (one.test, one.load, one.cpu_config, str(kind))
        for plan in plans(name)
        for one in plan.tests
        for kind in ("", *as_texts(one.params.get("kinds")))
    }


def as_texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


# What the answers of a conclusion rest on, beside what the exhibits have.
DECIDING = [
    ("obenland-2000", "MSG-P-LAT", ("none", "heavy"), ("shared", "single", "shielded"), ("",)),
    ("obenland-2000", "RSP-P-FIX", ("none", "heavy"), ("shared", "single", "shielded"), ("",)),
    ("obenland-2000", "TMR-P-JIT", ("none", "heavy"), ("shared", "single", "shielded"), ("",)),
    ("obenland-2000", "SEM-P-RTP", ("none", "heavy"), ("shared", "shielded"), ("unnamed",)),
    (
        "dedicated-systems-2012",
        "SEM-P-ARN",
        ("none",),
        ("shared",),
        ("unnamed", "sysv", "eventfd"),
    ),
    ("latstat-2007", "TMR-P-LAT", ("none", "latstat"), ("shared", "shielded"), ("",)),
]


@pytest.mark.parametrize(("name", "test", "loads", "configs", "kinds"), DECIDING)
def test_the_conclusions_can_be_answered(
    name: str, test: str, loads: tuple[str], configs: tuple[str], kinds: tuple[str]
) -> None:
    assert set(product([test], loads, configs, kinds)) <= reached(name)


def test_a_part_that_would_repeat_another_is_left_out() -> None:
    """Without a reserved CPU the latency is measured once under each load."""
    for changed, wanted in (
        ({"user__effective_id": 1000}, [["latstat"], ["none"]]),
        ({"cpu__allowed": "0", "loads": None}, [["none"]]),
    ):
        found = plans("latstat-2007", on=here(**changed))
        assert [one.loads for one in found] == wanted
        assert all(one.cpu_configs == ["shared"] for one in found)
    assert plans("latstat-2007", on=here(user__effective_id=1000))[0].tests[0].duration_ns > 200e9


def test_what_is_missing_is_left_out_of_the_plans() -> None:
    assert conditions("obenland-2000", here(cpu__allowed="0"))["RSP-P-FIX"][1] == ["shared"]
    user = here(user__effective_id=1000)
    assert conditions("obenland-2000", user)["RSP-P-FIX"][1] == ["shared"]
    boxed = here(virtual__container="docker")
    assert conditions("obenland-2000", boxed)["RSP-P-FIX"][1] == ["shared", "shielded"]
    assert conditions("obenland-2000", here(loads=None))["RSP-P-FIX"][0] == ["none"]
    fixed = here(kernel__preemption_choices=None)
    assert plans("hp-1987", on=fixed)[0].preemption_models == []


def test_tests_that_the_probe_lacks() -> None:
    known = [one for one in sample.register().tests if one.id not in ("TMR-P-JIT", "MUT-P-INV")]
    system = here(register=msgspec.structs.replace(sample.register(), tests=known))
    found = procedure("obenland-2000", on=system)
    missing = {one.what: one for one in found.missing}
    assert missing["MUT-P-INV"].remedy == "hardstone probe build"
    assert len(found.parts) == 5  # that of TMR-P-JIT has no test left
    assert [(one.number, one.count) for one in found.parts] == [(n, 5) for n in range(1, 6)]
    assert "MUT-P-INV" not in found.parts[0].tests


def test_a_guest_that_is_booted_with_a_model_is_one_column() -> None:
    found = procedure("hp-1987", on=here(target="lab:debian,preempt=none"))
    assert found.missing == () and found.parts[0].request.preemption_models == ()


def test_a_guest_with_a_device_has_external_interrupts() -> None:
    system = here(target="lab:debian,device=edu")
    found = procedure("dedicated-systems-2012", on=system)
    assert "the interrupts of an external device" not in {one.what for one in found.missing}
    assert "uio=0" in found.parts[0].request.params
    assert "uio=0" in found.parts[3].request.params
    given = procedure_of(PAPERS["dedicated-systems-2012"], "quick", system, params=["uio=3"])
    assert "uio=3" in given.parts[0].request.params
    assert "uio=0" not in given.parts[0].request.params


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("uoi=0", "no chosen test has a parameter 'uoi'; did you mean uio?"),
        ("protocols=none", "-p 'protocols': the study sets it; leave it out"),
        ("uio", "-p 'uio' has no value; write -p name=value"),
    ],
)
def test_a_parameter_is_one_that_the_paper_leaves_open(pair: str, said: str) -> None:
    paper = PAPERS["dedicated-systems-2012"]
    with pytest.raises(PlanError) as refused:
        procedure_of(paper, "quick", here(), params=[pair])
    assert refused.value.problems[0].startswith(said)


def test_names_of_runs() -> None:
    paper = PAPERS["hp-1987"]
    names = [one.request.name for one in procedure("hp-1987", "quick").parts]
    assert names[0] == "study hp-1987 quick 1/5" and len(set(names)) == 5
    (first, *_) = procedure_of(paper, "default", here(), name="before").parts
    assert first.request.name == "before 1/5"
    assert procedure("hp-1987").parts[0].request.name == "study hp-1987 1/5"


def test_a_thread_on_each_cpu_is_among_those_of_the_simulation() -> None:
    for cpus, threads in (("0-1", [1, 2, 6, 12, 18, 24]), ("0-7", [1, 6, 8, 12, 18, 24])):
        plan = plans("garre-2014", on=here(cpu__allowed=cpus))[1]
        assert plan.sweep is not None and plan.sweep.threads == threads
        assert plan.sweep.policies == ["fifo", "other"] and not plan.sweep.fast_masses


def test_a_part_knows_what_it_repeats() -> None:
    paper = PAPERS["obenland-2000"]
    parts = procedure("obenland-2000").parts
    assert "Table 8" in [one.number for one in parts[0].exhibits(paper)]
    assert parts[3].numbers(paper) == "Table 10"
    assert parts[1].numbers(paper) == "Figure 6"  # 6a and 6b
