"""Why worst values were late, in words: what was seen in their seconds, never more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hardstone.event_names import TIRE_TESTS
from hardstone.model import Result, RunDocument
from hardstone.stats.causes import Cause, Lateness, is_watched, latenesses, not_watched, task_before
from hardstone.stats.conditions import listed_results, names_in, sweep_points
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import format_value, one_line, series_text, shorten

NOTE = (
    "A cause is what the kernel counted in the second of the value, enough to have made it and "
    "beyond the usual. Throttling, steal time and heat are named also where every second has them. "
    "It is not proven. Steal time is counted in steps of 10 ms. A thread waits "
    "for the CPU behind a task of higher priority, behind any task in a part of the kernel that "
    "cannot be preempted, or while real-time tasks are throttled."
)
_COUNTERS = {
    "steal_ns": "steal",
    "run_delay_ns": "run delay",
    "throttled_ns": "throttled",
    "throttled_count": "times throttled",
    "thermal_throttled_ns": "slowed down for heat",
    "thermal_throttled_count": "times slowed down for heat",
    "interrupts_count": "interrupts",
    "timer_interrupts_count": "timer interrupts",
    "minor_faults_count": "minor faults",
    "major_faults_count": "major faults",
    "migrations_count": "migrations",
    "involuntary_switches_count": "involuntary switches",
}
_LOST = {
    "throttled": "of throttling of the control group",
    "steal": "stolen by the hypervisor",
    "heat": "of a processor that was slowed down for heat",
    "delay": "of waiting for the CPU, behind a task or throttled",
}
_CONSTANT = {
    "throttled": "a CPU quota stops the control group for {} a second on average, "
    "the sum of its CPUs",
    "steal": "the hypervisor takes {} a second on average",
    "heat": "heat slows the processor down for {} a second on average",
}
_EVENTS = {
    "throttled": ("throttling of the control group", "throttlings of the control group"),
    "heat": ("slow-down of the processor for heat", "slow-downs of the processor for heat"),
    "interrupts": ("interrupt", "interrupts"),
    "major_faults": ("page fault that waited for a device", "page faults that waited for a device"),
    "minor_faults": ("page fault", "page faults"),
    "migrations": ("migration", "migrations"),
}
_NAME_CHARACTERS = 40
_LEAST_REALTIME = 99  # as the kernel counts


@dataclass(frozen=True)
class LateValue:
    """A worst value in words, which are made when they are asked for: of most values only the
    cause is shown."""

    late: Lateness
    result: Result

    @property
    def when(self) -> str:
        return f"{self.late.worst.at_ns / 1e9:.3f} s"

    @property
    def cpu(self) -> str:
        return "-" if self.late.cpu is None else str(self.late.cpu)

    @property
    def value(self) -> str:
        return format_value(self.late.worst.value_ns, self.late.series.unit)

    @property
    def series(self) -> str:
        series = self.late.series
        return series_text(series, [key for key in series.labels if key != "cpu"])

    @property
    def place(self) -> str:
        """The value with its moment."""
        return _place(self.late)

    @cached_property
    def cause(self) -> str:
        return _cause_text(self.late, self.result)

    @property
    def counters(self) -> list[str]:
        """The counters of its second that are not 0, each with its usual amount."""
        sums = Counter[str]()
        for second in self.late.seconds:
            sums.update(second.counters)
        texts = []
        for name, title in _COUNTERS.items():
            if not sums[name]:
                continue
            known = self.late.counts.get(name)
            amount = format_ns if name.endswith("_ns") else _plain
            usual = f" (usually {amount(known.expected)})" if known else ""
            texts.append(f"{title} {amount(sums[name])}{usual}")
        if self.late.compared_ns:
            texts.append(f"usual: over {format_span(self.late.compared_ns)}")
        return texts

    @property
    def before(self) -> str:
        """The task that ran before it."""
        return _before(self.late).removeprefix("; ")

    @property
    def trace(self) -> list[str]:
        """The lines of its trace."""
        return [one_line(line) for line in self.late.trace.lines] if self.late.trace else []


def late_values(result: Result) -> list[LateValue]:
    """The worst values of a result, the largest first; empty if nothing was watched."""
    if not is_watched(result):
        return []
    return [LateValue(one, result) for one in latenesses(result)]


def worst_causes(document: RunDocument) -> list[tuple[str, str]]:
    """The worst value of each timing result that was watched, with its cause: (result,
    "5.02 ms at 12.34 s, CPU 1: seen in that second: ...")."""
    names = names_in(document)
    return [
        (names.name(result), f"{_place(one)}: {_cause_text(one, result)}")
        for result in _explained(document)
        if is_watched(result)
        for one in latenesses(result, 1)
    ]


def all_causes(document: RunDocument, apart: int) -> list[tuple[str, str]]:
    """As worst_causes, but all worst values. After the first `apart` of a result, values with the
    same cause share a line: "12 values from 3.1 us to 40 us: none seen"."""
    names = names_in(document)
    rows: list[tuple[str, str]] = []
    for result in _explained(document):
        found = late_values(result)
        causes = [*((one.place, one.cause) for one in found[:apart]), *by_cause(found[apart:])]
        rows += [(names.name(result), f"{values}: {cause}") for values, cause in causes]
    return rows


def _explained(document: RunDocument) -> list[Result]:
    """The results whose lateness says something of the run: those of a sweep that are no points
    only feed its cost model."""
    has_points = bool(sweep_points(document))
    return [one for one in listed_results(document) if not has_points or one.test in TIRE_TESTS]


def by_cause(found: Sequence[LateValue]) -> list[tuple[str, str]]:
    """Values (the largest first) and their cause; values with the same cause are together."""
    groups: dict[str, list[LateValue]] = {}
    for one in found:
        groups.setdefault(one.cause, []).append(one)
    rows = []
    for cause, group in groups.items():
        values = group[0].place
        if len(group) > 1:
            count = format_count(len(group))
            values = f"{count} values from {group[-1].value} to {group[0].value}"
        rows.append((values, cause))
    return rows


def _cause_text(late: Lateness, result: Result) -> str:
    """ "seen in that second: 3 migrations (usually 0)", "as in the rest of the run: the hypervisor
    takes 30 ms a second on average (40 ms in that second)", "none seen", "not watched: ..."."""
    if not late.seconds:
        why = not_watched(result)
        reason = "no counters of that second" if why is None else shorten(why, limit=200)
        return f"not watched: {reason}" + _before(late)
    if not late.causes and not late.counts:
        return "nothing to compare that second with" + _before(late)
    if not late.causes:
        return "none seen" + _before(late)
    parts = (
        ("seen in that second", [_cause(one) for one in late.causes if not one.constant_ns]),
        ("as in the rest of the run", [_constant(one) for one in late.causes if one.constant_ns]),
    )
    texts = (f"{lead}: {'; '.join(causes)}" for lead, causes in parts if causes)
    return "; ".join(texts) + _before(late)


def _place(late: Lateness) -> str:
    value, seconds = format_ns(late.worst.value_ns), late.worst.at_ns / 1e9
    cpu = "" if late.cpu is None else f", CPU {late.cpu}"
    return f"{value} at {seconds:.2f} s{cpu}"


def _before(late: Lateness) -> str:
    """ "; hog (pid 77, real-time priority 50) ran before it"."""
    task = task_before(late.worst, late.trace)
    if task is None:
        return ""
    if task.is_idle:
        return "; the CPU was idle before it"
    name = shorten(task.name, _NAME_CHARACTERS) or "a task without a name"
    return f"; {name} (pid {task.pid}{_rank(task.priority)}) ran before it"


def _rank(priority: int | None) -> str:
    if priority is None:
        return ""
    if priority < 0:
        return ", deadline"
    return (
        f", real-time priority {_LEAST_REALTIME - priority}" if priority < _LEAST_REALTIME else ""
    )


def _cause(cause: Cause) -> str:
    """ "5.1 ms stolen by the hypervisor (usually 20 us)", "3 migrations (usually 0)"."""
    busiest = f", most of them {shorten(cause.busiest, _NAME_CHARACTERS)}" if cause.busiest else ""
    usual = (
        ""
        if cause.usual is None
        else f" (usually {format_ns(cause.usual) if cause.is_time else _plain(cause.usual)})"
    )
    if cause.is_time:
        seen = f"{format_ns(cause.seen)} {_LOST[cause.kind]}"
    else:
        one, several = _EVENTS[cause.kind]
        seen = f"{format_count(cause.seen)} {one if cause.seen == 1 else several}"
    return f"{seen}{usual}{busiest}"


def _constant(cause: Cause) -> str:
    """ "the hypervisor takes 30 ms a second on average (40 ms in that second)"."""
    average = _CONSTANT[cause.kind].format(format_ns(cause.constant_ns))
    return f"{average} ({format_ns(cause.seen)} in that second)"


def _plain(value: float) -> str:
    return format_count(round(value)) if value >= 10 or value == 0 else f"{value:.1g}"
