"""Conclusions of HP 1987: the same kernel without and with kernel preemption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hardstone.errors import InputError
from hardstone.kernel.results import ALL, TEST, kernel_time_of
from hardstone.kernel.tables import STATISTICS, WORST
from hardstone.model import Result, Scalar
from hardstone.preemption.tables import (
    TITLE_OF,
    Figure,
    Side,
    facts_under,
    ratios_of,
    side_of,
    why_not_divided,
)
from hardstone.stats.conditions import differing_parameters
from hardstone.stats.consistency import UNLIKE_COUNTS
from hardstone.study.evidence import (
    BORNE_OUT,
    CONTRADICTED,
    LEAST_VALUES,
    Finding,
    System,
    about,
    all_of,
    decided,
    missing,
    run_it,
    undecided,
)
from hardstone.units import format_count
from hardstone.wording import ratio_text, shorten

_LEAST_FIRST = ("none", "voluntary", "laziest", "lazy", "full", "rt")
_OFF, _ON = ("none", "voluntary"), ("full", "rt")
_PATHS_OFF, _PATHS_ON = ("fork", "exec", "copy"), ("terminal",)
_COMPARE = f"{run_it(TEST)} --compare-preemption, here or on a guest: --target lab:debian"
_WORST_LIMIT = 50
_HARDWARE = ("machine.arch", "machine.cpu_model", "cpu.count", "virtual.hypervisor", "virtual.time")


class _Machine(NamedTuple):
    """One machine with its systems by preemption model, the least preemptible first. A kernel that
    was built with another model is another kernel, so only the hardware has to be the same."""

    systems: list[System]

    @property
    def titles(self) -> str:
        return " and ".join(one.title for one in self.systems)

    @property
    def off(self) -> System | None:
        return next((one for one in self.systems if one.model in _OFF), None)

    @property
    def on(self) -> System | None:
        return next((one for one in reversed(self.systems) if one.model in _ON), None)


def _machines(systems: Sequence[System]) -> list[_Machine]:
    groups: dict[tuple[Scalar, ...], list[System]] = {}
    for one in systems:
        if one.model in _LEAST_FIRST:
            key = (*(one.facts.get(name) for name in _HARDWARE), one.cpu_config)
            groups.setdefault(key, []).append(one)
    return [
        _Machine(sorted(own, key=lambda one: _LEAST_FIRST.index(one.model)))
        for own in groups.values()
    ]


def _results(system: System, load: str) -> list[Result]:
    """Sound results of KRN-P-PRE, each once."""
    found = system.found(TEST, "dispatch", load)
    return list({id(one.held.result): one.held.result for one in found}.values())


class _Ratio(NamedTuple):
    """Off over on of one statistic, and the least and most that both intervals allow; those of a
    worst that each side observed once are the ratio."""

    statistic: str
    value: float
    least: float
    most: float
    words: str


class _Compared(NamedTuple):
    """A machine without and with preemption; `why`: why it has no ratios."""

    titles: str
    ratios: dict[str, _Ratio]
    releases: tuple[int, int]
    evidence: tuple[str, ...] = ()
    why: str = ""

    @property
    def text(self) -> str:
        count = " and ".join(map(format_count, self.releases))
        return f"{'; '.join(one.words for one in self.ratios.values())} ({count} releases)."


def _compared(systems: Sequence[System]) -> list[_Compared]:
    found = []
    for one in _machines(systems):
        if one.off is not None and one.on is not None and one.off is not one.on:
            found.append(_compare(one.off, one.on, f"{one.off.title} and {one.on.title}"))
    return found


def _compare(off: System, on: System, titles: str) -> _Compared:
    loads = [run.condition.load for run in off.runs if run.condition.load != "none"]
    for load in ("none", *dict.fromkeys(loads)):
        results = _results(off, load), _results(on, load)
        if all(results):
            break
    else:
        why = off.why_no(TEST) if not _results(off, "") else on.why_no(TEST)
        return _Compared(titles, {}, (0, 0), why=why)
    differing = differing_parameters(results[0][0], results[1][0])
    why = next(iter(why_not_divided(off.facts, on.facts)), "")
    if differing:
        why = f"the parameter {shorten(differing[0].name)} differs between both sides"
    if why:
        return _Compared(titles, {}, (0, 0), why=why)
    try:
        sides = [
            side_of(own, facts_under(each.facts, each.model))
            for own, each in zip(results, (off, on), strict=True)
        ]
        ratios = dict(_ratios(*sides))
    except InputError as error:
        return _Compared(titles, {}, (0, 0), why=error.cause)
    evidence = tuple(
        f"{TEST}/all, preemption {each.model}: {', '.join(one.id for one in each.documents)}"
        for each in (off, on)
    )
    return _Compared(titles, ratios, (sides[0].releases, sides[1].releases), evidence)


def _ratios(off: Side, on: Side) -> Iterable[tuple[str, _Ratio]]:
    for statistic in STATISTICS:
        before, after = off.figure(ALL, statistic), on.figure(ALL, statistic)
        if before is not None and after is not None:
            found = _ratio(statistic, before, after)
            if found is not None:
                yield statistic, found


def _ratio(statistic: str, off: Figure, on: Figure) -> _Ratio | None:
    if (off.is_below and on.is_below) or on.value_ns <= 0:
        return None
    value = off.value_ns / on.value_ns
    least = most = value
    if off.has_interval and on.has_interval:
        least = off.low_ns / on.high_ns if on.high_ns else 0.0
        is_bounded = off.high_ns is not None and on.low_ns > 0
        most = (off.high_ns or 0.0) / on.low_ns if is_bounded else float("inf")
    sign = "> " if on.is_below else "< " if off.is_below else ""
    words = (
        f"{TITLE_OF[statistic]} {off.text} off, {on.text} on: {sign}{ratio_text(value)} times "
        f"({ratios_of(off, on)})"
    )
    least, most = (0.0 if off.is_below else least), (float("inf") if on.is_below else most)
    return _Ratio(statistic, value, least, most, words)


def preemption_shortens(systems: Sequence[System]) -> list[Finding]:
    """Decides: for 90 % and 99 % of kernel time and the worst observed, the length without
    preemption over that with it. All surely above 1 bear it out, one surely below contradicts it;
    how near they come to 28, 37 and 77 is named and decides nothing, as those are of one machine.
    Wrong if anything but the model differs between the sides, such as the build of the kernel; and
    a worst observed once on each side varies by itself, so it counts only with the two lengths."""
    return [_shortens(one) for one in _compared(systems)] or [_NO_PAIR]


_NO_PAIR = undecided(
    "It compares two preemption models of one machine, and one was measured.", _COMPARE
)


def _shortens(found: _Compared) -> Finding:
    if found.why:
        return about(undecided(f"No figures of both: {found.why}.", _COMPARE), found.titles)
    lengths = [one for one in found.ratios.values() if one.statistic != WORST]
    worst = found.ratios.get(WORST)
    text = f"{found.text} The paper: 28, 37 and 77 times."
    if any(one.most < 1 for one in lengths):
        return about(Finding(CONTRADICTED, text, found.evidence), found.titles)
    is_shorter = worst is not None and worst.value > 1 and all(one.least > 1 for one in lengths)
    if is_shorter and len(lengths) == len(STATISTICS) - 1:
        return about(Finding(BORNE_OUT, text, found.evidence), found.titles)
    needed = f"more releases of both: {_COMPARE} --profile standard"
    if not found.ratios:
        text = "Neither lengths nor worst latencies of both sides are known."
    return about(undecided(text, needed, found.evidence), found.titles)


def worst_over_50(systems: Sequence[System]) -> list[Finding]:
    """Decides: the worst observed latency without preemption over that with it, above or below 50,
    as measured, with about as many releases on each side. Wrong by as much as a maximum varies:
    neither side is bounded, and more releases usually show a larger one."""
    return [_over_50(one) for one in _compared(systems)] or [_NO_PAIR]


def _over_50(found: _Compared) -> Finding:
    worst = found.ratios.get(WORST)
    if worst is None:
        why = found.why or "no worst latency of both sides is known"
        return about(undecided(f"No figures of both: {why}.", _COMPARE), found.titles)
    few, many = sorted(found.releases)
    text = f"{worst.words} (at least {format_count(few)} releases of each)."
    if many > UNLIKE_COUNTS * few or few < LEAST_VALUES:
        needed = f"about as many releases of each side, at least {LEAST_VALUES}: {_COMPARE}"
        return about(undecided(text, needed, found.evidence), found.titles)
    if worst.least <= _WORST_LIMIT <= worst.most:
        needed = f"more results of each side: {_COMPARE}"
        return about(undecided(text, needed, found.evidence), found.titles)
    return about(decided(worst.least > _WORST_LIMIT, text, found.evidence), found.titles)


def longest_paths(systems: Sequence[System]) -> list[Finding]:
    """Decides, in two parts: the operations of the first rank by their 99 % quantile, without and
    with preemption. All among the paper's: borne out; none among them: contradicted; some of both
    cannot be told apart. Wrong if the paper's operations are not those of KRN-P-PRE: its terminal
    and its copies are today's."""
    findings = []
    for machine in _machines(systems):
        parts = [
            _longest(one, paths, model)
            for one, paths, model in (
                (machine.off, _PATHS_OFF, "without"),
                (machine.on, _PATHS_ON, "with"),
            )
        ]
        findings.append(about(all_of(parts), machine.titles))
    return findings or [undecided("The preemption model of no system is known.", _COMPARE)]


def _longest(system: System | None, paths: Sequence[str], model: str) -> Finding:
    if system is None:
        return undecided(f"Not measured {model} preemption.", _COMPARE)
    results = _results(system, "none") or _results(system, "")
    if not results:
        return missing(system, TEST)
    ranked: list[list[str]] = []
    for result in results:
        try:
            time = kernel_time_of(result)
        except InputError:
            time = None
        ranked.append([one.name for one in time.operations if one.rank == 1] if time else [])
    first = list(dict.fromkeys(name for own in ranked for name in own))
    shown = ", ".join(shorten(one, 20) for one in first) or "none above the reference"
    text = f"Longest {model} preemption: {shown}."
    evidence = tuple(f"{TEST} ranks of {one.id}" for one in system.documents)
    are_named = [one in paths for one in first]
    if not all(ranked) or (any(are_named) and not all(are_named)):
        needed = f"more releases: {run_it(TEST)} --profile standard"
        return undecided(text, needed, evidence)
    return decided(all(are_named), text, evidence)
