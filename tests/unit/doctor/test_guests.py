"""The doctor on guests of the lab: what the probe sent from kernels in QEMU without KVM."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hardstone.doctor import diagnose
from hardstone.model import Facts, Scalar
from hardstone.stats.trust import grade_run
from tests.unit.stats import make
from tests.unit.test_facts import check_value

GUESTS = Path(__file__).parent / "guests"
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


@pytest.mark.parametrize("name", NAMES)
def test_each_fact_is_as_the_register_has_it(name: str) -> None:
    for fact, value in facts_of(name).items():
        check_value(fact, value)


@pytest.mark.parametrize(
    ("name", "preemption", "processor"),
    [
        ("debian-6.1", "voluntary (dynamic)", "QEMU TCG CPU version 2.5+"),
        ("debian-rt-6.12", "rt, lazy (dynamic)", "QEMU TCG CPU version 2.5+"),
        ("debian-arm64-6.1-icount", "voluntary", "Cortex-A57"),
        ("debian-rt-arm64-6.12", "rt", "Cortex-A57"),
    ],
)
def test_kernel_and_processor(name: str, preemption: str, processor: str) -> None:
    facts = facts_of(name)
    assert (facts["kernel.preemption"], facts["machine.cpu_model"]) == (preemption, processor)


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
