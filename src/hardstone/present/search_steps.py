"""The steps of IRQ-S-SUS in words, for terminal and page alike."""

from __future__ import annotations

from collections.abc import Sequence

from hardstone.model import Result
from hardstone.stats.sustained import Step, steps_of
from hardstone.units import format_count, format_ns, format_span
from hardstone.wording import shorten

CAPTION = (
    "Late: not served before the next interrupt was due. Merged: came within another interruption."
)
HEADINGS = ("source", "period", "interrupts", "lost", "late", "merged", "sustained")


def step_line(step: Step, left_ns: int | None) -> str:
    """One finished step; with the time that is left."""
    counts = f"{format_count(step.lost)} lost of {format_count(step.interrupts)}"
    left = "" if left_ns is None else f"; about {format_span(left_ns)} left"
    return (
        f"{shorten(step.source, 20)}, {format_ns(step.period_ns)}: {counts}, {verdict(step)}{left}"
    )


def verdict(step: Step) -> str:
    """Whether the period was sustained; a source that did not hold it is told apart."""
    if step.passed:
        return "sustained"
    return "not held by the source" if step.is_source_limited and not step.lost else "not sustained"


def step_rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """Cells of each step as in HEADINGS, by source in the order of time and by falling period."""
    steps = steps_of(results)
    sources = list(dict.fromkeys(step.source for step in steps))
    steps.sort(key=lambda step: (sources.index(step.source), -step.period_ns))
    return [
        (
            shorten(step.source, 20),
            format_ns(step.period_ns),
            format_count(step.interrupts),
            format_count(step.lost),
            format_count(step.late),
            format_count(step.merged),
            "yes" if step.passed else _why_not(step),
        )
        for step in steps
    ]


def _why_not(step: Step) -> str:
    return "no" if step.lost or not step.is_source_limited else "not by the source"
