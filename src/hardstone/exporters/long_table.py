"""Long tables, as CSV and as Parquet: a row for each figure of each series, or for each bucket.

One row is one value: programs that group and pivot need no knowledge of hardstone. Both formats
have the same rows. What a run does not have is an empty cell, or null: never 0.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from hardstone.exporters.exportable import of_other_time
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import ParamValue, Result, RunDocument, Series, Stopped
from hardstone.stats.consistency import is_contradictory, why_not_comparable_to_hardware
from hardstone.stats.identity import NO_DISTRIBUTION, histogram_problem, step_of
from hardstone.stats.quantiles import Quantile, is_count_known, summarise
from hardstone.systems.subjects import CONTRADICTORY, MeasuredSeries
from hardstone.wording import one_line

BUCKETS = "buckets"
Value = str | int | float | None


class Place(NamedTuple):
    """What a row is of. `number` counts the results of a test under the same conditions, from 1:
    the points of a sweep. `labels` and `params` are "cpu=0,part=total", by name, with a backslash
    before a comma, an equals sign and a backslash of their own. `trust` is the grade of the run,
    `note` what limits the figures of the row."""

    run: str
    tool: str
    trust: str
    test: str
    number: int
    status: str
    series: str | None
    labels: str | None
    address: str
    load: str | None
    cpu_config: str | None
    preemption: str | None
    cpu: int | None
    policy: str | None
    priority: int | None
    params: str | None
    note: str | None


class Figure(NamedTuple):
    """A statistic and its value, in `unit`. A row of a verdict has the value 1 or 0 and the unit
    bool; a test without figures has one row, without a statistic."""

    statistic: str | None
    unit: str | None
    value: int | float | None


_BUCKET_COLUMNS = ("unit", "lower", "upper", "count")
_INTEGERS = ("number", "cpu", "priority", "lower", "upper", "count")


class Bucket(NamedTuple):
    """`values` values from `lower` to `upper`, both included; an open end is None. No `values`:
    some were dropped there, and nobody counted them."""

    unit: str
    lower: int | None
    upper: int | None
    values: int | None


def export_csv(documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """The table as CSV (RFC 4180 but for the ends of lines, which are \\n), in UTF-8."""
    columns, rows = _table(documents, wanted)
    return Exported(csv_bytes(columns, rows), _lost(documents))


def export_parquet(documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """The table as Parquet: texts as dictionaries, `value` as a double, all else as int64."""
    import pyarrow
    from pyarrow import parquet

    columns, rows = _table(documents, wanted)
    names = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    types = {
        "value": pyarrow.float64(),
        **dict.fromkeys(_INTEGERS, pyarrow.int64()),
    }
    fields = [pyarrow.field(column, types.get(column, names)) for column in columns]
    filled = zip(*rows, strict=True) if rows else ((),) * len(columns)
    arrays = [pyarrow.array(one, field.type) for one, field in zip(filled, fields, strict=True)]
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays, schema=pyarrow.schema(fields)), content)
    return Exported(content.getvalue(), _lost(documents))


def _table(documents: Sequence[RunDocument], wanted: Wanted) -> tuple[list[str], list[list[Value]]]:
    columns: Sequence[str] = Figure._fields
    parts = _figures
    if wanted.table == BUCKETS:
        columns, parts = _BUCKET_COLUMNS, _buckets
    rows = [[*row] for document in documents for row in parts(document)]
    return [*Place._fields, *columns], rows


def _lost(documents: Sequence[RunDocument]) -> list[str]:
    return [f"{one.id}: {text}" for one in documents for text in of_other_time(one)]


def _numbered(document: RunDocument) -> Iterator[tuple[int, Result]]:
    """The results, numbered for each test and condition: a choice of tests or conditions leaves the
    numbers as they are."""
    numbers: Counter[tuple[str | None, ...]] = Counter()
    for result in document.results:
        where = result.conditions
        key = (result.test, where.load, where.cpu_config, where.preemption)
        numbers[key] += 1
        yield numbers[key], result


def _figures(document: RunDocument) -> Iterator[tuple[Value, ...]]:
    for number, result in _numbered(document):
        if not (result.series or result.verdicts):
            yield *_place(document, result, number), *Figure(None, None, None)
        for series in result.series:
            place = _series_place(document, result, number, series)
            for figure in series_figures(series):
                yield *place, *figure
        for verdict in result.verdicts:
            address = f"{result.test}/{verdict.name}"
            place = _place(document, result, number, series=verdict.name, address=address)
            yield *place, *Figure("verdict", "bool", int(verdict.passed))


def series_figures(series: Series) -> Iterator[Figure]:
    """Count, minimum, mean, deviation and maximum, also those that are not there; the quantiles
    that the count supports, and what lies outside of the buckets, where there are any."""
    unit = series.unit
    is_cut = series.histogram.is_cut is True
    name = "count_at_least" if is_cut and is_count_known(series) else "count"
    yield Figure(name, "count", series.count if is_count_known(series) else None)
    yield Figure("min", unit, series.min)
    yield Figure("mean", unit, series.mean)
    yield Figure("stddev", unit, series.stddev)
    if histogram_problem(series.histogram) is None:
        for quantile in summarise(series).quantiles:
            yield from _quantile_figures(quantile, unit)
    yield Figure("max", unit, series.max)
    if isinstance(series.stopped, Stopped):
        yield Figure("stopped", "count", series.stopped.count)
        yield Figure("stopped_max", unit, series.stopped.worst)
    if step_of(series) > 1:
        yield Figure("step", unit, step_of(series))
    if series.histogram.layout != NO_DISTRIBUTION:
        yield Figure("underflow", "count", series.histogram.underflow)
        yield Figure("overflow", "count", None if is_cut else series.histogram.overflow)


def _quantile_figures(quantile: Quantile, unit: str) -> Iterator[Figure]:
    name = f"p{100 * quantile.q:.8g}"
    if quantile.above is not None:
        yield Figure(f"{name}_above", unit, quantile.above)
    elif quantile.below is not None:
        yield Figure(f"{name}_below", unit, quantile.below)
    else:
        yield Figure(name, unit, quantile.value)
    yield Figure(f"{name}_low", unit, quantile.low)
    yield Figure(f"{name}_high", unit, quantile.high)


def _buckets(document: RunDocument) -> Iterator[tuple[Value, ...]]:
    for number, result in _numbered(document):
        for series in result.series:
            place = _series_place(document, result, number, series)
            for bucket in series_buckets(series):
                yield *place, *bucket


def series_buckets(series: Series) -> Iterator[Bucket]:
    """The buckets in use, ascending, and the values below and above all of them; nothing if the
    histogram is unreadable."""
    from hardstone.stats.histogram import bins_of

    if histogram_problem(series.histogram) is not None:
        return
    bins, unit = bins_of(series.histogram), series.unit
    has_buckets = series.histogram.layout != NO_DISTRIBUTION
    above = bins.top + 1 if has_buckets else None
    if bins.underflow:
        yield Bucket(unit, None, bins.least - 1, bins.underflow)
    for edges in zip(bins.lower.tolist(), bins.upper.tolist(), bins.count.tolist(), strict=True):
        yield Bucket(unit, *edges)
    if bins.overflow and is_count_known(series):
        yield Bucket(unit, above, None, bins.overflow)
    if series.histogram.is_cut is True:
        yield Bucket(unit, above, None, None)


def _series_place(document: RunDocument, result: Result, number: int, series: Series) -> Place:
    measured = MeasuredSeries(document.id, result, series, is_contradictory(series))
    return _place(
        document,
        result,
        number,
        series=series.name,
        labels=labels_text(series),
        address=measured.address,
        notes=[
            *("cannot be true" if one == CONTRADICTORY else one for one in measured.notes),
            *_of_other_time(document, series),
            *_losses(document, series),
        ],
    )


def _of_other_time(document: RunDocument, series: Series) -> Iterator[str]:
    why = why_not_comparable_to_hardware(document) if series.unit == "ns" else None
    if why:
        yield why


def _losses(document: RunDocument, series: Series) -> Iterator[str]:
    """What the imported file could not say about a series."""
    if document.imported is not None:
        losses = document.imported.losses
        lost = dict.fromkeys(one.what for one in losses if one.series in ("", series.name))
        if lost:
            yield f"not in the imported file: {', '.join(lost)}"


def _place(
    document: RunDocument,
    result: Result,
    number: int,
    *,
    address: str = "",
    series: str | None = None,
    labels: str | None = None,
    notes: Sequence[str] = (),
) -> Place:
    where = result.conditions
    reason = [result.reason] if result.reason and not notes else []
    place = Place(
        run=document.id,
        tool="hardstone" if document.imported is None else document.imported.tool,
        trust=document.trust.grade,
        test=result.test,
        number=number,
        status=result.status,
        series=series,
        labels=labels,
        address=address or result.test,
        load=where.load,
        cpu_config=where.cpu_config,
        preemption=where.preemption,
        cpu=where.cpu,
        policy=where.policy,
        priority=where.priority,
        params=_pairs_text(result.params),
        note="; ".join([*reason, *notes]) or None,
    )
    return Place._make(one_line(one) if isinstance(one, str) else one for one in place)


def labels_text(series: Series) -> str | None:
    """ "cpu=0,part=total", by name."""
    return _pairs_text(series.labels)


def _pairs_text(values: Mapping[str, ParamValue]) -> str | None:
    """ "name=value,...", by name; the values of a list have an escaped comma between them."""
    texts = {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in sorted(values.items())
    }
    return ",".join(f"{_escaped(name)}={_escaped(text)}" for name, text in texts.items()) or None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


_FORMULA = ("=", "+", "-", "@")


def csv_bytes(columns: Sequence[str], rows: Iterable[Iterable[Value]]) -> bytes:
    """A table as CSV, in UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(one) for one in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Value) -> str:
    """Numbers exact; a text that a spreadsheet would take for a formula begins with a quote."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = one_line(value)
        return f"'{text}" if len(text) > 1 and text.startswith(_FORMULA) else text
    is_whole = isfinite(value) and value == int(value)
    return repr(int(value)) if is_whole else repr(float(value))
