"""Sections that the kernel's own tracers saw, beside what releases at random moments say."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.model import Series
from hardstone.present.section_text import length_text
from hardstone.present.wording import format_value, labels_text
from hardstone.stats.kernel_operations import KernelTime, Operation
from hardstone.stats.section_share import longest_of_share
from hardstone.units import format_count

WHAT_DIFFERS = (
    "A tracer times sections of its kind (preemption or interrupts off) from begin to end, and "
    "slows them. A release meets whatever delays it, also several sections in a row and what no "
    "tracer of sections counts: interrupts, other threads, the hypervisor. Under the models none "
    "and voluntary it also waits for a system call to end or give way, which no tracer counts as a "
    "section."
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


def traced_rows(found: KernelTime) -> list[TracedRow]:
    """A row for each kind in each operation; empty where no tracer was used."""
    return [
        _row(one, series) for one in (*found.operations, found.whole) for series in one.sections
    ]


def _row(one: Operation, series: Series) -> TracedRow:
    kind = {key: value for key, value in series.labels.items() if key != "operation"}
    length = longest_of_share(series, _SHARE)
    return TracedRow(
        operation=one.name,
        kind=labels_text(kind),
        count=format_count(series.count),
        length_99=format_value(length, "ns"),
        longest=format_value(series.max, "ns"),
        estimated_99=length_text(one.blocking.lengths.get(_SHARE) if one.blocking else None),
        worst=format_value(one.series.max, "ns"),
    )
