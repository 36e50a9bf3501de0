"""Which models stand for kernel preemption off and on, and what a plan makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.catalogue import load_catalogue
from hardstone.errors import EXIT_PRIVILEGE, PrivilegeError
from hardstone.model import Plan
from hardstone.plan import Request, booted_models, make_plan, switched_models
from hardstone.present.reproduce import run_command
from tests.process.targets import sample

CHOICES = "kernel.preemption_choices"
DYNAMIC = "kernel.preemption_is_dynamic"


@pytest.mark.parametrize(
    ("choices", "models"),
    [
        ("none, voluntary, full", ("none", "full")),
        ("none, voluntary, full, lazy", ("none", "full")),
        ("full, lazy", ("lazy", "full")),
        ("full, lazy, laziest", ("laziest", "full")),
        ("none, voluntary", ("none", "voluntary")),
    ],
)
def test_off_is_the_least_preemptible_model(choices: str, models: tuple[str, str]) -> None:
    found = switched_models({CHOICES: choices})
    assert found[:2] == models
    assert (found.off == "none") is ("the kernel has no model none" not in found.remark)
    assert (found.on == "full") is ("the kernel has no model full" not in found.remark)


def test_a_boot_chooses_among_what_the_lab_knows() -> None:
    facts = {CHOICES: "full, lazy, laziest", "kernel.realtime": True}
    found = booted_models(facts, ("none", "voluntary", "full", "lazy"))
    assert found[:2] == ("lazy", "full")
    assert "off is lazy" in found.remark and "PREEMPT_RT" in found.remark


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({DYNAMIC: False, "kernel.preemption": "voluntary"}, "is built in (voluntary)"),
        ({CHOICES: "full", DYNAMIC: False, "kernel.preemption": "full"}, "is built in (full)"),
        ({CHOICES: "tepid, eager", "kernel.preemption": "eager"}, "is built in (eager)"),
        ({}, "does not tell its preemption model"),
        (
            {DYNAMIC: True, "kernel.preemption": "dynamic\x1b", "user.effective_id": 1000},
            "run it as root",
        ),
        (
            {DYNAMIC: True, "kernel.preemption": "dynamic\x1b", "user.effective_id": 0},
            "cannot be seen (dynamic?): debugfs is missing, or the kernel is locked down",
        ),
    ],
)
def test_why_a_kernel_is_not_switched(facts: dict[str, Any], said: str) -> None:
    with pytest.raises(PrivilegeError) as caught:
        switched_models(facts)
    assert said in caught.value.cause and caught.value.exit_code == EXIT_PRIVILEGE
    assert "\n" not in str(caught.value)
    assert caught.value.remedy.endswith("run KRN-P-PRE --compare-preemption --target lab:debian")


def plan(**changed: Any) -> Plan:
    request = Request(tests=("TMR-P-LAT", "SEM-P-SIG"), **changed)
    return make_plan(request, sample.register(), load_catalogue(), sample.facts().facts)


def test_each_condition_is_measured_under_both_one_after_the_other() -> None:
    both = plan(preemption_models=("none", "full"), cpu_config=("shared,shielded",))
    once = plan(cpu_config=("shared,shielded",))
    assert [one.preemption for one in both.tests] == ["none", "full"] * len(once.tests)
    places = [(one.test, one.cpu_config) for one in both.tests]
    assert places[::2] == places[1::2] == [(one.test, one.cpu_config) for one in once.tests]
    assert both.preemption_models == ["none", "full"]


def test_the_command_of_such_a_plan_compares_too() -> None:
    assert "--compare-preemption" in run_command(plan(preemption_models=("none", "full")))
    assert "--compare-preemption" not in run_command(plan())
    assert {one.preemption for one in plan().tests} == {None}
