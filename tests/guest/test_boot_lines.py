"""What a boot line changes, the doctor sees: two guests that differ in nothing else."""

from __future__ import annotations

import pytest

from hardstone.doctor.diagnose import Diagnosis
from hardstone.lab.kernels import Kernel
from hardstone.model import StreamResult, StreamSeries
from hardstone.targets.lab import LabTransport
from tests.guest.called import measured
from tests.guest.kernels import CHANGED, Build, why_without_effect


def states(diagnosis: Diagnosis) -> dict[str, str]:
    return {one.rule: one.state for one in diagnosis.findings}


@pytest.mark.parametrize("rule", CHANGED)
def test_a_finding_follows_the_boot_line(
    plain: Diagnosis, tuned: Diagnosis, kernel: Kernel, build: Build, rule: str
) -> None:
    without, with_words, words = CHANGED[rule]
    if why := why_without_effect(rule, kernel.arch, build.is_realtime):
        pytest.skip(why)
    assert (states(plain)[rule], states(tuned)[rule]) == (without, with_words), words


def test_no_other_finding_changes(plain: Diagnosis, tuned: Diagnosis) -> None:
    before, after = states(plain), states(tuned)
    assert {rule for rule in before if before[rule] != after[rule]} <= set(CHANGED)


@pytest.mark.parametrize(
    "words",
    [
        ("CLK-P-BIN", "--cpu", "1", "--samples", "5"),
        ("TMR-P-LAT", "-p", "cpus=1", "--samples", "20"),
    ],
)
def test_an_isolated_cpu_is_measured_if_it_is_named(
    with_words: LabTransport, words: tuple[str, ...]
) -> None:
    """The default affinity lacks it: no taskset is needed. A host that pauses the guest may spoil
    the figures, not the choice of the CPU."""
    stream = measured(with_words, *words)
    (result,) = stream.of(StreamResult)
    assert stream.sample_count > 0, result
    assert result.conditions.cpu == 1 or {
        one.labels.get("cpu") for one in stream.of(StreamSeries)
    } == {1}


def test_the_findings_are_those_of_the_kernel(
    plain: Diagnosis, build: Build, kernel: Kernel
) -> None:
    """In which Debian's standard and PREEMPT_RT kernels differ, and 6.1 and 6.12."""
    found = states(plain)
    has_fair_server = kernel.release.startswith("6.12")
    expected = {
        "preempt-rt": not build.is_realtime,
        "preemption": not build.is_realtime,  # `voluntary` is not preemptible
        "throttling": not has_fair_server,
        "fair-server": has_fair_server,
        "emulation": True,
    }
    assert {rule: found[rule] == "found" for rule in expected} == expected
    assert "unknown" not in {found[rule] for rule in expected}


def test_a_model_on_the_boot_line_is_in_the_finding(tuned: Diagnosis, build: Build) -> None:
    if not build.models:
        pytest.skip("the kernel's model is built in")
    (finding,) = [one for one in tuned.findings if one.rule == "preemption"]
    asked = build.models[0]
    assert f"{asked} (dynamic)" in finding.found
    assert finding.state == ("fine" if build.is_realtime else "found")


def test_interrupt_handlers_are_threads(plain: Diagnosis, tuned: Diagnosis, build: Build) -> None:
    """By `threadirqs`; in a PREEMPT_RT kernel they are so without it."""
    before, after = (
        next(
            one.facts["tasks.realtime_kernel_count"] for one in seen.findings if one.rule == "tasks"
        )
        for seen in (plain, tuned)
    )
    assert isinstance(before, int) and isinstance(after, int)
    assert before > 4 if build.is_realtime else before < after
