"""Kernel preemption off and on: time in sections, side by side, beside what HP measured.

`preemption_table(off, on)` is pure: it takes results of KRN-P-PRE, several of a side where it was
repeated, and gives texts to lay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hardstone.model import Result, RunDocument, Scalar
from hardstone.present.kernel_history import (
    STATISTICS,
    KernelHistory,
    kernel_history,
    milliseconds,
)
from hardstone.present.preemption_sides import Figure, Side, side_of
from hardstone.present.preemption_unlike import unlike_conditions, why_not_divided
from hardstone.present.wording import ratio_text
from hardstone.stats.kernel_operations import ALL, TEST

TITLE_OF = {"time_90": "90 %", "time_99": "99 %", "max": "worst observed"}
MEANING = (
    "90 % and 99 %: sections shorter than this made up that share of kernel time. Worst observed: "
    "the longest dispatch latency. Intervals: 95 %, if releases are independent; the range, where "
    "a side has several results. Below an improvement: from the least to the most that both "
    "intervals allow."
)
INDISTINCT = "within the intervals"
NO_INTERVAL = "no interval"


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
    improvement_interval: str = ""
    doubt: str = ""
    published: tuple[str, ...] = ()

    @property
    def limits(self) -> list[str]:
        """What stands below the improvement."""
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
    meaning: str = MEANING
    history: KernelHistory = field(default_factory=kernel_history)


Systems = tuple[Mapping[str, Scalar], Mapping[str, Scalar]]
_NO_FACTS: Systems = ({}, {})


def preemption_table(
    off: Sequence[Result], on: Sequence[Result], systems: Systems = _NO_FACTS
) -> PreemptionTable:
    """The table of results of KRN-P-PRE without (`off`) and with kernel preemption; others are left
    out. `systems` are the facts of both sides: the models, and what else differs, come from them.

    InputError if a histogram is unreadable.
    """
    sides = side_of(_of_test(off), systems[0]), side_of(_of_test(on), systems[1])
    refused = why_not_divided(systems[0], systems[1])
    history = kernel_history()
    return PreemptionTable(
        off=sides[0].model,
        on=sides[1].model,
        rows=list(preemption_rows(*sides, history, is_divided=not refused)),
        unlike=unlike_conditions(_of_test(off), _of_test(on), systems),
        notes=[*refused, *_missing(*sides)],
        published=f"{history.short}: {history.machine}",
        history=history,
    )


def preemption_table_of(off: RunDocument, on: RunDocument) -> PreemptionTable:
    """As `preemption_table`, of two runs."""
    return preemption_table(off.results, on.results, (off.system, on.system))


def _of_test(found: Sequence[Result]) -> list[Result]:
    return [one for one in found if one.test == TEST]


def preemption_rows(
    off: Side, on: Side, history: KernelHistory, *, is_divided: bool
) -> Iterator[PreemptionRow]:
    """The rows of all operations together, then of each that a side has."""
    for operation in dict.fromkeys([ALL, *off.operations, *on.operations]):
        for statistic in STATISTICS:
            ours = off.figure(operation, statistic), on.figure(operation, statistic)
            lacks = off.lacking(operation, statistic), on.lacking(operation, statistic)
            if any(ours) or any(lacks):
                shown = _published(history, statistic) if operation == ALL else ()
                row = _row(operation, statistic, *ours, shown, is_divided=is_divided)
                yield replace(
                    row,
                    off_interval=row.off_interval or lacks[0],
                    on_interval=row.on_interval or lacks[1],
                )


def _row(
    operation: str,
    statistic: str,
    off: Figure | None,
    on: Figure | None,
    published: tuple[str, ...],
    *,
    is_divided: bool,
) -> PreemptionRow:
    divided = _improvement(off, on) if off and on and is_divided else ("-", "", "")
    return PreemptionRow(
        operation=operation,
        figure=TITLE_OF[statistic],
        off=off.text if off else "-",
        off_interval=off.interval if off else "",
        on=on.text if on else "-",
        on_interval=on.interval if on else "",
        improvement=divided[0],
        improvement_interval=divided[1],
        doubt=divided[2],
        published=published,
    )


def _improvement(off: Figure, on: Figure) -> tuple[str, str, str]:
    """off/on with its interval and its doubt: "28", "> 13" where the latter is a bound, "< 2" where
    the former is; "-" for both."""
    if (off.is_below and on.is_below) or on.value_ns <= 0:
        return "-", "", ""
    sign = "> " if on.is_below else "< " if off.is_below else ""
    doubt = INDISTINCT if off.overlaps(on) else ""
    return f"{sign}{ratio_text(off.value_ns / on.value_ns)}", ratios_of(off, on), doubt


def ratios_of(off: Figure, on: Figure) -> str:
    """The least and the most off/on that both intervals allow: "1.2 to 744". It is wider than an
    interval at 95 % of the ratio."""
    if not (off.has_interval and on.has_interval):
        return NO_INTERVAL
    least = 0.0 if on.high_ns is None else off.low_ns / on.high_ns
    if off.high_ns is None or on.low_ns <= 0:
        return f"{ratio_text(least)} to unbounded"
    return f"{ratio_text(least)} to {ratio_text(off.high_ns / on.low_ns)}"


def _published(history: KernelHistory, statistic: str) -> tuple[str, ...]:
    return (
        milliseconds(history.off[statistic]),
        milliseconds(history.on[statistic]),
        ratio_text(history.improvement[statistic]),
    )


def _missing(off: Side, on: Side) -> Iterator[str]:
    for name, side in (("off", off), ("on", on)):
        yield from (f"{name}: {text}" for text in side.missing)
    if off.releases and on.releases and abs(off.releases - on.releases) * 10 > off.releases:
        yield (
            f"{off.releases} releases off, {on.releases} on: more usually show a larger worst "
            "observed"
        )
