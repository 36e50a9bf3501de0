"""The rules of the doctor, their predicates and placeholders."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.catalogue import load_catalogue
from hardstone.doctor.diagnose import (
    Finding,
    Predicate,
    StepRule,
    Truth,
    derive,
    diagnose,
    evaluate,
    facts_used,
    find_rule,
    judge,
    keeps_facts_whole,
    load_rules,
    names_in,
    parse_rules,
)
from hardstone.errors import InputError
from hardstone.model import Scalar
from hardstone.systems.published import figures_of
from tests.conftest import ROOT
from tests.unit.doctor.machine import FIT, machine

# What spoils the fit machine so that the rule is found.
SPOILT: dict[str, dict[str, Any]] = {
    "selftest": {"derived__selftest_failed": "record_moments: mean 1, directly 2"},
    "realtime-priority": {
        "limits__can_realtime": False,
        "limits__realtime_reason": "no",
        "limits__realtime_cause": "capability",
    },
    "group-budget": {"limits__can_realtime": False, "limits__group_rt_runtime_us": 0},
    "memory-lock": {"limits__can_lock": False, "limits__memlock_bytes": 65536},
    "timer-resolution": {"kernel__timer_resolution_ns": 4_000_000},
    "priority-limit": {"limits__realtime_reason": "not permitted", "limits__rtprio": 10},
    "memlock-limit": {"limits__memlock_bytes": 8_388_608},
    "realtime-time": {"limits__rttime_us": 200_000},
    "preemption": {"kernel__preemption_model": "voluntary"},
    "preempt-rt": {"kernel__realtime": False},
    "throttling-tight": {"kernel__rt_runtime_us": 500_000},
    "throttling": {"kernel__rt_runtime_us": 950_000},
    "fair-server": {"kernel__release": "6.12.0"},
    "group-throttling": {
        "kernel__rt_runtime_us": 950_000,
        "limits__group_rt_runtime_us": 100_000,
    },
    "cpu-quota": {
        "limits__quota_us": 20_000,
        "limits__quota_period_us": 100_000,
        "limits__quota_file": "/sys/fs/cgroup/a b;c/cpu.max",
    },
    "tick-rate": {"kernel__hz": 249},
    "clock-source": {"kernel__clocksource": "hpet"},
    "governor": {"power__governors": "performance, powersave"},
    "idle-states": {"power__idle_latency_us": 133, "power__idle_deepest": "C6"},
    "smt": {"cpu__smt": True, "cpu__smt_control": "on"},
    "one-cpu": {"cpu__count": 1},
    "cpus-withheld": {"cpu__allowed": "0,2"},
    "isolated-cpus": {"kernel__isolated_cpus": None},
    "ticks": {"kernel__nohz_full_cpus": None},
    "balancer": {"interrupts__has_balancer": True},
    "interrupts-here": {"interrupts__busiest_cpu": 3, "interrupts__busiest_percent": 97},
    "interrupts-one-cpu": {"interrupts__busiest_percent": 97},
    "interrupts-everywhere": {"interrupts__quiet_cpus": None},
    "hypervisor": {"virtual__hypervisor": "KVMKVMKVM"},
    "emulation": {"virtual__emulated": True},
    "steal": {"virtual__steal_ppm": 300},
    "container": {"virtual__container": "docker"},
    "swap": {"memory__swap_bytes": 1 << 30},
    "huge-pages": {"memory__transparent_hugepage": "always"},
    "same-pages": {"memory__ksm": 1},
    "numa-balancing": {"memory__numa_balancing": 1, "memory__has_nodes": True},
    "watchdog": {"kernel__watchdog": 1, "kernel__soft_watchdog": 1},
    "tracing": {"tracing__tracer": "function"},
    "lock-checking": {"kernel__lock_checking": True},
    "battery": {"power__on_battery": True},
    "heat": {"power__thermal_throttles": 3},
    "tasks-above": {"tasks__realtime_count": 1, "tasks__realtime_highest": 99},
    "tasks": {"tasks__realtime_count": 1, "tasks__realtime": "audio (77, fifo 50)"},
    "mitigations": {"kernel__mitigations_count": 2, "kernel__mitigations": "l1tf, mds"},
    "timer-migration": {"kernel__nohz_full_cpus": None, "kernel__isolated_cpus": None},
}

# What makes the command exit with 5.
BLOCKING = {"selftest", "realtime-priority", "group-budget", "memory-lock", "timer-resolution"}

# What looks fine and is not known to be: the rule, the facts left out, the facts changed.
TRAPS: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    # a guest sees neither the host's power nor its cores
    ("smt", (), {"virtual__hypervisor": "KVMKVMKVM"}),
    ("battery", (), {"virtual__hypervisor": "KVMKVMKVM"}),
    ("heat", (), {"virtual__hypervisor": "KVMKVMKVM"}),
    ("idle-states", (), {"virtual__hypervisor": "KVMKVMKVM"}),
    ("steal", (), {"virtual__hypervisor": "KVMKVMKVM"}),
    ("emulation", (), {"virtual__emulated": None}),
    ("emulation", ("virtual.emulated",), {}),
    # an arm64 machine cannot exclude a hypervisor
    ("hypervisor", ("virtual.hypervisor",), {}),
    ("smt", ("virtual.hypervisor",), {}),
    ("steal", ("virtual.hypervisor",), {}),
    # a container does not see the tasks of others, and may be shown no swap
    ("tasks", (), {"tasks__all_visible": False}),
    ("tasks-above", (), {"tasks__all_visible": False}),
    ("balancer", ("interrupts.has_balancer",), {}),
    ("swap", (), {"virtual__container": "lxc"}),
    # without debugfs or privilege only the boot line is known, and it is not the last word
    ("preemption", ("kernel.preemption_model",), {"kernel__preemption_default": "full"}),
    ("preemption", ("kernel.preemption_model",), {}),
    ("tracing", ("tracing.tracer", "tracing.events"), {}),
    ("tracing", ("tracing.events",), {}),
    # what nobody has judged
    ("clock-source", (), {"kernel__clocksource": "a-new-one"}),
    ("governor", ("power.governors", "power.frequency_is_fixed"), {}),
    ("timer-resolution", (), {"kernel__timer_resolution_ns": 200_000}),
    # what a limit means depends on the release
    ("throttling", ("kernel.release",), {"kernel__rt_runtime_us": 950_000}),
    ("throttling-tight", ("kernel.release",), {"kernel__rt_runtime_us": 500_000}),
    ("fair-server", ("kernel.release",), {}),
    ("fair-server", (), {"kernel__release": "a-new-one"}),
    ("fair-server", (), {"kernel__name": "FreeBSD", "kernel__release": "14.1"}),
    ("group-budget", ("limits.group_rt_runtime_us",), {"limits__can_realtime": False}),
    ("interrupts-everywhere", ("interrupts.quiet_cpus",), {}),
    ("huge-pages", ("memory.transparent_hugepage",), {}),
    ("huge-pages", (), {"memory__transparent_hugepage": "a-new-word"}),
    ("heat", ("power.thermal_throttles",), {}),
    ("container", ("virtual.container",), {}),
    ("timer-migration", ("kernel.nohz_full_cpus",), {"kernel__isolated_cpus": None}),
    ("timer-migration", ("kernel.isolated_cpus",), {"kernel__nohz_full_cpus": None}),
    # a fact of a type that nobody expects
    ("realtime-priority", (), {"limits__can_realtime": "yes"}),
    ("steal", (), {"virtual__steal_ppm": "0"}),
]

# What looks bad and is not.
INNOCENT: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("preemption", (), {"kernel__preemption_model": "lazy"}),
    ("preemption", (), {"kernel__preemption_model": "full", "kernel__preemption_default": "none"}),
    ("governor", (), {"power__governors": "schedutil", "power__frequency_is_fixed": True}),
    ("idle-states", ("power.idle_latency_us",), {"power__idle_boot": "poll"}),
    ("huge-pages", (), {"memory__transparent_hugepage": None}),
    ("memlock-limit", (), {"limits__memlock_bytes": 65536, "user__cap_ipc_lock": True}),
    ("numa-balancing", (), {"memory__numa_balancing": 1}),
    ("interrupts-here", (), {"interrupts__busiest_percent": 97}),
    ("timer-migration", (), {**SPOILT["timer-migration"], "cpu__count": 1}),
    ("timer-migration", (), {**SPOILT["timer-migration"], "kernel__partition_cpus": "3"}),
    ("timer-migration", (), {"kernel__nohz_full_cpus": None}),  # isolated
    ("timer-migration", (), {"kernel__timer_migration": 0, "kernel__nohz_full_cpus": None}),
    ("swap", (), {"memory__swap_bytes": 0, "memory__swap_used_bytes": 0}),
    ("isolated-cpus", (), {"kernel__isolated_cpus": None, "kernel__partition_cpus": "3"}),
    ("throttling", (), {"kernel__rt_runtime_us": -1}),
    ("throttling", (), {"kernel__rt_runtime_us": 950_000, "kernel__release": "6.12.0"}),
    ("throttling-tight", (), {"kernel__rt_runtime_us": 500_000, "kernel__release": "6.12.0"}),
    # at -1 the kernel holds no group to its budget
    ("group-throttling", (), {"limits__group_rt_runtime_us": 100_000}),
    ("group-throttling", (), {"kernel__rt_runtime_us": 950_000, "limits__group_path": None}),
    ("group-throttling", (), {"kernel__rt_runtime_us": 100_000}),
    ("fair-server", (), {"kernel__release": "6.11.9"}),
    (
        "fair-server",
        (),
        {
            "kernel__release": "6.18.0",
            "kernel__fair_server_runtime_ns": 0,
            "kernel__fair_server_period_ns": 1_000_000_000,
        },
    ),
    ("tick-rate", (), {"kernel__hz": 250}),
    ("group-budget", (), {"limits__group_rt_runtime_us": 0}),
    ("tasks-above", (), {"tasks__realtime_count": 1, "tasks__realtime_highest": 97}),
]


def finding(rule: str, facts: dict[str, Scalar]) -> Finding:
    found = diagnose(facts, probe_path="/opt/probe").findings
    return next(one for one in found if one.rule == rule)


def test_the_tables_hold_every_rule() -> None:
    assert set(SPOILT) == set(load_rules())


@pytest.mark.parametrize("rule", load_rules())
def test_a_rule_is_fine_found_with_something_to_do_or_unknown(rule: str) -> None:
    assert finding(rule, machine()).state == "fine"
    found = finding(rule, machine(**SPOILT[rule]))
    assert found.state == "found" and found.steps and "(unknown)" not in found.found
    silent = finding(rule, {})
    assert silent.state == "unknown" and silent.missing


# Facts without which the rest of a fit machine still tells that the rule is not found.
TOLD_BY_OTHERS: dict[str, set[str]] = {
    # either is enough: scheduling is granted, or the group has a budget
    "group-budget": {"limits.can_realtime", "limits.group_rt_runtime_us"},
    # the system limits nobody, so no group is held to its budget
    "group-throttling": {"limits.group_rt_runtime_us"},
    # the probe tells a reason only where something was refused
    "priority-limit": {"limits.realtime_reason"},
    "memlock-limit": {"user.cap_ipc_lock"},
    "governor": {"power.frequency_is_fixed"},
    "interrupts-here": {
        *("cpu.count", "interrupts.busiest_cpu"),
        *("interrupts.busiest_percent", "interrupts.device_count"),
    },
    "interrupts-one-cpu": {"cpu.count", "interrupts.device_count"},
    "interrupts-everywhere": {"cpu.count"},
    "numa-balancing": {"memory.has_nodes", "memory.numa_balancing"},
    "watchdog": {"kernel.soft_watchdog", "kernel.watchdog"},
    "tasks-above": {"tasks.realtime_count", "tasks.realtime_highest"},
    # isolated, or without the tick: one of them is enough to get no timers of others
    "timer-migration": {"cpu.count", "kernel.isolated_cpus", "kernel.nohz_full_cpus"},
}


@pytest.mark.parametrize("rule", load_rules())
def test_without_one_of_its_facts_a_rule_is_unknown_or_told_by_the_others(rule: str) -> None:
    one = load_rules()[rule]
    assert all(finding(rule, machine(fact)).state != "found" for fact in facts_used(one.found))
    used = {*facts_used(one.found), *facts_used(one.fine)} & set(FIT)
    fine = {fact for fact in used if finding(rule, machine(fact)).state == "fine"}
    assert fine == TOLD_BY_OTHERS.get(rule, set())


@pytest.mark.parametrize("rule", load_rules())
def test_every_rule_says_what_was_found_why_it_matters_and_what_to_do(rule: str) -> None:
    one = load_rules()[rule]
    for text in (one.says, one.says_fine, one.unknown, one.why):
        assert len(text) > 10 and text.endswith("."), text
    assert one.title and not one.title.endswith(".")
    assert one.steps and (one.settings or len(one.fixed) > 10)
    for step in one.steps:
        assert step.words is not None or step.boot is not None or step.lasts
    if one.brings is not None:  # whoever measured that, and when
        assert re.search(r"\d", one.brings.text) and re.search(r" (19|20)\d\d", one.brings.source)


def test_what_is_not_known_to_bring_anything_claims_no_time() -> None:
    """A figure of a latency stands in `brings`, where it has a source."""
    claim = re.compile(r"\d\s?(ns|us|ms|s|microseconds|milliseconds)\b")
    assert {name for name, one in load_rules().items() if claim.search(one.why)} == set()


def test_every_test_that_a_rule_names_is_one_of_the_probe() -> None:
    known = set(load_catalogue().ids())
    text = (ROOT / "src/hardstone/doctor/rules.toml").read_text()
    assert set(re.findall(r"\b[A-Z]{3}-[BPS]-[A-Z]{3,4}\b", text)) <= known


@pytest.mark.parametrize(
    ("rule", "without", "changed", "state"),
    [*((*one, "unknown") for one in TRAPS), *((*one, "fine") for one in INNOCENT)],
)
def test_what_only_looks_fine_is_unknown_and_what_only_looks_bad_is_fine(
    rule: str, without: tuple[str, ...], changed: dict[str, Any], state: str
) -> None:
    assert finding(rule, machine(*without, **changed)).state == state


def test_the_history_of_preemption_is_what_was_published() -> None:
    """The study gives shares of kernel time, not of the number of sections."""
    brings = load_rules()["preemption"].brings
    assert brings is not None
    assert "99 % of kernel time was spent in sections shorter than 129 and 3.4 ms" in brings.text
    assert "longest non-preemptible kernel section 1127 and 14.6 ms" in brings.text
    for statistic in ("time_99", "max"):
        values = [one.value for one in figures_of("KRN-P-PRE") if one.statistic == statistic]
        assert f"{values[0]} and {values[1]} ms" in brings.text


def test_every_fact_of_a_rule_is_one_that_exists() -> None:
    page = (ROOT / "docs/reference/facts.md").read_text()
    explained = set(re.findall(r"`([a-z]+\.[a-z_]+)`", page))
    source = (ROOT / "src/hardstone/doctor/diagnose.py").read_text()
    derived = set(re.findall(r'"(derived\.[a-z_]+)"', source))
    for name, rule in load_rules().items():
        texts = [rule.says, rule.says_fine, rule.unknown]
        texts += [step.command or step.boot or step.words or "" for step in rule.steps]
        texts += [step.undo or "" for step in rule.steps] + [step.lasts for step in rule.steps]
        used = {*facts_used(rule.found), *facts_used(rule.fine)}
        used |= {fact for text in texts for fact in names_in(text)}
        used |= {fact for step in rule.steps for fact in facts_used(step.when)}
        assert used - explained - derived == set(), name
        for text in texts[:3]:
            assert text.count("{") == len(names_in(text)), name


def test_what_blocks_is_what_no_measurement_can_do_without() -> None:
    """What each rule brings and what --prove switches for it is in golden/advice.txt."""
    assert {name for name, one in load_rules().items() if one.level == "blocks"} == BLOCKING


def test_an_unknown_rule_gives_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean governor"):
        find_rule("governer")
    with pytest.raises(InputError, match="see every rule: hardstone doctor --all"):
        find_rule("\x1b[31mzzz")
    assert find_rule("SMT")[0] == "smt"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("echo {user.name} | sudo tee {limits.group_path}/x", True),
        ("printf '%s - rtprio 98\\n' {user.name}", True),
        ("sudo sh -c 'echo {user.name}'", False),
        ("sudo sh -c 'echo '{user.name}' > x'", False),
        ("sudo bash -c {user.name}", False),
        ("eval {user.name}", False),
        ("echo '{user.name}'", False),
        ('echo "{user.name}"', False),
        ("echo 'x", False),
    ],
)
def test_a_fact_in_a_command_is_a_word(text: str, wanted: bool) -> None:
    assert keeps_facts_whole(text) is wanted


@pytest.mark.parametrize("part", ["command", "undo"])
def test_a_rule_with_a_fact_in_quotes_is_refused(part: str) -> None:
    texts = {"command": "true", "undo": "true", part: "sh -c 'echo '{user.name}' > x'"}
    with pytest.raises(ValueError, match="outside of quotes"):
        StepRule(**texts)


def test_an_undo_is_typed_as_a_command_is() -> None:
    """What is prose has no tool at its beginning."""
    tools = {"sudo", "echo", "printf", "ulimit"}
    for name, rule in load_rules().items():
        for step in rule.steps:
            for typed in (step.command, step.undo):
                assert not typed or typed.split()[0] in tools, name


@pytest.mark.parametrize(
    "spoil",
    [
        ('level = "blocks"', 'level = "grave"'),
        ("equals = false", "equals = false, null = true"),
        ("undo =", "undone ="),
        ("fixed =", "settings = ['governor']\nfixed ="),
        ("100 to 1000 times a second", "{kernel.hz} times a second"),
    ],
)
def test_faulty_data_is_refused(spoil: tuple[str, str]) -> None:
    text = (ROOT / "src/hardstone/doctor/rules.toml").read_text()
    with pytest.raises(ValueError):
        parse_rules(text.replace(*spoil, 1))


@pytest.mark.parametrize(
    "rule", ["interrupts-here", "interrupts-one-cpu", "isolated-cpus", "ticks"]
)
def test_in_a_set_of_one_cpu_nothing_is_said_that_needs_another(rule: str) -> None:
    busy = {"interrupts__busiest_cpu": 0, "interrupts__busiest_percent": 97}
    lacks = {"kernel__isolated_cpus": None, "kernel__nohz_full_cpus": None}
    found = finding(rule, machine(cpu__allowed="0", **lacks, **busy))
    told = "\n".join(step.words or step.boot or "" for step in found.steps)
    assert "cpus-withheld" in told
    assert not any(part in told for part in ("unknown", "isolcpus", "off CPU", "--cpu", "nohz"))


def test_isolated_cpus_are_not_withheld() -> None:
    """The default affinity lacks them, and who names one gets it."""
    isolated = {"cpu__count": 4, "cpu__allowed": "0-1", "kernel__isolated_cpus": "2-3"}
    assert finding("cpus-withheld", machine(**isolated)).state == "fine"
    assert finding("cpus-withheld", machine(**isolated | {"cpu__allowed": "0"})).state == "found"


FACTS: dict[str, Scalar] = {
    "a.one": 1,
    "a.yes": True,
    "a.text": "tsc, hpet acpi_pm",
    "a.nothing": None,
    "a.open": "unlimited",
    "a.nan": float("nan"),
    "a.two": 2,
}


def truth(**predicate: Any) -> Truth:
    return evaluate(msgspec.convert(predicate, Predicate), FACTS)


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        ({"fact": "a.one", "equals": 1}, True),
        ({"fact": "a.one", "equals": 2}, False),
        ({"fact": "a.one", "equals": True}, None),
        ({"fact": "a.yes", "equals": 1}, None),
        ({"fact": "a.nothing", "equals": 1}, False),
        ({"fact": "a.missing", "equals": 1}, None),
        ({"fact": "a.text", "has": "hpet"}, True),
        ({"fact": "a.text", "has": "pet"}, False),
        ({"fact": "a.one", "has": "1"}, None),
        ({"fact": "a.nothing", "has": "x"}, False),
        ({"fact": "a.text", "one_of": ["tsc"]}, False),
        ({"fact": "a.open", "above": 10**18}, True),
        ({"fact": "a.open", "below": 10**18}, False),
        ({"fact": "a.text", "above": 1}, None),
        ({"fact": "a.yes", "above": 0}, None),
        ({"fact": "a.nan", "above": 0}, None),
        ({"fact": "a.nothing", "below": 5}, None),
        ({"fact": "a.two", "above": "a.one"}, True),
        ({"fact": "a.one", "at_least": "a.two"}, False),
        ({"fact": "a.one", "at_least": "a.missing"}, None),
        ({"fact": "a.nothing", "null": True}, True),
        ({"fact": "a.one", "null": True}, False),
        ({"fact": "a.missing", "null": True}, None),
        ({"fact": "a.missing", "known": False}, True),
        ({"fact": "a.nothing", "known": True}, True),
    ],
)
def test_comparisons(predicate: dict[str, Any], wanted: Truth) -> None:
    assert truth(**predicate) is wanted


YES: dict[str, Any] = {"fact": "a.one", "equals": 1}
NO: dict[str, Any] = {"fact": "a.one", "equals": 2}
WHO: dict[str, Any] = {"fact": "a.missing", "equals": 1}


@pytest.mark.parametrize(
    ("parts", "every", "some"),
    [
        ([YES, NO], False, True),
        ([YES, WHO], None, True),
        ([NO, WHO], False, None),
        ([WHO, WHO], None, None),
        ([YES, YES], True, True),
        ([NO, NO], False, False),
    ],
)
def test_kleene(parts: list[dict[str, Any]], every: Truth, some: Truth) -> None:
    assert truth(all=parts) is every
    assert truth(any=parts) is some


def test_not() -> None:
    assert truth(**{"not": YES}) is False
    assert truth(**{"not": NO}) is True
    assert truth(**{"not": WHO}) is None


@pytest.mark.parametrize(
    "predicate",
    [
        {},
        {"fact": "a.one"},
        {"equals": 1},
        {"fact": "a.one", "equals": 1, "above": 0},
        {"fact": "a.one", "equals": 1, "all": [YES]},
        {"all": [YES], "any": [NO]},
        {"fact": "a.one", "matches": "x"},
    ],
)
def test_a_condition_is_one_thing(predicate: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        msgspec.convert(predicate, Predicate)


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
_TESTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda value: {"equals": value}, st.one_of(st.booleans(), st.integers(0, 3))),
    st.builds(lambda value: {"above": value}, st.integers(0, 3)),
    st.builds(lambda value: {"one_of": [value]}, st.text(max_size=3)),
)
_LEAVES = st.builds(lambda fact, test: {"fact": fact, **test}, st.sampled_from("abc"), _TESTS)
_CONDITIONS = st.recursive(
    _LEAVES,
    lambda below: st.one_of(
        st.builds(lambda parts: {"all": parts}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda parts: {"any": parts}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, below),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(_CONDITIONS, st.dictionaries(st.sampled_from("abc"), _SCALARS), st.sampled_from("abc"))
def test_knowing_more_never_turns_an_answer_round(
    predicate: dict[str, Any], facts: dict[str, Scalar], left_out: str
) -> None:
    parsed = msgspec.convert(predicate, Predicate)
    less = evaluate(parsed, {key: value for key, value in facts.items() if key != left_out})
    assert less is None or less is evaluate(parsed, facts)


@pytest.mark.parametrize(
    ("ppm", "share"), [(3970, "0.4 %"), (999_999, "100 %"), (7, "under 0.01 %")]
)
def test_steal_time_is_said_in_percent(ppm: int, share: str) -> None:
    known = derive(machine(virtual__steal_ppm=ppm))
    found = judge("steal", load_rules()["steal"], known)
    assert found.found == f"Steal time since boot: {share} of the CPU time."
