"""Charts of the tire as Vega-Lite specifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from hardstone.report.chart_frame import (
    CONFIG,
    HEIGHT,
    LABEL_OF_UNIT,
    PALETTE,
    WIDTH,
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
from hardstone.simulation.analysis import Cell, Model, Statement
from hardstone.simulation.results import Block, Frame, Point, StepBlocks, ThreadBlocks
from hardstone.simulation.tables import threads_text
from hardstone.units import format_count, format_ns

MOST_PANELS = 6
MOST_LINES = len(PALETTE)
_T = TypeVar("_T")


def shown_threads(threads: Iterable[int]) -> list[int]:
    """At most MOST_LINES numbers of threads, the smallest and the largest among them."""
    return _evenly(sorted(set(threads)), MOST_LINES)


def _evenly(found: Sequence[_T], most: int) -> list[_T]:
    """At most `most` of them, evenly chosen, with the first and the last."""
    if len(found) <= most:
        return list(found)
    last = len(found) - 1
    return [found[round(place * last / (most - 1))] for place in range(most)]


def _group_of(rows: Sequence[Row], colours: Sequence[str], dashes: Sequence[str] = ()) -> Group:
    """The lines by colour; panels where there are several."""
    panels = list(dict.fromkeys(str(row["p"]) for row in rows))
    return Group(
        [],
        colours=list(colours),
        panels=panels if len(panels) > 1 else [],
        dashes=list(dashes),
    )


def _shape_channel(kinds: Sequence[str], shapes: Mapping[str, str]) -> Spec:
    """The channel of the shape, of field `h`: what a mark is, whatever its colour."""
    return {
        "field": "h",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(kinds), "range": [shapes[kind] for kind in kinds]},
        "legend": {
            "orient": "top",
            "offset": 2,
            "symbolStrokeWidth": 1,
            "symbolFillColor": "var(--ink)",
            "symbolStrokeColor": "var(--ink)",
        },
    }


def _masses_axis(rows: Sequence[Row], margin: float = 1.15, field: str = "v") -> Spec:
    """The channel of the masses, logarithmic."""
    low, high = domain([number_in(row, field) or 1 for row in rows], margin)
    return {
        "field": field,
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"grid": True, "labelExpr": LABEL_OF_UNIT["count"], "values": ticks(low, high)},
        "title": "masses (log)",
    }


NOT_COUNTED = "not counted"
NO_SHARE = "missed, total not known"
# Upper ends of the shares that have a colour of their own.
SHARES = (
    ("none missed", 0.0, "var(--good)"),
    ("below 1 % missed", 0.01, "var(--series-5)"),
    ("below 10 % missed", 0.1, "var(--series-2)"),
    ("below 50 % missed", 0.5, "var(--bad)"),
    ("50 % and more missed", 2.0, "var(--series-4)"),
)
_MAP_ROW = 17
_MANY = 12
_SMALL_ROW = 9


def map_row(panel: str, cell: Cell) -> Row:
    return {
        "p": panel,
        "y": str(cell.curve.threads),
        "c": _map_class(cell),
        "v": cell.masses,
        "l": cell.missed_count,
        "n": cell.released_count,
        "s": cell.share,
        "b": cell.bound,
    }


def _map_class(cell: Cell) -> str:
    """The class of its share of missed steps; also where a miss is known and the share is not."""
    if not cell.has_missed:
        return SHARES[0][0] if cell.has_held else NOT_COUNTED
    share = cell.share
    if share is None:
        return NO_SHARE
    return next((name for name, high, _ in SHARES[1:] if share < high), SHARES[-1][0])


def map_chart(rows: Sequence[Row]) -> Spec:
    """A dot where any deadline was missed, in the colour of the share of missed steps; another
    mark where none was."""
    marks = {name: (colour, "circle", 70) for name, _, colour in SHARES[1:]}
    marks = {SHARES[0][0]: (SHARES[0][2], "cross", 22), **marks}
    marks[NO_SHARE] = ("var(--ink)", "circle", 70)
    marks[NOT_COUNTED] = ("var(--quiet)", "square", 22)
    names = [one for one in marks if any(row["c"] == one for row in rows)]
    legend: Spec = {"columns": 3, "symbolSize": 60, "symbolStrokeWidth": 1}

    def channel(place: int) -> Spec:
        scale = {"domain": names, "range": [marks[name][place] for name in names]}
        return {"field": "c", "type": "nominal", "sort": None, "scale": scale, "legend": legend}

    threads = sorted({str(row["y"]) for row in rows}, key=int, reverse=True)
    is_narrow = len(threads) > _MANY
    rows = [{**row, "z": marks[str(row["c"])][2]} for row in rows]
    encoding: Spec = {
        "x": _masses_axis(rows),
        "y": {
            "field": "y",
            "type": "ordinal",
            "sort": threads,
            "title": "threads",
            "axis": {
                "grid": True,
                "ticks": False,
                "labelOverlap": "greedy" if is_narrow else False,
            },
        },
        "color": channel(0),
        "shape": channel(1),
        "size": {"field": "z", "type": "quantitative", "scale": None, "legend": None},
        "tooltip": [
            {"field": "y", "type": "nominal", "title": "threads"},
            {"field": "v", "type": "quantitative", "title": "masses", "format": ",.0f"},
            {"field": "l", "type": "quantitative", "title": "missed", "format": ",.0f"},
            {"field": "n", "type": "quantitative", "title": "of", "format": ",.0f"},
            {"field": "b", "type": "quantitative", "title": "95 % bound", "format": ".3~%"},
        ],
    }
    panels = list(dict.fromkeys(str(row["p"]) for row in rows))
    base: Spec = {"config": CONFIG, "data": {"values": rows}}
    panel: Spec = {
        "width": WIDTH,
        "height": {"step": _SMALL_ROW if is_narrow else _MAP_ROW},
        "layer": [{"mark": mark("point", filled=True, opacity=1), "encoding": encoding}],
        "usermeta": {"zoom": ["x"]},
    }
    if len(panels) < 2:
        return {**base, **panel}
    facet = {"field": "p", "type": "nominal", "sort": panels, "title": None}
    return {**base, "facet": facet, "columns": 1, "spec": panel}


def _time_axis(times: Sequence[float], title: str) -> Spec:
    """The channel of the times in field `t`, logarithmic; it has room for all `times`."""
    low, high = domain(times, 1.2)
    return {
        "field": "t",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": value_axis(low, high, "ns"),
        "title": title,
    }


MEAN, WORST, P99 = "mean", "worst observed", "p99"
_DASHES = {MEAN: [1, 0], WORST: [5, 3], P99: [1, 2]}


def step_rows(panel: str, point: Point) -> Iterator[Row]:
    """A row for each figure of the step."""
    step = point.step_time
    if step is None:
        return
    for name, value in ((MEAN, step.mean_ns), (P99, step.p99_ns), (WORST, step.max_ns)):
        if value is not None:
            yield {
                "p": panel,
                "c": threads_text(point.threads),
                "d": name,
                "v": point.masses,
                "t": drawn(value),
            }


def deadline_row(panel: str, period_ns: int) -> Row:
    return {"p": panel, "b": drawn(period_ns)}


def step_chart(rows: Sequence[Row], names: Sequence[str], deadlines: Sequence[Row]) -> Spec:
    """`names`: the lines that have a colour. `deadlines`: one row for each panel."""
    kinds = [name for name in _DASHES if any(row["d"] == name for row in rows)]
    group = _group_of(rows, names, kinds)
    times = [number_in(row, "t") for row in rows] + [number_in(row, "b") for row in deadlines]
    encoding: Spec = {
        "x": _masses_axis(rows),
        "y": _time_axis(times, "time of a step (log)"),
        "color": colour(group),
        "strokeDash": {
            "field": "d",
            "type": "nominal",
            "sort": None,
            "scale": {"domain": kinds, "range": [_DASHES[name] for name in kinds]},
            "legend": {"orient": "top", "offset": 2},
        },
        "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("t", "step (ns)", ",.0f")),
    }
    lines = {
        "transform": [{"filter": "isValid(datum.t)"}],
        "mark": mark("line"),
        "encoding": encoding,
    }
    deadline = {
        "transform": [{"filter": "isValid(datum.b)"}],
        "mark": mark("rule", color="var(--bad)", strokeWidth=1.5),
        "encoding": {"y": {"field": "b", "type": "quantitative"}},
    }
    return figure(group, [*rows, *deadlines], [lines, deadline])


_TERMS = {
    "spring": "springs",
    "mass": "masses",
    "hand-over": "hand-overs",
    "switch": "switches",
    "semaphore": "4e semaphores (not in the paper)",
    "access": "reads and writes (not in the paper)",
}


def model_rows(panel: str, place: str, model: Model) -> Iterator[Row]:
    """A row for each term, from where it begins to where it ends, and one for the measured time."""
    start = 0.0
    more = model.access or model.semaphore
    left_out = "hand-over" if model.access else ""  # it is part of the reads and writes
    own = (term for term in model.terms if term.name != left_out)
    for term in (*own, *([more] if more else [])):
        yield {
            "p": panel,
            "x": place,
            "c": _TERMS[term.name],
            "b": start,
            "t": start + term.ns,
            "l": term.ns,
        }
        start += term.ns
    top = max(start, model.measured_ns)
    masses = format_count(model.point.masses)
    yield {"p": panel, "x": place, "m": model.measured_ns, "w": top, "y": masses}


def model_chart(rows: Sequence[Row]) -> Spec:
    """A bar for each place, its number of masses above it; the tick is what was measured."""
    measured: Spec = {
        "transform": [{"filter": "isValid(datum.m)"}],
        "mark": mark("tick", thickness=3, width={"band": 0.8}, color="var(--ink)"),
        "encoding": {
            "x": _places(rows),
            "y": {"field": "m", "type": "quantitative"},
            "tooltip": [_named("x", "point"), _model_time("m", "measured (ns)")],
        },
    }
    return _stacked(rows, list(_TERMS.values()), "time of a step", "term", [measured])


def _places(rows: Sequence[Row]) -> Spec:
    return {
        "field": "x",
        "type": "ordinal",
        "sort": list(dict.fromkeys(str(row["x"]) for row in rows)),
        "title": None,
        "axis": {"labelAngle": 0, "labelOverlap": "greedy"},
    }


def _stacked(
    rows: Sequence[Row], parts: Sequence[str], title: str, part: str, marks: Sequence[Spec]
) -> Spec:
    """Bars of rows that begin at `b` and end at `t`, with a text above each."""
    names = [name for name in parts if any(row.get("c") == name for row in rows)]
    top = 1.18 * max((number_in(row, "w") for row in rows), default=1.0)
    x = _places(rows)
    bars: Spec = {
        "transform": [{"filter": "isValid(datum.t)"}],
        "mark": mark("bar", width={"band": 0.5}),
        "encoding": {
            "x": x,
            "y": {
                "field": "b",
                "type": "quantitative",
                "title": title,
                "scale": {"domain": [0, top], "nice": False},
                "axis": {"labelExpr": LABEL_OF_UNIT["ns"], "grid": True, "tickCount": 4},
            },
            "y2": {"field": "t"},
            "color": {
                "field": "c",
                "type": "nominal",
                "sort": None,
                "scale": {"domain": names, "range": PALETTE[: len(names)]},
                "legend": {"columns": 3, "symbolType": "square", "symbolSize": 80},
            },
            "tooltip": [_named("c", part), _named("x", "point"), _model_time("l", "time (ns)")],
        },
    }
    masses: Spec = {
        "transform": [{"filter": "isValid(datum.w)"}],
        "mark": mark("text", dy=-8, fontSize=10, color="var(--quiet)"),
        "encoding": {
            "x": x,
            "y": {"field": "w", "type": "quantitative"},
            "text": {"field": "y", "type": "nominal"},
        },
    }
    spec = figure(_group_of(rows, names), list(rows), [bars, *marks, masses])
    spec.get("spec", spec)["usermeta"] = {"zoom": ["y"]}
    return spec


PERIOD_PARTS = ("dispatch", "step", "idle")


def period_rows(panel: str, place: str, parts: Sequence[float], masses: int) -> Iterator[Row]:
    """A row for each part of a period, from where it begins to where it ends."""
    start = 0.0
    for name, length in zip(PERIOD_PARTS, parts, strict=True):
        yield {"p": panel, "x": place, "c": name, "b": start, "t": start + length, "l": length}
        start += length
    yield {"p": panel, "x": place, "w": start, "y": format_count(masses)}


def period_chart(rows: Sequence[Row]) -> Spec:
    """Figure 1 of the study: a bar for each place, of dispatch, step and idle time."""
    return _stacked(rows, PERIOD_PARTS, "time of a period", "part", [])


def _named(field: str, title: str) -> Spec:
    return {"field": field, "type": "nominal", "title": title}


def _model_time(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "format": ",.0f"}


HELD_UP_TO, MISSED_FROM = "none missed up to", "missed at"
_STEP = 0.1
_STUDY_SHAPES = {HELD_UP_TO: "triangle-up", MISSED_FROM: "triangle-down"}


def study_row(who: str, threads: int | None, masses: int, kind: str) -> Row:
    """`threads` None: of any number, drawn as a line."""
    return {"p": "", "c": who, "h": kind, "v": threads, "m": masses}


def study_chart(rows: Sequence[Row]) -> Spec:
    """A mark for each number of masses; at most MOST_LINES systems."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[:MOST_LINES]
    middle = (len(names) - 1) / 2
    shown = []
    for row in rows:
        if row["c"] not in names:
            continue
        threads, aside = row["v"], _STEP * (names.index(str(row["c"])) - middle)
        if isinstance(threads, int | float):
            # Systems with one number of threads stand side by side; `n` is that number.
            shown.append({**row, "n": threads, "v": threads + aside})
        else:
            shown.append(row)
    group = _group_of(shown, names)
    numbers = [number_in(row, "v") for row in shown if row["v"] is not None] or [1.0]
    y = _masses_axis(shown, 1.3, "m")
    kinds = [kind for kind in _STUDY_SHAPES if any(row["h"] == kind for row in shown)]
    points: Spec = {
        "transform": [{"filter": "isValid(datum.v)"}],
        "mark": mark("point", filled=True, size=70, opacity=1),
        "encoding": {
            "x": {
                "field": "v",
                "type": "quantitative",
                "title": "threads",
                "scale": {"domain": [min(numbers) - 1, max(numbers) + 1], "nice": False},
                "axis": {"grid": False, "tickMinStep": 1},
            },
            "y": y,
            "color": colour(group),
            "shape": _shape_channel(kinds, _STUDY_SHAPES),
            "tooltip": tooltip(group, ("n", "threads", ",.0f"), ("m", "masses", ",.0f")),
        },
    }
    lines: Spec = {
        "transform": [{"filter": "!isValid(datum.v)"}],
        "mark": mark("rule", strokeDash=[5, 3], strokeWidth=1.5),
        "encoding": {"y": y, "color": colour(group)},
    }
    return {
        "config": CONFIG,
        "data": {"values": shown},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [points, lines],
        "resolve": {"scale": {"size": "independent"}},
    }


def total_row(panel: str, threads: int, masses: int, total_ns: float) -> Row:
    return {"p": panel, "c": threads_text(threads), "v": masses, "t": drawn(total_ns)}


def total_chart(rows: Sequence[Row], names: Sequence[str]) -> Spec:
    """`names`: the lines that have a colour."""
    group = _group_of(rows, names)
    times = [number_in(row, "t") for row in rows]
    encoding: Spec = {
        "x": _masses_axis(rows),
        "y": _time_axis(times, "total time (log)"),
        "color": colour(group),
        "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("t", "total time (ns)", ",.0f")),
    }
    return figure(
        group,
        list(rows),
        [
            {"mark": mark("line"), "encoding": encoding},
            {"mark": mark("point", filled=True, size=22), "encoding": encoding},
        ],
    )


LIMIT, OPEN, NONE = "largest without a miss", "no miss found", "missed at the smallest"
_SIDE_SHAPES = {LIMIT: "circle", OPEN: "triangle-right", NONE: "triangle-left"}
_SIDE_ROW = 26


def speed_rows(panel: str, one: Statement) -> Iterator[Row]:
    """A row for each common point of SIM-P-RF: its ratio of total times."""
    if one.speed is None:
        return
    for place, ratio in zip(one.speed.places, one.speed.ratios, strict=True):
        yield {"p": panel, "c": threads_text(place.threads), "v": place.masses, "m": ratio}


def held_rows(panel: str, one: Statement, names: tuple[str, str]) -> Iterator[Row]:
    """A row for each side and number of threads: what it held."""
    for row in one.held:
        for bound, name in zip((row.first, row.second), names, strict=True):
            if bound is None:
                continue
            cell, kind = bound.held, LIMIT if bound.first_missed else OPEN
            if cell is None:
                cell, kind = bound.first_missed, NONE
            if cell is not None:
                threads, masses = str(row.threads), cell.masses
                yield {"p": panel, "c": name, "y": threads, "v": masses, "h": kind}


def speed_chart(rows: Sequence[Row]) -> Spec:
    """A mark for each point; at 1 both sides take the same time."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[: len(PALETTE)]
    rows = [row for row in rows if row["c"] in names]
    group = _group_of(rows, names)
    low, high = domain([1.0, *(number_in(row, "m") for row in rows)], 1.15)
    y: Spec = {
        "field": "m",
        "type": "quantitative",
        "scale": value_scale(low, high),
        "axis": {"grid": True, "format": ".3~g", "tickCount": 4},
        "title": "times (log)",
    }
    points = {
        "mark": mark("point", filled=True, size=45, opacity=1),
        "encoding": {
            "x": _masses_axis(rows),
            "y": y,
            "color": _dotted(group),
            "tooltip": tooltip(group, ("v", "masses", ",.0f"), ("m", "ratio", ".3~g")),
        },
    }
    same = {
        "mark": mark("rule", color="var(--quiet)", strokeDash=[4, 3]),
        "encoding": {"y": {"datum": 1, "type": "quantitative"}},
    }
    return figure(group, rows, [points, same])


def held_chart(rows: Sequence[Row]) -> Spec:
    """A mark for each side, threads by masses; its shape says whether it is a limit."""
    names = list(dict.fromkeys(str(row["c"]) for row in rows))[: len(PALETTE)]
    rows = [row for row in rows if row["c"] in names]
    group = _group_of(rows, names)
    threads = sorted({str(row["y"]) for row in rows}, key=int, reverse=True)
    kinds = [kind for kind in _SIDE_SHAPES if any(row["h"] == kind for row in rows)]
    encoding: Spec = {
        "x": _masses_axis(rows, 1.3),
        "y": {
            "field": "y",
            "type": "ordinal",
            "sort": threads,
            "title": "threads",
            "axis": {"grid": True, "ticks": False, "labelOverlap": False},
        },
        "yOffset": {"field": "c", "type": "nominal", "sort": names},
        "color": _dotted(group),
        "shape": _shape_channel(kinds, _SIDE_SHAPES),
        "tooltip": [
            {"field": "c", "type": "nominal", "title": "side"},
            {"field": "y", "type": "nominal", "title": "threads"},
            {"field": "v", "type": "quantitative", "title": "masses", "format": ",.0f"},
            {"field": "h", "type": "nominal", "title": "which is"},
        ],
    }
    layer = {"mark": mark("point", filled=True, size=60, opacity=1), "encoding": encoding}
    spec = figure(group, rows, [layer])
    inner = spec.get("spec", spec)
    inner["height"] = {"step": _SIDE_ROW, "for": "position"}
    inner["usermeta"] = {"zoom": ["x"]}
    return spec


def _dotted(group: Group) -> Spec:
    """Colours of marks without lines, of which the legend would show nothing."""
    found = colour(group)
    legend = found["legend"]
    return {**found, "legend": legend and {**legend, "symbolType": "circle", "symbolSize": 60}}


_MOST_STEPS = 3
_MOST_ROWS = 36
_ROW_HEIGHT = 15
_FAR = 2.0  # a deadline that is further away than this is not drawn
_WAIT, _READ, _COMPUTE, _WRITE, _BARRIER = "wait", "read", "compute", "write", "barrier"
_BEHIND = "behind"  # it has not ended an earlier step
_COLOURS = {
    _WAIT: "var(--quiet)",
    _READ: PALETTE[0],
    _COMPUTE: PALETTE[1],
    _WRITE: "var(--ink)",
    _BARRIER: "var(--ink)",
    _BEHIND: PALETTE[3],
}


def blocks_chart(blocks: StepBlocks) -> Spec:
    """A panel for each of a few steps in a row, around the longest one that was kept.

    Time counts from the release of the step, or from the start of its first thread where steps have
    no release. A line is the deadline, where it is near. `blocks`: with at least one row.
    """
    steps = shown_steps(blocks)
    titles = [_title(step) for step in steps]
    rows = [row for step in steps for row in _panel(blocks, step)]
    end_ns = max([1.0, *(number_in(row, "max") for row in rows)]) * 1.03
    deadline_ns = near_deadline_ns(blocks)
    if deadline_ns is not None:
        end_ns = max(end_ns, deadline_ns * 1.03)
        rows += [{"p": title, "t": float(deadline_ns)} for title in titles]
    kinds = [kind for kind in _COLOURS if any(row.get("c") == kind for row in rows)]
    start = "start of its first thread" if blocks.period_ns is None else "release of the step"
    encoding: Spec = {
        "x": {
            "field": "min",
            "type": "quantitative",
            "title": f"time after the {start}",
            "scale": {"domain": [0, end_ns], "nice": False},
            "axis": {"labelExpr": LABEL_OF_UNIT["ns"], "grid": True, "tickCount": 6},
        },
        "x2": {"field": "max"},
        "y": {
            "field": "y",
            "type": "nominal",
            "sort": [_thread_name(row) for row in blocks.rows],
            "title": "thread",
            # a row is as high as a name, so that all names are shown
            "axis": {"grid": False, "ticks": False, "labelOverlap": False, "labelPadding": 5},
        },
        "color": {
            "field": "c",
            "type": "nominal",
            "scale": {"domain": kinds, "range": [_COLOURS[kind] for kind in kinds]},
            "legend": {"columns": 5, "symbolType": "square", "symbolSize": 80},
        },
        "tooltip": _TIPS,
    }
    panel: Spec = {
        "width": WIDTH,
        "height": {"step": _ROW_HEIGHT},
        "layer": [*_block_bars(encoding), *(_deadline() if deadline_ns is not None else [])],
        "usermeta": {"zoom": ["x"]},
    }
    return {
        "config": CONFIG,
        "data": {"values": rows},
        "facet": {"field": "p", "type": "nominal", "sort": titles, "title": None},
        "columns": 1,
        "spec": panel,
    }


def shown_steps(blocks: StepBlocks) -> list[int]:
    """Steps that were kept one after another, with the one in the middle that ended latest."""
    ended: dict[int, int] = {}
    for row in blocks.rows:
        for block in row.blocks:
            ended[block.step] = max(ended.get(block.step, 0), block.write_ns - block.release_ns)
    steps = sorted(ended)
    count = max(1, min(_MOST_STEPS, _MOST_ROWS // max(len(blocks.rows), 1)))
    latest = max(range(len(steps)), key=lambda place: ended[steps[place]])
    first = min(max(latest - count // 2, 0), max(len(steps) - count, 0))
    return steps[first : first + count]


def near_deadline_ns(blocks: StepBlocks) -> int | None:
    """The deadline after a release, where the chart has it: not far behind the end of all steps."""
    ends = [
        one.write_ns - _start_ns(blocks, step)
        for step in shown_steps(blocks)
        for row in blocks.rows
        for one in row.blocks
        if one.step == step
    ]
    is_near = blocks.period_ns is not None and blocks.period_ns <= max(ends) * _FAR
    return blocks.period_ns if is_near else None


def has_behind(blocks: StepBlocks) -> bool:
    """Whether a thread of the chart begins a step late since it had not ended an earlier one."""
    rows = [row for step in shown_steps(blocks) for row in _panel(blocks, step)]
    return any(row["c"] == _BEHIND for row in rows)


def _thread_name(row: ThreadBlocks) -> str:
    return f"{row.thread}" if row.cpu is None else f"{row.thread} (CPU {row.cpu})"


def blocks_text(blocks: StepBlocks) -> str:
    """The steps of the chart in words."""
    texts = []
    for step in shown_steps(blocks):
        ends = [one.write_ns for row in blocks.rows for one in row.blocks if one.step == step]
        last = format_ns(max(ends) - _start_ns(blocks, step))
        texts.append(f"{_title(step)}: {threads_text(len(ends))}, the last one ended after {last}")
    return "; ".join(texts)


def _title(step: int) -> str:
    return f"step {step}"


def _start_ns(blocks: StepBlocks, step: int) -> int:
    return min(one.release_ns for row in blocks.rows for one in row.blocks if one.step == step)


def _panel(blocks: StepBlocks, step: int) -> list[Row]:
    start_ns = _start_ns(blocks, step)
    last = _BARRIER if blocks.solver == _BARRIER else _WRITE
    rows: list[Row] = []
    for row in blocks.rows:
        found = {one.step: one for one in row.blocks if one.step in (step - 1, step)}
        if step in found:
            parts = _parts(found[step], found.get(step - 1), start_ns, last)
            keys: Row = {"p": _title(step), "y": _thread_name(row)}
            rows += [
                {**keys, "c": kind, "min": float(begin_ns), "max": float(end_ns)}
                for kind, begin_ns, end_ns in parts
                if end_ns > begin_ns
            ]
    return rows


def _parts(
    block: Block, before: Block | None, start_ns: int, last: str
) -> list[tuple[str, int, int]]:
    """Parts after the start of the step; first while it had not ended an earlier one."""
    free_ns = max(start_ns, before.write_ns) if before is not None else start_ns
    parts = [
        (_BEHIND, start_ns, free_ns),
        (_WAIT, free_ns, block.begin_ns),
        (_READ, block.begin_ns, block.read_ns),
        (_COMPUTE, block.read_ns, block.compute_ns),
        (last, block.compute_ns, block.write_ns),
    ]
    return [(kind, max(a - start_ns, 0), max(b - start_ns, 0)) for kind, a, b in parts]


_TIPS: list[Spec] = [
    {"field": "y", "type": "nominal", "title": "thread"},
    {"field": "c", "type": "nominal", "title": "does"},
    {"field": "min", "type": "quantitative", "title": "from (ns)", "format": ",.0f"},
    {"field": "max", "type": "quantitative", "title": "to (ns)", "format": ",.0f"},
]


def _block_bars(encoding: Spec) -> list[Spec]:
    """Waiting is a thin bar, so that it differs from the rest without colours too."""
    return [
        {
            "transform": [{"filter": f"isValid(datum.min) && datum.c {sign} '{_WAIT}'"}],
            "mark": mark("bar", height={"band": share}),
            "encoding": encoding,
        }
        for sign, share in (("===", 0.18), ("!==", 0.78))
    ]


def _deadline() -> list[Spec]:
    x: Spec = {"field": "t", "type": "quantitative"}
    only = [{"filter": "isValid(datum.t)"}]
    text = mark("text", align="center", baseline="bottom", dy=-2, fontSize=10, color="var(--bad)")
    return [
        {
            "transform": only,
            "mark": mark("rule", strokeWidth=1.4, strokeDash=[4, 2], color="var(--bad)"),
            "encoding": {"x": x},
        },
        {
            "transform": only,
            "mark": text,
            "encoding": {"x": x, "y": {"value": 0}, "text": {"value": "deadline"}},
        },
    ]


MOST_FRAMES = 8
_COLUMNS = 4
_SPACING = 8
_AXIS_WIDTH = 30
_PANEL_WIDTH = (WIDTH - _AXIS_WIDTH) / _COLUMNS - _SPACING
_TALLEST = 3.0  # times as high as wide
_MOST_POINTS = 128  # more than a panel can show
_MARGIN = 0.06


def frames_chart(frames: Sequence[Frame]) -> Spec:
    """The tire at MOST_FRAMES of the moments at most, first and last among them.

    A line goes through the masses in the order of their springs; the mass that was on top has a
    dot. A metre is as long upwards as sideways. `frames`: at least one, of one simulation, in the
    order of time.
    """
    shown = shown_frames(frames)
    titles = [_moment(one) for one in shown]
    rows: list[Row] = []
    for frame, title in zip(shown, titles, strict=True):
        points = frame.points_um[:: -(-len(frame.points_um) // _MOST_POINTS)]
        rows += [
            {"p": title, "n": float(number), "v": round(x / 1e6, 4), "w": round(y / 1e6, 4)}
            for number, (x, y) in enumerate(points)
        ]
    wide, high = _domains(shown)
    height = _PANEL_WIDTH * (high[1] - high[0]) / (wide[1] - wide[0])
    once_a_panel = [{"filter": "datum.n === 0"}]
    floor: Spec = {
        "transform": once_a_panel,
        "mark": mark("rule", strokeWidth=1.5, color="var(--ink)"),
        "encoding": {"y": {"datum": 0, "type": "quantitative"}},
    }
    top: Spec = {  # the mass that was on top when the tire was let go
        "transform": once_a_panel,
        "mark": mark("point", filled=True, opacity=1, size=22, color=PALETTE[1]),
        "encoding": {
            "x": {"field": "v", "type": "quantitative"},
            "y": {"field": "w", "type": "quantitative"},
        },
    }
    panel: Spec = {
        "width": _PANEL_WIDTH,
        "height": height,
        "layer": [_line(wide, high), floor, top],
    }
    return {
        "config": {**CONFIG, "facet": {"spacing": _SPACING}},
        "data": {"values": rows},
        "facet": {"field": "p", "type": "nominal", "sort": titles, "title": None},
        "columns": _COLUMNS,
        "spec": panel,
    }


def shown_frames(frames: Sequence[Frame]) -> list[Frame]:
    """As many as the chart has panels for, evenly chosen, with the first and the last."""
    return _evenly(frames, MOST_FRAMES)


def frames_text(frames: Sequence[Frame]) -> str:
    """The chart in words: where the tire is, and how wide and high."""
    texts = []
    for frame in shown_frames(frames):
        xs, ys = ([point[axis] / 1e6 for point in frame.points_um] for axis in (0, 1))
        wide, high = max(xs) - min(xs), max(ys) - min(ys)
        texts.append(
            f"after {_moment(frame)} {wide:.2f} m wide and {high:.2f} m high, "
            f"its lowest mass {min(ys):.2f} m above the floor"
        )
    return "; ".join(texts)


def _moment(frame: Frame) -> str:
    return f"{frame.at_ns / 1e6:.6g} ms"


def _domains(frames: Sequence[Frame]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of both axes, in m: all of the tire and the floor, no panel too tall or too low."""
    xs = [x / 1e6 for one in frames for x, _ in one.points_um]
    ys = [y / 1e6 for one in frames for _, y in one.points_um]
    low, high = min(0.0, *ys), max(0.0, *ys)
    middle, wide = (min(xs) + max(xs)) / 2, max(xs) - min(xs)
    tall = max(high - low, wide / _TALLEST, 1e-3) * (1 + 2 * _MARGIN)
    wide = max(wide * (1 + 2 * _MARGIN), tall / _TALLEST)
    low -= _MARGIN * tall
    return (middle - wide / 2, middle + wide / 2), (low, low + tall)


def _line(wide: tuple[float, float], high: tuple[float, float]) -> Spec:
    return {
        "mark": mark("line", interpolate="linear-closed", strokeWidth=1.3, color=PALETTE[0]),
        "encoding": {
            "x": {**_axis("v", wide), "axis": None},
            "y": {
                **_axis("w", high),
                "title": "height (m)",
                "axis": {"grid": False, "tickCount": 3},
            },
            "order": {"field": "n", "type": "quantitative"},
            "tooltip": [
                {"field": "p", "type": "nominal", "title": "simulated time"},
                {"field": "v", "type": "quantitative", "title": "across (m)", "format": ",.3f"},
                {"field": "w", "type": "quantitative", "title": "height (m)", "format": ",.3f"},
            ],
        },
    }


def _axis(field: str, ends: tuple[float, float]) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [round(end, 5) for end in ends], "nice": False, "zero": False},
    }
