"""IRQ-S-SUS in a report: the steps of the search, and the loss against the period."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.model import Result
from hardstone.present.search_steps import CAPTION, HEADINGS, step_rows
from hardstone.present.wording import shorten
from hardstone.report.charts import loss_chart
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.stats.sustained import Step, steps_of

_TITLE = "Loss by period"
_ABOUT = (
    "Share of the interrupts of each step that were lost. Filled: the period was sustained. "
    "A hollow mark at 0 is a period that the source did not hold."
)
_MOST_SPOKEN = 6


@dataclass(frozen=True)
class SearchPage:
    rows: list[tuple[str, ...]]
    figures: list[Figure]
    caption: str = f"Steps of the search. {CAPTION}"
    headings: tuple[str, ...] = tuple(one.capitalize() for one in HEADINGS)


def search_page(result: Result, anchor: str, drawer: Drawer, *, live: bool) -> SearchPage | None:
    """Table and chart of a result of IRQ-S-SUS; None where it has no step."""
    steps = steps_of([result])
    if not steps:
        return None
    spec = loss_chart.chart(steps)
    figure = Figure(
        id=f"{anchor}-loss",
        title=_TITLE,
        about=_ABOUT,
        alt=shorten(f"{_TITLE}. {_spoken(steps)}", 400),
        drawing=drawer.draw(spec),
        data=data_of(spec, live=live),
    )
    return SearchPage(step_rows([result]), [figure])


def _spoken(steps: list[Step]) -> str:
    shown = [f"{one.source} {one.period_ns} ns: {one.lost} lost" for one in steps[-_MOST_SPOKEN:]]
    return "; ".join(shown)
