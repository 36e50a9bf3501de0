"""KRN-P-PRE in tables: operations with their blocking, sections traced, HP's history, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hardstone.errors import InputError
from hardstone.figure_text import level_text, quantile_cell, quantile_value
from hardstone.kernel.results import (
    ALL,
    LEAST_IDLE,
    MOST_OF_OTHERS,
    REFERENCE,
    TEST,
    KernelTime,
    Operation,
    kernel_time_of,
)
from hardstone.model import Result, RunDocument
from hardstone.stats.conditions import listed, names_in
from hardstone.stats.quantiles import lacking_quantile, values_for
from hardstone.systems.published import Figure, figures_of, load_studies
from hardstone.units import format_count, format_ns
from hardstone.wording import format_value, labels_text, range_text, shorten

if TYPE_CHECKING:  # which loads numpy: only a screen with a table of operations needs it
    from hardstone.kernel.analysis import Blocking, SectionLength

NOT_KNOWN = "-"


def length_text(one: SectionLength | None) -> str:
    """ "187 us", "< 598 ns", "-" where there are too few releases."""
    if one is None:
        return NOT_KNOWN
    return f"< {format_ns(one.value_ns)}" if one.is_below else format_ns(one.value_ns)


def percent(share: float) -> str:
    """ "95 %"."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def with_interval(value: str, interval: str) -> str:
    """ "187 us (160 to 204 us)"; the value alone where there is no interval."""
    return f"{value} ({interval})" if interval else value


def length_interval(one: SectionLength | None) -> str:
    """ "160 to 204 us", "0 to 690 ns", "95.2 us to unbounded"; empty for None."""
    if one is None:
        return ""
    high = "unbounded" if one.high_ns is None else format_ns(one.high_ns)
    return range_text(format_ns(one.low_ns) if one.low_ns else "0", high)


def rate_text(per_s: float) -> str:
    """ "7500 /s", "0.33 /s": two digits, no more than the rate has."""
    if per_s < 10:
        return f"{per_s:.2g} /s"
    digits = len(str(round(per_s))) - 2
    return f"{round(per_s, -digits):.0f} /s"


TIME_90, TIME_99, WORST = "time_90", "time_99", "max"
STATISTICS = (TIME_90, TIME_99, WORST)
_STUDY = "hp-ux-rt-1987"
_TABLE = "non_preemptable_kernel_time"
_NAMES = {TIME_90: "90 %", TIME_99: "99 %", WORST: "longest"}
_OFF, _ON = "hpux-off", "hpux-on"
_NS_PER = {"ms": 1e6, "us": 1e3}


@dataclass(frozen=True)
class KernelHistory:
    """The published figures, in ns, by statistic: `off` and `on` are without and with kernel
    preemption, `off_means` and `on_means` which model of it that is. `machine` names system and
    hardware, `short` study and year."""

    short: str
    machine: str
    off: Mapping[str, float]
    on: Mapping[str, float]
    improvement: Mapping[str, float]
    off_means: str
    on_means: str

    @property
    def sides(self) -> list[tuple[str, Mapping[str, float]]]:
        """Both, each named with its model: "off (not preemptible)"."""
        return [(f"off ({self.off_means})", self.off), (f"on ({self.on_means})", self.on)]


def kernel_history() -> KernelHistory:
    """The table of the study, as it was transcribed."""
    study = load_studies()[_STUDY]
    figures = [one for one in figures_of(TEST) if one.study == _STUDY and one.table == _TABLE]
    table = study.tables[_TABLE]
    rows = table["rows"]
    return KernelHistory(
        short=study.reading.short,
        machine=study.systems[_OFF].name.partition(", kernel preemption")[0],
        off=_of_system(figures, _OFF),
        on=_of_system(figures, _ON),
        improvement={name: float(rows[name][2]) for name in STATISTICS},
        off_means="not preemptible",
        on_means=f"{table['preemption_points']} preemption points",
    )


def history_line(refused: str | None) -> str:
    """HP's figures: "HP 1987, MACHINE: preemption off (...) 90 % 40 ms, ..."; with `refused` also
    why they may not be compared with those of the run."""
    found = kernel_history()
    texts = []
    for name, side in found.sides:
        figures = ", ".join(f"{_NAMES[key]} {milliseconds(value)}" for key, value in side.items())
        texts.append(f"preemption {name} {figures}")
    line = f"{found.short}, {found.machine}: {'; '.join(texts)}."
    return f"{line} {no_common_scale(found, refused)}" if refused else line


def no_common_scale(history: KernelHistory, refused: str) -> str:
    """Why the times of a run and those of the study may not be compared."""
    return (
        f"Not compared: {refused}. The times of {history.short} are those of its hardware; they "
        "and those of this run have no common scale."
    )


def milliseconds(value_ns: float) -> str:
    """As the study has it: "1127 ms"."""
    return f"{value_ns / _NS_PER['ms']:g} ms"


def _of_system(figures: list[Figure], system: str) -> dict[str, float]:
    return {
        one.statistic: one.value * _NS_PER[one.unit or "ms"]
        for one in figures
        if one.system == system and one.statistic and isinstance(one.value, int | float)
    }


_LENGTHS_NS = (1e5, 1e6, 1e7)
_MOST_ABOVE = 0.01  # of the reference: about what a wide distribution leaves above the limit
_TOO_MUCH = 1.05
_MOST_WAITED = 0.1
_NAME_CHARACTERS = 24


def _notes_on(found: KernelTime) -> Iterator[str]:
    """One line for each limit that the reader must know."""
    yield from _on_ranks(found)
    reference = found.reference
    if reference and found.is_reference_of_others:
        yield (
            "Other processes disturbed the reference: its own process had not run before "
            f"{percent(reference.still_share)} of the values, and others had the CPU for "
            f"{percent(reference.waited_share)} of its time; the limit is "
            f"{percent(MOST_OF_OTHERS)}. So no rates and no sections are given, and ranks and "
            "latencies apply to whatever had the CPU. Measure again without other work on this "
            "CPU."
        )
        yield from _on_kernel_time(found)
        return
    idle = found.idle
    if idle is None:
        yield (
            f"The reference (operation none) is missing or has fewer than {LEAST_IDLE} releases: "
            "blocking cannot be distinguished from the idle latency, so only latencies are given."
        )
        return
    start = found.whole.blocking.residuals.start_ns if found.whole.blocking else 0.0
    yield (
        f"Blocking shorter than {format_ns(start)} cannot be distinguished from the idle latency "
        f"(mean {format_ns(idle.mean_ns)}, standard deviation {format_ns(idle.stddev_ns)})."
    )
    if reference and reference.blocking:
        residuals = reference.blocking.residuals
        if residuals.blocked > _MOST_ABOVE * residuals.releases:
            yield (
                f"{format_count(residuals.blocked)} of {format_count(residuals.releases)} "
                "releases of the reference are longer too: about that share of each operation's "
                "blocking has another cause."
            )
    yield from _on_what_does_not_fall(found)
    yield from _on_the_rare(found)
    yield from _on_kernel_time(found)


def _on_ranks(found: KernelTime) -> Iterator[str]:
    ranks = [one.rank for one in found.operations if one.rank is not None]
    if len(set(ranks)) < len(ranks):
        yield (
            "=: not distinguishable from the first operation of the same rank; their intervals "
            "overlap."
        )
    same = [_name(one) for one in found.operations if one.is_like_reference]
    level = level_text(found.q)
    if same:
        yield (
            f"~: not distinguishable from the reference, so without a rank: {listed(same)}. Their "
            f"interval of {level} is not above that of the reference."
        )
    if found.reference and found.reference.quantile is None:
        lacks = lacking_quantile(found.q, found.reference.series)
        yield f"Ranks are not compared with the reference: {level} {lacks}."
    few = [_name(one) for one in found.operations if one.quantile is None]
    if few:
        needed = format_count(values_for(found.q))
        yield f"Too few releases for a rank ({level} needs {needed}): {listed(few)}."


def _on_what_does_not_fall(found: KernelTime) -> Iterator[str]:
    every = [one for one in [*found.operations, found.whole] if one.blocking]
    odd = [_name(one) for one in every if one.blocking and not one.blocking.falls]
    if odd:
        yield (
            f"No rate and no sections for {listed(odd)}: short residuals are rarer than longer "
            "ones, which random moments within sections cannot produce. Each wake-up from the "
            "operation takes longer than one from the reference."
        )


def _on_the_rare(found: KernelTime) -> Iterator[str]:
    """For the operation with the fewest releases."""
    known = [one.blocking.residuals for one in found.operations if one.blocking]
    fewest = min(known, key=lambda one: one.releases, default=None)
    if fewest is None:
        return
    from hardstone.kernel.analysis import unseen_per_s

    rates = [(length, unseen_per_s(fewest, length)) for length in _LENGTHS_NS]
    texts = [
        f"{format_ns(length)}: {rate_text(rate)}" for length, rate in rates if rate is not None
    ]
    if texts:
        yield (
            "Sections of each length that occur less often than this while an operation runs may "
            f"have been missed (95 %): {', '.join(texts)}."
        )


def _on_kernel_time(found: KernelTime) -> Iterator[str]:
    unknown = [_name(one) for one in found.operations if one.kernel_share is None]
    if unknown:
        yield f"Time in the kernel was not counted for {listed(unknown)}, so no share is given."
    waited = max((one.waited_share for one in found.operations), default=0.0)
    if waited > _MOST_WAITED:
        yield (
            f"Other processes had the CPU for up to {percent(waited)} of the time while an "
            "operation was ready: their time in the kernel is included."
        )
    blocked = [_name(one) for one in found.operations if _is_blocked_too_much(one)]
    if blocked:
        yield (
            f"Blocked for longer than it was in the kernel: {listed(blocked)}. Interrupts, other "
            "threads and the hypervisor block too, and are counted as sections."
        )


def _is_blocked_too_much(one: Operation) -> bool:
    """Whether the CPU was blocked for more of the time than the operation was in the kernel."""
    if one.blocking is None or one.kernel_share is None:
        return False
    from hardstone.kernel.analysis import time_longer

    longer = time_longer(one.blocking.rate).share
    return bool(longer.size) and float(longer[0]) > _TOO_MUCH * one.kernel_share


def _name(one: Operation) -> str:
    return shorten(one.name, _NAME_CHARACTERS)


WHAT_DIFFERS = (
    "A tracer times each section of its kind (preemption or interrupts off) from start to end, "
    "and slows it down. A release is delayed by whatever is in its way: several sections in a "
    "row, and what these tracers do not count, such as interrupts, other threads and the "
    "hypervisor. With the models none and voluntary it also waits until a system call ends or "
    "yields, which no tracer counts as a section."
)
_SHARE = 0.99


@dataclass(frozen=True)
class TracedRow:
    """Sections of one kind in one operation: `length_99` is the length below which sections made up
    99 % of the time of all that were seen. `estimated_99` and `worst` are from releases."""

    operation: str
    kind: str
    count: str
    length_99: str
    longest: str
    estimated_99: str
    worst: str


def _traced_rows(found: KernelTime) -> list[TracedRow]:
    """A row for each kind in each operation; empty where no tracer was used."""
    from hardstone.kernel.analysis import longest_of_share

    rows = []
    for one in (*found.operations, found.whole):
        estimated = one.blocking.lengths.get(_SHARE) if one.blocking else None
        for series in one.sections:
            kind = {key: value for key, value in series.labels.items() if key != "operation"}
            row = TracedRow(
                operation=one.name,
                kind=labels_text(kind),
                count=format_count(series.count),
                length_99=format_value(longest_of_share(series, _SHARE), "ns"),
                longest=format_value(series.max, "ns"),
                estimated_99=length_text(estimated),
                worst=format_value(one.series.max, "ns"),
            )
            rows.append(row)
    return rows


_MOST_LINES = 2


def kernel_lines(document: RunDocument) -> list[tuple[str, str]]:
    """The worst operations of each result of KRN-P-PRE that has figures, as (result, text). Lengths
    of sections are in its tables: a screen has no room for them, nor time to compute them."""
    names = names_in(document)
    lines = []
    for result in document.results:
        try:
            found = kernel_time_of(result)
        except InputError:  # the run is shown as contradictory
            continue
        text = _worst(found) if found else ""
        if text:
            lines.append((names.name(result), text))
    return lines[:_MOST_LINES]


def summary(found: KernelTime) -> str:
    """ "worst at p99: exit 289 us; 90 % of kernel time in sections shorter than 149 us, ..."."""
    parts = [_worst(found)]
    lengths = found.whole.blocking.lengths if found.whole.blocking else {}
    known = {q: one for q, one in lengths.items() if one is not None}
    if known:
        shares = ", ".join(f"{percent(q)} in sections {_shorter(one)}" for q, one in known.items())
        parts.append(f"kernel time: {shares}")
    return "; ".join(filter(None, parts))


def _worst(found: KernelTime) -> str:
    """The operations of the first rank. One that is like the reference is never among them."""
    first = [one for one in found.operations if one.rank == 1]
    level = level_text(found.q)
    if not first:
        is_any_like = any(one.is_like_reference for one in found.operations)
        return (
            f"no operation is distinguishable from the reference ({level})" if is_any_like else ""
        )
    are = listed(_name(one) for one in first)
    same = ", not distinguishable" if len(first) > 1 else ""
    is_compared = found.reference is not None and found.reference.quantile is not None
    alone = "" if is_compared else ", without a reference"
    return (
        f"longest non-preemptible operation{'s' if len(first) > 1 else ''}: {are} ({level} "
        f"{quantile_value(first[0].quantile, 'ns')}{same}{alone})"
    )


def _shorter(one: SectionLength) -> str:
    """ "< 149 us", marked where too few releases give it no upper bound."""
    text = length_text(one) if one.is_below else f"< {length_text(one)}"
    return text if one.high_ns is not None else f"{text} (unbounded at 95 %)"


MEANING = (
    "Sections: sections shorter than this make up 90 % and 99 % of kernel time, as HP counted "
    "it. Rate: blocking intervals longer than that, per second of the operation. Intervals: 95 "
    "%, if releases are independent."
)


@dataclass(frozen=True)
class OperationRow:
    """An operation as texts. `rank` is "2=" where it shares the rank with others, "~" where it is
    not distinguishable from the reference. `interval` is that of the quantile. `rate` is that of
    blocking intervals longer than the table's length."""

    rank: str
    operation: str
    releases: str
    kernel_share: str
    quantile: str
    interval: str
    length_90: str
    interval_90: str
    length_99: str
    interval_99: str
    worst: str
    rate: str
    rate_interval: str


@dataclass(frozen=True)
class KernelTable:
    """The operations of one result, worst first, then all of them together, then the reference.

    `level` names the quantile that ranks, `rate_above` the length of the rates; empty where there
    are none. `traced` are the sections that tracers of the kernel saw.
    """

    level: str
    rate_above: str
    rows: list[OperationRow]
    whole: OperationRow
    reference: OperationRow | None
    notes: list[str]
    time: KernelTime
    traced: list[TracedRow]
    meaning: str = MEANING


def kernel_table(result: Result) -> KernelTable | None:
    """The table of a result of KRN-P-PRE; None for another test, and without values. InputError if
    a histogram is unreadable."""
    found = kernel_time_of(result)
    if found is None:
        return None
    ranks = [one.rank for one in found.operations if one.rank is not None]
    shared = {rank for rank in ranks if ranks.count(rank) > 1}
    return KernelTable(
        level=level_text(found.q),
        rate_above=format_ns(found.rate_at_ns) if found.rate_at_ns else "",
        rows=[_operation_row(one, found, shared) for one in found.operations],
        whole=_operation_row(found.whole, found, shared),
        reference=_operation_row(found.reference, found, shared) if found.reference else None,
        notes=list(_notes_on(found)),
        time=found,
        traced=_traced_rows(found),
    )


def _operation_row(one: Operation, time: KernelTime, shared: set[int]) -> OperationRow:
    cell = quantile_cell(one.quantile, "ns", lacking_quantile(time.q, one.series))
    lengths = one.blocking.lengths if one.blocking else {}
    title = "reference" if one.name == REFERENCE else one.name.replace("_", " ")
    rate, interval = _rate(one.blocking)
    return OperationRow(
        rank=_rank(one, shared),
        operation=shorten(title, _NAME_CHARACTERS),
        releases=format_count(one.series.count),
        kernel_share=NOT_KNOWN if one.kernel_share is None else percent(one.kernel_share),
        quantile=cell.value,
        interval=cell.interval,
        length_90=length_text(lengths.get(0.9)),
        interval_90=length_interval(lengths.get(0.9)) or one.lacks(0.9),
        length_99=length_text(lengths.get(0.99)),
        interval_99=length_interval(lengths.get(0.99)) or one.lacks(0.99),
        worst=format_value(one.series.max, "ns"),
        rate=rate,
        rate_interval=interval,
    )


def _rank(one: Operation, shared: set[int]) -> str:
    if one.name in (ALL, REFERENCE):
        return ""
    if one.rank is None:
        return "~" if one.is_like_reference else NOT_KNOWN
    return f"{one.rank}=" if one.rank in shared else str(one.rank)


def _rate(found: Blocking | None) -> tuple[str, str]:
    """The rate with its interval: ("7500 /s", "5700 to 8700 /s")."""
    if found is None or not found.falls:
        return NOT_KNOWN, ""
    low, high = found.interval.low, found.interval.high
    interval = range_text(rate_text(low), "unbounded" if high is None else rate_text(high))
    return rate_text(found.per_s), interval
