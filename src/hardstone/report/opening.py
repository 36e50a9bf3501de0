"""The opening of a report: what the terminal shows on one screen, with a figure."""

from __future__ import annotations

from dataclasses import dataclass

from hardstone.model import RunDocument
from hardstone.present.overview import (
    FailedClaim,
    StandsOut,
    Timing,
    decisive,
    families,
    stands_out,
    timings,
)
from hardstone.present.stars_text import headline_reason
from hardstone.present.wording import format_value
from hardstone.report.charts import glance
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, data_of
from hardstone.stats.conditions import names_in
from hardstone.systems.rating import Rating, rate_run
from hardstone.systems.subjects import MeasuredRun

MOST_DRAWN = 24
_MOST_SPOKEN = 8


@dataclass(frozen=True)
class Opening:
    """`rated`: the stars under each condition, by its name, the headline first, with why that one
    is it. `failed`: those that count for a rating first; `families`: (name, text, look)."""

    rated: list[tuple[str, Rating]]
    headline_reason: str
    failed: list[FailedClaim]
    families: list[tuple[str, str, str]]
    standing_out: list[StandsOut]
    figure: Figure | None
    left_out: int


def opening_of(document: RunDocument, drawer: Drawer, *, live: bool) -> Opening:
    """The part of the page that comes before all others."""
    by_family = families(document)
    claims = [claim for family in by_family for claim in family.failed]
    found = timings(document)
    shown = decisive(found, MOST_DRAWN)
    rated, names = _rated(document), names_in(document)
    return Opening(
        rated=[(names.label(run.condition), rating) for run, rating in rated],
        headline_reason=headline_reason(rated) if rated else "",
        failed=sorted(claims, key=lambda one: bool(one.uncounted)),
        families=[(one.name, one.text, one.look) for one in by_family],
        standing_out=stands_out(document),
        figure=_figure(shown, drawer, live=live) if shown else None,
        left_out=len(found) - len(shown),
    )


def _rated(document: RunDocument) -> list[tuple[MeasuredRun, Rating]]:
    """None where nothing is rated: points of a sweep measure how large a simulation may be."""
    rated = [] if document.plan.sweep is not None else rate_run(document)
    is_any = any(one.stars is not None for _, rating in rated for one in rating.categories)
    return rated if is_any else []


def _figure(shown: list[Timing], drawer: Drawer, *, live: bool) -> Figure:
    spec = glance.chart(shown)
    return Figure(
        id="glance-chart",
        title="Median and worst observed of each test",
        about="Tick: median. Point: worst observed, of the series with the highest value.",
        alt=_spoken(shown),
        drawing=drawer.draw(spec),
        data=data_of(spec, live=live),
    )


def _spoken(shown: list[Timing]) -> str:
    """The figures of the chart as text, for screen readers."""
    told = [
        f"{name}: median {format_value(one.median_ns, 'ns')}, worst observed "
        f"{format_value(one.worst_ns, 'ns')}"
        for one, name in list(zip(shown, glance.names_of(shown), strict=True))[:_MOST_SPOKEN]
    ]
    more = len(shown) - len(told)
    rest = f"; and {more} more, all in the table of key findings" if more > 0 else ""
    return f"Median and worst observed. {'; '.join(told)}{rest}."
