"""Which cells of a comparison may not be compared, and why: they are grey."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hardstone.catalogue import load_catalogue
from hardstone.comparison.sizes import SizeSeries
from hardstone.comparison.tools import (
    has_imported,
    idle_states,
    imported_of,
    tool_name,
    why_other_moments,
)
from hardstone.comparison.view import ComparedRow, ConditionRow, SystemColumn
from hardstone.model import Result, RunDocument, Scalar
from hardstone.present.overview import repeat_text
from hardstone.stats.conditions import NOT_KNOWN as UNKNOWN
from hardstone.stats.conditions import STEADY_FACTS, differing_parameters
from hardstone.stats.consistency import UNLIKE_COUNTS
from hardstone.stats.quantiles import count_text, is_count_known
from hardstone.stats.sustained import SUSTAINED, steps_of
from hardstone.stats.trust import lacks_realtime
from hardstone.systems.criteria import find_figure, load_criteria, rated_figures
from hardstone.systems.published import Address, Figure
from hardstone.systems.subjects import (
    CONTRADICTORY,
    FigureRow,
    MeasuredRun,
    MeasuredSeries,
    Missing,
    PublishedSeries,
    PublishedSystem,
    Subject,
    SubjectSeries,
    other_numbers,
)
from hardstone.units import format_count, format_ns
from hardstone.wording import fact_text, parameter_text, shorten, spoken, work_text


def why_another(figure: Figure, result: Result) -> str:
    """Policy and parameters of `result` that differ from those the study fixed for `figure`;
    "" if none do."""
    found = []
    policy = figure.address.conditions.get("policy", result.conditions.policy)
    if policy != result.conditions.policy:
        found.append(f"policy {result.conditions.policy}, in the study {policy}")
    for name, value in figure.params.items():
        used = result.params.get(name)
        fixed = f"in the study {parameter_text(name, value)}"
        if used is None:
            found.append(f"{name} is not known, {fixed}")
        elif used not in (value, [value]):
            found.append(f"{parameter_text(name, used)}, {fixed}")
    return "; ".join(found)


_ON_LINUX = "on Linux this kind enters the kernel only when a thread waits"
# What a figure of a run has that the published one may not have.
_CAVEATS = {
    ("IRQ-P-TLT", "to_thread"): (
        "from the entry of the handler; the study says from the handler, without the moment in it"
    ),
}


@dataclass(frozen=True)
class ComparableAddress:
    """An address of a run to compare with a published one. `refused`: why it is not
    comparable; `note`: a caveat if it is."""

    address: Address
    refused: str = ""
    note: str = ""


def beside(address: Address, system: Mapping[str, Scalar]) -> Iterator[ComparableAddress]:
    """The addresses of a run to compare with `address`.

    For a context switch of a kind that is not comparable these are those of comparable kinds.
    """
    kinds = load_catalogue().entry(address.test).enters_kernel
    when = kinds.get(address.labels.get("kind", ""), "always")
    series = address.parts[-1] if address.parts else ""
    if when == "always" or system.get("kernel.name") != "Linux":
        yield ComparableAddress(address, note=_CAVEATS.get((address.test, series), ""))
    elif series != "context_switch":
        yield ComparableAddress(address, note=_ON_LINUX if series == "signal_wait" else "")
    else:
        yield ComparableAddress(address, refused=f"not comparable: {_ON_LINUX}")
        for kind in (kind for kind, found in kinds.items() if found == "always"):
            yield ComparableAddress(replace(address, labels={**address.labels, "kind": kind}))


_SENT_BY = {"ipi": "another CPU", "timer": "the CPU's timer"}
# Figures of a device's interrupts: a run without an external source has others in their place.
_OF_A_DEVICE = (
    ("IRQ-P-LAT", "latency"),
    ("IRQ-P-DLT", "dispatch"),
    ("IRQ-P-TLT", "to_thread"),
    (SUSTAINED, "minimal_period"),
)


@dataclass(frozen=True)
class StandIn:
    """A series in place of one that a system does not have. `what` says what it is."""

    series: SubjectSeries
    what: str


def with_stand_ins(
    row: FigureRow, subjects: Sequence[Subject]
) -> tuple[FigureRow, Mapping[int, StandIn]]:
    """`row`, with the interrupts that a run has in place of those of a device, by place.

    Only a row of published figures alone is filled: a run that has the series itself shows it.
    """
    if any(one and one.series for one in row.found):
        return row, {}
    found: dict[int, StandIn] = {}
    for place, subject in enumerate(subjects):
        if isinstance(subject, MeasuredRun) and row.found[place] is None:
            stand_in = in_place(row.key[0], row.key[1], subject)
            if stand_in is not None:
                found[place] = stand_in
    filled = [found[place].series if place in found else one for place, one in enumerate(row.found)]
    return replace(row, found=tuple(filled)), found


def in_place(test: str, name: str, subject: MeasuredRun) -> StandIn | None:
    """The interrupts that a run has in place of those of a device: the series that its rating
    shows. None for a series that is not of a device."""
    if (test, name) not in _OF_A_DEVICE:
        return None
    criteria = (one for name in load_criteria().categories for one in rated_figures(name))
    criterion = next((one for one in criteria if (one.test, one.series) == (test, name)), None)
    if criterion is None:
        return None
    found = find_figure(subject, criterion, criterion.statistic)
    if isinstance(found, Missing) or not found.is_stand_in:
        return None
    series = subject.series_at(found.address)
    if series is None:
        return None
    sender = _SENT_BY.get(series.labels.get("source", ""), "another source")
    return StandIn(series, f"{spoken(series.name)} of interrupts from {sender}")


@dataclass(frozen=True)
class Pair:
    """A figure and that of the reference in the same row; either may be a stand-in."""

    one: SubjectSeries
    against: SubjectSeries
    stand_in: str = ""
    stand_in_against: str = ""
    subject: Subject | None = None
    reference: Subject | None = None


class DifferingResults:
    """Why the values of two results differ, found once for all series of both.

    It keeps the results, so that no other result can have the identity of one of them.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Result, Result, list[str]]] = {}

    def reasons(self, ours: Result, theirs: Result) -> list[str]:
        key = id(ours), id(theirs)
        if key not in self._known:
            self._known[key] = ours, theirs, list(_other_parameters(ours, theirs))
        return self._known[key][2]


def why_grey(pair: Pair, known: DifferingResults | None = None) -> str:
    """Why `pair.one` may not be compared with `pair.against`; empty if it may. `known` belongs to
    the comparison that both are in."""
    return next(_reasons(pair, known or DifferingResults()), "")


def _reasons(pair: Pair, known: DifferingResults) -> Iterator[str]:
    moments = why_other_moments(pair.one, pair.against, pair.subject, pair.reference)
    if moments:
        yield moments
    ours, theirs = pair.stand_in, pair.stand_in_against
    if ours != theirs:
        mine = ours or "interrupts from a device"
        yield f"{mine}, and the reference has {theirs or 'interrupts from a device'}"
    if isinstance(pair.one, MeasuredSeries) and isinstance(pair.against, MeasuredSeries):
        yield from _other_work(pair.one, pair.against)
        yield from known.reasons(pair.one.result, pair.against.result)
    elif isinstance(pair.one, PublishedSeries) and isinstance(pair.against, MeasuredSeries):
        for label, published, used in other_numbers(pair.one, pair.against):
            yield f"{published} {label}, the reference {used}"
        yield from _other_study(pair.one, pair.against, pair.reference)
    elif isinstance(pair.one, MeasuredSeries) and isinstance(pair.against, PublishedSeries):
        for label, published, used in other_numbers(pair.against, pair.one):
            yield f"{used} {label}, the reference {published}"
        yield from _other_study(pair.against, pair.one, pair.subject)
    elif isinstance(pair.one, SizeSeries) and isinstance(pair.against, SizeSeries):
        policies = pair.one.policy, pair.against.policy
        if all(policies) and policies[0] != policies[1]:
            yield f"policy {policies[0]}, the reference {policies[1]}"


def is_sound(one: SubjectSeries) -> bool:
    """Whether no figure of a series contradicts another."""
    return CONTRADICTORY not in one.notes


def why_alone_grey(one: SubjectSeries) -> str:
    """Why a figure may be compared with nothing at all; empty if it may."""
    if isinstance(one, SizeSeries):
        return one.refused
    if not isinstance(one, MeasuredSeries):
        return ""
    if not is_sound(one):
        return f"it {CONTRADICTORY}"
    return "measured without real-time scheduling" if lacks_realtime(one.result) else ""


_MORE_VALUES = "more values usually show a larger worst"


def why_worst_grey(one: SubjectSeries, against: SubjectSeries) -> str:
    """Why the worst alone may not be compared: it grows with the number of values."""
    ours, theirs = one.series, against.series
    if ours is None or theirs is None or one is against:
        return ""
    if not (is_count_known(ours) and is_count_known(theirs)):
        whose = "there" if is_count_known(theirs) else "of the reference there"
        return f"how many values {whose} were is not known: {_MORE_VALUES}"
    counts = ours.count, theirs.count
    if max(counts) <= UNLIKE_COUNTS * min(counts):
        return ""
    return f"{count_text(ours)} values, the reference {count_text(theirs)}: {_MORE_VALUES}"


def _other_work(one: MeasuredSeries, against: MeasuredSeries) -> Iterator[str]:
    if not (one.result.calibrated and against.result.calibrated):
        return
    ours, theirs = (work_text(each.series, each.result.calibrated) for each in (one, against))
    if ours and theirs and ours != theirs:
        yield f"different work: {ours}, the reference {theirs}"


def _other_parameters(ours: Result, theirs: Result) -> Iterator[str]:
    for differing in differing_parameters(ours, theirs):
        mine, its = (parameter_text(differing.name, each) for each in differing[1:])
        yield f"measured with {mine}, the reference with {its}"
    steps = _interrupts(ours), _interrupts(theirs)
    if all(steps) and max(steps) > UNLIKE_COUNTS * min(steps):
        yield (
            f"sustained for {format_count(steps[0])} interrupts, the reference for "
            f"{format_count(steps[1])}"
        )


def _interrupts(result: Result) -> int:
    """The most interrupts of a step of IRQ-S-SUS; 0 for other tests."""
    return max((step.interrupts for step in steps_of([result])), default=0)


def _other_study(
    published: PublishedSeries, measured: MeasuredSeries, run: Subject | None
) -> Iterator[str]:
    figure = published.figures[0]
    another = why_another(figure, measured.result)
    if another:
        yield another
    system = run.document.system if isinstance(run, MeasuredRun) else {}
    for one in beside(figure.address, system):
        if one.refused:
            yield one.refused


NOT_KNOWN = "-"
REPEAT = "repeat"  # differs between runs of one plan, and makes no figure another one
_CHARACTERS = 120
_OF_HARDSTONE = ("profile", "clock", "hardstone")  # conditions that another tool does not have
# The names of facts that a row of its own has.
_SHOWN = {
    "machine.cpu_model",
    "machine.arch",
    "cpu.count",
    "virtual.hypervisor",
    "kernel.name",
    "kernel.release",
    "kernel.preemption",
    "kernel.hz",
    "power.governor",
}
# What decides most whether figures may be compared comes first.
_ORDER = (
    "tool",
    "load",
    "interval",
    "idle states",
    "CPU configuration",
    "policy",
    "priority",
    "profile",
    REPEAT,
    "clock",
    "machine",
    "instruction set",
    "CPUs",
    "virtual",
    "kernel",
    "preemption",
    "tick",
    "configuration",
    "governor",
    "libc",
    "compiler",
    "study",
    "hardstone",
)


def condition_rows(
    columns: Sequence[SystemColumn], decisive: Sequence[ComparedRow]
) -> list[ConditionRow]:
    """Conditions, facts that differ between runs, and the counts of the decisive series."""
    found = [_conditions(one) for one in columns]
    if has_imported(columns):
        found = [_with_tool(known, one) for known, one in zip(found, columns, strict=True)]
    places = {name: place for place, name in enumerate(_ORDER)}
    names = {name for one in found for name in one}
    rows = []
    for name in sorted(names, key=lambda one: (places.get(one, len(places)), one)):
        cells = [one.get(name, NOT_KNOWN) for one in found]
        rows.append(ConditionRow(name, cells, differs=_differs(cells)))
    return [*rows, *_facts(columns), *_counts(decisive)]


# What a reader has to know of a figure of another tool, and what its file may not say.
_ASKED = ("load", "interval", "policy", "priority", "machine", "kernel")


def _with_tool(known: Mapping[str, str], column: SystemColumn) -> Mapping[str, str]:
    """Conditions where tools are compared: which tool, and what its file does not say."""
    subject = column.subject
    found = dict(known)
    if isinstance(subject, MeasuredRun):
        found["tool"] = tool_name(subject)
        intervals = {one.params.get("interval_ns") for one in subject.results}
        known_ns = sorted(one for one in intervals if isinstance(one, int))
        found["interval"] = ", ".join(map(format_ns, known_ns))
        idle = dict.fromkeys(idle_states(subject, one) or UNKNOWN for one in subject.results)
        found["idle states"] = ", ".join(idle)
    if imported_of(subject) is not None:
        found = {name: text for name, text in found.items() if name not in _OF_HARDSTONE}
        found |= {name: found.get(name) or UNKNOWN for name in _ASKED}
    return {name: text for name, text in found.items() if text}


def _differs(cells: Sequence[str]) -> bool:
    return len({one for one in cells if one != NOT_KNOWN}) > 1


def _conditions(column: SystemColumn) -> Mapping[str, str]:
    subject = column.subject
    found = {name: shorten(text, _CHARACTERS) for name, text in subject.conditions.items()}
    if isinstance(subject, MeasuredRun):
        document = subject.document
        priorities = {one.conditions.priority for one in subject.results}
        known = sorted(one for one in priorities if one is not None)
        found["priority"] = ", ".join(map(str, known))
        found[REPEAT] = repeat_text(document)
        found["libc"] = shorten(document.tool.libc or "", _CHARACTERS)
        found["compiler"] = shorten(document.tool.compiler or "", _CHARACTERS)
    if isinstance(subject, PublishedSystem) and len(subject.loads) > 1:
        chosen = subject.load if subject.load in subject.loads else subject.loads[-1]
        found["load"] = chosen
    return {name: text for name, text in found.items() if text}


def _facts(columns: Sequence[SystemColumn]) -> Iterator[ConditionRow]:
    """Facts that have no row above and differ between runs."""
    subjects = [one.subject for one in columns]
    documents = [one.document if isinstance(one, MeasuredRun) else None for one in subjects]
    for fact in STEADY_FACTS:
        if fact in _SHOWN:
            continue
        values = [_fact(one, fact) for one in documents]
        if _differs(values):
            yield ConditionRow(fact, values, differs=True)


def _fact(document: RunDocument | None, name: str) -> str:
    if document is None or name not in document.system:
        return NOT_KNOWN
    value = document.system[name]
    return "none" if value is None else shorten(fact_text(value), _CHARACTERS)


def _counts(decisive: Sequence[ComparedRow]) -> Iterator[ConditionRow]:
    for row in decisive:
        counts = [one.count for one in row.cells]
        known = [one for one in counts if one is not None]
        if known:
            cells = [NOT_KNOWN if one is None else format_count(one) for one in counts]
            differs = max(known) > UNLIKE_COUNTS * min(known)
            yield ConditionRow(f"values of {shorten(row.address, 80)}", cells, differs)
