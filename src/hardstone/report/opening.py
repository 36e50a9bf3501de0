"""The opening of a report: its head, the figures that decide, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hardstone.facts import load_facts
from hardstone.model import ChangedFact, Instrument, RunDocument, Scalar
from hardstone.present.notices import Banner, caveats
from hardstone.present.overview import (
    FailedClaim,
    StandsOut,
    Timing,
    conditions_text,
    decisive,
    families,
    moment_text,
    stands_out,
    status_text,
    timings,
)
from hardstone.present.stars_text import headline_reason
from hardstone.report import charts
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.stats.consistency import trust_of
from hardstone.systems.rating import Rating, rate_run
from hardstone.systems.subjects import MeasuredRun
from hardstone.units import format_count, format_ns
from hardstone.wording import fact_text, format_value, kernel_text, target_text

_TRUST_WORDS = {
    "full": "Full",
    "indicative": "Indicative only",
    "untrustworthy": "Not trustworthy",
}


@dataclass(frozen=True)
class Head:
    name: str
    subject: str
    summary: str
    banners: list[Banner]
    status: str
    trust: str
    trust_grade: str
    trust_reasons: list[str]
    facts: list[tuple[str, str]]


def head_of(document: RunDocument) -> Head:
    """The values of the head, as texts."""
    trust = trust_of(document)
    return Head(
        name=document.name or document.id,
        subject=f"{target_text(document)}; {kernel_text(document.system)}",
        summary=f"{moment_text(document.started_utc)}; profile {document.plan.profile}; "
        f"{conditions_text(document)}",
        banners=caveats(document),
        status=status_text(document),
        trust=_TRUST_WORDS[trust.grade],
        trust_grade=trust.grade,
        trust_reasons=trust.reasons,
        facts=_facts(document),
    )


def _facts(document: RunDocument) -> list[tuple[str, str]]:
    tool, plan = document.tool, document.plan
    built = ", ".join(part for part in (tool.compiler, tool.libc) if part)
    # Those of the results where the plan has no list.
    conditions = conditions_in(document)
    loads = plan.loads or dict.fromkeys(one.load for one in conditions)
    configs = plan.cpu_configs or dict.fromkeys(one.cpu_config for one in conditions)
    found = [
        ("Target", plan.target),
        ("Node", str(document.system.get("machine.node") or "")),
        ("Profile", plan.profile),
        ("Load", ", ".join(loads) or plan.load),
        ("CPU configuration", ", ".join(configs) or plan.cpu_config),
        ("Started", moment_text(document.started_utc)),
        ("Finished", moment_text(document.finished_utc) or "not finished"),
        ("hardstone", tool.version),
        ("Probe", " ".join(part for part in (tool.probe_version, built and f"({built})") if part)),
        ("Probe SHA-256", (tool.probe_sha256 or "")[:16]),
        ("Run", document.id),
    ]
    return [(name, value) for name, value in found if value]


def fact_groups(system: Mapping[str, Scalar]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Facts (name, value, meaning) grouped by the part before the first dot, in order of arrival.
    The meaning is empty if the register does not have the fact."""
    known = load_facts()
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, value in system.items():
        topic, dot, rest = name.partition(".")
        group = groups.setdefault(topic if dot else "other", [])
        meaning = known[name].meaning if name in known else ""
        group.append((rest if dot else topic, fact_text(value), meaning))
    return list(groups.items())


def changed_rows(changed: list[ChangedFact]) -> list[tuple[str, str, str]]:
    """Facts that differed at the end: (name, before, after)."""
    return [(one.fact, fact_text(one.before), fact_text(one.after)) for one in changed]


def instrument_rows(instrument: Instrument) -> list[tuple[str, str]]:
    """What the probe measured about its own clock."""
    reason = f" ({instrument.reason})" if instrument.reason else ""
    found = [
        ("Clock", instrument.clock),
        ("Counter trusted", ("yes" if instrument.trusted else "no") + reason),
        (
            "Counter frequency",
            (f"{instrument.counter_hz / 1e6:.6f} MHz" if instrument.counter_hz else ""),
        ),
        ("Calibration, spread of anchors", _ppb(instrument.calibration_ppb)),
        ("Drift from start to end", _ppb(instrument.drift_ppb)),
        ("Quantum (smallest step)", f"{instrument.quantum_ns:.4g} ns"),
        ("Cost of recording a value", f"{instrument.record_step_ns:.3g} ns"),
        ("Perturbation (loop with and without)", f"{instrument.perturbation_ns:.3g} ns"),
    ]
    return [(name, value) for name, value in found if value]


def skew_rows(instrument: Instrument) -> list[tuple[str, str, str, str]]:
    """Offset between counters: (CPUs, offset, bound, whether the interval contains 0)."""
    return [
        (
            f"{skew.cpu_a} to {skew.cpu_b}",
            f"{skew.offset_ns:.1f} ns",
            f"+-{skew.bound_ns:.1f} ns",
            "consistent" if skew.consistent else "INCONSISTENT: cross-CPU figures are invalid",
        )
        for skew in instrument.skew
    ]


def pair_rows(document: RunDocument) -> list[tuple[str, ...]]:
    """Cost of an empty pair of time stamps, for the run and for each test."""
    owned = [("whole run", document.instrument)]
    names = names_in(document)
    owned += [(names.name(result), result.instrument) for result in document.results]
    return [
        (
            owner,
            found.clock,
            format_ns(found.pair.median),
            format_ns(found.pair.min),
            format_ns(found.pair.mean),
            format_ns(found.pair.p99),
            format_ns(found.pair.max),
            format_count(found.pair.count),
            _ppb(found.drift_ppb) or "-",
        )
        for owner, found in owned
        if found is not None
    ]


def _ppb(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} ppb"


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


def opening_of(document: RunDocument, drawer: Drawer) -> Opening:
    """The part of the page that comes before all others."""
    by_family = families(document)
    claims = [claim for family in by_family for claim in family.failed]
    found = timings(document)
    shown = decisive(found, MOST_DRAWN)
    rated, names = _rated(document), names_in(document)
    figure = None
    if shown:
        figure = Figure(
            id="glance-chart",
            title="Median and worst observed of each test",
            about="Tick: median. Point: worst observed, of the series with the highest value.",
            alt=_spoken(shown),
            drawing=drawer.draw(charts.glance_chart(shown)),
        )
    return Opening(
        rated=[(names.label(run.condition), rating) for run, rating in rated],
        headline_reason=headline_reason(rated) if rated else "",
        failed=sorted(claims, key=lambda one: bool(one.uncounted)),
        families=[(one.name, one.text, one.look) for one in by_family],
        standing_out=stands_out(document),
        figure=figure,
        left_out=len(found) - len(shown),
    )


def _rated(document: RunDocument) -> list[tuple[MeasuredRun, Rating]]:
    """The ratings, or none: points of a sweep measure how large a simulation may be."""
    rated = [] if document.plan.sweep is not None else rate_run(document)
    is_any = any(one.stars is not None for _, rating in rated for one in rating.categories)
    return rated if is_any else []


def _spoken(shown: list[Timing]) -> str:
    """The figures of the chart as text, for screen readers."""
    lines = [
        f"{name}: median {format_value(one.median_ns, 'ns')}, worst observed "
        f"{format_value(one.worst_ns, 'ns')}"
        for one, name in list(zip(shown, charts.names_of(shown), strict=True))[:_MOST_SPOKEN]
    ]
    more = len(shown) - len(lines)
    rest = f"; and {more} more, all in the table of key findings" if more > 0 else ""
    return f"Median and worst observed. {'; '.join(lines)}{rest}."
