"""What the library makes of each specification can be read: no text covers another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from hardstone.comparison.figures import compare_figures
from hardstone.report import charts
from hardstone.report.chart_frame import Spec
from hardstone.report.drawing import Drawer, Drawing, render
from hardstone.report.page import figures_of_run
from tests.unit.comparison import compared
from tests.unit.report import matrix, sample
from tests.unit.report.media import no_descriptor
from tests.unit.simulation.tires import whole_sweep

_MOVED = re.compile(r"translate\((-?[0-9.]+)(?:,\s*(-?[0-9.]+))?\)")
_NARROW = 0.45  # of a character, of the size of its font; most are wider


class Box(NamedTuple):
    text: str
    left: float
    right: float
    y: float
    size: float


class Noted(Drawer):
    """Keeps the specifications, and draws nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.specs: list[Spec] = []

    def draw(self, spec: Spec) -> Drawing:
        self.specs.append(spec)
        return super().draw(spec)


@cache
def specs() -> list[Spec]:
    """All charts of some runs and a comparison."""
    drawer = Noted()
    figures_of_run(sample.document(), no_descriptor, drawer)
    figures_of_run(matrix.document(), no_descriptor, drawer)
    figures_of_run(whole_sweep(), no_descriptor, drawer)
    compare_figures(compared.six_systems(), drawer)
    return drawer.specs


def texts(svg: str) -> Iterator[Box]:
    """Each text that lies, where it stands."""

    def of(node: ElementTree.Element, x: float, y: float) -> Iterator[Box]:
        moved = node.get("transform", "")
        if found := _MOVED.search(moved):
            x, y = x + float(found[1]), y + float(found[2] or 0)
        is_seen = node.get("opacity") != "0"  # of labels that would overlap, one is not
        if node.tag.endswith("text") and node.text and is_seen and "rotate" not in moved:
            size = float((node.get("font-size") or "11px").removesuffix("px"))
            wide = len(node.text) * size * _NARROW
            shift = {"end": wide, "middle": wide / 2}.get(node.get("text-anchor", "start"), 0.0)
            yield Box(node.text, x - shift, x - shift + wide, y, size)
        for one in node:
            yield from of(one, x, y)

    yield from of(ElementTree.fromstring(svg), 0.0, 0.0)  # noqa: S314


def covered(svg: str) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other."""
    return [
        (one.text, other.text)
        for one, other in combinations(texts(svg), 2)
        if min(one.right, other.right) - max(one.left, other.left) > 1
        and abs(one.y - other.y) < 0.6 * min(one.size, other.size)
    ]


def row_names(spec: Spec) -> set[str]:
    """The first word of each row of a chart whose rows have a height of their own."""
    panel = spec.get("spec", spec)
    if not isinstance(panel.get("height"), dict):
        return set()
    layers = [one.get("encoding", {}) for one in (panel, *panel.get("layer", []))]
    fields = {one["y"]["field"] for one in layers if "field" in one.get("y", {})}
    return {str(row[key]).split()[0] for row in spec["data"]["values"] for key in fields & {*row}}


def layout(spec: Spec) -> str:
    """The same for charts that differ in their values alone."""
    text = json.dumps({**spec, "data": None}, default=str)
    return re.sub(r"-?[0-9][0-9.e+-]*(, -?[0-9][0-9.e+-]*)*", "0", text)


@pytest.mark.slow
def test_no_text_of_a_chart_covers_another_and_each_row_has_its_name() -> None:
    found = {(layout(one), frozenset(row_names(one))): one for one in specs()}
    assert len(found) > 40 and sum(bool(rows) for _, rows in found) > 10
    for spec in found.values():
        svg = render(spec)
        assert svg.count("<text") > 3
        assert covered(svg) == []
        assert row_names(spec) <= {one.text.split()[0] for one in texts(svg)}


@pytest.mark.slow
def test_labels_that_lie_on_each_other_are_found() -> None:
    assert covered(render(glance(20))) == []
    tight = glance(20)
    tight["height"] = {"step": 5}
    assert covered(render(tight))


def glance(count: int) -> Spec:
    rows = [{"c": f"row {place}", "m": 10.0, "w": 20.0 + place} for place in range(count)]
    return {**charts.glance_chart([]), "data": {"values": rows}}


@pytest.mark.slow
def test_a_glance_of_hundreds_of_results_is_drawn() -> None:
    assert render(glance(400)).count("<text") > 400
