"""What is printed to be typed fits the machine, and facts are not trusted."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from hardstone import schema
from hardstone.calling import parted_text
from hardstone.doctor import (
    DOCTOR_SCHEMA,
    Finding,
    advice_lines,
    blocks,
    diagnose,
    prove_command,
)
from hardstone.doctor.derive import cpus_of, derive
from hardstone.doctor.placeholders import fill, fill_command
from hardstone.doctor.rules import Rules, parse_rules
from hardstone.model import Scalar
from tests.unit.doctor.machine import machine

GOLDEN = schema.FOLDER / "golden" / "doctor-1.json"


def finding(rule: str, facts: dict[str, Scalar]) -> Finding:
    found = diagnose(facts, probe_path="/opt/my probe").findings
    return next(one for one in found if one.rule == rule)


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
    assert found.conclusion.startswith("1 block, 0 hurt, 2 notes, ")
    assert sum(found.counts.values()) == len(found.findings)
    assert not blocks(diagnose(machine()))


def test_advice_is_short_and_names_the_next_step() -> None:
    lines = advice_lines(diagnose(machine(limits__can_lock=False, memory__ksm=1, cpu__smt=True)))
    assert lines == [
        "blocks: Memory cannot be locked (memory-lock)",
        "hurts: CPUs share cores (smt)",
        "what to type: hardstone doctor",
    ]
    assert advice_lines(diagnose(machine())) == []


@pytest.mark.parametrize("target", ["lab:debian-rt@6.12,preempt=full", "lab:debian,append=a b"])
def test_the_next_step_asks_the_system_that_was_judged(target: str) -> None:
    *_, last = advice_lines(diagnose(machine(cpu__smt=True), target=target))
    command = f"hardstone doctor --target {shlex.quote(target)}"
    assert last == f"what to type: {command}"
    assert " " in target or parted_text(last) == ("what to type", command)


def test_a_command_holds_the_values_of_this_machine() -> None:
    (step,) = finding("governor", machine(power__governors="powersave")).steps
    assert step.command is not None
    assert step.undo is not None
    assert step.undo.startswith("echo powersave | sudo tee /sys/devices/system/cpu/cpu*/")
    (step,) = finding("governor", machine(power__governors="powersave, schedutil")).steps
    assert step.command is None  # one echo could not bring both back
    budget = {"limits__can_realtime": False, "limits__group_rt_runtime_us": 0}
    (step,) = finding("group-budget", machine(**budget)).steps
    assert "/sys/fs/cgroup/cpu/user/cpu.rt_runtime_us" in (step.command or "")


def test_an_undo_is_a_command_or_is_left_out() -> None:
    sleepy = machine(power__idle_latency_us=133, power__idle_deepest="C6")
    hold, _ = finding("idle-states", sleepy).steps
    assert hold.undo is None
    assert "Ctrl-C" in hold.lasts


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


@pytest.mark.parametrize(
    ("nmi", "soft", "undo"),
    [
        (1, 0, "kernel.watchdog=1 kernel.soft_watchdog=0 kernel.nmi_watchdog=1"),
        (1, 1, "kernel.watchdog=1 kernel.soft_watchdog=1 kernel.nmi_watchdog=1"),
        # it is read-only where there is none
        (0, 1, "kernel.watchdog=1 kernel.soft_watchdog=1"),
        (None, 1, "kernel.watchdog=1 kernel.soft_watchdog=1"),
    ],
)
def test_the_watchdog_is_switched_on_before_its_kinds_are(
    nmi: int | None, soft: int, undo: str
) -> None:
    """The kernel takes a kind for wanted only while kernel.watchdog is 1."""
    without = () if nmi is not None else ("kernel.nmi_watchdog",)
    facts = machine(
        *without, kernel__watchdog=1, kernel__soft_watchdog=soft, kernel__nmi_watchdog=nmi
    )
    (step,) = finding("watchdog", facts).steps
    assert step.command == "sudo sysctl kernel.watchdog=0"
    assert step.undo == f"sudo sysctl {undo}"


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


def test_root_types_no_sudo() -> None:
    (step,) = finding("same-pages", machine(memory__ksm=1, user__effective_id=0)).steps
    assert step.command == "echo 0 | tee /sys/kernel/mm/ksm/run"
    assert step.undo == "echo 1 | tee /sys/kernel/mm/ksm/run"


def test_a_group_that_grants_priority_is_named() -> None:
    facts = machine(
        limits__can_realtime=False,
        limits__granted_rtprio="@audio=95, @realtime=98, bob=99",
        user__groups="users",
    )
    commands = [step.command for step in finding("realtime-priority", facts).steps]
    assert commands == [
        "sudo setcap cap_sys_nice,cap_ipc_lock=ep '/opt/my probe'",
        "sudo usermod --append --groups realtime anna",
    ]
    member = {**facts, "user.groups": "users,realtime"}
    assert len(finding("realtime-priority", member).steps) == 1  # the group did not help


def test_in_a_container_the_container_is_changed() -> None:
    facts = machine(limits__can_realtime=False, virtual__container="docker")
    (step,) = finding("realtime-priority", facts).steps
    assert "--cap-add=SYS_NICE" in step.words


@pytest.mark.parametrize(
    ("tool", "command", "undo"),
    [
        (
            "grubby",
            "sudo grubby --update-kernel=ALL --args='preempt=full'",
            "sudo grubby --update-kernel=ALL --remove-args='preempt=full'",
        ),
        (
            "update-grub",
            "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX preempt=full\"' | "
            "sudo tee /etc/default/grub.d/hardstone-preemption.cfg && sudo update-grub",
            "sudo rm /etc/default/grub.d/hardstone-preemption.cfg && sudo update-grub",
        ),
    ],
)
def test_the_boot_line_is_changed_by_the_tool_of_the_machine(
    tool: str, command: str, undo: str
) -> None:
    facts = machine(
        kernel__preemption_model="none", kernel__preemption_is_dynamic=True, os__boot_tool=tool
    )
    now, after_reboot = finding("preemption", facts).steps
    assert (after_reboot.command, after_reboot.undo) == (command, undo)
    assert after_reboot.needs_reboot
    assert not now.needs_reboot
    assert now.undo == "echo none | sudo tee /sys/kernel/debug/sched/preempt"


def test_a_guest_of_the_lab_gets_its_boot_line_from_its_host() -> None:
    facts = machine(
        kernel__preemption_model="none",
        kernel__preemption_is_dynamic=True,
        kernel__cmdline="quiet hardstone.lab=tcg",
        os__boot_tool="grubby",
    )
    (step,) = finding("preemption", facts).steps
    assert step.command is None and not step.needs_reboot
    assert step.words and ",append=preempt=full " in step.words


def test_no_command_is_suggested_that_would_change_the_host_of_a_guest() -> None:
    everywhere = machine(
        kernel__preemption_model="none",
        kernel__preemption_is_dynamic=True,
        memory__transparent_hugepage="always",
        memory__ksm=1,
        kernel__watchdog=1,
        kernel__soft_watchdog=1,
        kernel__nmi_watchdog=0,
    )
    rules = ("preemption", "huge-pages", "same-pages", "watchdog")
    for rule in rules:
        assert any(step.command for step in finding(rule, everywhere).steps)
    guest = everywhere | {"kernel.cmdline": "hardstone.lab=tcg"}
    assert not [step for one in diagnose(guest).findings for step in one.steps if step.command]
    steps = {rule: finding(rule, guest).steps for rule in rules}
    assert {rule: len(found) for rule, found in steps.items()} == dict.fromkeys(rules, 1)
    assert ",append=transparent_hugepage=madvise " in steps["huge-pages"][0].words
    assert ",append=nowatchdog " in steps["watchdog"][0].words
    assert "boots anew for each command" in steps["same-pages"][0].words


def test_the_command_that_proves_names_the_target() -> None:
    assert prove_command("ticks", "local") == "sudo hardstone doctor --prove ticks"
    assert prove_command("ticks", "lab:rt") == "hardstone doctor --prove ticks --target lab:rt"


def test_a_guest_of_the_lab_gets_another_kernel_from_its_host() -> None:
    facts = machine(
        kernel__preemption_model="none",
        kernel__realtime=False,
        kernel__cmdline="hardstone.lab=icount",
        virtual__hypervisor="QEMU virt",
        virtual__emulated=True,
    )
    for rule in ("preemption", "preempt-rt"):
        (step,) = finding(rule, facts).steps
        assert step.words and step.words.endswith("hardstone lab get debian-rt")
    assert finding("hypervisor", facts).steps == []
    assert finding("emulation", facts).state == "found"


def test_an_unknown_boot_loader_gives_words() -> None:
    facts = machine(kernel__isolated_cpus=None)
    step = finding("isolated-cpus", facts).steps[-1]
    assert step.command is None
    assert step.needs_reboot
    assert "isolcpus=domain,managed_irq,3" in step.words


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


def test_a_thread_at_the_priority_of_the_tests_comes_before_them() -> None:
    at = machine(tasks__realtime_count=1, tasks__realtime_highest=98)
    below = machine(tasks__realtime_count=1, tasks__realtime_highest=97)
    assert finding("tasks-above", at).state == "found"
    assert finding("tasks-above", below).state == "fine"


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
