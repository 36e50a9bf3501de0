"""Why worst values were late, in words: what was seen in their seconds, and no more."""

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
    "A likely cause is what the kernel counted in the second of the value: enough to explain the "
    "value, and more than normal. Throttling, steal time and heat are named even if every second "
    "has them. None of this is proof. The kernel counts steal time in steps of 10 ms. A thread "
    "waits for the CPU behind a task of higher priority, behind any task in a section of the "
    "kernel that cannot be preempted, or while real-time tasks are throttled."
)
_COUNTERS = {
    "steal_ns": "steal",
    "run_delay_ns": "run delay",
    "throttled_ns": "throttled",
    "throttled_count": "times throttled",
    "thermal_throttled_ns": "slowed down by heat",
    "thermal_throttled_count": "times slowed down by heat",
    "interrupts_count": "interrupts",
    "timer_interrupts_count": "timer interrupts",
    "minor_faults_count": "minor faults",
    "major_faults_count": "major faults",
    "migrations_count": "migrations",
    "involuntary_switches_count": "involuntary switches",
}
_LOST = {
    "throttled": "the control group was throttled for {}",
    "steal": "the hypervisor took {}",
    "heat": "heat slowed the processor down for {}",
    "delay": "the thread waited {} for the CPU",
}
_CONSTANT = {
    "throttled": "a CPU quota stops the control group for {} a second on average, "
    "summed over its CPUs",
    "steal": "the hypervisor takes {} a second on average",
    "heat": "heat slows the processor down for {} a second on average",
}
_EVENTS = {
    "throttled": ("throttling of the control group", "throttlings of the control group"),
    "heat": ("slow-down of the processor by heat", "slow-downs of the processor by heat"),
    "interrupts": ("interrupt", "interrupts"),
    "major_faults": ("page fault that read from a device", "page faults that read from a device"),
    "minor_faults": ("page fault", "page faults"),
    "migrations": ("migration", "migrations"),
}
_NAME_CHARACTERS = 40
_STEPS_OF_CLOCKS = "CLK-B-RES"
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
            usual = f" (normally {amount(known.expected)})" if known else ""
            texts.append(f"{title} {amount(sums[name])}{usual}")
        if self.late.compared_ns:
            texts.append(f"normal: over {format_span(self.late.compared_ns)}")
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
    """The worst values of a result, the largest first; empty if nothing was watched, and for the
    steps of clocks: those of a coarse clock are long by design."""
    if result.test == _STEPS_OF_CLOCKS or not is_watched(result):
        return []
    return [LateValue(one, result) for one in latenesses(result)]


def all_causes(document: RunDocument, apart: int) -> list[tuple[str, str]]:
    """The worst values of each result with their causes: (result, "5.02 ms at 12.34 s, CPU 1:
    likely: ..."). After the first `apart` of a result, values with the same cause share a line:
    "12 values from 3.1 us to 40 us: no cause found"."""
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
    """ "likely: 3 migrations in that second (normally 0)", "likely, throughout the run: the
    hypervisor takes 30 ms a second on average (40 ms in that second)", "no cause found", "cause
    unknown: ..."."""
    if not late.seconds:
        why = not_watched(result)
        reason = "there are no counters of that second" if why is None else shorten(why, limit=200)
        return f"cause unknown: {reason}" + _before(late)
    if not late.causes and not late.counts:
        return "run too short to tell" + _before(late)
    if not late.causes:
        return "no cause found" + _before(late)
    parts = (
        ("likely", [_cause(one) for one in late.causes if not one.constant_ns]),
        ("likely, throughout the run", [_constant(one) for one in late.causes if one.constant_ns]),
    )
    texts = (f"{lead}: {'; '.join(causes)}" for lead, causes in parts if causes)
    return "; ".join(texts) + _before(late)


def _place(late: Lateness) -> str:
    value, seconds = format_ns(late.worst.value_ns), late.worst.at_ns / 1e9
    cpu = "" if late.cpu is None else f", CPU {late.cpu}"
    return f"{value} at {seconds:.2f} s{cpu}"


def _before(late: Lateness) -> str:
    """ "; before it, hog (pid 77, real-time priority 50) ran"."""
    task = task_before(late.worst, late.trace)
    if task is None:
        return ""
    if task.is_idle:
        return "; before it, the CPU was idle"
    name = shorten(task.name, _NAME_CHARACTERS) or "a task without a name"
    return f"; before it, {name} (pid {task.pid}{_rank(task.priority)}) ran"


def _rank(priority: int | None) -> str:
    if priority is None:
        return ""
    if priority < 0:
        return ", deadline"
    return (
        f", real-time priority {_LEAST_REALTIME - priority}" if priority < _LEAST_REALTIME else ""
    )


def _cause(cause: Cause) -> str:
    """ "the hypervisor took 10 ms in that second (normally 20 us)", "3 migrations in that second
    (normally 0)"."""
    busiest = f", most of them {shorten(cause.busiest, _NAME_CHARACTERS)}" if cause.busiest else ""
    usual = "" if cause.usual is None else f" (normally {_normal(cause)})"
    if cause.is_time:
        seen = _LOST[cause.kind].format(format_ns(cause.seen))
    else:
        one, several = _EVENTS[cause.kind]
        seen = f"{format_count(cause.seen)} {one if cause.seen == 1 else several}"
    return f"{seen} in that second{busiest}{usual}"


def _normal(cause: Cause) -> str:
    """ "0", "20 us", "3"."""
    usual = cause.usual or 0.0
    return format_ns(usual) if cause.is_time and usual else _plain(usual)


def _constant(cause: Cause) -> str:
    """ "the hypervisor takes 30 ms a second on average (40 ms in that second)"."""
    average = _CONSTANT[cause.kind].format(format_ns(cause.constant_ns))
    return f"{average} ({format_ns(cause.seen)} in that second)"


def _plain(value: float) -> str:
    return format_count(round(value)) if value >= 10 or value == 0 else f"{value:.1g}"
