"""The kernel's preemption in a report: its charts with their text alternatives, and the section
of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardstone.errors import InputError
from hardstone.kernel.analysis import rate_bounds, shorter_share, time_longer, unseen_per_s
from hardstone.kernel.results import KernelTime, Operation
from hardstone.kernel.tables import (
    TIME_90,
    TIME_99,
    WHAT_DIFFERS,
    WORST,
    KernelHistory,
    KernelTable,
    OperationRow,
    history_line,
    kernel_history,
    kernel_table,
    no_common_scale,
    summary,
    with_interval,
)
from hardstone.model import Result
from hardstone.report.chart_frame import (
    Group,
    Row,
    Spec,
    colour,
    domain,
    drawn,
    figure,
    mark,
    number_in,
    ticks,
    tooltip,
    value_axis,
    value_scale,
)
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, pictures
from hardstone.wording import shorten

if TYPE_CHECKING:
    from hardstone.report.sheet import Sheet

UNSEEN = "may be missed"
OTHER_TIME = " *"  # of points whose times have no common scale with those of the lines
_POINTS = 48


def has_blocking(one: Operation) -> bool:
    """Whether a release of the operation was blocked."""
    return bool(one.blocking and one.blocking.falls and one.blocking.rate.from_ns.size)


def blocking_chart(found: Sequence[Operation]) -> Spec:
    """A line for each operation that blocked; the first has a band."""
    rows = [row for number, one in enumerate(found) for row in blocking_rows(one, number)]
    low, high = domain([number_in(row, "v") for row in rows], 1.1)
    rates = [number_in(row, "s") for row in rows]
    least, most = min(rates, default=1.0) / 3, max(rates, default=10.0) * 2
    rows += _unseen(found, least, most, high) + _band(found[0], least)
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "longer than (log)",
    }
    y: Spec = {
        "field": "s",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [least, most], "nice": False, "clamp": True},
        "axis": {
            "values": ticks(least, most),
            "labelExpr": "format(datum.value, '~s')",
            "grid": True,
        },
        "title": "intervals per second (log)",
    }
    lines = _layer(
        "s",
        mark("line", interpolate="step-after"),
        x=x,
        y=y,
        color=colour(group),
        detail={"field": "i", "type": "nominal"},
        tooltip=tooltip(group, ("v", "longer than (ns)", ",.0f"), ("s", "per s", ".3~g")),
    )
    may_be_unseen = _layer(
        "t",
        mark("line", strokeDash=[3, 3], strokeWidth=1.2),
        x=x,
        y={"field": "t", "type": "quantitative"},
        color=colour(group),
        tooltip=tooltip(group, ("v", "length (ns)", ",.0f"), ("t", "per s", ".3~g")),
    )
    band = _layer(
        "min",
        mark("area", fillOpacity=0.15),
        x=x,
        y={"field": "min", "type": "quantitative"},
        y2={"field": "max"},
        color=colour(group),
    )
    return figure(group, rows, [lines, may_be_unseen, band])


def _layer(field: str, look: Spec, **encoding: Spec | list[Spec]) -> Spec:
    """A layer of the rows that have a value in `field`."""
    only = [{"filter": f"isValid(datum.{field})"}]
    return {"transform": only, "mark": look, "encoding": encoding}


def blocking_rows(one: Operation, number: int) -> list[Row]:
    """A row for each length; the rate holds up to the next one."""
    if one.blocking is None:
        return []
    rate = one.blocking.rate
    steps = zip(rate.from_ns.tolist(), rate.per_s.tolist(), strict=True)
    drawn_steps = [(at, per_s) for at, per_s in steps if per_s > 0]
    if not drawn_steps:
        return []
    end = (float(rate.from_ns[-1]), drawn_steps[-1][1])
    name = shorten(one.name, 24)
    return [
        {"c": name, "i": number, "v": drawn(at), "s": per_s} for at, per_s in [*drawn_steps, end]
    ]


def _unseen(found: Sequence[Operation], least: float, most: float, high: float) -> list[Row]:
    """Rates of the operation with the fewest releases below which intervals may be unseen."""
    known = [one.blocking.residuals for one in found if one.blocking]
    if not known:
        return []
    fewest = min(known, key=lambda one: one.releases)
    lengths = np.geomspace(max(fewest.start_ns, 1.0) * 1.01, max(high, 2.0), _POINTS).tolist()
    rates = [(length, unseen_per_s(fewest, length)) for length in lengths]
    return [
        {"c": UNSEEN, "i": len(found), "v": drawn(at), "t": rate}
        for at, rate in rates
        if rate is not None and least <= rate <= most
    ]


def _band(one: Operation, least: float) -> list[Row]:
    if one.blocking is None or not one.blocking.rate.from_ns.size:
        return []
    found = one.blocking.residuals
    lengths = np.geomspace(max(found.start_ns, 1.0), max(found.worst_ns, 2.0), _POINTS)
    low, high = rate_bounds(found, lengths)
    name = shorten(one.name, 24)
    return [
        {"c": name, "i": 0, "v": drawn(at), "min": max(floor, least), "max": top}
        for at, floor, top in zip(lengths.tolist(), low.tolist(), high.tolist(), strict=True)
        if np.isfinite(top)
    ]


_SHARES = {TIME_90: 0.9, TIME_99: 0.99, WORST: 1.0}
_TOP = 1.03  # so that a mark at 1 is whole


def share_axis(marks: list[float]) -> Spec:
    """An axis that has all of these marks: where there are more of them than one in 40 pixels, Vega
    leaves out every second, unless `tickCount` says how many there are."""
    look: Spec = {"format": ".0%", "grid": True, "labelOverlap": False}
    return {"values": marks, "tickCount": len(marks), **look}


def has_sections(one: Operation) -> bool:
    """Whether any share of kernel time is known."""
    found = one.blocking
    return bool(found and found.falls and one.kernel_share and found.rate.from_ns.size)


def section_chart(
    found: Sequence[Operation], history: KernelHistory | None, *, is_apart: bool = False
) -> Spec:
    """A line for each operation that has shares; the points of the study where it is given.

    `is_apart`: its times and those of the lines have no common scale; the points are marked.
    """
    rows = [row for number, one in enumerate(found) for row in section_rows(one, number)]
    rows += point_rows(history, len(found), is_apart=is_apart) if history else []
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names)
    low, high = domain([number_in(row, "v") for row in rows], 1.1)
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": "length of section (log)",
    }
    lines = _layer(
        "s",
        mark("line", interpolate="step-after"),
        x=x,
        y={
            "field": "s",
            "type": "quantitative",
            "scale": {"domain": [0, _TOP], "nice": False, "clamp": True},
            "axis": share_axis([0, 0.25, 0.5, 0.75, 0.9, 1]),
            "title": "share of kernel time",
        },
        color=colour(group),
        detail={"field": "i", "type": "nominal"},
        tooltip=tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("s", "share", ".3~%")),
    )
    published = _layer(
        "b",
        published_mark(70, is_apart=is_apart),
        x=x,
        y={"field": "b", "type": "quantitative"},
        color=colour(group),
        tooltip=tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("b", "share", ".3~%")),
    )
    return figure(group, rows, [lines, published])


def section_rows(one: Operation, number: int) -> list[Row]:
    """A row for each length; the share holds up to the next one."""
    if one.blocking is None or not one.kernel_share:
        return []
    longer = time_longer(one.blocking.rate)
    shares = shorter_share(longer, one.kernel_share)
    return [
        {"c": shorten(one.name, 24), "i": number, "v": drawn(at), "s": share}
        for at, share in zip(longer.from_ns.tolist(), shares.tolist(), strict=True)
    ]


def published_mark(size: int, *, is_apart: bool, **more: object) -> Spec:
    """The points of a study: hollow crosses where their times are of another kind."""
    if is_apart:
        return mark("point", shape="cross", filled=False, strokeWidth=1.6, size=size, **more)
    return mark("point", shape="diamond", filled=True, size=size, **more)


def point_rows(history: KernelHistory, number: int, *, is_apart: bool = False) -> list[Row]:
    """Three points of each side. `is_apart`: marked in the legend too."""
    return [
        {
            "c": f"{history.short} {name}{OTHER_TIME if is_apart else ''}",
            "i": number + place,
            "v": side[statistic],
            "b": share,
        }
        for place, (name, side) in enumerate(history.sides)
        for statistic, share in _SHARES.items()
    ]


_MOST_LINES = 4
_SECTIONS = (
    "Share of kernel time in sections shorter than each length, from the length that can be "
    "distinguished from the idle latency."
)
_HISTORY = " Points: 90 %, 99 % and all of kernel time, {short}, {machine}."
_CROSSES = " Crosses{mark}: {line}"
_RATES = (
    "Blocking intervals longer than each length, per second of the operation. Band: 95 %, for "
    "all lengths together. Dashed: below this rate an interval of that length may have been "
    "missed."
)


@dataclass(frozen=True)
class KernelPage:
    """The table and the charts of one result. `history` has HP's figures, and why they may not be
    compared. `traced` are the rows of the kernel's tracers."""

    table: KernelTable
    rows: list[OperationRow]
    figures: list[Figure]
    history: str
    traced: list[tuple[str, ...]]
    what_differs: str = WHAT_DIFFERS


def kernel_page(
    result: Result,
    anchor: str,
    drawer: Drawer,
    *,
    is_brief: bool = False,
    refused: str | None = None,
    preemption: str = "",
) -> KernelPage | None:
    """The page of a result of KRN-P-PRE; None for another test, and without values.

    `refused`: why no figure of hardware may be compared with it. `preemption`: the kernel's model.
    `is_brief`: only the first chart.
    """
    try:
        table = kernel_table(result)
    except InputError:  # the top of the page names contradictory series
        return None
    if table is None:
        return None
    found = _charts(table.time, refused or "", preemption)[: 1 if is_brief else None]
    about = summary(table.time)
    return KernelPage(
        table=table,
        rows=[*table.rows, table.whole, *([table.reference] if table.reference else [])],
        figures=[
            Figure(
                id=f"{anchor}-kernel-{number}",
                title=title,
                about=text,
                alt=shorten(f"{title}. {about}", 400),
                drawing=drawer.draw(spec),
            )
            for number, (title, text, spec) in enumerate(found)
        ],
        history=history_line(refused),
        traced=[astuple(one) for one in table.traced],
    )


def history_about(history: KernelHistory, refused: str) -> str:
    """What the points of the study are; with `refused` why they may not be compared."""
    points = _HISTORY.format(short=history.short, machine=history.machine)
    if not refused:
        return points
    return points + _CROSSES.format(mark=OTHER_TIME, line=no_common_scale(history, refused))


def _charts(time: KernelTime, refused: str, preemption: str) -> list[tuple[str, str, Spec]]:
    """Title, what to look at, and chart; none where nothing was blocked."""
    history = kernel_history()
    shown = [time.whole, *time.operations[:_MOST_LINES]]
    found = []
    if any(map(has_sections, shown)):
        about = _SECTIONS + (f" Kernel preemption: {preemption}." if preemption else "")
        about += history_about(history, refused)
        spec = section_chart(shown, history, is_apart=bool(refused))
        found.append(("Kernel time by length of section", about, spec))
    if any(map(has_blocking, shown)):
        rates = [*shown, time.reference] if time.reference else shown
        found.append(("Blocking rate", _RATES, blocking_chart(rates)))
    return found


def fill_kernel(sheet: Sheet, page: KernelPage) -> None:
    """Fills a page that has a heading."""
    table = page.table
    head = ["Operation", "Rank", "Releases", "In kernel", table.level, "Sections, 90 %"]
    head += ["Sections, 99 %", "Worst observed", f"Rate above {table.rate_above or '-'}"]
    sheet.gap(4)
    rows = [
        [
            row.operation,
            row.rank,
            row.releases,
            row.kernel_share,
            with_interval(row.quantile, row.interval),
            with_interval(row.length_90, row.interval_90),
            with_interval(row.length_99, row.interval_99),
            row.worst,
            with_interval(row.rate, row.rate_interval),
        ]
        for row in page.rows
    ]
    sheet.table(head, rows)
    sheet.gap(4)
    if page.traced:
        kinds = ["Traced", "Kind", "Count", "99 %", "Longest", "99 % from releases", "Worst"]
        sheet.table(kinds, page.traced)
        sheet.text(page.what_differs, 8, colour="quiet")
        sheet.gap(4)
    for note in (*table.notes, page.history):
        sheet.text(note, 8)
    for one in (table.meaning, *(one.about for one in page.figures)):
        sheet.text(one, 8, colour="quiet")
    sheet.gap(8)
    sheet.drawings(pictures(page.figures), columns=2)
