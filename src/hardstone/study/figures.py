"""The figures of a paper, drawn in its form: bars from the cells of an exhibit, curves and maps
from the runs that are measured beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hardstone.kernel.results import TEST as KERNEL_TEST
from hardstone.model import Series
from hardstone.report.chart_frame import (
    CONFIG,
    LABEL_OF_UNIT,
    PALETTE,
    WIDTH,
    Row,
    Spec,
    mark,
    number_in,
    ticks,
    value_scale,
)
from hardstone.simulation import charts as tire_charts
from hardstone.simulation.analysis import bounds_of, maps_of
from hardstone.simulation.results import REAL_FAST, REAL_TIME, Point, points_of
from hardstone.simulation.tables import FIRST_MISSED, MOST_HELD, threads_text
from hardstone.study.charts import (
    APART,
    MEASURED,
    MOST_SPOKEN,
    PUBLISHED,
    PaperFigure,
    bars,
    mark_of,
    name_of,
    names_of,
    number_of,
)
from hardstone.study.curves import distribution, kernel_time
from hardstone.study.exhibits import Column, LaidOut, StudyView
from hardstone.study.measured import policies_named, why_other_totals
from hardstone.units import format_count, format_ns
from hardstone.wording import shorten

LATENCY_TEST = "TMR-P-LAT"


def figures_of_exhibit(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The drawings of an exhibit, in the order of the paper; none where nothing has a value."""
    form, tests = laid.exhibit.form, laid.exhibit.tests
    if form == "map":
        return _maps(laid, view)
    if form == "picture":
        is_of_step = REAL_TIME in tests and "T_i" in laid.exhibit.title
        return _step_parts(laid, view) if is_of_step else []
    if form in ("lines", "curves"):
        of_test: dict[str, Callable[[LaidOut, StudyView], list[PaperFigure]]] = {
            KERNEL_TEST: kernel_time,
            REAL_FAST: _totals,
            LATENCY_TEST: distribution,
        }
        drawing = next((of_test[one] for one in tests if one in of_test), None)
        if drawing is not None:
            return drawing(laid, view)
    return [] if form == "table" else list(bars(laid, view))


# ---- the tire ----

_TRIANGLES = {
    tire_charts.HELD_UP_TO: "triangle-up",
    tire_charts.MISSED_FROM: "triangle-down",
}
_STEP_IN = re.compile(r"step of ([0-9.]+) ms")
_STEP_MS = 10.0
_SOLVER = "semaphore"
_MOST_POINTS = 600


@dataclass(frozen=True)
class _TirePoint:
    """A point with the panel that it is drawn in."""

    panel: str
    point: Point


def _own_points(laid: LaidOut, view: StudyView, test: str) -> list[_TirePoint]:
    """The points of all runs under the policies of the exhibit, run after run."""
    names, policies = names_of(laid, view), policies_named(laid.exhibit)
    own = [(place, column) for place, column in view.own if place in names]
    found = []
    for place, column in own:
        points = [
            point
            for subject in column.subjects
            for point in points_of(subject.alone)
            if point.test == test and point.solver == _SOLVER
        ]
        points = [one for one in points if not policies or one.policy in policies]
        # A run names its conditions by what differs in it; a panel is of several runs.
        loads = {one.load for one in points}
        for point in points:
            parts = [point.policy, point.load if len(loads) > 1 else ""]
            panel = shorten(", ".join(filter(None, parts)), 40)
            who = f"{names[place]}: {panel}" if len(own) > 1 or mark_of(column) else panel
            found.append(_TirePoint(shorten(who, 60), point))
    return found


_PARTS = {
    "dispatch": "T_i, from the release to the first thread",
    "step_time": "T_s, the step",
    "idle": "T_w, until the next release",
}


def _step_parts(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """The parts of a period: of each system its smallest simulation and its largest one."""
    rows: list[Row] = []
    said: list[str] = []
    for _, column in view.own:
        found = _by_variant(column)
        ends = dict.fromkeys([min(found), max(found)]) if found else {}
        for masses, threads in ends:
            series, start = found[masses, threads], 0.0
            kind = APART if column.apart or column.mark else MEASURED
            where = f"{name_of(column)}, {format_count(masses)} nodes, {threads_text(threads)}"
            for name, words in _PARTS.items():
                mean = series[name].mean or 0.0
                ends_of: Row = {"g": where, "c": words, "h": kind, "b": start, "t": start + mean}
                rows.append({**ends_of, "l": mean})
                said.append(f"{where}: {words} {format_ns(mean)}")
                start += mean
    if not rows:
        return []
    kinds = {str(row["h"]) for row in rows}
    about = ["Means of all steps, measured. The next release is missed where T_w is 0."]
    about += ["Dashed: measured, not comparable."] if APART in kinds else []
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)
    return [PaperFigure("Parts of a period", " ".join(about), alt, _parts_spec(rows))]


def _by_variant(column: Column) -> dict[tuple[int, int], dict[str, Series]]:
    """The series of each simulation in real time that has all parts, by nodes and threads; the
    first of several runs."""
    found: dict[tuple[int, int], dict[str, Series]] = {}
    results = [one for subject in column.subjects for one in subject.results]
    for result in (one for one in results if one.test == REAL_TIME):
        own: dict[tuple[int, int], dict[str, Series]] = {}
        for series in result.series:
            masses, threads = series.labels.get("masses"), series.labels.get("threads")
            is_known = isinstance(masses, int) and isinstance(threads, int)
            if is_known and series.labels.get("solver") == _SOLVER and series.count:
                own.setdefault((int(masses), int(threads)), {})[series.name] = series  # type: ignore[arg-type]
        for key, named in own.items():
            if set(_PARTS) <= set(named):
                found.setdefault(key, named)
    return found


def _parts_spec(rows: list[Row]) -> Spec:
    """A bar for each simulation, its parts stacked along the axis of time."""
    places = list(dict.fromkeys(str(row["g"]) for row in rows))
    names = list(_PARTS.values())
    encoding: Spec = {
        "y": {
            "field": "g",
            "type": "nominal",
            "sort": places,
            "title": None,
            "axis": {"labels": False, "ticks": False},
        },
        "x": {
            "field": "b",
            "type": "quantitative",
            "title": "time from the release",
            "axis": {"labelExpr": LABEL_OF_UNIT["ns"], "grid": True, "tickCount": 5},
            "scale": {"domain": [0, max(number_in(row, "t") for row in rows)], "nice": False},
        },
        "x2": {"field": "t"},
        "color": {
            "field": "c",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": names, "range": PALETTE[: len(names)]},
            "legend": {"columns": 1, "symbolType": "square", "symbolSize": 80},
        },
        "tooltip": [
            {"field": "g", "type": "nominal", "title": "simulation"},
            {"field": "c", "type": "nominal", "title": "part"},
            {"field": "l", "type": "quantitative", "title": "mean (ns)", "format": ",.0f"},
        ],
    }
    looks = {
        MEASURED: mark("bar", height=18),
        APART: mark(
            "bar", height=18, filled=False, fill="var(--shade)", strokeDash=[3, 2], strokeWidth=1.4
        ),
    }
    layers: list[Spec] = [
        {
            "transform": [{"filter": f"datum.h === '{kind}'"}],
            "mark": look,
            "encoding": encoding,
        }
        for kind, look in looks.items()
        if any(row["h"] == kind for row in rows)
    ]
    words = {
        "transform": [{"filter": "datum.b === 0"}],
        "mark": mark("text", align="left", dy=-17, fontSize=10, color="var(--ink)"),
        "encoding": {
            "y": encoding["y"],
            "x": {"field": "b", "type": "quantitative"},
            "text": {"field": "g", "type": "nominal"},
        },
    }
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "width": WIDTH,
        "height": {"step": 46},
        "layer": [*layers, words],
        "usermeta": {"zoom": ["x"]},
    }


def _is_curve(rows: Sequence[Row]) -> bool:
    """Whether there are several numbers of nodes: one has no picture."""
    return len({row["v"] for row in rows}) > 1


def _panels(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))[: tire_charts.MOST_PANELS]


_LEFT_OUT = "More conditions were measured: see the page of the run."


def _totals(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """Total time by nodes, a curve for each number of threads."""
    timed = [one for one in _own_points(laid, view, REAL_FAST) if one.point.total]
    same = [one for one in timed if not why_other_totals(one.point)]
    others = list(dict.fromkeys(why for one in timed for why in why_other_totals(one.point)))
    timed = same or timed
    timed.sort(key=lambda one: (one.point.threads, one.point.masses))
    lines = tire_charts.shown_threads(one.point.threads for one in timed)
    panels = _panels(one.panel for one in timed)
    kept = [one for one in timed if one.point.threads in lines and one.panel in panels]
    rows = [
        tire_charts.total_row(
            one.panel, one.point.threads, one.point.masses, one.point.total.mean_ns
        )
        for one in kept[:: max(1, -(-len(kept) // _MOST_POINTS))]
        if one.point.total
    ]
    if not _is_curve(rows):
        return []
    about = [
        "Mean of the repeats, measured. Both axes are logarithmic; the paper's curves are lost."
    ]
    about += [_LEFT_OUT] if len(panels) < len({one.panel for one in timed}) else []
    about += [f"Not comparable: {'; '.join(others)}."] if not same else []
    said = [
        f"{row['p']}, {row['c']}, {format_count(int(number_in(row, 'v')))} masses: "
        f"{format_ns(number_in(row, 't'))}"
        for row in rows[-8:]
    ]
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    alt = shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)
    spec = tire_charts.total_chart(rows, [threads_text(one) for one in lines])
    return [PaperFigure("Total time by nodes", " ".join(about), alt, spec)]


def _maps(laid: LaidOut, view: StudyView) -> list[PaperFigure]:
    """Where a deadline was missed, threads by nodes."""
    named = _STEP_IN.search(laid.exhibit.title)
    step_ns = round(float(named[1] if named else _STEP_MS) * 1e6)
    own = _own_points(laid, view, REAL_TIME)
    fitting = [
        one for one in own if one.point.step_ns == step_ns and one.point.period_ns in (0, step_ns)
    ]
    panels = _panels(one.panel for one in fitting)
    rows: list[Row] = []
    for panel in panels:
        bounds = bounds_of([one.point for one in fitting if one.panel == panel])
        rows += [tire_charts.map_row(panel, cell) for one in maps_of(bounds) for cell in one.cells]
    rows = rows[:: max(1, -(-len(rows) // _MOST_POINTS))]
    published = list(_published_rows(laid, panels or [""]))
    if not _is_curve(rows) and not published:
        return []
    about = ["Measured: a dot where a deadline was missed, a cross where none was."] if rows else []
    if any(row["c"] == tire_charts.NOT_COUNTED for row in rows):
        about.append("Grey square: it failed or was cut off, so it neither held nor missed.")
    about += [_LEFT_OUT] if len(panels) < len({one.panel for one in fitting}) else []
    if any("y" in row for row in published):
        about.append("Hollow triangles: published; up, no miss up to there; down, missed there.")
    if any("y" not in row for row in published):
        about.append("Dashed rule: published, no miss up to there with any number of threads.")
    about.append("Our copy lacks the paper's points.")
    count = sum(1 for row in rows if number_in(row, "l") > 0)
    title = f"{laid.exhibit.number}, {laid.exhibit.title}"
    said = [f"{len(rows)} points measured, {count} of them missed a deadline"] if rows else []
    said += [
        f"published, {row.get('y', 'any')} threads: {row['h']} {row['m']:.0f}" for row in published
    ]
    alt = shorten(f"{title}. {'; '.join(said)}.", MOST_SPOKEN)
    spec = _with_published(tire_charts.map_chart(rows or [_unmeasured(published)]), published)
    if not rows:  # nothing but what was published
        spec["data"]["values"] = published
        encoding: Spec = spec["layer"][0]["encoding"]
        for name in ("color", "shape"):
            encoding[name] = {**encoding[name], "legend": None}
    return [PaperFigure("Missed deadlines by nodes and threads", " ".join(about), alt, spec)]


def _unmeasured(published: Sequence[Row]) -> Row:
    """A row that gives a map of published points its axes."""
    threads = next((row["y"] for row in published if "y" in row), "1")
    return {"p": "", "y": threads, "c": tire_charts.NOT_COUNTED, "v": number_in(published[0], "m")}


def _published_rows(laid: LaidOut, panels: Sequence[str]) -> Iterator[Row]:
    """The published numbers of nodes of the exhibit; one of any number of threads has no `y`."""
    kinds = {MOST_HELD: tire_charts.HELD_UP_TO, FIRST_MISSED: tire_charts.MISSED_FROM}
    for row in laid.rows:
        for place in laid.columns:
            cell = row.cells[place]
            if cell.kind != PUBLISHED or cell.amount is None or row.statistic not in kinds:
                continue
            threads = next((one for one in row.address.split("/") if one.isdecimal()), None)
            own: Row = {"h": kinds[row.statistic], "m": number_of(cell.amount) or 1.0}
            for panel in panels:
                yield {"p": panel, **own, **({"y": threads} if threads else {})}


def _with_published(spec: Spec, rows: Sequence[Row]) -> Spec:
    """`spec`, a map, with a hollow mark for each published point, and a rule for one of any number
    of threads."""
    if not rows:
        return spec
    panel: Spec = spec.get("spec", spec)
    encoding: Spec = panel["layer"][0]["encoding"]
    threads = {*encoding["y"]["sort"], *(str(row["y"]) for row in rows if "y" in row)}
    y = {**encoding["y"], "sort": sorted(threads, key=int, reverse=True)}
    low, high = encoding["x"]["scale"]["domain"]
    masses = [number_in(row, "m") for row in rows]
    low, high = min(low, *masses), max(high, *(1.3 * one for one in masses))
    x = {
        **encoding["x"],
        "scale": value_scale(low, high),
        "axis": {**encoding["x"]["axis"], "values": ticks(low, high)},
    }
    measured = {
        **panel["layer"][0],
        "transform": [{"filter": "isValid(datum.v)"}],
        "encoding": {**encoding, "x": x, "y": y},
    }
    at: Spec = {"field": "m", "type": "quantitative"}
    tips = [
        {"field": "h", "type": "nominal", "title": "published"},
        {"field": "m", "type": "quantitative", "title": "masses", "format": ",.0f"},
    ]
    ink: Spec = {"strokeWidth": 1.8, "color": "var(--ink)", "opacity": 1}
    points = [
        {
            "transform": [{"filter": f"datum.h === '{kind}' && isValid(datum.y)"}],
            "mark": mark("point", shape=shape, filled=False, size=100, **ink),
            "encoding": {"x": at, "y": y, "tooltip": tips},
        }
        for kind, shape in _TRIANGLES.items()
        if any(row["h"] == kind and "y" in row for row in rows)
    ]
    rule = {
        "transform": [{"filter": "isValid(datum.m) && !isValid(datum.y)"}],
        "mark": mark("rule", strokeDash=[5, 3], **ink),
        "encoding": {"x": at, "tooltip": tips},
    }
    rules = [rule] if any("y" not in row for row in rows) else []
    changed = {**panel, "layer": [measured, *points, *rules]}
    data = {"values": [*spec["data"]["values"], *rows]}
    return {**spec, "data": data, "spec": changed} if "spec" in spec else {**changed, "data": data}
