"""KRN-P-PRE as people read it: operations, worst first, with blocking rates and HP's figure."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardstone.model import Result
from hardstone.present.kernel_notes import notes_on
from hardstone.present.quantile_text import lacking_quantile, level_text, quantile_cell
from hardstone.present.section_text import (
    NOT_KNOWN,
    length_interval,
    length_text,
    percent,
    rate_text,
)
from hardstone.present.traced_sections import TracedRow, traced_rows
from hardstone.present.wording import format_value, range_text, shorten
from hardstone.stats.blocking_rate import RateInterval
from hardstone.stats.kernel_operations import (
    ALL,
    REFERENCE,
    Blocking,
    KernelTime,
    Operation,
    kernel_time_of,
)
from hardstone.units import format_count, format_ns

MEANING = (
    "Sections: kernel time in sections shorter than this is 90 % and 99 % of all, as HP counted. "
    "Rate: blocking intervals longer than that, per second of the operation. Intervals: 95 %, if "
    "releases are independent."
)
LIKE_REFERENCE = "~"
_NAME_CHARACTERS = 24


@dataclass(frozen=True)
class OperationRow:
    """An operation as texts. `rank` is "2=" where it shares the rank with others, LIKE_REFERENCE
    where it cannot be told from the reference. `interval` is that of the quantile. `rate` is that
    of blocking intervals longer than the table's length."""

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
    traced: list[TracedRow] = field(default_factory=list)
    meaning: str = MEANING


def kernel_table(result: Result) -> KernelTable | None:
    """The table of a result of KRN-P-PRE; None for another test, and without values. InputError if
    a histogram is unreadable."""
    found = kernel_time_of(result)
    if found is None:
        return None
    shared = _shared_ranks(found.operations)
    return KernelTable(
        level=level_text(found.q),
        rate_above=format_ns(found.rate_at_ns) if found.rate_at_ns else "",
        rows=[_row(one, found, shared) for one in found.operations],
        whole=_row(found.whole, found, shared),
        reference=_row(found.reference, found, shared) if found.reference else None,
        notes=list(notes_on(found)),
        time=found,
        traced=traced_rows(found),
    )


def _shared_ranks(found: list[Operation]) -> set[int]:
    ranks = [one.rank for one in found if one.rank is not None]
    return {rank for rank in ranks if ranks.count(rank) > 1}


def _row(one: Operation, time: KernelTime, shared: set[int]) -> OperationRow:
    cell = quantile_cell(one.quantile, "ns", lacking_quantile(time.q, one.series.count))
    lengths = one.blocking.lengths if one.blocking else {}
    rate, interval = _rate(one.blocking)
    return OperationRow(
        rank=_rank(one, shared),
        operation=_title(one.name),
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
        return LIKE_REFERENCE if one.is_like_reference else NOT_KNOWN
    return f"{one.rank}=" if one.rank in shared else str(one.rank)


def _title(name: str) -> str:
    if name == REFERENCE:
        return "reference"
    return shorten(name.replace("_", " "), _NAME_CHARACTERS)


def _rate(found: Blocking | None) -> tuple[str, str]:
    """The rate with its interval: ("7500 /s", "5700 to 8700 /s")."""
    if found is None or not found.falls:
        return NOT_KNOWN, ""
    return rate_text(found.per_s), rate_interval_text(found.interval)


def rate_interval_text(found: RateInterval) -> str:
    high = "unbounded" if found.high is None else rate_text(found.high)
    return range_text(rate_text(found.low), high)
