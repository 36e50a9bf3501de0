"""The hard map as characters: a line for each number of threads, a column for each n measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.tire_words import CurveNames, steps_text
from hardstone.stats.tire_bound import Cell, Panel, bounds_of, maps_of
from hardstone.stats.tire_points import Point
from hardstone.units import format_count

MOST_COLUMNS = 60
MOST_LINES = 16
MISSED, HELD, NOT_COUNTED, NOT_MEASURED = "\u25cf", "\u00b7", "?", " "
PLAIN = {MISSED: "#", HELD: "."}
_LEGEND = "{missed} missed, {held} none missed, ? not counted; a column for each n measured"


@dataclass(frozen=True)
class MapText:
    """`lines` are (threads, marks); `ends` are the smallest and the largest number of masses."""

    title: str
    ends: tuple[str, str]
    lines: list[tuple[str, str]]
    left_out: int


def legend(*, is_plain: bool) -> str:
    missed, held = (PLAIN[MISSED], PLAIN[HELD]) if is_plain else (MISSED, HELD)
    return _LEGEND.format(missed=missed, held=held)


def map_texts(
    document: RunDocument, points: Sequence[Point], columns: int = MOST_COLUMNS
) -> list[MapText]:
    """One map for each solver, policy and condition with several numbers of masses."""
    names = CurveNames(document)
    panels = maps_of(bounds_of(points))
    return [_text(panel, names, columns) for panel in panels if len(panel.masses) > 1]


def _text(panel: Panel, names: CurveNames, columns: int) -> MapText:
    masses = panel.masses
    threads = panel.threads
    each = -(-len(masses) // max(columns, 1))
    groups = [masses[at : at + each] for at in range(0, len(masses), each)]
    by_place = {(one.curve.threads, one.masses): one for one in panel.cells}
    lines = [
        (
            format_count(count),
            "".join(
                _mark([by_place[count, n] for n in group if (count, n) in by_place])
                for group in groups
            ).rstrip(),
        )
        for count in threads[:MOST_LINES]
    ]
    return MapText(
        title=f"{names.panel(panel.key)}, {steps_text(panel.key)}",
        ends=(format_count(masses[0]), format_count(masses[-1])),
        lines=lines,
        left_out=len(threads) - len(lines),
    )


def _mark(cells: Sequence[Cell]) -> str:
    """Of several cells the worst one."""
    if not cells:
        return NOT_MEASURED
    if any(one.has_missed for one in cells):
        return MISSED
    return HELD if all(one.has_held for one in cells) else NOT_COUNTED
