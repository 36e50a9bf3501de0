"""Kernel preemption off and on, on a page of its own on paper."""

from __future__ import annotations

from hardstone.kernel.tables import with_interval
from hardstone.preemption.tables import PreemptionPair
from hardstone.report.sheet import Sheet


def preemption_sheet(subject: str, pair: PreemptionPair) -> Sheet:
    """The page of one load and CPU configuration; `subject` names the machine."""
    table = pair.table
    under = f", {pair.under}" if pair.under else ""
    title = f"Kernel preemption off ({table.off}) and on ({table.on}){under}"
    sheet = Sheet.headed(subject, title)
    study = table.history.short
    head = ["Operation", "Figure", f"Off ({table.off})", f"On ({table.on})", "Improvement"]
    head += [f"{study} {name}" for name, _ in table.history.sides] + [f"{study} improvement"]
    rows = [
        [
            row.operation,
            row.figure,
            with_interval(row.off, row.off_interval),
            with_interval(row.on, row.on_interval),
            with_interval(row.improvement, "; ".join(row.limits)),
            *(row.published or ("", "", "")),
        ]
        for row in table.rows
    ]
    sheet.table(head, rows)
    sheet.gap(4)
    for line in [*(f"Differs: {one}" for one in table.unlike), *table.notes]:
        sheet.text(line, 8, colour="fair")
    sheet.text(f"{table.meaning} Published: {table.published}.", 8, colour="quiet")
    return sheet
