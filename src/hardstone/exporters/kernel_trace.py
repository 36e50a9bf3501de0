"""What the kept lines of the kernel's ring say: who ran when, and what the CPU served meanwhile.

The lines are those of `probe/src/run/trace_ring.c`: "[CPU] SECONDS: EVENT: FIELDS", the fields as
the kernel names them (Documentation/trace/events.rst). The probe leaves out some: of a switch the
name of the next task and the state of the previous one. Fields that a line has are read.

Nothing is carried over a gap. A gap is where the ring lost events, where an excerpt leaves some
out, and the time between two excerpts: who ran then is not known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hardstone.model import Trace
from hardstone.units import whole_number

SECOND_NS = 1_000_000_000
MOST_CPUS = 1024  # as Perfetto reads
NO_PRIORITY = 1000  # past all of the kernel's: not in the lines
IDLE = 0

_STAMPED = re.compile(r"\[(\d{1,4})\] +(\d{1,9})\.(\d{1,9}): (.*)", re.DOTALL)
_EVENT = re.compile(r"([a-z_][a-z0-9_]{0,63}): (.*)", re.DOTALL)
_FIELD = re.compile(r"(\w{1,40})=(\S{1,200})")
# A name may hold anything but a line end, also what looks like the next field.
_NAME = r".{0,63}?"
_SWITCH = re.compile(
    rf"prev_comm=(?P<name>{_NAME}) prev_pid=(?P<pid>\d{{1,7}}) prev_prio=(?P<prio>-?\d{{1,4}})"
    r"(?: prev_state=(?P<state>[A-Za-z|+]{1,8}))? ==> "
    rf"(?:next_comm=(?P<next_name>{_NAME}) )?next_pid=(?P<next>\d{{1,7}})"
    r"(?: next_prio=(?P<next_prio>-?\d{1,4}))?"
)
_WAKEUP = re.compile(
    rf"comm=(?P<name>{_NAME}) pid=(?P<pid>\d{{1,7}}) prio=(?P<prio>-?\d{{1,4}})"
    r"(?: success=\d)?(?: target_cpu=(?P<cpu>\d{1,4}))?"
)
_WAKEUPS = ("sched_wakeup", "sched_waking", "sched_wakeup_new")
BEGINS, ENDS, STARTS = "the value begins", "the value ends", "the trace starts here"
_GAP = re.compile(r"LOST \d+ EVENTS")
_LEFT_OUT = re.compile(r"\d+ events left out before this")

INTERRUPTS, SOFTIRQS, TIMERS, SECTIONS = "interrupts", "softirqs", "timers", "sections"
_OF_PREFIX = {"softirq": SOFTIRQS, "hrtimer": TIMERS, "timer": TIMERS}
# What begins and ends a slice where the names are not X_entry and X_exit.
_SECTIONS = {
    "preempt_disable": ("preemption off", "preempt_enable"),
    "irq_disable": ("interrupts off", "irq_enable"),
}
_ENDS_SECTION = {end: name for name, end in _SECTIONS.values()}
# Interrupts with a tracepoint of their own (irq_vectors), and the handlers of devices.
_INTERRUPTS = (
    *("irq_handler", "local_timer", "reschedule", "call_function", "call_function_single"),
    *("irq_work", "x86_platform_ipi", "spurious_apic", "error_apic", "thermal_apic"),
    *("threshold_apic", "deferred_error_apic", "ipi"),
)
_SPANS = (*_INTERRUPTS, "softirq", "hrtimer_expire", "timer_expire")
_INSTANTS = (
    *("softirq_raise", "hrtimer_init", "hrtimer_setup", "hrtimer_start", "hrtimer_cancel"),
    *("timer_init", "timer_start", "timer_cancel", "tick_stop"),
)
_NAMES = ("irq", "vec", "name", "function")  # fields that tell what is served
_MARKS = (BEGINS, ENDS, STARTS)
_SLEEPS = {"S": "sleeping", "I": "sleeping", "P": "sleeping", "D": "blocked", "T": "stopped"}


@dataclass(frozen=True)
class Line:
    """`text` is what follows the time stamp. `name`: of the event, "" for what is no event.
    `fields`: those of the event; a switch and a wake-up have the names of `_SWITCH`, `_WAKEUP`."""

    cpu: int
    at_ns: int
    text: str
    name: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_switch(self) -> bool:
        return self.name == "sched_switch"

    @property
    def is_wakeup(self) -> bool:
        return self.name in _WAKEUPS

    def number(self, key: str) -> int | None:
        return whole_number(self.fields.get(key, ""))


@dataclass(frozen=True)
class Excerpt:
    """The lines of one trace in the order of their times. `unread`: lines without a time stamp."""

    lines: Sequence[Line]
    unread: Sequence[str]

    @property
    def not_understood(self) -> int:
        """Lines that are only kept as text."""
        return len(self.unread) + sum(1 for one in self.lines if not is_understood(one))


@dataclass(frozen=True)
class Stretch:
    """Events of one CPU, none missing between them. Nothing else happened from `begin_ns` to
    `end_ns`."""

    cpu: int
    lines: Sequence[Line]
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Span:
    """What a CPU served from entry to exit. `track`: INTERRUPTS and others. An instant has no
    `end_ns`: the event has no duration, or its other end is not in the lines."""

    track: str
    cpu: int
    name: str
    begin_ns: int
    end_ns: int | None
    text: str


@dataclass(frozen=True)
class Change:
    """A task came into a state. `state`: "running" on `cpu`, "runnable", "sleeping", "blocked",
    "stopped"; "unknown": nothing is known of the CPU from here on, and `tid` is -1. A wake-up has
    the task that ran on the CPU of its line, `waker`, and no other change has one."""

    at_ns: int
    cpu: int
    state: str
    tid: int = -1
    name: str = ""
    priority: int = NO_PRIORITY
    waker: int | None = None


def read_excerpt(trace: Trace) -> Excerpt:
    """The lines of one trace."""
    lines, unread = [], []
    for text in trace.lines:
        line = _read_line(text)
        if line is None:
            unread.append(text)
        else:
            lines.append(line)
    lines.sort(key=lambda one: one.at_ns)
    return Excerpt(lines, unread)


def _read_line(text: str) -> Line | None:
    stamped = _STAMPED.fullmatch(text)
    if stamped is None or int(stamped[1]) >= MOST_CPUS:
        return None
    at_ns = int(stamped[2]) * SECOND_NS + int(stamped[3].ljust(9, "0"))
    plain = Line(int(stamped[1]), at_ns, stamped[4])
    event = _EVENT.fullmatch(plain.text)
    if event is None:
        return plain
    name, rest = event[1], event[2]
    if name == "sched_switch" or name in _WAKEUPS:
        found = (_SWITCH if name == "sched_switch" else _WAKEUP).fullmatch(rest)
        if found is None:
            return plain
        known = {key: value for key, value in found.groupdict().items() if value is not None}
        return replace(plain, name=name, fields=known)
    return replace(plain, name=name, fields=dict(_FIELD.findall(rest)))


def is_understood(line: Line) -> bool:
    """Whether more of a line is used than its text."""
    if line.name:
        return line.is_switch or line.is_wakeup or _span_of(line.name) is not None
    return line.text in _MARKS or is_gap(line)


def is_gap(line: Line) -> bool:
    """Whether events before this line are missing."""
    return bool(_GAP.fullmatch(line.text) or _LEFT_OUT.fullmatch(line.text))


def _span_of(event: str) -> tuple[str, str, str] | None:
    """Track, name, and what an event is of its span: "entry", "exit" or "instant"; None: an event
    that is not known."""
    if event in _SECTIONS:
        return SECTIONS, _SECTIONS[event][0], "entry"
    if event in _ENDS_SECTION:
        return SECTIONS, _ENDS_SECTION[event], "exit"
    track = _OF_PREFIX.get(event.partition("_")[0], INTERRUPTS)
    if event in _INSTANTS:
        return track, event, "instant"
    kind, _, end = event.rpartition("_")
    return (track, kind, end) if kind in _SPANS and end in ("entry", "exit") else None


# ---- stretches ----


def stretches_of(excerpts: Iterable[Excerpt]) -> list[Stretch]:
    """The stretches of all excerpts, by CPU and time. What two excerpts both hold is there once."""
    of_cpu: dict[int, list[Stretch]] = defaultdict(list)
    for excerpt in excerpts:
        for one in _stretches(excerpt):
            of_cpu[one.cpu].append(one)
    found: list[Stretch] = []
    for cpu in sorted(of_cpu):
        found += _joined(sorted(of_cpu[cpu], key=lambda one: one.begin_ns))
    return found


def _stretches(excerpt: Excerpt) -> Iterator[Stretch]:
    """Those of each CPU, split at gaps. What was left out may be of any CPU. The first one begins
    with the excerpt, unless the ring had nothing older than its own first event."""
    if not excerpt.lines:
        return
    first_ns, last_ns = excerpt.lines[0].at_ns, excerpt.lines[-1].at_ns
    for cpu in sorted({one.cpu for one in excerpt.lines if one.name}):
        held: list[Line] = []
        begin_ns: int | None = first_ns
        for line in excerpt.lines:
            is_own = line.cpu == cpu
            if is_gap(line) and (is_own or _LEFT_OUT.fullmatch(line.text)):
                if held:
                    yield _stretch(held, begin_ns, held[-1].at_ns)
                held, begin_ns = [], None
            elif is_own and line.text == STARTS and not held:
                begin_ns = None
            elif is_own and line.name:
                held.append(line)
        if held:
            yield _stretch(held, begin_ns, last_ns)


def _stretch(lines: Sequence[Line], begin_ns: int | None, end_ns: int) -> Stretch:
    first = lines[0]
    return Stretch(first.cpu, lines, first.at_ns if begin_ns is None else begin_ns, end_ns)


def _joined(found: Iterable[Stretch]) -> list[Stretch]:
    """`found` of one CPU, by begin: what overlaps is joined, and none reaches into the next."""
    kept: list[Stretch] = []
    for one in found:
        before = kept[-1] if kept else None
        if before is None or before.end_ns < one.begin_ns:
            kept.append(one)
        elif before.lines[-1].at_ns < one.lines[0].at_ns:
            border_ns = max(one.begin_ns, before.lines[-1].at_ns + 1)
            kept[-1] = replace(before, end_ns=border_ns - 1)
            kept.append(replace(one, begin_ns=border_ns))
        else:
            lines = dict.fromkeys((line.at_ns, line.text) for line in before.lines)
            more = [line for line in one.lines if (line.at_ns, line.text) not in lines]
            merged = sorted([*before.lines, *more], key=lambda line: line.at_ns)
            kept[-1] = replace(before, lines=merged, end_ns=max(before.end_ns, one.end_ns))
    return kept


# ---- who ran ----


def changes_of(stretches: Sequence[Stretch]) -> list[Change]:
    """What is known of the tasks, in the order of time. After each stretch its CPU is "unknown"."""
    names = _Names(stretches)
    found = [change for one in stretches for change in _changes(one, _Names([one], names))]
    return sorted(found, key=lambda one: one.at_ns)


def _changes(stretch: Stretch, names: _Names) -> list[Change]:
    """From the last line to the first: what a line means is known by those after it."""
    switches = [one for one in stretch.lines if one.is_switch]
    last_ns = switches[-1].at_ns if switches else stretch.begin_ns
    # A task that came last has run, however short: 1 ns.
    found = [Change(max(stretch.end_ns, last_ns + 1), stretch.cpu, "unknown")]
    later = _Later(stretch, names, switches[-1].number("next") if switches else None)
    for line in reversed(stretch.lines):
        if line.is_switch:
            found += later.switch(line)
        elif line.is_wakeup:
            found += later.wakeup(line)
    if switches and stretch.begin_ns < switches[0].at_ns:
        first = replace(switches[0], at_ns=stretch.begin_ns)
        found.append(later.change(first, "running", int(first.fields["pid"])))
    return found[::-1]


class _Later:
    """What the lines after one say: who has the CPU there, what each task does next, and its
    priority, which may be that of its last line before. The changes of a line come last one
    first."""

    def __init__(self, stretch: Stretch, names: _Names, running: int | None) -> None:
        self.running = running
        self._names = names
        self._is_woken: dict[int, bool] = {}  # next; else it comes to the CPU
        self._runs: set[int] = set()
        self._priority = {
            int(one.fields["pid"]): int(one.fields["prio"])
            for one in stretch.lines
            if one.is_switch or one.is_wakeup
        }

    def change(self, line: Line, state: str, pid: int, waker: int | None = None) -> Change:
        name = self._names.of(pid, line.cpu)
        priority = self._priority.get(pid, NO_PRIORITY)
        return Change(line.at_ns, line.cpu, state, pid, name, priority, waker)

    def switch(self, line: Line) -> Iterator[Change]:
        prev, following = int(line.fields["pid"]), int(line.fields["next"])
        if "next_prio" in line.fields:
            self._priority[following] = int(line.fields["next_prio"])
        yield self.change(line, "running", following)
        state = self._state_after(line, prev)
        self._priority[prev] = int(line.fields["prio"])
        if state and prev != IDLE:
            yield self.change(line, state, prev)
        self._is_woken[following] = False
        self._runs.add(following)
        self.running = prev

    def wakeup(self, line: Line) -> Iterator[Change]:
        """Of a task that does not run and is seen to run later: what else it did is not known."""
        pid = int(line.fields["pid"])
        self._priority[pid] = int(line.fields["prio"])
        if pid not in (self.running, IDLE) and pid in self._runs:
            yield self.change(line, "runnable", pid, waker=self.running)
        self._is_woken[pid] = True

    def _state_after(self, line: Line, pid: int) -> str:
        """The state in which a task gave up the CPU. Without the kernel's word for it: it slept if
        it is woken next; else it may have been woken on another CPU, and "" is not known. The last
        state in a stretch is not known to last, so it is left out."""
        if pid not in self._is_woken:
            return ""
        told = line.fields.get("state", "")
        if told.startswith("R"):
            return "runnable"
        return _SLEEPS.get(told[:1], "") or ("sleeping" if self._is_woken[pid] else "")


class _Names:
    """The names of tasks, by the lines that have them, else by those of `others`: an id may be
    another task's in another stretch. "" for one that none has."""

    def __init__(self, stretches: Iterable[Stretch], others: _Names | None = None) -> None:
        self._of: dict[int, str] = {}
        self._others = others
        for line in (line for one in stretches for line in one.lines):
            self._note(line.number("pid"), line.fields.get("name"))
            self._note(line.number("next"), line.fields.get("next_name"))

    def _note(self, pid: int | None, name: str | None) -> None:
        if pid and name:
            self._of.setdefault(pid, name)

    def of(self, pid: int, cpu: int) -> str:
        if pid == IDLE:
            return f"swapper/{cpu}"
        return self._of.get(pid) or (self._others.of(pid, cpu) if self._others else "")


def ended_by(excerpt: Excerpt, cpu: int | None) -> int | None:
    """The task that ended the value of an excerpt: it had the CPU at the end; None: not known."""
    running: int | None = None
    for line in excerpt.lines:
        if cpu is not None and line.cpu != cpu:
            continue
        if line.text == ENDS:
            return running or None
        if is_gap(line):
            running = None
        elif line.is_switch:
            running = line.number("next")
    return None


# ---- what the CPU served ----


def spans_of(stretch: Stretch) -> Iterator[Span]:
    """Interrupts, softirqs, timers and sections of a stretch; an event whose other end it does not
    hold is an instant."""
    open_ones: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in stretch.lines:
        of = _span_of(line.name)
        if of is None:
            continue
        track, kind, end = of
        if end == "entry":
            open_ones[track, kind].append(line)
        elif end == "exit" and open_ones[track, kind]:
            begin = open_ones[track, kind].pop()
            yield _span(track, kind, begin, line.at_ns)
        else:
            yield _span(track, line.name, line, None)
    for (track, _), lines in open_ones.items():
        for line in lines:
            yield _span(track, line.name, line, None)


def _span(track: str, kind: str, begin: Line, end_ns: int | None) -> Span:
    """Named by what it serves: "irq 24 eth0", "softirq 8", "local_timer"."""
    words = [kind.replace("irq_handler", "irq")]
    words += [
        begin.fields[key] for key in ("irq", "vec", "name", "function") if key in begin.fields
    ]
    return Span(track, begin.cpu, " ".join(words), begin.at_ns, end_ns, begin.text)
