"""The pages of a latency recording: all points by latency, of the total and of each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

from hardstone.model import Result, Series
from hardstone.report import charts
from hardstone.report.chart_frame import group
from hardstone.report.drawing import Drawer
from hardstone.report.figures import LEAST_VALUES, Figure, figure_of_spec
from hardstone.stats.histogram import Above, above, above_all
from hardstone.stats.join import merged
from hardstone.units import format_count, format_ns
from hardstone.wording import format_value, label_text, spoken

TEST = "TMR-P-LAT"
MOST_LIMITS = 12
_DEFAULT_LIMITS = 4
_LEAST_COUNTED = 2  # values, for a row of the table
_PARTS = ("total", "interrupt", "dispatch", "return")
_VIEWS = {"wakeup": "per wake-up", "release": "per release"}
_ABOUT = (
    "Points per bin by latency, both axes logarithmic. Dashed: mean. Triangle: worst observed. "
    "Red: limits."
)


@dataclass(frozen=True)
class PartRow:
    """A CPU, or all of them, with its figures as texts; `above` has one for each limit."""

    label: str
    points: str
    mean: str
    worst: str
    above: list[str]


@dataclass(frozen=True)
class PartPage:
    """One part of the latency in one view."""

    title: str
    limits: list[str]
    rows: list[PartRow]
    figures: list[Figure]
    note: str


def has_pages(result: Result) -> bool:
    return result.test == TEST and any(map(_is_shown, result.series))


def pages_of(
    result: Result,
    anchor: str,
    limits: Sequence[int],
    drawer: Drawer,
    *,
    is_brief: bool = False,
    watched_ns: int | None = None,
) -> list[PartPage]:
    """A page for the total in each view and for each part; empty for another test.

    `limits` are those of the reader, in ns; without any, the threshold of the run and
    the powers of ten above the mean are taken. `watched_ns`: a threshold at which measuring went
    on, which the parameters of the result do not have. `is_brief`: only the first page has a
    figure, of all CPUs.
    """
    if not has_pages(result):
        return []
    found: dict[tuple[str, str], list[Series]] = {}
    for series in filter(_is_shown, result.series):
        found.setdefault(_key(series), []).append(series)
    chosen = sorted(set(limits)) or default_limits(result, watched_ns)
    too_few = _too_few_text(
        [one for one in result.series if _is_view(one) and one.count < _LEAST_COUNTED]
    )
    return [
        _page(
            part,
            view,
            found[part, view],
            f"{anchor}-part-{number}",
            chosen,
            drawer,
            most=int(number == 0) if is_brief else 2,
            note=too_few if number == 0 else "",
        )
        for number, (part, view) in enumerate(sorted(found, key=_place))
    ]


def default_limits(result: Result, watched_ns: int | None = None) -> list[int]:
    """The threshold of the run, and the highest powers of ten up to above the worst observed."""
    shown = [one for one in result.series if _is_shown(one)]
    worst = max(one.max or 0 for one in shown)
    least = min(one.mean or 0 for one in shown)
    first, last = ceil(log10(max(least, 1))), ceil(log10(max(worst, 1)))
    powers = [10**power for power in range(first, last + 1)][-_DEFAULT_LIMITS:]
    thresholds = (result.params.get("threshold_ns"), watched_ns)
    own = [one for one in thresholds if isinstance(one, int) and one > 0]
    return sorted({*powers, *own})


def _is_view(series: Series) -> bool:
    is_total = series.labels.get("part", "total") == "total"
    is_named = series.name == "wakeup" or (series.name == "release" and is_total)
    return is_named and series.unit == "ns"


def _is_shown(series: Series) -> bool:
    is_filled = series.count >= _LEAST_COUNTED and bool(series.histogram.buckets)
    return _is_view(series) and is_filled


def _too_few_text(series: Sequence[Series]) -> str:
    """A note that names the series without a page or row; "" if there are none."""
    if not series:
        return ""
    named = [
        f"{spoken(str(one.labels.get('part', 'total')))}, {_VIEWS[one.name]}, {_label(one)} "
        f"({format_count(one.count)})"
        for one in sorted(series, key=lambda one: (_place(_key(one)), _label(one)))
    ]
    return f"Not shown, fewer than {_LEAST_COUNTED} values: {'; '.join(named)}."


def _key(series: Series) -> tuple[str, str]:
    return str(series.labels.get("part", "total")), series.name


def _place(key: tuple[str, str]) -> tuple[int, str, int]:
    part, view = key
    place = _PARTS.index(part) if part in _PARTS else len(_PARTS)
    return place, part, list(_VIEWS).index(view)


def _page(
    part: str,
    view: str,
    found: list[Series],
    name: str,
    limits: list[int],
    drawer: Drawer,
    *,
    most: int,
    note: str,
) -> PartPage:
    found = sorted(found, key=_number)
    each = "thread" if "thread" in found[0].labels and "cpu" not in found[0].labels else "CPU"
    joined = merged(found) if len(found) > 1 else None
    title = f"{spoken(part).capitalize()}, {_VIEWS[view]}"
    views = [(f"all {each}s", [joined])] if joined else []
    views.append((f"each {each}" if len(found) > 1 else _label(found[0]), found))
    figures = []
    for at, (label, series) in enumerate(views[:most]):
        many = [one for one in series if one.count >= LEAST_VALUES]
        if not many:
            continue
        lines = group(many)
        spec = charts.distribution_chart(lines, "ns", limits)
        place = f"{name}-{at}"
        figures.append(
            figure_of_spec(f"{title}: {label}", _ABOUT, lines, spec, TEST, place, drawer)
        )
    rows = (
        [_row(f"all {each}s", joined, [above_all(found, one) for one in limits])] if joined else []
    )
    rows += [_row(_label(one), one, [above(one, limit) for limit in limits]) for one in found]
    if len(found) > 1 and joined is None:
        note = f"The {each}s have histograms of different layouts: not joined. {note}".strip()
    return PartPage(
        title=title,
        limits=[format_ns(limit) for limit in limits],
        rows=rows,
        figures=figures,
        note=note,
    )


def _number(series: Series) -> str:
    return str(series.labels.get("cpu", series.labels.get("thread", ""))).zfill(5)


def _label(series: Series) -> str:
    for name, shown in (("cpu", "CPU"), ("thread", "thread")):
        if name in series.labels:
            return label_text(shown, series.labels[name])
    return "all points"


def _row(label: str, series: Series, counts: list[Above]) -> PartRow:
    return PartRow(
        label=label,
        points=format_count(series.count),
        mean=format_value(series.mean, "ns"),
        worst=format_value(series.max, "ns"),
        above=[above_text(one) for one in counts],
    )


def above_text(one: Above) -> str:
    """ "12", or "between 3 and 17" where the limit lies within a bucket; "12 or more" where the
    source of an imported series dropped values."""
    if one.high is None:
        return f"{format_count(one.low)} or more"
    if one.is_exact:
        return format_count(one.low)
    return f"between {format_count(one.low)} and {format_count(one.high)}"
