"""The picture of a watching loop's gaps."""

from __future__ import annotations

from hardstone.model import Result
from hardstone.present.noise_table import noise_line
from hardstone.present.wording import shorten
from hardstone.report.charts import phase_chart
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.stats.noise import MOST_POINTS, gap_points
from hardstone.units import format_count


def noise_figures(result: Result, anchor: str, drawer: Drawer, *, live: bool) -> list[Figure]:
    """One chart; none without gaps, or where several recordings make one result."""
    points = gap_points(result)
    if not points:
        return []
    noise = result.noise[0]
    has_tick = noise.tick_period_ns is not None
    spec = phase_chart.chart(points, has_tick=has_tick)
    about = "Each gap by its length" + (" and the phase of the tick." if has_tick else " and time.")
    if noise.merged_count > MOST_POINTS:
        about += f" The longest, and some of the other {format_count(noise.merged_count)}."
    return [
        Figure(
            id=f"{anchor}-phase",
            title="Gaps and the tick",
            about=about,
            alt=f"Gaps by phase, {shorten(result.test)}. {noise_line(result)}.",
            drawing=drawer.draw(spec),
            data=data_of(spec, live=live),
        )
    ]
