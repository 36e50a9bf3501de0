"""What a kernel says of its preemption is what Debian built, and what was asked of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardstone.doctor import Diagnosis
from hardstone.lab.kernels import Kernel
from hardstone.targets.lab import LabTransport
from tests.guest.called import call, shell
from tests.guest.kernels import Build

SWITCH = "/sys/kernel/debug/sched/preempt"


def facts(guest: LabTransport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(guest, "facts", "--json")[1])["facts"]
    return found


def chosen(guest: LabTransport) -> str:
    """The model that the kernel has now, in its own words: facts take a second."""
    return shell(guest, f"cat {SWITCH}").partition("(")[2].partition(")")[0]


def test_the_facts_after_a_plain_boot(guest: LabTransport, build: Build, kernel: Kernel) -> None:
    found = facts(guest)
    assert found["kernel.release"] == kernel.release
    assert found["kernel.realtime"] is build.is_realtime
    assert found["kernel.preemption_model"] == build.model
    assert found["kernel.preemption_is_dynamic"] is bool(build.choices)
    assert found.get("kernel.preemption_choices", "") == ", ".join(build.choices)
    before = "rt, " if build.is_realtime and build.choices else ""
    after = " (dynamic)" if build.choices else ""
    assert found["kernel.preemption"] == f"{before}{build.model}{after}"


def test_the_facts_follow_the_model_at_run_time(guest: LabTransport, build: Build) -> None:
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    models = [*build.choices, build.model]
    one = f"echo $model > {SWITCH} && hardstone-probe facts --json"
    script = f"for model in {' '.join(models)}; do {one} || exit 1; done"
    code, said = call(guest, "shield", "--settings", "cpuset", "--", "sh", "-c", script)
    assert code == 0, said
    assert [model_in(line) for line in said.splitlines()] == models
    assert chosen(guest) == build.model


def model_in(line: str) -> object:
    return json.loads(line)["facts"]["kernel.preemption_model"]


def test_the_boot_line_chooses_the_model(
    document: dict[str, Any], tuned: Diagnosis, build: Build
) -> None:
    """The run that counts instructions asked for `full`, the machine with many words for the first
    model: neither boots otherwise."""
    if not build.choices:
        pytest.skip("the kernel's model is built in")
    (finding,) = [one for one in tuned.findings if one.rule == "preemption"]
    assert finding.facts["kernel.preemption_model"] == build.models[0]
    assert document["system"]["kernel.preemption_model"] == "full"
