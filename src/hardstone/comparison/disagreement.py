"""Why tools show different figures: rules, each of which says in one sentence what differs between
the systems of a comparison and which way that moves a figure, with its evidence.

The facts behind the rules are those of docs/how-to/coming-from-other-tools.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hardstone.comparison.tools import (
    HELD,
    LEFT,
    LINUX,
    Measured,
    Questions,
    has_distribution,
    tool_of,
)
from hardstone.comparison.view import Disagreement
from hardstone.stats.conditions import NOT_KNOWN, listed
from hardstone.stats.consistency import UNLIKE_COUNTS
from hardstone.stats.identity import step_of as value_step_of
from hardstone.stats.trust import lacks
from hardstone.systems.moments import QUESTIONS
from hardstone.systems.subjects import Amount
from hardstone.units import format_count, format_ns
from hardstone.wording import numbers_text, shorten

MOST_REASONS = 5
_CHARACTERS = 60
_COARSE = 0.01  # of a median: steps below do not show in it


def disagreements(questions: Questions) -> list[Disagreement]:
    """At most MOST_REASONS, the most telling first. `questions` has the figure of each system for
    each question that any of them answers."""
    found = _Found(questions)
    texts = [Disagreement(name, text) for name, rule in _RULES for text in rule(found)]
    return texts[:MOST_REASONS]


@dataclass(frozen=True)
class _Found:
    questions: Questions

    @property
    def shared(self) -> dict[str, list[Measured]]:
        """The systems of each question that two or more answer."""
        known = {
            name: [one for one in found if one is not None]
            for name, found in self.questions.items()
        }
        return {name: found for name, found in known.items() if len(found) > 1}

    @property
    def compared(self) -> list[Measured]:
        """One figure of each system that answers a shared question."""
        first: dict[int, Measured] = {}
        for found in self.shared.values():
            for one in found:
                first.setdefault(one.column.number, one)
        return [first[number] for number in sorted(first)]


def _moments(found: _Found) -> Iterator[str]:
    """Who measures between other moments than the rest."""
    for question, measured in found.shared.items():
        ends: dict[str, list[Measured]] = {}
        for one in measured:
            text = one.moments.differs or one.moments.end
            ends.setdefault(text, []).append(one)
        if len(ends) > 1:
            ordered = sorted(ends.items(), key=lambda of: not of[1][0].moments.differs)
            texts = [f"{_named(ones)}: {text}" for text, ones in ordered]
            yield f"Other moments, {QUESTIONS[question]}: {'; '.join(texts)}."


def _questions(found: _Found) -> Iterator[str]:
    """Who answers only questions that no other system answers."""
    shared = {one.column.number for one in found.compared}
    alone: dict[int, list[Measured]] = {}
    for measured in found.questions.values():
        for one in measured:
            if one is not None and one.column.number not in shared:
                alone.setdefault(one.column.number, []).append(one)
    if alone:
        texts = [
            f"{_named(ones[:1])} measures {listed(QUESTIONS[one.question] for one in ones)}"
            for ones in alone.values()
        ]
        yield f"Other questions: {'; '.join(texts)}. No other system has a figure of that."


def _systems(found: _Found) -> Iterator[str]:
    """Whether all figures are of one machine and kernel."""
    values = {name: _by_value(found.compared, name) for name in ("machine", "kernel")}
    texts = [
        f"{name} {_listed(of)}" for name, of in values.items() if len(of) > 1 or NOT_KNOWN in of
    ]
    if texts:
        is_other = any(len(of.keys() - {NOT_KNOWN}) > 1 for of in values.values())
        what = "Other systems" if is_other else "Perhaps other systems"
        yield f"{what}: {'; '.join(texts)}. What differs may be the system and not the tool."


def _cores(found: _Found) -> Iterator[str]:
    """Threads that a co-kernel schedules, compared with those of Linux."""
    values = _by_value(found.compared, "scheduled by")
    values.pop(NOT_KNOWN, None)
    if len(values) > 1:
        cores = [
            f"{core} schedules {_named(ones)}" for core, ones in values.items() if core != LINUX
        ]
        rest = f", {LINUX} the others" if LINUX in values else ""
        yield (
            f"Another scheduler: {', '.join(cores)}{rest}. That is a difference of systems, and "
            "not of tools."
        )


def _idle(found: _Found) -> Iterator[str]:
    """Whether some held idle states off while others did not."""
    values = _by_value(found.compared, "idle states")
    held = values.pop(HELD, [])
    values.pop(NOT_KNOWN, None)
    if held and values:
        others = [
            f"{_named(ones)} {'left them as they are' if text == LEFT else f'allowed {text}'}"
            f"{_by_default(ones)}"
            for text, ones in values.items()
        ]
        yield (
            f"Idle states: {_named(held)} held them off{_by_default(held)}, {', '.join(others)}. A "
            "CPU that has to leave a deep idle state first wakes up later."
        )


def _by_default(found: Sequence[Measured]) -> str:
    """What of it is the habit of a tool whose file does not say it."""
    habit = [one for one in found if one.is_idle_by_default]
    if not habit:
        return ""
    numbers = numbers_text(one.column.number for one in habit)
    return " (by default)" if len(habit) == len(found) else f" ({numbers} by default)"


_CONDITIONS = ("interval", "policy", "priority", "load")


def _conditions(found: _Found) -> Iterator[str]:
    """Interval, scheduling and load, where they differ or some files do not say."""
    texts = []
    for name in _CONDITIONS:
        values = _by_value(found.compared, name)
        if len(values) > 1:
            texts.append(f"{name} {_listed(values)}")
    if texts:
        yield f"Other conditions: {'; '.join(texts)}."


def _resolution(found: _Found) -> Iterator[str]:
    """Steps that are coarse beside the median, and files without a distribution."""
    coarse = []
    for one in found.compared:
        usual = _median(one)
        if one.step_ns and usual and one.step_ns > _COARSE * usual:
            coarse.append(
                f"{_named([one])} has steps of {format_ns(one.step_ns)}, "
                f"{100 * min(one.step_ns / usual, 1):.0f} % of its median"
            )
    without = [
        one
        for one in found.compared
        if one.series.series is not None and not has_distribution(one.series.series)
    ]
    if without:
        coarse.append(f"without a distribution, so without a median: {_named(without)}")
    if coarse:
        yield f"Resolution: {'; '.join(coarse)}."


def _median(one: Measured) -> float | None:
    amount = one.series.amount("p50")
    return amount.lowest if isinstance(amount, Amount) else None


def _left_out(found: _Found) -> Iterator[str]:
    """Histograms that end below the largest value."""
    texts = []
    for one in found.compared:
        series = one.series.series
        if series is None or not has_distribution(series):
            continue
        if series.histogram.is_cut is True:
            texts.append(f"{_named([one])} dropped the values above its last bucket")
        elif series.histogram.overflow:
            beyond, every = map(format_count, (series.histogram.overflow, series.count))
            texts.append(f"{_named([one])} has {beyond} of {every} values above its last bucket")
    if texts:
        yield f"Range: {'; '.join(texts)}: no quantile lies there."


def _counts(found: _Found) -> Iterator[str]:
    """Numbers of values that differ by more than 10 %."""
    counts = {one.column.number: one.count for one in found.compared if one.count is not None}
    if len(counts) > 1 and max(counts.values()) > UNLIKE_COUNTS * min(counts.values()):
        texts = [f"{number} has {format_count(count)}" for number, count in counts.items()]
        yield f"Numbers of values: {', '.join(texts)}. More values usually show a larger worst."


def _units(found: _Found) -> Iterator[str]:
    """Files whose unit is assumed: their figures may be 1000 times too large, or too small."""
    for one in found.compared:
        if one.document is None or not lacks(one.document, "unit"):
            continue
        series = one.series.series
        is_us = series is not None and value_step_of(series) > 1
        taken, other, would = ("us", "ns", "smaller") if is_us else ("ns", "us", "larger")
        yield (
            f"Unit assumed: the file of {_named([one])} does not state its unit; {taken} were "
            f"taken, in {other} its figures are 1000 times {would}: name it, hardstone import FILE "
            f"--unit {other}."
        )


_RULES: tuple[tuple[str, Callable[[_Found], Iterator[str]]], ...] = (
    ("unit", _units),
    ("moments", _moments),
    ("questions", _questions),
    ("systems", _systems),
    ("core", _cores),
    ("idle states", _idle),
    ("conditions", _conditions),
    ("resolution", _resolution),
    ("range", _left_out),
    ("counts", _counts),
)


def _by_value(found: Sequence[Measured], name: str) -> dict[str, list[Measured]]:
    values: dict[str, list[Measured]] = {}
    for one in found:
        values.setdefault(one.settings[name], []).append(one)
    return values


def _listed(values: Mapping[str, Sequence[Measured]]) -> str:
    """ "1 ms (1, 4), not known (3)"."""
    return ", ".join(
        f"{shorten(text, _CHARACTERS)} ({numbers_text(one.column.number for one in found)})"
        for text, found in values.items()
    )


def _named(found: Sequence[Measured]) -> str:
    """ "2 (cyclictest) and 3 (rtla)", "1, 3 (cyclictest)"; of more than two tools the numbers
    alone."""
    numbers: dict[str, list[int]] = {}
    for one in found:
        numbers.setdefault(_title(one), []).append(one.column.number)
    if len(numbers) > 2:
        return numbers_text(one.column.number for one in found)
    return " and ".join(f"{numbers_text(ones)} ({title})" for title, ones in numbers.items())


def _title(one: Measured) -> str:
    tool = tool_of(one.column.subject)
    return shorten(tool.title if tool and not one.column.is_published else one.column.study, 30)
