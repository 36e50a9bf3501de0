"""The opening of a report: its head, the figures that decide, the machine."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardstone.catalogue import load_catalogue
from hardstone.facts import load_facts
from hardstone.model import ChangedFact, Instrument, RunDocument, Scalar
from hardstone.present.answer import Answer, ScreenRow, answer_of, screen_rows, title_of
from hardstone.present.notices import Banner, caveats
from hardstone.present.origin import origin_rows, origin_text
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
from hardstone.report.chart_frame import group
from hardstone.report.drawing import Drawer
from hardstone.report.figures import Figure, figure_of_spec, has_values
from hardstone.report.lead import lead_chart, worst_second_chart
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.stats.consistency import MARK, trust_of
from hardstone.systems.rating import Rating, rate_run
from hardstone.systems.subjects import MeasuredRun
from hardstone.units import format_cost, format_ns
from hardstone.wording import (
    fact_text,
    format_value,
    kernel_of,
    ratio_text,
    shorten,
    steps_text,
    target_text,
)

TIMES = "\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}"
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
    steps: str = ""  # of a coarse clock


def head_of(document: RunDocument) -> Head:
    """The values of the head, as texts."""
    trust = trust_of(document)
    return Head(
        name=document.name or document.id,
        subject=f"{target_text(document)}; {kernel_of(document)}",
        summary=_summary(document),
        banners=caveats(document),
        status=status_text(document),
        trust=_TRUST_WORDS[trust.grade],
        trust_grade=trust.grade,
        trust_reasons=trust.reasons,
        facts=_facts(document),
        steps=steps_text(document.instrument),
    )


def _summary(document: RunDocument) -> str:
    conditions = conditions_text(document)
    if document.imported is not None:
        return f"read from {origin_text(document.imported)}; {conditions}"
    start = moment_text(document.started_utc)
    return f"{start}; profile {document.plan.profile}; {conditions}"


def _facts(document: RunDocument) -> list[tuple[str, str]]:
    imported = document.imported
    if imported is not None:
        found = [(name.capitalize(), text) for name, text in origin_rows(imported)]
        found += [("SHA-256", imported.sha256), ("Read by", f"hardstone {document.tool.version}")]
        return [*found, ("Run", document.id)]
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
            format_cost(found.pair.median, found.quantum_ns),
            format_ns(found.pair.max),
            _ppb(found.drift_ppb) or "-",
        )
        for owner, found in owned
        if found is not None
    ]


def _ppb(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f} ppb"


_HOW = "$how"
_LEAST_WORDS = 4


def short_commands(commands: Sequence[str]) -> list[str]:
    """The same commands for a shell, with the words that all of them end with in a variable. Words
    that need quotes stay where they are."""
    split = [one.split(" ") for one in commands]
    shared: list[str] = []
    for words in zip(*(reversed(one) for one in split), strict=False):
        if len(set(words)) > 1 or shlex.quote(words[0]) != words[0]:
            break
        shared.insert(0, words[0])
    if len(commands) < 2 or len(shared) < _LEAST_WORDS:
        return list(commands)
    # An option stays with its value.
    at = next((place for place, word in enumerate(shared) if word.startswith("--")), len(shared))
    count = len(shared) - at
    tails = [" ".join([*one[: len(one) - count], _HOW]) for one in split]
    return [f"how='{' '.join(shared[at:])}'", *tails]


MOST_DRAWN = 24
_MOST_SPOKEN = 8
_PICTURE_WIDTH, _PICTURE_HEIGHT = 300, 130
_MOST_REASONS = 3
_REASON_CHARACTERS = 60
_CLAIMS = re.compile(r"\d+ claims? failed: ")  # named one by one


@dataclass(frozen=True)
class Step:
    """What to do next; `command` is empty where nothing can be typed."""

    text: str
    command: str


@dataclass(frozen=True)
class RowFigure:
    """A row of the first screen under one condition; `state` says why it has no figure."""

    worst: str
    median: str
    count: str
    about: str
    state: str


@dataclass(frozen=True)
class Row:
    """A row of the first screen. `ratio`: the worst observed in multiples of `reference`; `look`
    is a CSS class, `words` what it means."""

    name: str
    test: str
    anchor: str
    figures: list[RowFigure]
    ratio: str
    look: str
    words: str
    reference: str


@dataclass(frozen=True)
class Picture:
    """The leading figure of a family. `anchor`: the section of its test."""

    family: str
    anchor: str
    figure: Figure


@dataclass(frozen=True)
class Opening:
    """What comes before all that is folded.

    `title` is the machine and the answer; `lead_narrow` is `lead` for a phone. `absent`: the rows
    whose test was not run. `rated`: the stars under each condition, by its name, the headline
    first, with why that one is it. `failed`: those that count for a rating first; `families`:
    (name, text, look). `glance`: every test in one chart.
    """

    title: str
    sentence: str
    grade: str
    worst: str
    cause: str
    steps: list[Step]
    trust: str
    lead: Figure | None
    lead_narrow: Figure | None
    second: Figure | None
    conditions: list[str]
    rows: list[Row]
    absent: list[str]
    rated: list[tuple[str, Rating]]
    headline_reason: str
    failed: list[FailedClaim]
    families: list[tuple[str, str, str]]
    standing_out: list[StandsOut]
    pictures: list[Picture]
    glance: Figure | None
    left_out: int


def opening_of(
    document: RunDocument, drawer: Drawer, anchors: Mapping[int, str], limits: Sequence[int] = ()
) -> Opening:
    """The part of the page that comes before all others. `anchors`: those of the results, by
    identity. `limits`: latencies in ns that the reader chose."""
    by_family = families(document)
    answer = answer_of(document)
    found = timings(document)
    shown = decisive(found, MOST_DRAWN)
    rated, names = _rated(document), names_in(document)
    conditions = conditions_in(document)
    glance = None
    if len({one.test for one in shown}) > 1:
        glance = Figure(
            id="glance-chart",
            title="Median and worst observed of each test",
            about="Tick: median. Point: worst observed, of the series with the highest value.",
            alt=_spoken(shown),
            drawing=drawer.draw(charts.glance_chart(shown)),
        )
    rows = screen_rows(document)
    return Opening(
        title=title_of(document, answer),
        sentence=answer.sentence,
        grade=answer.grade,
        worst=answer.late.place if answer.late else "",
        cause=answer.cause,
        steps=[Step(one.text, one.command) for one in answer.steps],
        trust=_trust_line(document),
        lead=lead_chart(document, answer, drawer, limits=limits),
        lead_narrow=lead_chart(
            document, answer, drawer, limits=limits, is_narrow=True, name="lead-chart-narrow"
        ),
        second=worst_second_chart(answer, drawer),
        conditions=[names.label(one) for one in conditions] if len(conditions) > 1 else [],
        rows=[_row(one, anchors) for one in rows if not _is_absent(one)],
        absent=[one.name for one in rows if _is_absent(one) and document.imported is None],
        rated=[(names.label(run.condition), rating) for run, rating in rated],
        headline_reason=headline_reason(rated) if rated else "",
        failed=answer.failed,
        families=[(one.name, one.text, one.look) for one in by_family],
        standing_out=sorted(
            (one for one in stands_out(document) if not _CLAIMS.match(one.text)),
            key=lambda one: not one.is_grave,
        ),
        pictures=_pictures(rows, answer, drawer, anchors),
        glance=glance,
        left_out=len(found) - len(shown),
    )


def _trust_line(document: RunDocument) -> str:
    """ "Indicative only: virtual machine; no load; and 3 more"."""
    trust = trust_of(document)
    short = [one for one in trust.reasons if len(one) <= _REASON_CHARACTERS] or trust.reasons
    reasons = [shorten(one, _REASON_CHARACTERS) for one in short[:_MOST_REASONS]]
    more = len(trust.reasons) - len(reasons)
    said = "; ".join([*reasons, *([f"and {more} more"] if more else [])])
    return _TRUST_WORDS[trust.grade] + (f": {said}" if said else "")


_LOOKS = {"+": "good", "=": "near", "-": "above", "--": "far"}
_MEANINGS = {
    "+": "at most the reference",
    "=": "up to 3 times the reference",
    "-": "up to 30 times the reference",
    "--": "more than 30 times the reference",
}


def _is_absent(row: ScreenRow) -> bool:
    return all(one is None for one in row.figures) and row.state in ("", "not run")


def _row(row: ScreenRow, anchors: Mapping[int, str]) -> Row:
    figures = [
        RowFigure("", "", "", "", state or "not run")
        if one is None
        else RowFigure(
            worst=one.worst_text + (f" {MARK}" if one.is_contradictory else ""),
            median=one.median_text,
            count=one.count_text,
            about=one.about,
            state="",
        )
        for one, state in zip(row.figures, row.states, strict=True)
    ]
    reference = "" if row.reference is None else f"{row.reference[0]} {format_ns(row.reference[1])}"
    return Row(
        name=row.name,
        test=row.test,
        anchor=anchors.get(id(row.figure.result), "") if row.figure else "",
        figures=figures,
        ratio="" if row.ratio is None else f"{TIMES}{ratio_text(row.ratio)}",
        look=_LOOKS.get(row.mark, ""),
        words=_MEANINGS.get(row.mark, ""),
        reference=reference,
    )


def _pictures(
    rows: Sequence[ScreenRow], answer: Answer, drawer: Drawer, anchors: Mapping[int, str]
) -> list[Picture]:
    """For each family the distribution of its first row with one, but not that of the answer."""
    found: dict[str, Picture] = {}
    for row in rows:
        one = row.figure
        family = load_catalogue().entry(row.test).category
        is_lead = (
            answer.figure is not None and one is not None and one.series is answer.figure.series
        )
        if family in found or one is None or is_lead or not has_values(one.series):
            continue
        lines = group([one.series])
        spec = charts.distribution_chart(lines, "ns", [])
        size = {"width": _PICTURE_WIDTH, "height": _PICTURE_HEIGHT}
        name = f"picture-{len(found) + 1}"
        about = f"worst {one.worst_text}"
        figure = figure_of_spec(
            f"{family.capitalize()}: {row.name}",
            about,
            lines,
            {**spec, **size},
            row.test,
            name,
            drawer,
        )
        found[family] = Picture(family, anchors.get(id(one.result), ""), figure)
    return list(found.values())


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
    rest = f"; and {more} more, all in the list of tests" if more > 0 else ""
    return f"Median and worst observed. {'; '.join(lines)}{rest}."
