"""`--why`: where each star comes from, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import IO

from rich.console import Console
from rich.text import Text

from hardstone.figure_text import amount_text
from hardstone.present.stars_text import (
    category_number,
    certain_stars,
    headline_reason,
    score_text,
    stars_glyphs,
    stars_text,
)
from hardstone.stats.conditions import listed
from hardstone.systems.criteria import load_criteria, special_attention
from hardstone.systems.rating import CategoryRating, RatedFigure, Rating, overall_caps
from hardstone.systems.subjects import MeasuredRun, PublishedSystem
from hardstone.terminal.console import make_console
from hardstone.wording import format_value, one_line

_PAGE = "docs/method/rating.md"
_LABEL = 11
_ROLES = {"worst": "worst", "mean": "mean", "uncontended": "mean"}


def print_why(rated: Sequence[tuple[MeasuredRun, Rating]], stream: IO[str] | None = None) -> None:
    """Every condition of a run, the headline first."""
    console = make_console(stream)
    reason = headline_reason(list(rated))
    for number, (run, rating) in enumerate(rated):
        load, config = run.condition.load, run.condition.cpu_config
        name = one_line(f"{run.id} {run.document.name}, load {load}, CPUs {config}")
        title = f"{name} (headline: {reason})" if reason and not number else name
        taken = special_attention(run)
        _print_rating(console, title, rating, f" ({'; '.join(taken)})" if taken else "")


def print_published_why(system: PublishedSystem, rating: Rating) -> None:
    """A published system."""
    title = f"{system.id} {system.label}, {system.study.reading.short}"
    _print_rating(make_console(), title, rating, "")


def _print_rating(console: Console, title: str, rating: Rating, taken: str) -> None:
    _print_wrapped(console, "", title, "bold")
    _print_wrapped(console, "stars", stars_text(rating), "bold")
    if rating.study_stars is not None:
        _print_wrapped(console, "the study", f"gave {rating.study_stars:g}")
    if rating.score is not None:
        for label, text in _overall_lines(rating, taken):
            _print_wrapped(console, label, text)
        if rating.next_half:
            _print_wrapped(console, "half more", rating.next_half)
    _print_wrapped(console, "formula", f"{rating.formula}, see {_PAGE}")
    for one in rating.categories:
        console.print()
        _print_category(console, one)
    console.print()


def _overall_lines(rating: Rating, taken: str) -> Iterator[tuple[str, str]]:
    """The sum that the overall rating is, and every bound, whether it holds it down or not."""
    calibrated = [one for one in rating.categories if one.is_calibrated]
    weights = {name: one.weight for name, one in load_criteria().categories.items()}
    parts = [f"{weights[one.category]} x {one.score:.2f}" for one in calibrated]
    total = sum(weights.values())
    mean = sum(weights[one.category] * (one.score or 0.0) for one in calibrated) / total
    names = ", ".join(one.category for one in calibrated)
    yield "mean", f"of {names}: ({' + '.join(parts)}) / {total} = {mean:.2f}"
    for cap in overall_caps(rating.categories, rating.configuration):
        word = "holds it down" if cap.score < mean else "does not bind"
        more = taken if cap.text.startswith("configuration") else ""
        yield "bound", f"{cap.score:.2f}, which {word}: {cap.text}{more}"


def _print_category(console: Console, rating: CategoryRating) -> None:
    counts = load_criteria().categories[rating.category].weight
    how = f"counts {counts} of {sum(one.weight for one in load_criteria().categories.values())}"
    kind = how if rating.is_calibrated else "not calibrated"
    _print_wrapped(console, "", f"{rating.category}{_head(rating)}{kind})", "bold")
    for figure in rating.figures:
        is_decisive = figure is rating.decisive
        _print_figure(console, figure, is_decisive=is_decisive)
    if rating.decisive is not None:
        _print_wrapped(console, "source", rating.decisive.amount.source)
    for text in _grouped(rating.failed):
        _print_wrapped(console, "fails", f"{text}, so at most {load_criteria().category_cap:g}")
    if rating.why_no_stars:
        _print_wrapped(console, "why none", rating.why_no_stars)
    for text in rating.missing:
        _print_wrapped(console, "missing", text)
    if rating.next_half:
        _print_wrapped(console, "half more", rating.next_half)


def _head(rating: CategoryRating) -> str:
    if rating.why_no_stars:
        return ": not rated ("
    if rating.stars is None or rating.score is None:
        what = "only stand-ins are known" if rating.has_stand_ins else "no worst figure is known"
        return f": no stars, {what} ("
    drawn = stars_glyphs(certain_stars(rating.stars, rating.lowest_stars))
    score = f"{rating.score:.2f}"
    if rating.lowest_stars is not None:
        score = f"{rating.lowest_score:.2f} to {score}"
    return f" {drawn} {category_number(rating)} (score {score}, "


def _print_figure(console: Console, figure: RatedFigure, *, is_decisive: bool) -> None:
    """Role, address, value, score; the decisive one is marked, and what stands in says so."""
    factor = load_criteria().factor(figure.role)
    value = amount_text(figure.amount)
    times = f" x {factor}" if factor > 1 else ""
    beyond = f" beyond {format_value(figure.block_ns, 'ns')}" if figure.block_ns else ""
    scored = f"{value}{beyond}{times} -> {score_text(figure)}"
    mark = ", decides" if is_decisive else ""
    style = "bold" if is_decisive else ""
    told = dict.fromkeys((figure.instead, figure.why_range, *figure.amount.notes))
    notes = "; ".join(filter(None, told))
    text = f"{figure.address} {scored}{mark}" + (f" ({notes})" if notes else "")
    _print_wrapped(console, _ROLES[figure.role], text, style)


def _grouped(failed: Sequence[str]) -> list[str]:
    """One text for all cases of a claim: "SEM-B-REL mixed (sysv/thread, sysv/process)"."""
    cases: dict[str, list[str]] = {}
    for one in failed:
        name, _, case = one.partition("/")
        cases.setdefault(name, []).append(case)
    return [
        f"{name} ({listed(filter(None, found))})" if any(found) else name
        for name, found in cases.items()
    ]


def _print_wrapped(console: Console, label: str, text: str, style: str = "") -> None:
    indent = f"  {label:{_LABEL}}" if label else ""
    lines = textwrap.wrap(one_line(text), console.width - len(indent), break_on_hyphens=False) or [
        ""
    ]
    for number, line in enumerate(lines):
        start = indent if not number else " " * len(indent)
        console.print(Text(start) + Text(line, style=style), soft_wrap=True)
