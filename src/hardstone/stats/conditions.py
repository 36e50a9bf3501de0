"""Names for the results of one test under several conditions, and what must be alike for two of
them to be compared.

A condition is a load, a CPU configuration and, where it is switched, a preemption model. A run may
contain one test under several conditions, so the test ID alone does not identify a result. `Names`
adds what differs within the run, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from os.path import commonprefix
from typing import NamedTuple

from hardstone.event_names import DIFFER
from hardstone.model import (
    Conditions,
    DataValue,
    Event,
    Moved,
    ParamValue,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    Scalar,
)

NOT_KNOWN = "not known"
_SINGLE = "single"
_MOST_LISTED = 3
_LABEL_CHARACTERS = 32
_HEAD_CHARACTERS = 10
_CUT = "\N{HORIZONTAL ELLIPSIS}"


class Condition(NamedTuple):
    """Load and CPU configuration as requested; NOT_KNOWN if the document does not say.

    `preemption` is the model that the kernel is switched to; empty: it is not switched.
    """

    load: str
    cpu_config: str
    preemption: str = ""


def condition_of(one: Result | PlannedTest) -> Condition:
    where = one.conditions if isinstance(one, Result) else one
    return Condition(where.load or NOT_KNOWN, where.cpu_config or NOT_KNOWN, where.preemption or "")


def config_text(*conditions: Conditions) -> str:
    """The CPU configuration of all these; for `single` also whether the other CPUs were offline."""
    config = conditions[0].cpu_config or NOT_KNOWN
    if config != _SINGLE:
        return config
    offline = sum("offline" in one.settings for one in conditions)
    if 0 < offline < len(conditions):
        return f"{config} (others offline in {offline} of {len(conditions)})"
    return f"{config} (others {'offline' if offline else 'online'})"


def conditions_in(document: RunDocument) -> list[Condition]:
    """The conditions of the results, without duplicates, in the order of the plan.

    Plans before `hardstone.run/1` had loads do not give tests that did not run a condition.
    """
    plan = document.plan
    results = [one for one in document.results if plan.loads or one.series or one.verdicts]
    found = dict.fromkeys(condition_of(one) for one in results)
    ordered = [one for one in _planned(document) if one in found]
    return list(dict.fromkeys([*ordered, *found]))


def _planned(document: RunDocument) -> list[Condition]:
    return planned_conditions(document.plan) if document.plan.loads else []


def planned_conditions(plan: Plan) -> list[Condition]:
    """The conditions of a plan, of a sweep also those that its results may still lead to."""
    later = []
    if plan.sweep is not None:
        later = [Condition(load, config) for load in plan.loads for config in plan.cpu_configs]
    return list(dict.fromkeys([*map(condition_of, plan.tests), *later]))


def result_under(planned: PlannedTest, result: Result) -> Result:
    """`result` under the conditions of `planned`.

    If the probe reports other conditions, the event `conditions_differ` records them.
    """
    asked, said = condition_of(planned), condition_of(result)
    differs = any(b not in (a, NOT_KNOWN) for a, b in zip(asked, said, strict=True))
    if differs and result.complete and result.status == "measured":
        text = f"requested: {_told(asked)}; the probe reports {_told(said)}"
        data: dict[str, DataValue] = {
            "asked_load": asked.load,
            "asked_cpu_config": asked.cpu_config,
            "load": said.load,
            "cpu_config": said.cpu_config,
        }
        if asked.preemption or said.preemption:
            data |= {"asked_preemption": asked.preemption, "preemption": said.preemption}
        result.events.append(Event(name=DIFFER, text=text, data=data))
    result.conditions.load, result.conditions.cpu_config = asked[:2]
    result.conditions.preemption = asked.preemption or None
    return result


def _told(one: Condition) -> str:
    model = f", preemption {one.preemption}" if one.preemption else ""
    return f"load {one.load}, CPUs {one.cpu_config}{model}"


class Names:
    """Names of results and conditions within one run."""

    def __init__(self, conditions: list[Condition]) -> None:
        self._loads = _shortened(list(dict.fromkeys(one.load for one in conditions)))
        self._configs = dict.fromkeys(one.cpu_config for one in conditions)
        self._models = dict.fromkeys(one.preemption for one in conditions)

    def load(self, load: str) -> str:
        """A short name for a load, unique within the run."""
        return self._loads.get(load, load)

    def legend(self) -> dict[str, str]:
        """The full text of each load whose name is shortened, by its short name."""
        return {text: load for load, text in self._loads.items() if text != load}

    def label(self, condition: Condition) -> str:
        """What distinguishes a condition in its run: "heavy, shielded"; empty if it is alone."""
        parts = [self.load(condition.load)] if len(self._loads) > 1 else []
        parts += [condition.cpu_config] if len(self._configs) > 1 else []
        if len(self._models) > 1:
            parts.append(f"preemption {condition.preemption or 'not switched'}")
        return ", ".join(parts)

    def name(self, one: Result | PlannedTest) -> str:
        """The test and what distinguishes this result: "TMR-P-LAT [heavy, shielded]"."""
        parts = [self.label(condition_of(one)), _alone(one)]
        label = ", ".join(part for part in parts if part)
        return f"{one.test} [{label}]" if label else one.test


def _alone(one: Result | PlannedTest) -> str:
    """Settings that were switched without a shield. Those of a shield are implied by its name."""
    where = one.conditions if isinstance(one, Result) else one
    is_alone = where.settings and where.cpu_config == "shared"
    return f"with {', '.join(where.settings)}" if is_alone else ""


def names_in(document: RunDocument) -> Names:
    """The names of a run."""
    return Names(list(dict.fromkeys([*_planned(document), *conditions_in(document)])))


def listed(names: Iterable[str]) -> str:
    """The first three names and how many more there are, each name once: "A, B, C and 2 more"."""
    once = list(dict.fromkeys(names))
    more = f" and {len(once) - _MOST_LISTED} more" if len(once) > _MOST_LISTED else ""
    return ", ".join(once[:_MOST_LISTED]) + more


def _shortened(loads: list[str]) -> dict[str, str]:
    """A short name for each load. Long loads are cut to the part that differs; names that are
    still equal get a number."""
    heads: dict[str, list[str]] = {}
    for load in loads:
        heads.setdefault(_cut(load), []).append(load)
    cut = {load: _differing(load, heads[_cut(load)]) for load in loads}
    same = {text for text, count in Counter(cut.values()).items() if count > 1}
    return {
        load: f"{text} #{number}" if text in same else text
        for number, (load, text) in enumerate(cut.items(), 1)
    }


def _differing(load: str, alike: list[str]) -> str:
    """The start of `load`, and what follows the prefix that all of `alike` share."""
    if len(alike) == 1:
        return _cut(load)
    common = commonprefix(alike)  # noqa: RUF071 - compares characters, not paths
    # start at an option or element: "--cpu 12", not "2"
    start = max(common.rfind(" -"), common.rfind(",")) + 1
    return _cut(load[:_HEAD_CHARACTERS] + _CUT + load[max(start, _HEAD_CHARACTERS) :])


def _cut(load: str) -> str:
    is_long = len(load) > _LABEL_CHARACTERS
    return load[: _LABEL_CHARACTERS - 1] + _CUT if is_long else load


STEADY_FACTS = (
    "machine.arch",
    "machine.cpu_model",
    "cpu.online",
    "cpu.allowed",
    "cpu.count",
    "cpu.smt",
    "memory.total_bytes",
    "kernel.name",
    "kernel.release",
    "kernel.version",
    "kernel.preemption",
    "kernel.realtime",
    "kernel.hz",
    "kernel.cmdline",
    "kernel.clocksource",
    "kernel.rt_runtime_us",
    "kernel.rt_period_us",
    "power.governor",
    "power.idle_states",
    "virtual.hypervisor",
    "virtual.container",
    "limits.can_realtime",
    "limits.can_lock",
)


def environment_moved(before: Mapping[str, Scalar], after: Mapping[str, Scalar]) -> list[Moved]:
    """Each steady fact that differs, with both values; null where it was not known."""
    return [
        Moved(fact=fact, before=before.get(fact), after=after.get(fact))
        for fact in STEADY_FACTS
        if before.get(fact) != after.get(fact)
    ]


# They say where, how long, or what is recorded besides: values mean the same with any of them.
_FREE = frozenset(
    {
        *("uio", "raise_bytes", "raise_value", "acknowledge_bytes", "acknowledge_value"),
        *("gaps_count", "threshold_ns", "frames", "block_steps", "simulated_s", "file_bytes"),
        *("interrupts", "period_min_ns", "period_max_ns"),
    }
)


class UnlikeParameter(NamedTuple):
    """A parameter `name` with its two values."""

    name: str
    first: ParamValue
    other: ParamValue


def unlike_parameters(first: Result, other: Result) -> list[UnlikeParameter]:
    """Single values that differ, calibrated ones apart; the values of a list are labels of series.

    What a document does not have is not known, and does not differ.
    """
    calibrated = set(first.calibrated) | set(other.calibrated)
    names = [one for one in first.params if one not in calibrated and one not in _FREE]
    pairs = (UnlikeParameter(one, first.params[one], other.params.get(one, "")) for one in names)
    return [
        one
        for one in pairs
        if one.name in other.params
        and not isinstance(one.first, list)
        and not isinstance(one.other, list)
        and one.first != one.other
    ]
