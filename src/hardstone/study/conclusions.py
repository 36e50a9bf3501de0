"""What each paper concluded, and whether a measured system bears it out.

A rule answers "borne out", "not borne out" or "not decided", by figures of one system, or of
several where the conclusion compares systems or configurations. "Borne out" means: as measured,
with so many values; a worst observed proves no bound. Beyond a limit one value is a fact. What is
not decided says what to measure. docs/method/conclusions.md explains each rule to its readers; the
code of the rules is in `study.rules`, the statistics are in `study.evidence`.

Times of an emulated machine are never compared with those of a paper. A ratio of two figures of one
system is allowed there, as are limits in its own units, such as a block that it calibrated itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from hardstone.study.evidence import CONFIGURED, NOT_DECIDED, Finding, System, run_it, undecided
from hardstone.study.exhibits import Answer, StudyView
from hardstone.study.papers import Conclusion
from hardstone.study.rules import dedicated, garre, hp, latstat, obenland
from hardstone.wording import shorten

# Of one system; None: the conclusion does not concern it.
JUDGING: Mapping[str, Callable[[System], Finding | None]] = {
    "low-overhead": obenland.low_overhead,
    "standard-unsuitable": obenland.standard_unsuitable,
    "inheritance": obenland.inheritance,
    "named-slower": obenland.named_slower,
    "primitives-equal": obenland.primitives_equal,
    "processes-switch": obenland.processes_switch,
    "out-of-the-box": dedicated.out_of_the_box,
    "linux-if-configured": dedicated.linux_if_configured,
    "switch-by-cache-and-tick": dedicated.switch_by_cache_and_tick,
    "semaphore-release-grows": dedicated.semaphore_release_grows,
    "mutex-release-grows": dedicated.mutex_release_grows,
    "semaphore-without-kernel": dedicated.semaphore_without_kernel,
    "mean-and-worst": latstat.mean_and_worst,
    "tail": latstat.tail,
    "hard-real-time": latstat.hard_real_time,
    "challenges-linux": latstat.challenges_linux,
    "linux-real-fast": garre.linux_real_fast,
    "xenomai-hard-and-soft": garre.hard_and_soft,
    "sharp-edge": garre.sharp_edge,
    "many-threads": garre.many_threads,
    "lock-waits": garre.lock_waits,
    "inversion": garre.inversion,
    "linux-preemption": garre.linux_preemption,
}

# Of all systems together, since they compare configurations, preemption models or kernels.
COMPARING: Mapping[str, Callable[[Sequence[System]], Sequence[Finding]]] = {
    "both-suit": obenland.both_suit,
    "reserved-cpu": obenland.reserved_cpu,
    "resolution-and-priorities": obenland.resolution_and_priorities,
    "latency-against-throughput": obenland.latency_against_throughput,
    "preemption-shortens": hp.preemption_shortens,
    "worst-over-50": hp.worst_over_50,
    "longest-paths": hp.longest_paths,
    "policy-alone": garre.policy_alone,
}


def answers_of(view: StudyView) -> tuple[Answer, ...]:
    """The answers to each conclusion of the paper, in its order; none without a measured system.

    A conclusion has one answer for each system that it concerns, or one for those that it compares.
    """
    systems = [System(column) for _, column in view.own if column.subjects]
    if not systems:
        return ()
    return tuple(answer for one in view.paper.conclusions for answer in _answers(one, systems))


def _answers(conclusion: Conclusion, systems: Sequence[System]) -> Iterator[Answer]:
    """One answer for systems of which the same is said."""
    same: dict[tuple[str, ...], list[Answer]] = {}
    for title, limits, found in _findings(conclusion, systems):
        is_open = found.decision == NOT_DECIDED
        answer = Answer(
            conclusion=conclusion,
            decision=found.decision,
            text=found.text if is_open else found.text + limits,
            column=title,
            evidence=found.evidence,
            needed=found.needed if is_open else "",
        )
        key = answer.decision, answer.text, answer.needed, *answer.evidence
        same.setdefault(key, []).append(answer)
    for own in same.values():
        titles = dict.fromkeys(one.column for one in own if one.column)
        yield replace(own[0], column=" and ".join(titles))


def _findings(conclusion: Conclusion, systems: Sequence[System]) -> list[tuple[str, str, Finding]]:
    """Each with the titles of its systems, and how far their figures carry."""
    compare, judge = COMPARING.get(conclusion.id), JUDGING.get(conclusion.id)
    if compare is not None:
        limits = next((one.limits for one in systems if one.limits), "")
        places = {(one.target, one.cpu_config) for one in systems}
        target, config = places.pop() if len(places) == 1 else ("", "")
        return [(one.systems, limits, _aimed(one, target, config)) for one in compare(systems)]
    if judge is None:
        return [
            (
                "",
                "",
                undecided("No figure of a run decides it.", "a rule for it"),
            )
        ]
    each = [(one, judge(one)) for one in systems]
    judged = [
        (one.title, one.limits, _aimed(own, one.target, one.cpu_config))
        for one, own in each
        if own is not None
    ]
    if judged:
        return judged
    text = "It is about another configuration than those that were measured."
    return [("", "", undecided(text, run_it(*conclusion.tests)))]


_MEASURING = re.compile(r"\bhardstone (?:run|evaluate|latstat|simulate \w+)\b")
_SECOND = "second"  # commands for another system than the one that was measured


def _aimed(found: Finding, target: str, cpu_config: str) -> Finding:
    """The finding, whose commands measure the target and the CPU configuration that was measured,
    unless they name another."""
    if _SECOND in found.needed:
        return found
    options = ""
    if target not in ("", "local") and "--target " not in found.needed:
        options += f" --target {shlex.quote(shorten(target))}"
    if cpu_config in CONFIGURED and "--cpu-config " not in found.needed:
        options += f" --cpu-config {cpu_config}"
    needed = _MEASURING.sub(lambda command: command[0] + options, found.needed)
    return replace(found, needed=needed)
