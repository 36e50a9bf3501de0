"""Preemption models of a kernel side by side: which two stand for "off" and "on", what may be
compared, and the figures of both.

`preemption_table(off, on)` is pure: it takes results of KRN-P-PRE, several of a side where it was
repeated, and gives texts to lay out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hardstone.errors import InputError, PrivilegeError, printable
from hardstone.kernel.results import ALL, LEAST_IDLE, TEST, KernelTime, Operation, kernel_time_of
from hardstone.kernel.tables import (
    STATISTICS,
    TIME_90,
    TIME_99,
    WORST,
    KernelHistory,
    kernel_history,
    length_interval,
    length_text,
    milliseconds,
)
from hardstone.model import Result, RunDocument, Scalar
from hardstone.stats.conditions import (
    Condition,
    Names,
    condition_of,
    conditions_in,
    environment_moved,
    names_in,
)
from hardstone.stats.consistency import (
    counts_instructions,
    kind_of_time,
    time_meaning,
    why_other_time,
)
from hardstone.stats.quantiles import lacking
from hardstone.units import format_ns
from hardstone.wording import range_text, ratio_text, short

if TYPE_CHECKING:
    from hardstone.kernel.analysis import SectionLength

OFF, ON = "none", "full"
_IN_THE_LAB = (
    "measure a kernel of the lab: hardstone run KRN-P-PRE --compare-preemption --target lab:debian"
)
_MOUNT = "sudo mount -t debugfs debugfs /sys/kernel/debug"
_SHARE = (
    "a container may not mount it: start the container with --privileged -v "
    "/sys/kernel/debug:/sys/kernel/debug (docker and podman), or measure on the host"
)
_WITHOUT_DEBUGFS = {
    "none": "the kernel has no debugfs (CONFIG_DEBUG_FS)",
    "not mounted": "debugfs is not mounted",
    "refused": "the kernel is locked down and neither shows nor switches it, even for root",
    "mounted": "debugfs has no sched/preempt",
}
_ANY_REASON = "debugfs is missing, or the kernel is locked down, which also prevents switching"
_LEAST_FIRST = (OFF, "voluntary", "laziest", "lazy", ON)
_CHARACTERS = 40
Facts = Mapping[str, Scalar]
Systems = tuple[Facts, Facts]


class Models(NamedTuple):
    """`remark` says how they differ from those of a kernel with all models; empty: not at all."""

    off: str
    on: str
    remark: str = ""


def switched_models(facts: Facts) -> Models:
    """The least and the most preemptible model that the kernel can be switched to at run time.

    PrivilegeError where it cannot be switched, or does not say: with the reason and the next step.
    """
    return _chosen(facts, _LEAST_FIRST)


def booted_models(facts: Facts, known: Sequence[str]) -> Models:
    """The same of a kernel that is booted with one of the models `known`."""
    return _chosen(facts, [one for one in _LEAST_FIRST if one in known])


def _chosen(facts: Facts, known: Sequence[str]) -> Models:
    text = facts.get("kernel.preemption_choices")
    offered = {one.strip() for one in text.split(",")} if isinstance(text, str) else set()
    found = [one for one in known if one in offered]
    if len(found) < 2:
        raise PrivilegeError(_why_not(facts, has_choices=bool(offered)), _remedy(facts))
    off, on = found[0], found[-1]
    remarks = []
    if off != OFF:
        remarks.append(f"the kernel has no model {OFF}: off is {off}, the least preemptible it has")
    if on != ON:
        remarks.append(f"the kernel has no model {ON}: on is {on}, the most preemptible it has")
    if facts.get("kernel.realtime") is True:
        remarks.append("it has PREEMPT_RT, where the models differ only for ordinary tasks")
    return Models(off, on, "; ".join(remarks))


def _why_not(facts: Facts, *, has_choices: bool) -> str:
    model = facts.get("kernel.preemption") or facts.get("kernel.preemption_model")
    shown = printable(str(model))[:_CHARACTERS]
    is_dynamic = facts.get("kernel.preemption_is_dynamic")
    if has_choices or is_dynamic is False:
        return f"the kernel's preemption model is built in ({shown}) and cannot be switched"
    if model is None:
        return "the target does not report its preemption model, so it cannot be switched"
    if facts.get("user.effective_id") not in (0, None):
        return "only root can read and switch the preemption model: run it as root"
    why = _WITHOUT_DEBUGFS.get(str(facts.get("kernel.debugfs")), _ANY_REASON)
    return f"the preemption model cannot be seen ({shown}): {why}"


def _remedy(facts: Facts) -> str:
    """Mounting is enough where the kernel has a choice of models and lets them be read."""
    is_enough = facts.get("kernel.preemption_is_dynamic") and (
        facts.get("user.effective_id") == 0 and facts.get("kernel.debugfs") == "not mounted"
    )
    if not is_enough:
        return _IN_THE_LAB
    is_contained = facts.get("virtual.container") is not None
    may_mount = facts.get("user.cap_sys_admin") is not False
    return _SHARE if is_contained and not may_mount else f"mount it, then measure again: {_MOUNT}"


_MODEL = "kernel.preemption"
_CHOICE = "preempt="
NOT_KNOWN = "not known"


def why_not_divided(off: Facts, on: Facts) -> list[str]:
    """Why the figures may not be divided; empty if they may. Times of an emulated machine are
    divided by those of the same kind only."""
    apart = why_other_time(kind_of_time(on), kind_of_time(off))
    return [f"no improvement is given: {apart}"] if apart else []


def differing_conditions(
    off: Sequence[Result], on: Sequence[Result], systems: Systems
) -> list[str]:
    """Conditions, parameters and facts that differ, "load: none off, storm on"; what both sides
    share and limits the figures comes last."""
    found = []
    model = systems[0].get(_MODEL)
    if model is not None and model == systems[1].get(_MODEL):
        found.append(f"the preemption model is {short(model)} on both sides")
    if off and on:
        first, second = (
            {**msgspec.to_builtins(one.conditions), **one.params} for one in (off[0], on[0])
        )
        found += [
            _differs(name.replace("_", " "), first.get(name), second.get(name))
            for name in dict.fromkeys([*first, *second])
            if name != "preemption" and first.get(name) != second.get(name)
        ]
        if len(off) != len(on):
            found.append(f"results: {len(off)} off, {len(on)} on")
    for one in environment_moved(*systems):
        is_the_choice = one.fact == "kernel.cmdline" and (
            _without_choice(one.before) == _without_choice(one.after)
        )
        if one.fact != _MODEL and not is_the_choice:
            found.append(_differs(one.fact, one.before, one.after))
    meaning = time_meaning(systems[0])
    return [*found, meaning] if meaning else found


def _without_choice(line: Scalar) -> list[str]:
    return [word for word in str(line or "").split() if not word.startswith(_CHOICE)]


def _differs(name: str, off: object, on: object) -> str:
    texts = [NOT_KNOWN if one is None else short(str(one)) for one in (off, on)]
    return f"{name}: {texts[0]} off, {texts[1]} on"


_NO_LENGTHS = "no sections: other processes had the CPU during most of the reference"
_SHARE_OF = {TIME_90: 0.9, TIME_99: 0.99}


@dataclass(frozen=True)
class Figure:
    """A figure of one side. `low_ns` and `high_ns` are its interval, or the range of repeated
    results; equal to the value where there is neither. `high_ns` None: unbounded."""

    value_ns: float
    text: str
    interval: str
    low_ns: float
    high_ns: float | None
    is_below: bool = False
    has_interval: bool = True

    def overlaps(self, other: Figure) -> bool:
        """Whether the intervals of both allow the same value."""
        if not (self.has_interval and other.has_interval):
            return False
        is_above = other.high_ns is not None and self.low_ns > other.high_ns
        is_under = self.high_ns is not None and self.high_ns < other.low_ns
        return not (is_above or is_under)


@dataclass(frozen=True)
class Side:
    """`model` is the preemption model; `operations` are worst first; `missing` says which results
    have no figures, or no lengths, and why."""

    model: str
    found: list[KernelTime]
    missing: list[str]

    @property
    def operations(self) -> list[str]:
        return [one.name for one in self.found[0].operations] if self.found else []

    @property
    def releases(self) -> int:
        return sum(one.whole.series.count for one in self.found)

    def lacking(self, operation: str, statistic: str) -> str:
        """How many releases a length takes that no result has: "needs 2000 values, has 100"."""
        if statistic == WORST or self.figure(operation, statistic) is not None:
            return ""
        for time in self.found:
            one = _named(time, operation)
            text = _lacking(one, time, _SHARE_OF[statistic]) if one else ""
            if text:
                return text
        return ""

    def figure(self, operation: str, statistic: str) -> Figure | None:
        """The figure: of several results the median of a length, the largest of maxima."""
        own = [one for one in (_named(time, operation) for time in self.found) if one]
        if statistic != WORST:
            q = _SHARE_OF[statistic]
            return _median_length([one.blocking.lengths[q] for one in own if one.blocking])
        worst = [one.series.max for one in own if one.series.max is not None]
        if not worst:
            return None
        top, interval, is_repeated = max(worst), _range(worst), len(worst) > 1
        return Figure(top, format_ns(top), interval, min(worst), top, has_interval=is_repeated)


def side_of(
    results: Sequence[Result],
    system: Facts,
    time_of: Callable[[Result], KernelTime | None] = kernel_time_of,
) -> Side:
    """The side of `results`, all of KRN-P-PRE. `time_of` gives what each found."""
    found = [(one, time_of(one)) for one in results]
    missing = [
        f"{one.status}{f': {short(one.reason, 120)}' if one.reason else ''}"
        for one, time in found
        if time is None
    ]
    missing += [
        _NO_LENGTHS for _, time in found if time is not None and time.is_reference_of_others
    ]
    model = short(system.get("kernel.preemption")) or NOT_KNOWN
    times = [time for _, time in found if time is not None]
    return Side(model, times, missing if results else ["no result"])


def _named(time: KernelTime, operation: str) -> Operation | None:
    if operation == ALL:
        return time.whole
    return next((one for one in time.operations if one.name == operation), None)


def _lacking(one: Operation, time: KernelTime, q: float) -> str:
    if one.blocking is not None or time.is_reference_of_others:
        return one.lacks(q)
    reference = time.reference.series.count if time.reference else 0
    lacks = lacking(LEAST_IDLE, reference)
    return f"reference {lacks}" if lacks else ""


def _median_length(found: Sequence[SectionLength | None]) -> Figure | None:
    known = sorted((one for one in found if one is not None), key=lambda one: one.value_ns)
    if not known:
        return None
    middle = known[len(known) // 2]
    if len(known) == 1:
        low, high, interval = middle.low_ns, middle.high_ns, length_interval(middle)
    else:
        low, high = known[0].value_ns, known[-1].value_ns
        interval = _range([one.value_ns for one in known])
    return Figure(middle.value_ns, length_text(middle), interval, low, high, middle.is_below)


def _range(values: Sequence[float]) -> str:
    """The range of repeated results; empty for one."""
    if len(values) == 1:
        return ""
    return range_text(format_ns(min(values)), format_ns(max(values)))


TITLE_OF = {"time_90": "90 %", "time_99": "99 %", "max": "worst observed"}
MEANING = (
    "90 % and 99 %: sections shorter than this made up that share of kernel time. Worst "
    "observed: the longest dispatch latency. Intervals: 95 %, if releases are independent; the "
    "range if a side has several results. Below each improvement: the smallest and the largest "
    "that both intervals allow."
)


@dataclass(frozen=True)
class PreemptionRow:
    """One figure of one operation. Intervals are empty where there are none; in place
    of that of a missing figure is how many values it needs. `improvement` is the
    ratio off/on, "-" where it may not be given; `improvement_interval` has the ratios that both
    intervals allow, `doubt` says what limits it. `published` has HP's off, on and improvement in
    the rows of all operations together, else it is empty."""

    operation: str
    figure: str
    off: str
    off_interval: str
    on: str
    on_interval: str
    improvement: str
    improvement_interval: str
    doubt: str
    published: tuple[str, ...]

    @property
    def limits(self) -> list[str]:
        """The lines below the improvement."""
        return [one for one in (self.improvement_interval, self.doubt) if one]


@dataclass(frozen=True)
class PreemptionTable:
    """`off` and `on` name the preemption models. `rows` are those of all operations together, then
    those of each, the worst of `off` first. `unlike` are conditions that differ beyond the model,
    `notes` what else limits the figures. `published` names the machine of HP's figures."""

    off: str
    on: str
    rows: list[PreemptionRow]
    unlike: list[str]
    notes: list[str]
    published: str
    history: KernelHistory
    meaning: str = MEANING


_NO_FACTS: Systems = ({}, {})


def preemption_table(
    off: Sequence[Result], on: Sequence[Result], systems: Systems = _NO_FACTS
) -> PreemptionTable:
    """The table of results of KRN-P-PRE without (`off`) and with kernel preemption. `systems` are
    the facts of both sides: the models, and what else differs, come from them.

    InputError if a histogram is unreadable.
    """
    sides = side_of(off, systems[0]), side_of(on, systems[1])
    notes = why_not_divided(*systems)
    is_divided = not notes
    for name, side in zip(("off", "on"), sides, strict=True):
        notes += [f"{name}: {text}" for text in side.missing]
    counts = sides[0].releases, sides[1].releases
    if all(counts) and abs(counts[0] - counts[1]) * 10 > counts[0]:
        notes.append(
            f"{counts[0]} releases off, {counts[1]} on: more releases usually show a larger maximum"
        )
    history = kernel_history()
    return PreemptionTable(
        off=sides[0].model,
        on=sides[1].model,
        rows=list(preemption_rows(*sides, history, is_divided=is_divided)),
        unlike=differing_conditions(off, on, systems),
        notes=notes,
        published=f"{history.short}: {history.machine}",
        history=history,
    )


def preemption_rows(
    off: Side, on: Side, history: KernelHistory, *, is_divided: bool
) -> Iterator[PreemptionRow]:
    """The rows of all operations together, then of each that a side has."""
    for operation in dict.fromkeys([ALL, *off.operations, *on.operations]):
        for statistic in STATISTICS:
            before, after = off.figure(operation, statistic), on.figure(operation, statistic)
            lacks = off.lacking(operation, statistic), on.lacking(operation, statistic)
            if not (before or after or any(lacks)):
                continue
            ratio, ratios, doubt = "-", "", ""
            if before and after and is_divided:
                ratio, ratios, doubt = _improvement(before, after)
            published = (
                milliseconds(history.off[statistic]),
                milliseconds(history.on[statistic]),
                ratio_text(history.improvement[statistic]),
            )
            yield PreemptionRow(
                operation=operation,
                figure=TITLE_OF[statistic],
                off=before.text if before else "-",
                off_interval=(before.interval if before else "") or lacks[0],
                on=after.text if after else "-",
                on_interval=(after.interval if after else "") or lacks[1],
                improvement=ratio,
                improvement_interval=ratios,
                doubt=doubt,
                published=published if operation == ALL else (),
            )


def _improvement(off: Figure, on: Figure) -> tuple[str, str, str]:
    """off/on with its interval and its doubt: "28", "> 13" where the latter is a bound, "< 2" where
    the former is; "-" for both."""
    if (off.is_below and on.is_below) or on.value_ns <= 0:
        return "-", "", ""
    sign = "> " if on.is_below else "< " if off.is_below else ""
    doubt = "within the intervals" if off.overlaps(on) else ""
    return f"{sign}{ratio_text(off.value_ns / on.value_ns)}", ratios_of(off, on), doubt


def ratios_of(off: Figure, on: Figure) -> str:
    """The least and the most off/on that both intervals allow: "1.2 to 744". It is wider than an
    interval at 95 % of the ratio."""
    if not (off.has_interval and on.has_interval):
        return "no interval"
    least = 0.0 if on.high_ns is None else off.low_ns / on.high_ns
    if off.high_ns is None or on.low_ns <= 0:
        return f"{ratio_text(least)} to unbounded"
    return f"{ratio_text(least)} to {ratio_text(off.high_ns / on.low_ns)}"


_ONCE = (
    "Each side was measured once, so it is not known how much the worst observed varies without "
    "a switch. Measure again and compare."
)


@dataclass(frozen=True)
class PreemptionPair:
    """`under`: load and CPU configuration of both sides; empty where the run has one of each."""

    under: str
    table: PreemptionTable


def pairs_in(document: RunDocument) -> list[PreemptionPair]:
    """A table for each load and CPU configuration of a run that switched the model; else none.

    A side with an unreadable histogram has no table: that of its series says so.
    """
    models = document.plan.preemption_models
    if len(models) < 2:
        return []
    off, on = models[0], models[-1]
    systems = facts_under(document.system, off), facts_under(document.system, on)
    names = Names([_without_model(one) for one in conditions_in(document)])
    return [
        pair
        for found in _by_place(document.results).values()
        for pair in _pair(names, _with(found, off), _with(found, on), systems)
    ]


def pairs_of(off: RunDocument, on: RunDocument) -> list[PreemptionPair]:
    """The same of two runs of one plan, each under a model of its own."""
    names = names_in(off)
    sides = _by_place(off.results), _by_place(on.results)
    return [
        pair
        for place, found in sides[0].items()
        for pair in _pair(names, found, sides[1].get(place, []), (off.system, on.system))
    ]


def _pair(
    names: Names, off: list[Result], on: list[Result], systems: Systems
) -> Iterator[PreemptionPair]:
    under = names.label(_without_model(condition_of([*off, *on][0])))
    with suppress(InputError):
        table = preemption_table(off, on, systems)
        is_unsure = table.rows and len(off) == len(on) == 1 and not counts_instructions(systems[0])
        notes = [*table.notes, _ONCE] if is_unsure else table.notes
        yield PreemptionPair(under, replace(table, notes=notes))


def _by_place(results: list[Result]) -> dict[tuple[str, str], list[Result]]:
    found: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        if one.test == TEST:
            found.setdefault(condition_of(one)[:2], []).append(one)
    return found


def _without_model(condition: Condition) -> Condition:
    return condition._replace(preemption="")


def _with(found: list[Result], model: str) -> list[Result]:
    return [one for one in found if one.conditions.preemption == model]


def facts_under(system: Facts, model: str) -> dict[str, Scalar]:
    """The facts while the kernel was switched to `model`."""
    return {**system, "kernel.preemption": model, "kernel.preemption_model": model}
