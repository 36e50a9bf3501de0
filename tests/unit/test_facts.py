"""The register of facts against whoever sends one, and the doctor on facts of guests of the lab."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hardstone.doctor.diagnose import derive, diagnose, selftest_facts
from hardstone.facts import load_facts
from hardstone.model import SELFTEST_SCHEMA, Facts, Scalar, SelfCheck, SelfTest
from hardstone.stats.conditions import STEADY_FACTS
from hardstone.stats.trust import grade_run
from tests.process.targets import sample
from tests.unit.report import sample as report_sample
from tests.unit.stats import make


def test_facts_are_of_the_register() -> None:
    """A fact that no probe sends, in an invented run, hid that the report asked for it."""
    known = load_facts()
    invented = {*report_sample.document().system, *make.document().system}
    assert {*STEADY_FACTS, *invented} <= set(known)
    for facts in (sample.facts().facts, *map(facts_of, NAMES)):
        for name, value in facts.items():
            check_value(name, value)


def check_value(name: str, value: Scalar) -> None:
    kinds: dict[str, tuple[type, ...]] = {
        "text": (str,),
        "integer": (int,),
        "bool": (bool,),
        "integer or unlimited": (int, str),
    }
    fact = load_facts()[name]
    assert value is None or type(value) in kinds[fact.type], name


def test_the_doctor_derives_what_the_register_says() -> None:
    facts: dict[str, Scalar] = {
        "cpu.allowed": "0-3",
        "interrupts.quiet_cpus": "3",
        "limits.priority_max": 99,
        "limits.granted_rtprio": "@realtime=99",
        "limits.group_path": None,
        "limits.group_rt_above_ppm": 950_000,
        "limits.group_rt_period_us": 1_000_000,
        "limits.quota_file": "/sys/fs/cgroup/a/cpu.max",
        "limits.quota_period_us": 100_000,
        "limits.quota_us": 20_000,
        "kernel.cmdline": "quiet",
        "kernel.name": "Linux",
        "kernel.release": "6.12.1",
        "kernel.rt_runtime_us": 950000,
        "kernel.rt_period_us": 1000000,
        "kernel.timer_resolution_ns": 1_000_000,
        "virtual.steal_ppm": 3970,
        "power.governors": "performance, powersave",
    }
    checks = [SelfCheck(name="a", passed=False, claim="it is so", why="it was not")]
    selftest = SelfTest(schema=SELFTEST_SCHEMA, probe_version="0", checks=checks)
    found = selftest_facts(selftest) | selftest_facts(None)
    found |= derive(facts, "/usr/bin/hardstone-probe")
    derived = set(found) - set(facts)
    assert derived == {name for name, fact in load_facts().items() if fact.sender == "doctor"}
    for name, value in found.items():
        check_value(name, value)


GUESTS = Path(__file__).parent / "doctor" / "guests"
NAMES = sorted(path.stem for path in GUESTS.glob("*.json"))
# The rules that tell the kernels apart: found in the first, fine in the second.
APART = {
    ("debian-6.1", "debian-rt-6.12"): {"preemption", "preempt-rt", "throttling"},
    ("debian-rt-6.12", "debian-6.1"): {"fair-server"},
    ("debian-arm64-6.1-icount", "debian-rt-arm64-6.12"): {"preemption", "preempt-rt", "one-cpu"},
}


def facts_of(name: str) -> dict[str, Scalar]:
    return msgspec.json.decode((GUESTS / f"{name}.json").read_bytes(), type=Facts).facts


def states(name: str) -> dict[str, str]:
    return {one.rule: one.state for one in diagnose(facts_of(name)).findings}


@pytest.mark.parametrize(("found_in", "fine_in"), APART)
def test_findings_differ_where_the_kernels_do(found_in: str, fine_in: str) -> None:
    first, second = states(found_in), states(fine_in)
    for rule in APART[found_in, fine_in]:
        assert (first[rule], second[rule]) == ("found", "fine"), rule


@pytest.mark.parametrize("name", NAMES)
def test_emulation_is_found_and_no_host_is_blamed(name: str) -> None:
    findings = {one.rule: one for one in diagnose(facts_of(name)).findings}
    assert findings["emulation"].state == "found" and findings["hypervisor"].steps == []
    for rule in ("governor", "idle-states", "smt", "battery", "heat"):
        assert findings[rule].state != "found", rule


@pytest.mark.parametrize("name", NAMES)
def test_trust_says_what_the_figures_are(name: str) -> None:
    trust = grade_run(make.document(system=facts_of(name)))
    said = " ".join(trust.reasons)
    assert trust.grade == "indicative" and "do not apply to hardware" in said
    assert ("virtual time" in said) is name.endswith("icount")
