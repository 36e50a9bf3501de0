"""Curves of a paper: the share of kernel time by length, and a distribution with what was published
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hardstone.kernel.analysis import SHARES
from hardstone.kernel.page import has_sections, section_rows, share_axis
from hardstone.kernel.results import TEST as KERNEL_TEST
from hardstone.kernel.results import Operation, kernel_time_of
from hardstone.model import Series
from hardstone.report.chart_frame import (
    CONFIG,
    HEIGHT,
    PALETTE,
    WIDTH,
    Group,
    Line,
    Row,
    Spec,
    colour,
    domain,
    mark,
    number_in,
    tooltip,
    value_axis,
    value_scale,
)
from hardstone.report.charts import LEAST_VALUES, histogram_chart
from hardstone.study.charts import (
    APART,
    DRAWN,
    MEASURED,
    MOST_SPOKEN,
    PUBLISHED,
    UNIT_IN,
    PaperFigure,
    name_of,
    names_of,
    number_of,
    statistic_words,
)
from hardstone.study.exhibits import Column, Kind, LaidOut, StudyView
from hardstone.systems.subjects import Amount
from hardstone.units import format_count, format_ns
from hardstone.wording import shorten

# ---- share of kernel time ----


def kernel_time(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The published points of the share of kernel time, and a curve for each run."""
    names = names_of(laid, view)
    rows: list[Row] = []
    said: list[str] = []
    ends: list[str] = []
    for place, column in view.own:
        whole = _whole_of(column)
        if whole is not None:
            kind = APART if column.apart or column.mark else MEASURED
            name = names.get(place) or name_of(column)
            own, end = _known_curve(replace(whole, name="-"), place)
            rows += [{**row, "c": name, "h": kind} for row in own]
            ends += [f"{name}: {end}"] if end else []
    for row in laid.rows:
        for place, name in names.items():
            cell, share = row.cells[place], _SHARES.get(row.statistic)
            number = number_of(cell.amount) if cell.amount is not None else None
            if cell.kind in DRAWN and cell.text:
                said.append(f"{statistic_words(row.statistic)}, {name} {cell.text} {cell.kind}")
            if cell.kind == PUBLISHED and share is not None and number is not None:
                rows.append({"c": name, "i": place, "v": number, "b": share, "h": PUBLISHED})
    if not rows:
        return []
    kinds = {str(row["h"]) for row in rows}
    about = [
        *(["Line: measured."] if MEASURED in kinds else []),
        *(["Dashed line: measured, not comparable."] if APART in kinds else []),
        *(
            ["Dotted: the length of such a share has no upper end."]
            if any("u" in row for row in rows)
            else []
        ),
        *([_POINTS] if PUBLISHED in kinds else []),
        *(f"{one}." for one in ends),
        "The axis of lengths is logarithmic, so that all fit.",
    ]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)
    spec = _section_spec(laid, rows)
    return [PaperFigure("Share of kernel time", " ".join(about), alt, spec)]


_UNSURE = "Dotted: the length of such a share has no upper end."
_SHARES = {"time_90": 0.9, "time_99": 0.99, "max": 1.0}
_POINTS = "Hollow: 90 %, 99 % and all of kernel time, published; our copy lacks the curves."


def _whole_of(column: Column) -> Operation | None:
    """All operations of KRN-P-PRE together, of the run with the most values of those that have
    shares of kernel time."""
    times = [
        kernel_time_of(result, is_whole_only=True)
        for subject in column.subjects
        for result in subject.results
        if result.test == KERNEL_TEST
    ]
    found = [one.whole for one in times if one is not None and has_sections(one.whole)]
    return max(found, key=lambda one: one.series.count, default=None)


def _known_curve(whole: Operation, place: int) -> tuple[list[Row], str]:
    """The curve up to the largest share that its values suffice for, and what ends it there. Rows
    with `u` are of shares whose length has no upper end."""
    lengths = whole.blocking.lengths if whole.blocking else {}
    known = {q: one for q in SHARES if (one := lengths.get(q)) is not None}
    bounded = [q for q, one in known.items() if one.high_ns is not None]
    lacking = next((q for q in SHARES if q not in known), None)
    top = max(known, default=0.0) if lacking is not None else 1.0
    sure = 1.0 if not lacking and len(bounded) == len(SHARES) else max(bounded, default=0.0)
    rows = [one for one in section_rows(whole, place) if number_in(one, "s") <= top]
    solid = [one for one in rows if number_in(one, "s") <= sure]
    unsure: list[Row] = [{**one, "u": 1} for one in (*solid[-1:], *rows[len(solid) :])]
    end = ""
    if lacking is not None:
        share = f"{lacking:.0%}".replace("%", " %")
        lacks = whole.lacks(lacking).replace(", has ", "; the run has ")
        why = f"whose length {lacks}" if lacks else "whose length is not known"
        end = f"the curve ends before {share} of kernel time, {why}"
    return [*solid, *(unsure if len(rows) > len(solid) else [])], end


_TOP = 1.03  # so that a mark at 1 is whole


def _section_spec(laid: LaidOut, rows: list[Row]) -> Spec:
    names = list(dict.fromkeys(str(row["c"]) for row in rows))
    group = Group([], colours=names[: len(PALETTE)])
    low, high = domain([number_in(row, "v") for row in rows], 1.5)
    exhibit = laid.exhibit
    title = exhibit.x.title if exhibit.x else "shorter than"
    y_title = exhibit.y.title if exhibit.y else "share of kernel time"
    x: Spec = {
        "field": "v",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": f"{UNIT_IN.sub('', title).rstrip(')')} (log)",
    }

    def y(field: str) -> Spec:
        return {
            "field": field,
            "type": "quantitative",
            "scale": {"domain": [0, _TOP], "nice": False, "clamp": True},
            "axis": share_axis([0, 0.25, 0.5, 0.75, 0.9, 1]),
            "title": y_title,
        }

    layers = [
        {
            "transform": [{"filter": f"datum.h === '{kind}' && isValid(datum.s) && {which}"}],
            "mark": mark("line", interpolate="step-after", strokeDash=dash),
            "encoding": {
                "x": x,
                "y": y("s"),
                "color": colour(group),
                "detail": {"field": "i", "type": "nominal"},
                "tooltip": tooltip(
                    group, ("v", "shorter than (ns)", ",.0f"), ("s", "share", ".3~%")
                ),
            },
        }
        for kind, which, dash in (
            (MEASURED, "!isValid(datum.u)", [1, 0]),
            (MEASURED, "isValid(datum.u)", [1, 3]),
            (APART, "!isValid(datum.u)", [4, 3]),
            (APART, "isValid(datum.u)", [1, 3]),
        )
        if any(row["h"] == kind and ("u" in row) == which.startswith("is") for row in rows)
    ]
    published = {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("point", shape="diamond", filled=False, size=90, strokeWidth=2, opacity=1),
        "encoding": {
            "x": x,
            "y": {**y("b")},
            "color": colour(group),
            "tooltip": tooltip(group, ("v", "shorter than (ns)", ",.0f"), ("b", "share", ".3~%")),
        },
    }
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [*layers, published],
        "resolve": {"scale": {"size": "independent"}},
    }


# ---- a distribution, with what was published of it ----


def distribution(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The histogram of the series of each run, and a rule at each published figure."""
    names = names_of(laid, view)
    found: list[tuple[Line, Kind]] = []
    rules: list[tuple[str, float]] = []
    for row in laid.rows:
        for place, name in names.items():
            cell, column = row.cells[place], view.columns[place]
            if column.is_published and cell.kind == PUBLISHED and cell.amount is not None:
                number = number_of(cell.amount)
                if number is not None and row.unit == "ns":
                    rules.append((f"{statistic_words(row.statistic)} {cell.text}", number))
            elif not column.is_published and cell.amount is not None and cell.amount.unit == "ns":
                series = _series_of(column, cell.amount)
                is_new = all(line.series is not series for line, _ in found)
                if series is not None and is_new and series.count >= LEAST_VALUES:
                    found.append((Line(series, name, len(found)), cell.kind))
    if not found:
        return []
    lines = [line for line, _ in found][: len(PALETTE)]
    group = Group(lines, colours=list(dict.fromkeys(line.colour for line in lines)))
    spec = _with_rules(histogram_chart(group, "ns"), rules)
    about = ["Values per bin, measured; the triangle marks the worst observed."]
    if any(kind == APART for _, kind in found):
        apart = dict.fromkeys(line.colour for line, kind in found if kind == APART)
        about.append(f"Not comparable: {', '.join(apart)}.")
    if rules:
        about.append("Dashed rules: published. Our copy lacks the paper's chart.")
    said = [
        f"{line.colour}: {format_count(line.series.count)} values from "
        f"{format_ns(line.series.min)} to {format_ns(line.series.max)}"
        for line in lines
    ] + [f"published {text}" for text, _ in rules]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)
    return [PaperFigure("Distribution", " ".join(about), alt, spec)]


def _series_of(column: Column, amount: Amount) -> Series | None:
    """The series that a figure of a run is of."""
    run_id, _, address = amount.place.partition(" ")
    for subject in column.subjects:
        if subject.id == run_id:
            held = subject.series_at(address)
            if held is not None and held.series.count:
                return held.series
    return None


def _with_rules(spec: Spec, rules: Sequence[tuple[str, float]]) -> Spec:
    """`spec`, a histogram, with a named rule at each of the lengths."""
    if not rules:
        return spec
    first = spec["layer"][0]["encoding"]["x"]
    low, high = first["scale"]["domain"]
    low, high = (
        min([low, *(at / 1.1 for _, at in rules)]),
        max([high, *(at * 2.2 for _, at in rules)]),
    )
    x = {**first, "scale": value_scale(low, high), "axis": value_axis(low, high, "ns")}
    layers = [
        {**one, "encoding": {**one["encoding"], "x": x}} if "x" in one["encoding"] else one
        for one in spec["layer"]
    ]
    values: list[Row] = [
        {"h": PUBLISHED, "v": at, "l": text, "e": number} for number, (text, at) in enumerate(rules)
    ]
    only = [{"filter": f"datum.h === '{PUBLISHED}'"}]
    at: Spec = {"field": "v", "type": "quantitative"}
    rule: Spec = {
        "transform": only,
        "mark": mark("rule", strokeDash=[4, 3], color="var(--ink)"),
        "encoding": {"x": at, "tooltip": [{"field": "l", "type": "nominal", "title": "published"}]},
    }
    words = [
        {
            "transform": [{"filter": f"datum.e === {number}"}],
            "mark": mark("text", align="left", dx=4, fontSize=10, color="var(--ink)"),
            "encoding": {
                "x": at,
                "y": {"value": 6 + 13 * (number % 4)},
                "text": {"field": "l", "type": "nominal"},
            },
        }
        for number in range(len(rules))
    ]
    rows = [*spec["data"]["values"], *values]
    return {**spec, "data": {"values": rows}, "layer": [*layers, rule, *words]}
