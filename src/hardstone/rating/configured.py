"""What a system took to be configured, and what keeps a rating from being the full one."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.event_names import SHORT
from hardstone.model import Result
from hardstone.rating.criteria import load_criteria
from hardstone.stats.conditions import NOT_KNOWN, condition_of
from hardstone.stats.kind_of_time import KindOfTime, kind_of_time
from hardstone.stats.run_length import has_short_profile, shorter_than_standard
from hardstone.stats.trust import lacks_realtime
from hardstone.subjects import MeasuredRun, Subject

OUT_OF_THE_BOX = "out of the box"
SPECIAL_ATTENTION = "special attention"
_NO_LOADS = ("none", NOT_KNOWN)
_KINDS = {
    KindOfTime.EMULATED: "emulated",
    KindOfTime.COUNTED: "virtual time",
    KindOfTime.UNKNOWN: "perhaps emulated",
}


def is_loaded(run: MeasuredRun) -> bool:
    """Whether there was load beside the tests."""
    return run.condition.load not in _NO_LOADS


def configuration_of(subject: Subject) -> str:
    """A key of `configurations` in criteria.toml; a study's own words where it has other ones."""
    if not isinstance(subject, MeasuredRun):
        return subject.conditions.get("configuration", "not published")
    return SPECIAL_ATTENTION if special_attention(subject) else OUT_OF_THE_BOX


def special_attention(run: MeasuredRun) -> list[str]:
    """What was configured for the figures of this run: boot options, a reserved CPU, ..."""
    found = []
    facts = run.document.system
    if run.condition.cpu_config not in ("shared", NOT_KNOWN):
        found.append(f"CPU configuration {run.condition.cpu_config}")
    if run.condition.preemption:
        found.append(f"preemption switched to {run.condition.preemption}")
    latencies = {one.conditions.dma_latency_us for one in run.results}
    if run.document.plan.dma_latency_us is not None or latencies - {None}:
        found.append("exit latency of idle states limited")
    if facts.get("kernel.rt_runtime_us") == -1:
        found.append("kernel.sched_rt_runtime_us is -1")
    options = [word.partition("=")[0] for word in str(facts.get("kernel.cmdline") or "").split()]
    known = load_criteria().special_attention.boot_options
    return found + [f"boot option {one}" for one in known if one in options]


def rated_as(subject: Subject) -> list[str]:
    """Why the rating is not the full one; empty if it is."""
    if not isinstance(subject, MeasuredRun):
        return [] if subject.conditions.get("load") else ["load not published"]
    return list(_reasons(subject))


def _reasons(run: MeasuredRun) -> Iterator[str]:
    document = run.document
    if run.trust.grade == "untrustworthy":
        yield "untrustworthy"
    kind = kind_of_time(document.system)
    if kind in _KINDS:
        yield _KINDS[kind]
    elif document.system.get("virtual.hypervisor"):
        yield "virtual machine"
    if not is_loaded(run):
        yield "without load" if run.condition.load == "none" else "load not known"
    elif not _holds_usual_load(run.condition.load):
        yield f"a load other than {load_criteria().usual.load}"
    if any(event.name in SHORT for one in run.results for event in one.events):
        yield "the load fell short"
    if any(map(lacks_realtime, run.results)):
        yield "not scheduled as real-time"
    tests = _rated_tests()
    short = [test for test, is_short in shorter_than_standard(document).items() if is_short]
    if has_short_profile(document) or tests.intersection(short):
        yield "shorter than standard"
    changed = sorted(tests.intersection(_changed_tests(run)))
    if changed:
        yield f"parameters changed: {' '.join(changed)}"
    if document.status != "complete" or any(map(is_cut_off, run.results)):
        yield "incomplete"


def _holds_usual_load(load: str) -> bool:
    usual = load_criteria().usual.load
    elements = load.partition("stress-ng:")[0].split("+")
    return any(one.partition("@")[0] == usual for one in elements)


def _changed_tests(run: MeasuredRun) -> Iterator[str]:
    """Tests that were asked for with other parameters than those that the probe takes by itself:
    a longer interval, a shorter step or fewer sources would flatter. A list may hold more."""
    descriptors = {one.id: one for one in run.document.descriptors}
    free = load_criteria().usual.free_parameters
    for one in run.document.plan.tests:
        descriptor = descriptors.get(one.test)
        if descriptor is None or condition_of(one) != run.condition:
            continue
        for spec in descriptor.params:
            asked = one.params.get(spec.name)
            values = asked if isinstance(asked, list) else [asked]
            is_usual = asked is None or set(spec.default) <= set(values)
            if spec.name not in free and not is_usual:
                yield one.test


def is_cut_off(result: Result) -> bool:
    """Whether the figures of a result are of less than was asked for."""
    return not result.complete or result.interrupted or result.status in ("failed", "timeout")


def _rated_tests() -> set[str]:
    categories = load_criteria().categories.values()
    figures = {figure.test for one in categories for figure in one.figures}
    return figures | {test for one in categories for test in one.behaviours}
