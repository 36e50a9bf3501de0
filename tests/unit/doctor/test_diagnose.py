"""What is printed to be typed fits the machine, and facts are not trusted."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone import schema
from hardstone.calling import parted_text
from hardstone.doctor.diagnose import (
    DOCTOR_SCHEMA,
    Finding,
    Rules,
    advice_lines,
    blocks,
    brings_texts,
    derive,
    diagnose,
    fill,
    fill_command,
    parse_rules,
    prove_command,
    realtime_refusal,
)
from hardstone.model import Scalar
from hardstone.sources import cpus_of
from tests.conftest import ROOT
from tests.unit.doctor.machine import machine
from tests.unit.doctor.test_rules import SPOILT
from tests.unit.golden import assert_as_stored

GOLDEN = schema.FOLDER / "golden" / "doctor-1.json"


def finding(rule: str, facts: dict[str, Scalar]) -> Finding:
    found = diagnose(facts, probe_path="/opt/my probe").findings
    return next(one for one in found if one.rule == rule)


# Without the tool of its boot loader
STATIC = {"kernel__preemption_model": "none", "kernel__preemption_is_dynamic": True}
TUNED = machine(
    **STATIC,
    memory__transparent_hugepage="always",
    memory__ksm=1,
    kernel__watchdog=1,
    kernel__soft_watchdog=1,
    kernel__nmi_watchdog=0,
)
OF_THE_HOST = ("preemption", "huge-pages", "same-pages", "watchdog")
GUEST: dict[str, Scalar] = {"kernel.cmdline": "quiet hardstone.lab=tcg", "os.boot_tool": "grubby"}
EMULATED = machine(
    kernel__preemption_model="none",
    kernel__realtime=False,
    kernel__cmdline="hardstone.lab=icount",
    virtual__hypervisor="QEMU virt",
    virtual__emulated=True,
)
REMEDY = "the probe's own words"
NEEDS_SETCAP = {"capability"}
CAUSES = (
    *("capability", "soft_limit", "user_namespace", "confined", "group_budget", "no_proc"),
    *("filter", "hidden", "thread_limit", "thread_memory", "thread_filter", "other"),
)


def refused(cause: str, **more: Scalar) -> dict[str, Scalar]:
    """A machine that refuses SCHED_FIFO for this reason."""
    return machine(
        limits__can_realtime=False,
        limits__realtime_cause=cause,
        limits__realtime_reason=f"because of {cause}",
        limits__realtime_remedy=REMEDY,
        limits__rtprio_most=50 if cause == "soft_limit" else 0,
        limits__group_rt_runtime_us=0 if cause == "group_budget" else 950_000,
        limits__granted_rtprio=None,
        virtual__user_namespace=cause == "user_namespace",
        **more,
    )


CONTAINER: dict[str, Scalar] = {
    "virtual__container": "docker",
    "limits__groups_read_only": True,
}
GRANTED = machine(
    limits__can_realtime=False,
    limits__realtime_cause="capability",
    limits__granted_rtprio="@audio=95, @realtime=98, bob=99",
    user__groups="users",
)
SERVER = {
    "kernel__release": "6.18.44",
    "kernel__fair_server_runtime_ns": 50_000_000,
    "kernel__fair_server_period_ns": 1_000_000_000,
}


def watched(nmi: int | None, soft: int) -> dict[str, Scalar]:
    """The kernel takes a kind for wanted only while kernel.watchdog is 1; a kind that it does not
    have is read-only."""
    without = () if nmi is not None else ("kernel.nmi_watchdog",)
    kinds = {"kernel__soft_watchdog": soft, "kernel__nmi_watchdog": nmi}
    return machine(*without, kernel__watchdog=1, **kinds)


def tickful(nohz: bool, nocbs: bool | None) -> dict[str, Scalar]:
    without = () if nocbs is not None else ("kernel.has_rcu_nocbs",)
    able = {"kernel__has_nohz_full": nohz, "kernel__has_rcu_nocbs": nocbs}
    return machine(*without, kernel__nohz_full_cpus=None, **able)


def timers(now: int, tickless: str | None, release: str = "6.8.12") -> dict[str, Scalar]:
    """Timers wander in another way from 6.9 on."""
    return machine(
        kernel__timer_migration=now,
        kernel__nohz_full_cpus=tickless,
        kernel__isolated_cpus=None,
        kernel__release=release,
    )


CASES: dict[str, tuple[str, dict[str, Scalar]]] = {
    "one governor": ("governor", machine(power__governors="powersave")),
    "no one echo brings both back": ("governor", machine(power__governors="powersave, schedutil")),
    **{
        f"watchdogs: nmi {nmi}, soft {soft}": ("watchdog", watched(nmi, soft))
        for nmi, soft in ((1, 0), (1, 1), (0, 1), (None, 1))
    },
    "root needs no sudo": ("same-pages", machine(memory__ksm=1, user__effective_id=0)),
    "a group grants the priority": ("realtime-priority", GRANTED),
    "its member": ("realtime-priority", GRANTED | {"user.groups": "users,realtime"}),
    **{f"refused: {cause}": ("realtime-priority", refused(cause)) for cause in CAUSES},
    "no budget, in a container": ("group-budget", refused("group_budget", **CONTAINER)),
    "a small budget, in a container": (
        "group-throttling",
        machine(**CONTAINER, limits__group_rt_runtime_us=10_000, kernel__rt_runtime_us=950_000),
    ),
    "a budget of 0 is one finding": ("group-throttling", refused("group_budget")),
    "a quota in a container": (
        "cpu-quota",
        machine(
            **CONTAINER,
            limits__quota_us=20_000,
            limits__quota_period_us=100_000,
            limits__quota_file="/sys/fs/cgroup/cpu.max",
        ),
    ),
    "a setting of the kernel, in a container": (
        "same-pages",
        machine(**CONTAINER, memory__ksm=1, user__effective_id=0),
    ),
    "locked memory in a container": (
        "memory-lock",
        machine(
            **CONTAINER,
            limits__can_lock=False,
            limits__lock_cause="confined",
            virtual__user_namespace=False,
        ),
    ),
    "a filter refuses locked memory": (
        "memory-lock",
        machine(
            limits__can_lock=False,
            limits__lock_cause="filter",
            limits__lock_remedy=REMEDY,
            user__effective_id=0,
        ),
    ),
    "refused: confined in a container": (
        "realtime-priority",
        refused("confined", virtual__container="docker"),
    ),
    "grubby": ("preemption", machine(**STATIC, os__boot_tool="grubby")),
    "update-grub": ("preemption", machine(**STATIC, os__boot_tool="update-grub")),
    **{f"a guest of the lab: {one}": (one, TUNED | GUEST) for one in OF_THE_HOST},
    **{
        f"an emulated guest of the lab: {one}": (one, EMULATED)
        for one in ("preemption", "preempt-rt", "hypervisor", "emulation")
    },
    "the timers of others": ("timer-migration", timers(1, None)),
    "its own timers": ("timer-migration", timers(0, "3")),
    **{
        f"timers of {one}": ("timer-migration", timers(1, None, one))
        for one in ("6.9.0", "5.19", "7.0")
    },
    "a byte of swap": ("swap", machine(memory__swap_bytes=1)),
    "a known share of each CPU": ("fair-server", machine(**SERVER)),
    **{
        f"a share that cannot be read, with {one} us": (
            "fair-server",
            machine(kernel__release="6.18.44", kernel__rt_runtime_us=one),
        )
        for one in (-1, 950_000, 500_000)
    },
    "a server of an older release": (
        "fair-server",
        machine(**SERVER | {"kernel__release": "5.14.0-backported"}),
    ),
    "no throttling beside a server": (
        "throttling",
        machine(
            **SERVER | {"kernel__release": "5.14.0-backported", "kernel__rt_runtime_us": 950_000}
        ),
    ),
    **{
        f"ticks: nohz {nohz}, nocbs {nocbs}": ("ticks", tickful(nohz, nocbs))
        for nohz in (True, False)
        for nocbs in (True, False, None)
    },
}


def told(found: Finding) -> str:
    lines = [f"{found.state}: {found.found}"]
    for step in found.steps:
        reboot = " (reboot)" if step.needs_reboot else ""
        lines.append(f"do{reboot}: {step.command or step.words}")
        lines += [f"lasts: {step.lasts}"] if step.lasts else []
        lines += [f"undo: {step.undo}"] if step.undo else []
    # A setting must do what the rule advises, or --prove measures a machine against itself
    lines += [f"--prove switches: {', '.join(found.settings)}"] if found.settings else []
    lines += [f"{label}: {text}" for label, text in brings_texts(found.brings, found.settings)]
    return "\n".join(lines)


@pytest.mark.slow
def test_what_each_rule_advises(request: pytest.FixtureRequest) -> None:
    """Of a machine that is fit but for that rule, and of odd ones."""
    cases = {f"[{rule}]": (rule, machine(**changed)) for rule, changed in SPOILT.items()}
    cases |= {f"{name} [{rule}]": (rule, facts) for name, (rule, facts) in CASES.items()}
    texts = {name: told(finding(rule, facts)) for name, (rule, facts) in cases.items()}
    assert_as_stored(request, "advice.txt", texts)


def test_the_document_obeys_its_schema() -> None:
    path = schema.FOLDER / schema.file_name(DOCTOR_SCHEMA)
    validator = Draft202012Validator(msgspec.json.decode(path.read_bytes()))
    golden = msgspec.json.decode(GOLDEN.read_bytes())
    validator.validate(golden)
    assert {one["state"] for one in golden["findings"]} == {"found", "fine", "unknown"}
    for facts in ({}, machine(), machine(limits__can_lock=False, user__effective_id=0)):
        validator.validate(msgspec.json.decode(msgspec.json.encode(diagnose(facts))))


def test_counts_and_conclusion_agree_with_the_findings() -> None:
    found = diagnose(machine(limits__can_lock=False, memory__ksm=1, cpu__count=1))
    assert blocks(found)
    assert found.conclusion.startswith("1 blocker, 0 problems, 2 notes, ")
    assert sum(found.counts.values()) == len(found.findings)
    assert not blocks(diagnose(machine()))


@pytest.mark.parametrize("cause", CAUSES)
def test_a_refusal_has_one_remedy_that_fits_its_cause(cause: str) -> None:
    found = realtime_refusal(refused(cause), "/opt/probe")
    assert found is not None and found.steps
    said = " ".join(one.command or one.words or "" for one in found.steps)
    assert ("setcap cap_sys_nice" in said) == (cause in NEEDS_SETCAP)
    assert ("cpu.rt_runtime_us" in said) == (cause == "group_budget")
    assert realtime_refusal(machine()) is None


def test_the_causes_are_those_of_the_probe() -> None:
    source = (ROOT / "probe/src/port/linux/refusal.c").read_text()
    facts = (ROOT / "src/hardstone/facts.toml").read_text()
    threads, locked = source.split("/* ---- locked memory ---- */")
    for port, fact in ((threads, "realtime"), (locked, "lock")):
        causes = set(re.findall(r'set\(refusal, "([a-z_]+)"', port))
        assert causes == set(CAUSES) or fact == "lock"
        (meaning,) = re.findall(f'"limits.{fact}_cause".*', facts)
        assert all(cause in meaning for cause in causes)


def test_advice_is_short_and_names_the_next_step() -> None:
    lines = advice_lines(diagnose(machine(limits__can_lock=False, memory__ksm=1, cpu__smt=True)))
    assert lines == [
        "blocker: Memory cannot be locked (memory-lock)",
        "problem: CPUs share cores (smt)",
        "what to type: hardstone doctor",
    ]
    assert advice_lines(diagnose(machine())) == []


@pytest.mark.parametrize("target", ["lab:debian-rt@6.12,preempt=full", "lab:debian,append=a b"])
def test_the_next_step_asks_the_system_that_was_judged(target: str) -> None:
    *_, last = advice_lines(diagnose(machine(cpu__smt=True), target=target))
    command = f"hardstone doctor --target {shlex.quote(target)}"
    assert last == f"what to type: {command}"
    assert " " in target or parted_text(last) == ("what to type", command)


def odd_rules(found: str, step: str) -> Rules:
    """One rule with that condition and that one step."""
    return parse_rules(f"""
[odd]
title = "t"
topic = "t"
level = "note"
found = {{ {found} }}
says = "s"
says_fine = "s"
unknown = "s"
why = "w"
fixed = "f"
[[odd.steps]]
{step}
""")


ODD_STEP = """
command = "echo 0 | sudo tee x"
undo = "echo {kernel.hz} | sudo tee x"
"""


@pytest.mark.parametrize(
    ("known", "steps"), [({"kernel.hz": 7}, 1), ({}, 0), ({"kernel.hz": None}, 0)]
)
def test_what_cannot_be_taken_back_is_not_advised(known: dict[str, Scalar], steps: int) -> None:
    facts = {"memory.ksm": 1, **known}
    rules = odd_rules('fact = "memory.ksm", equals = 1', ODD_STEP)
    (found,) = diagnose(facts, rules=rules).findings
    assert (found.state, len(found.steps)) == ("found", steps)


def test_a_budget_is_never_above_its_period_on_the_way() -> None:
    """The kernel refuses that, so the limit is lifted for the moment between both."""
    small = machine(kernel__rt_runtime_us=50_000, kernel__rt_period_us=100_000)
    (step,) = finding("throttling-tight", small).steps
    for typed, at_end in ((step.command, (950_000, 1_000_000)), (step.undo, (50_000, 100_000))):
        budget, period = (50_000, 100_000) if typed == step.command else (950_000, 1_000_000)
        for word in (typed or "").split()[2:]:
            name, _, value = word.partition("=")
            if name == "kernel.sched_rt_runtime_us":
                budget = int(value)
            else:
                assert name == "kernel.sched_rt_period_us"
                period = int(value)
            assert budget <= period, typed
        assert (budget, period) == at_end


def test_no_command_is_suggested_that_would_change_the_host_of_a_guest() -> None:
    """What a guest is told instead is in the golden text."""
    assert all(any(step.command for step in finding(one, TUNED).steps) for one in OF_THE_HOST)
    guest = TUNED | GUEST
    assert not [step for one in diagnose(guest).findings for step in one.steps if step.command]


def test_the_command_that_proves_names_the_target() -> None:
    assert prove_command("ticks", "local") == "sudo hardstone doctor --prove ticks"
    assert prove_command("ticks", "lab:rt") == "hardstone doctor --prove ticks --target lab:rt"


def test_facts_are_quoted_in_commands_and_plain_in_texts() -> None:
    hostile = "a'; rm -rf / #\n\x1b[31m$(id)`id`"
    command = fill_command("echo {user.name} x", {"user.name": hostile})
    assert command is not None
    assert shlex.split(command)[0] == "echo"
    assert len(shlex.split(command)) == 3
    shown = fill("{user.name}", {"user.name": hostile + "\u202e" + "x" * 1000})
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) <= 240


def test_the_name_of_a_tracer_is_no_command_of_the_undo(tmp_path: Path) -> None:
    for text in ("x; echo got in >&2", "$(echo got in >&2)", "x' ; echo got in >&2; '"):
        (step,) = finding("tracing", machine(tracing__tracer=text)).steps
        typed = (step.undo or "").replace("/sys/kernel/tracing", str(tmp_path))
        # as it would be typed, with a sudo that runs what it is given
        script = f'sudo() {{ "$@"; }}\n{typed.replace("/run/hardstone-", f"{tmp_path}/")}'
        (tmp_path / "set_event").write_text("")
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert "got in" not in done.stderr, text
        assert (tmp_path / "current_tracer").read_text() == text + "\n"


def test_an_option_of_the_boot_line_is_plain_or_is_none() -> None:
    boot = 'boot = "isolcpus={kernel.isolated_cpus}"'
    rules = odd_rules('fact = "kernel.isolated_cpus", known = true', boot)

    def steps(cpus: str) -> int:
        (found,) = diagnose({"kernel.isolated_cpus": cpus}, rules=rules).findings
        return len(found.steps)

    assert steps("2-3,5") == 1
    assert [steps(cpus) for cpus in ("3; id", '3"', "$(id)", "`id`", "3'x")] == [0] * 5


def test_a_fact_does_not_bring_facts_of_its_own() -> None:
    assert fill("{user.name}", {"user.name": "{user.id}", "user.id": 7}) == "{user.id}"


def test_a_command_without_its_facts_is_no_command() -> None:
    assert fill_command("echo {user.name}", {}) is None
    assert fill_command("echo {user.name}", {"user.name": None}) is None


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-2,5", [0, 1, 2, 5]),
        ("3", [3]),
        ("0-8191", list(range(8192))),
        ("", []),
        (None, []),
        ("0-99999", []),
        ("a", []),
        ("1-", []),
        (7, []),
    ],
)
def test_cpu_lists(text: Scalar, cpus: list[int]) -> None:
    assert cpus_of(text) == cpus


@pytest.mark.parametrize(("highest", "wanted"), [(99, 98), (63, 62), (2, 1)])
def test_tests_want_the_priority_below_the_highest(highest: int, wanted: int) -> None:
    assert derive({"limits.priority_max": highest})["derived.measuring_priority"] == wanted


@pytest.mark.parametrize(
    ("granted", "group"),
    [
        ("@audio=9, @realtime=80", "realtime"),  # by number: as text 9 is above 80
        ("@realtime=80, @audio=9", "realtime"),
        ("@audio=0", None),  # a limit of 0 grants nothing
        ("@audio=1", "audio"),
        ("anna=98", None),
        (None, None),
        (7, None),
    ],
)
def test_the_group_that_grants_most(granted: Scalar, group: str | None) -> None:
    facts: dict[str, Scalar] = {"limits.granted_rtprio": granted, "user.groups": "users"}
    assert derive(facts).get("derived.granting_group") == group


def test_nothing_is_derived_from_nothing() -> None:
    assert derive({}) == {}
    assert derive({"kernel.rt_runtime_us": 1, "kernel.rt_period_us": 0}) == {
        "kernel.rt_runtime_us": 1,
        "kernel.rt_period_us": 0,
    }
