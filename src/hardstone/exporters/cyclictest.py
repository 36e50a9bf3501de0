"""A run as the histogram that `cyclictest -h` prints, for the plot scripts that read it.

Format: the text of rt-tests 2.5, as samples of it were printed: a row for each microsecond and a
column for each thread, then totals, extremes and overflows in comments. As cyclictest cuts its
values to whole microseconds, row 12 has the values from 12 000 to 12 999 ns. A bucket of ours on
the border of two rows counts in the upper one, so no quantile of the file is below that of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hardstone.errors import InputError, UntrustworthyError
from hardstone.exporters.exportable import (
    Held,
    LeftOut,
    address_of,
    condition_text,
    held_distributions,
    of_other_time,
)
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import RunDocument, Series
from hardstone.stats.conditions import listed
from hardstone.stats.histogram import bins_of
from hardstone.stats.identity import highest_of

TEST, _SERIES, _PART = "TMR-P-LAT", "wakeup", "total"
_MOST_ROWS = 100_000  # a row is a microsecond, also one without values
_MOST_CELLS = 20_000_000
_US = 1000


@dataclass(frozen=True)
class _Column:
    """One thread of cyclictest. `rows`: the number of values of each microsecond, up to `last`."""

    rows: Counter[int]
    last: int
    overflow: int
    least_us: int
    mean_us: int
    most_us: int


def export_cyclictest(documents: Sequence[RunDocument], _: Wanted) -> Exported:
    """The histogram of one run: the total wake-up latencies of TMR-P-LAT, else the only series of
    times with the labels of CPUs or threads. InputError where the run has none, or several."""
    (document,) = documents
    left = LeftOut()
    held = _threads(_of_one_kind(document, held_distributions(document, left)))
    if not held:
        reasons = "; ".join(left.sentences())
        cause = f"the run has no wake-up latencies with a distribution{reasons and f' ({reasons})'}"
        error = UntrustworthyError if left.has_wrong else InputError
        raise error(cause, "choose another test with --test, or another format")
    columns = [_column(one) for one in held]
    lines = ["# Histogram", *_rows(columns), *_summary(columns)]
    content = "".join(f"{line}\n" for line in lines).encode("ascii")
    return Exported(content, [*of_other_time(document), *_lost(held, columns)])


def _of_one_kind(document: RunDocument, found: Sequence[Held]) -> list[Held]:
    """The series of one test, one condition and one quantity."""
    own = [one for one in found if _is_wakeup(one)] or list(found)
    kinds = dict.fromkeys((one.result.test, one.series.name, *_fixed(one.series)) for one in own)
    if len(kinds) > 1:
        names = listed("/".join(kind) for kind in kinds)
        raise InputError(
            f"the run has several quantities: {names}", "choose with --test and --series"
        )
    conditions = dict.fromkeys(id(one.result) for one in own)
    if len(conditions) > 1:
        names = listed(condition_text(one.result) for one in own)
        raise InputError(
            f"the run has {len(conditions)} results of {own[0].result.test}: {names}",
            "choose with --load and --cpu-config",
        )
    return own


def _is_wakeup(one: Held) -> bool:
    is_total = one.series.labels.get("part", _PART) == _PART
    return one.result.test == TEST and one.series.name == _SERIES and is_total


def _fixed(series: Series) -> list[str]:
    """The labels that are not the name of a CPU or a thread."""
    return [f"{name}={value}" for name, value in series.labels.items() if name not in _THREADS]


_THREADS = ("cpu", "thread")


def _threads(held: Sequence[Held]) -> list[Held]:
    def number(one: Held) -> tuple[int, str]:
        label = next((one.series.labels[name] for name in _THREADS if name in one.series.labels), 0)
        return (label, "") if isinstance(label, int) else (0, label)

    return sorted(held, key=number)


def _column(one: Held) -> _Column:
    """InputError for a series without extremes: the text has a place for them only."""
    series = one.series
    if series.min is None or series.mean is None or series.max is None:
        cause = f"{address_of(one)} has no minimum, mean or maximum, which cyclictest prints"
        raise InputError(cause, "choose another format")
    bins, most = bins_of(series.histogram), highest_of(series) or 0
    rows: Counter[int] = Counter()
    edges = zip(bins.upper.tolist(), bins.count.tolist(), strict=True)
    for upper, count in edges:
        rows[max(min(upper, most), 0) // _US] += count
    _move_least(rows, series.min // _US)
    rows[0] += bins.underflow
    past = sum(count for row, count in rows.items() if row >= _MOST_ROWS)
    kept = Counter({row: count for row, count in rows.items() if row < _MOST_ROWS and count})
    top = bins.top // _US if bins.overflow else 0  # what overflowed is above it
    return _Column(
        rows=kept,
        last=min(max(top, *kept, 0), _MOST_ROWS - 1),
        overflow=past + bins.overflow,
        least_us=max(series.min, 0) // _US,
        mean_us=max(round(series.mean), 0) // _US,
        most_us=max(most, 0) // _US,
    )


def _move_least(rows: Counter[int], least: int) -> None:
    """One value is the minimum: it is in the row of that, also where its bucket is on a border."""
    first = min(rows, default=least)
    if least < first and least >= 0:
        rows[first] -= 1
        rows[least] += 1


def _rows(columns: Sequence[_Column]) -> Iterator[str]:
    count = 1 + max(one.last for one in columns)
    if count * len(columns) > _MOST_CELLS:
        raise InputError(
            f"the histogram would have {count} rows of {len(columns)} columns",
            "choose fewer series with --series",
        )
    for row in range(count):
        yield f"{row:06d} " + "\t".join(f"{one.rows[row]:06d}" for one in columns)


def _summary(columns: Sequence[_Column]) -> Iterator[str]:
    """As cyclictest, the totals count what is in a row."""
    yield "# Total: " + " ".join(f"{one.rows.total():09d}" for one in columns)
    yield "# Min Latencies: " + " ".join(f"{one.least_us:05d}" for one in columns)
    yield "# Avg Latencies: " + " ".join(f"{one.mean_us:05d}" for one in columns)
    yield "# Max Latencies: " + " ".join(f"{one.most_us:05d}" for one in columns)
    yield "# Histogram Overflows: " + " ".join(f"{one.overflow:05d}" for one in columns)
    yield "# Histogram Overflow at cycle number:"
    for number, one in enumerate(columns):
        yield f"# Thread {number}:" + (f" # {one.overflow:05d} others" if one.overflow else "")
    yield ""


def _lost(held: Sequence[Held], columns: Sequence[_Column]) -> list[str]:
    names = ", ".join(f"{number}: {address_of(one)}" for number, one in enumerate(held))
    lost = [f"columns, by the number of the thread: {names}"]
    if any(one.series.min is not None and one.series.min < 0 for one in held):
        lost.append("values below 0 are counted at 0")
    past = sum(one.overflow for one in columns)
    if past:
        lost.append(f"{past} values are overflows, which no row has")
    return lost
