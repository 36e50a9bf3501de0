"""A run as files for other programs: its document as JSON, and a row for each series as CSV."""

from __future__ import annotations

import msgspec

from hardstone.exporters.long_table import Value, csv_bytes
from hardstone.model import RunDocument
from hardstone.stats.conditions import condition_of
from hardstone.stats.quantiles import is_count_known, is_printable, quantile_of_series
from hardstone.wording import labels_text

_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
COLUMNS = (
    *("run", "test", "status", "series", "labels", "load", "cpu_config", "preemption", "unit"),
    *("count", "min", "mean", "stddev", *_QUANTILES, "max"),
)


def run_json(document: RunDocument) -> bytes:
    """The run document, indented."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def run_csv(document: RunDocument) -> bytes:
    """A row for each series under COLUMNS; one without a series for a test that has none.

    Values are in the unit of the row, unrounded. The count is empty where the file of another tool
    does not say it, and the least that it can be where that dropped values. A quantile is empty
    where fewer than 10 values are expected beyond it, but for the median, or where it lies outside
    of the recorded range.
    """
    rows: list[list[Value]] = []
    for result in document.results:
        condition = condition_of(result)
        under: list[Value] = [condition.load, condition.cpu_config, condition.preemption]
        test: list[Value] = [document.id, result.test, result.status]
        for one in result.series:
            quantiles: list[Value] = []
            for q in _QUANTILES.values():
                is_shown = q == 0.5 or is_printable(q, one.count)
                found = quantile_of_series(one, q) if is_shown else None
                quantiles.append(None if found is None else found.value)
            count = one.count if is_count_known(one) else None
            figures: list[Value] = [count, one.min, one.mean, one.stddev, *quantiles, one.max]
            named: list[Value] = [one.name, labels_text(one.labels), *under, one.unit]
            rows.append([*test, *named, *figures])
        if not result.series:
            rows.append([*test, None, None, *under, *[None] * (len(COLUMNS) - 6)])
    return csv_bytes(COLUMNS, rows)
