"""The statement as charts: two sides beside each other under each condition."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.present.wording import shorten
from hardstone.report.charts import tire_sides_chart
from hardstone.report.charts.tire_frame import MOST_PANELS
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.report.theme import Spec
from hardstone.simulation.tables import StatementText

_SPEED = (
    "Total time of the second side over that of the first at each common point. Above the dashed "
    "line the first side is faster."
)
_HELD = (
    "Largest number of masses without a miss, there and at every smaller number. A triangle to the "
    "right: no miss was found, so the limit lies above. To the left: already the smallest missed."
)


def side_figures(
    found: Sequence[StatementText], name: str, drawer: Drawer, *, live: bool
) -> list[Figure]:
    """Which side is faster, and what each held; none without such figures."""
    shown = [one for one in found if one.statement.speed or one.rows][:MOST_PANELS]
    panels = [shorten(one.title, 60) for one in shown]
    speed = [
        row
        for one, panel in zip(shown, panels, strict=True)
        for row in tire_sides_chart.speed_rows(panel, one.statement)
    ]
    held = [
        row
        for one, panel in zip(shown, panels, strict=True)
        for row in tire_sides_chart.held_rows(panel, one.statement, (one.first, one.second))
    ]
    figures = []
    if speed:
        spoken = " ".join(f"{one.title}: {one.speed}" for one in shown)
        spec = tire_sides_chart.speed_chart(speed)
        figures.append(
            _figure(f"{name}-speed", "Which is faster", _SPEED, spoken, spec, drawer, live)
        )
    if held:
        spoken = "; ".join(
            f"{one.title}, {what}: {one.first} {first}, {one.second} {second}"
            for one in shown
            for what, first, second in one.rows
        )
        spec = tire_sides_chart.held_chart(held)
        title = "Which holds more masses"
        figures.append(_figure(f"{name}-held", title, _HELD, spoken, spec, drawer, live))
    return figures


def _figure(
    name: str, title: str, about: str, spoken: str, spec: Spec, drawer: Drawer, live: bool
) -> Figure:
    return Figure(
        id=name,
        title=title,
        about=about,
        alt=shorten(f"{title}. {spoken}", 600),
        drawing=drawer.draw(spec),
        data=data_of(spec, live=live),
    )
