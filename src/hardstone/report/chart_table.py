"""What a chart draws, as a table for a file: one row a datum, units in the headings."""

from __future__ import annotations

from dataclasses import dataclass, field

Value = str | float | int | None


@dataclass(frozen=True)
class ChartTable:
    """`columns` name their units: "value (ns)". Texts are untrusted; None is an empty cell."""

    columns: list[str]
    rows: list[list[Value]] = field(default_factory=list)
