"""What each thread of the tire does in a step: reads, computes, writes, waits (Garre, figure 4)."""

from __future__ import annotations

from hardstone.report.charts.frame import Row
from hardstone.report.theme import CONFIG, LABEL_OF_UNIT, PALETTE, WIDTH, Spec, mark
from hardstone.simulation.kept import Block, StepBlocks, ThreadBlocks
from hardstone.units import format_ns

MOST_STEPS = 3
_MOST_ROWS = 36
_ROW_HEIGHT = 15
_FAR = 2.5  # a deadline that is further away than this is not drawn
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

    Time counts from the release of the step, or from the begin of its first thread where steps have
    no release. A line is the deadline, where it is near. `blocks`: with at least one row.
    """
    steps = shown_steps(blocks)
    titles = [_title(step) for step in steps]
    rows = [row for step in steps for row in _panel(blocks, step)]
    end_ns = max([1.0, *(float(row["max"] or 0) for row in rows)]) * 1.03
    deadline_ns = near_deadline_ns(blocks)
    if deadline_ns is not None:
        end_ns = max(end_ns, deadline_ns * 1.03)
        rows += [{"p": title, "t": float(deadline_ns)} for title in titles]
    kinds = [kind for kind in _COLOURS if any(row.get("c") == kind for row in rows)]
    encoding = {
        "x": _time(end_ns, has_release=blocks.period_ns is not None),
        "x2": {"field": "max"},
        "y": _threads([thread_name(row) for row in blocks.rows]),
        "color": _colour(kinds),
        "tooltip": _TIPS,
    }
    panel: Spec = {
        "width": WIDTH,
        "height": {"step": _ROW_HEIGHT},
        "layer": [*_bars(encoding), *(_deadline() if deadline_ns is not None else [])],
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
    count = max(1, min(MOST_STEPS, _MOST_ROWS // max(len(blocks.rows), 1)))
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


def thread_name(row: ThreadBlocks) -> str:
    return f"{row.thread}" if row.cpu is None else f"{row.thread} (CPU {row.cpu})"


def blocks_text(blocks: StepBlocks) -> str:
    """The steps of the chart in words."""
    return "; ".join(_spoken(blocks, step) for step in shown_steps(blocks))


def _spoken(blocks: StepBlocks, step: int) -> str:
    ends = [one.write_ns for row in blocks.rows for one in row.blocks if one.step == step]
    last = format_ns(max(ends) - _start_ns(blocks, step))
    threads = "1 thread" if len(ends) == 1 else f"{len(ends)} threads"
    return f"{_title(step)}: {threads}, the last one ended after {last}"


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
            keys: Row = {"p": _title(step), "y": thread_name(row)}
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


def _time(end_ns: float, *, has_release: bool) -> Spec:
    start = "release of the step" if has_release else "begin of its first thread"
    return {
        "field": "min",
        "type": "quantitative",
        "title": f"time after the {start}",
        "scale": {"domain": [0, end_ns], "nice": False},
        "axis": {"labelExpr": LABEL_OF_UNIT["ns"], "grid": True, "tickCount": 6},
    }


def _threads(names: list[str]) -> Spec:
    """All names: a row is as high as one."""
    axis = {"grid": False, "ticks": False, "labelOverlap": False, "labelPadding": 5}
    return {"field": "y", "type": "nominal", "sort": names, "title": "thread", "axis": axis}


def _colour(kinds: list[str]) -> Spec:
    return {
        "field": "c",
        "type": "nominal",
        "scale": {"domain": kinds, "range": [_COLOURS[kind] for kind in kinds]},
        "legend": {"columns": 5, "symbolType": "square", "symbolSize": 80},
    }


def _bars(encoding: Spec) -> list[Spec]:
    """Waiting is a thin bar, so that it is told apart without colours too."""
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
