"""The report of one run as a self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hardstone.event_names import POSIX_TEST, TIRE_TESTS
from hardstone.model import Descriptor, Histogram, Result, RunDocument, Series
from hardstone.present import overview
from hardstone.present.deadlines import decisive_projection
from hardstone.present.measured_tables import load_table
from hardstone.present.notices import has_idle_remarks
from hardstone.present.origin import loss_texts, unknown_rows, unknown_text
from hardstone.present.why_late import NOTE
from hardstone.report import opening
from hardstone.report.drawing import Drawer, helpers_for
from hardstone.report.figures import CHART_CONFIG, MOST_CHARTS, Figure, charts_each
from hardstone.report.literature import PublishedFigures
from hardstone.report.opening import head_of, opening_of
from hardstone.report.page_frame import environment, head_parts, load_bundle, write_page
from hardstone.report.results import (
    Section,
    Settings,
    SpecLookup,
    is_shown,
    section_of,
    shared_of,
    without_shared,
    worst_each,
)
from hardstone.report.sheet import figures_in
from hardstone.report.side_by_side import condition_chart_count, side_tables
from hardstone.report.tables import MOST_ROWS, NARROW_PERCENT
from hardstone.stats.conditions import (
    Comparison,
    comparisons_in,
    listed_results,
    names_in,
    sweep_points,
)
from hardstone.stats.identity import DEFAULT_LAYOUT, histogram_problem
from hardstone.stats.quantiles import PATH_NOT_TAKEN, deepest_of
from hardstone.stats.trust import lacks
from hardstone.systems.subjects import why_run_apart
from hardstone.wording import shorten

if TYPE_CHECKING:
    from hardstone.simulation.page import TirePage


_BRIEF = 2  # results that are not folded


def with_readable_histograms(document: RunDocument) -> RunDocument:
    """`document` with an empty histogram in the place of each unreadable one.

    Nothing else changes, so a report still shows count, extremes and worst values.
    """
    results = [
        msgspec.structs.replace(result, series=[_readable(one) for one in result.series])
        for result in document.results
    ]
    return msgspec.structs.replace(document, results=results)


def _readable(series: Series) -> Series:
    if histogram_problem(series.histogram) is None:
        return series
    return msgspec.structs.replace(series, histogram=Histogram(layout=DEFAULT_LAYOUT, buckets=[]))


def _no_spec(_test: str) -> Descriptor | None:
    return None


def render_html(
    document: RunDocument,
    spec_lookup: SpecLookup = _no_spec,
    *,
    bundle: Callable[[], str | None] = load_bundle,
    drawer: Drawer | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> str:
    """The report of `document` as HTML text.

    `spec_lookup` returns the descriptor of a test ID; if None, the page shows the ID alone.
    `bundle` returns the scripts for interactive charts; if None, charts are static. `drawer`
    is one that was started earlier. `limits`: the latencies, in ns, above which the pages of
    TMR-P-LAT count. `beside`: another run, whose tire stands beside that of this one. The top of
    the page names contradictory series.
    """
    script = bundle()
    with nullcontext(drawer) if drawer else Drawer(helpers_for(document)) as drawing:
        drawing.has_scripts = script is not None
        tire = _tire(document, drawing, beside)
        context = _context(document, spec_lookup, drawing, limits)
        context["tire"] = tire
        page = environment().get_template("report.html.j2")
        folds = [] if script is None else ["folds.js"]
        return page.render(**context, **head_parts(script, scripts=folds))


def figures_of_run(
    document: RunDocument,
    spec_lookup: SpecLookup,
    drawer: Drawer,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> list[Figure]:
    """The charts of the page of `document`; the arguments are those of `render_html`."""
    drawer.has_scripts = False
    context = _context(document, spec_lookup, drawer, limits)
    return list(figures_in([context, _tire(document, drawer, beside)]))


def write_html(
    document: RunDocument,
    path: Path,
    spec_lookup: SpecLookup = _no_spec,
    *,
    bundle: Callable[[], str | None] = load_bundle,
    drawer: Drawer | None = None,
    limits: Sequence[int] = (),
    beside: RunDocument | None = None,
) -> None:
    """Writes the report to `path` atomically, following symbolic links.

    InputError if `path` exists and is not a regular file; raises OSError.
    """
    write_page(
        path,
        lambda: render_html(
            document, spec_lookup, bundle=bundle, drawer=drawer, limits=limits, beside=beside
        ),
    )


def _tire(document: RunDocument, drawer: Drawer, other: RunDocument | None) -> TirePage | None:
    if not any(one.test in TIRE_TESTS for one in document.results):
        return None
    from hardstone.simulation.page import tire_page

    return tire_page(document, drawer, other=other)


def _features(document: RunDocument) -> dict[str, Any]:
    """Tables of tests that have their own; only what a run needs is loaded."""
    found: dict[str, Any] = {"preemption": [], "posix": []}
    if len(document.plan.preemption_models) > 1:
        from hardstone.preemption.tables import pairs_in

        found["preemption"] = pairs_in(document)
    if any(one.test == POSIX_TEST for one in document.results):
        from hardstone.posix.tables import posix_tables

        found["posix"] = posix_tables(document)
    return found


def _context(
    document: RunDocument,
    lookup: SpecLookup,
    drawer: Drawer,
    limits: Sequence[int],
) -> dict[str, Any]:
    head = head_of(document)
    document = with_readable_histograms(document)
    results = listed_results(document)
    compared = comparisons_in(document)
    settings = settings_of(document, lookup, drawer, limits, compared)
    anchors = {id(one): f"result-{number}" for number, one in enumerate(results, 1)}
    shown = {id(one): anchors[id(one)] for one in results if is_shown(one)}
    tables = side_tables(compared, shown, settings.names, settings)
    sections = [section_of(one, anchors[id(one)], settings) for one in results]
    shared = shared_of(sections)
    instrument = document.instrument
    return {
        "head": head,
        "opening": opening_of(document, drawer, anchors, limits),
        "side_tables": tables,
        **_features(document),
        "is_sweep": bool(sweep_points(document)),
        "posix_anchors": _only_anchors(results, shown),
        "condition_count": len(compared[0].conditions) if compared else 1,
        "legend": list(settings.names.legend().items()),
        "loads": load_table(document),
        "path_not_taken": PATH_NOT_TAKEN,
        "run_id": document.id,
        "late_note": NOTE,
        "most_rows": MOST_ROWS,
        "narrow_percent": NARROW_PERCENT,
        "is_brief": len(sections) <= _BRIEF,
        "fact_count": len(document.system),
        "is_timed": any(one.finding is not None for one in sections),
        "shared": shared,
        "families": _by_family([without_shared(one, shared) for one in sections]),
        "chart_config": CHART_CONFIG if drawer.has_scripts else None,
        "instrument": opening.instrument_rows(instrument) if instrument else [],
        "skew": opening.skew_rows(instrument) if instrument else [],
        "pairs": opening.pair_rows(document),
        "fact_groups": opening.fact_groups(document.system),
        "changed": opening.changed_rows(document.environment_moved),
        "advice": document.advice,
        "imported": _imported(document),
        "command": overview.run_command(document.plan),
        "commands": opening.short_commands(overview.test_commands(document)),
    }


def _imported(document: RunDocument) -> dict[str, Any] | None:
    """What the file of another tool does not say, and what of it is not known."""
    imported = document.imported
    if imported is None:
        return None
    return {
        "losses": loss_texts(imported),
        "unknown": unknown_rows(imported),
        "unknown_text": unknown_text(imported),
    }


def _only_anchors(results: list[Result], shown: Mapping[int, str]) -> dict[str, str]:
    """The anchor of each test that has one result with a section."""
    counts = Counter(one.test for one in results)
    alone = (one for one in results if counts[one.test] == 1)
    return {one.test: shown[id(one)] for one in alone if id(one) in shown}


def settings_of(
    document: RunDocument,
    lookup: SpecLookup,
    drawer: Drawer,
    limits: Sequence[int],
    compared: list[Comparison],
) -> Settings:
    """What all sections of a report of `document` share."""
    results = listed_results(document)
    return Settings(
        lookup=lookup,
        drawer=drawer,
        deepest=deepest_of(document.plan.profile),
        # With several conditions most charts are at the top of the page.
        charts_each=charts_each(results, MOST_CHARTS - condition_chart_count(compared)),
        names=names_in(document),
        instrument=document.instrument,
        run_id=document.id,
        is_imported=document.imported is not None,
        has_idle_remarks=has_idle_remarks(document),
        lacks_values=lacks(document, "values"),
        worst_each=worst_each(results),
        limits=limits,
        watched_ns=document.plan.watched_ns,
        projected=partial(decisive_projection, document=document),
        published=PublishedFigures(document),
        preemption=str(document.system.get("kernel.preemption") or ""),
        why_not_comparable=shorten(why_run_apart(document), 220) or None,
    )


def _by_family(sections: list[Section]) -> list[tuple[str, list[Section]]]:
    """The sections of each category, in the order of their first one."""
    found: dict[str, list[Section]] = {}
    for one in sections:
        found.setdefault(one.family, []).append(one)
    return list(found.items())
