"""Conclusions of HP 1987: the same kernel without and with kernel preemption."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hardstone.errors import InputError
from hardstone.kernel.results import ALL, TEST, KernelTime, kernel_time_of
from hardstone.kernel.tables import STATISTICS, WORST
from hardstone.model import Result, Scalar, Series
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
from hardstone.study.evidence import (
    BORNE_OUT,
    LEAST_VALUES,
    NOT_BORNE_OUT,
    Beyond,
    Finding,
    System,
    about,
    all_of,
    are_apart,
    beyond_of,
    decided,
    missing,
    run_it,
    undecided,
)
from hardstone.units import format_count
from hardstone.wording import ratio_text, shorten

_LEAST_FIRST = ("none", "voluntary", "laziest", "lazy", "full", "rt")
_OFF, _ON = ("none", "voluntary"), ("full", "rt")
_RUN = f"{run_it(TEST)} --compare-preemption"
_COMPARE = f"both models, here or on a guest (--target lab:debian): {_RUN}"
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
    latencies: tuple[list[Series], list[Series]] = ([], [])

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
    releases = sides[0].releases, sides[1].releases
    off_latencies, on_latencies = ([one.whole.series for one in side.found] for side in sides)
    return _Compared(titles, ratios, releases, evidence, "", (off_latencies, on_latencies))


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
    """Decides: for 90 % and 99 % of kernel time, the length without preemption over that with it;
    and whether more releases without it than with it take longer than the longest with it, by exact
    intervals. All surely longer without bear it out, a length that is surely shorter contradicts
    it; how near they come to 28, 37 and 77 is named and decides nothing, as those are of one
    machine. Wrong if anything but the model differs between the sides, such as the build of the
    kernel."""
    return [_shortens(one) for one in _compared(systems)] or [_NO_PAIR]


_NO_PAIR = undecided(
    "Two preemption models of one machine are needed; only one was measured.", _COMPARE
)


def _shortens(found: _Compared) -> Finding:
    if found.why:
        return about(_not_divided(found.why), found.titles)
    lengths = [one for one in found.ratios.values() if one.statistic != WORST]
    text = f"{found.text} The paper: 28, 37 and 77 times."
    if any(one.most < 1 for one in lengths):
        return about(Finding(NOT_BORNE_OUT, text, found.evidence), found.titles)
    longer = _longer(found, 1)
    is_longest = longer is not None and longer.is_so is True
    is_shorter = is_longest and all(one.least > 1 for one in lengths)
    if is_shorter and len(lengths) == len(STATISTICS) - 1:
        return about(Finding(BORNE_OUT, text, found.evidence), found.titles)
    needed = f"more releases of both: {_RUN} --profile standard"
    if not found.ratios:
        text = "Neither lengths nor worst latencies are known for both models."
    return about(undecided(text, needed, found.evidence), found.titles)


def worst_over_50(systems: Sequence[System]) -> list[Finding]:
    """Decides by shares, as two maxima have no interval: more releases without preemption take over
    50 times the longest latency with it than releases with it take longer than that longest one, by
    exact intervals: borne out. More releases with preemption take over a 50th of the longest
    latency without it than releases without take longer than that one: not borne out. Wrong if
    anything but the model differs, and of lengths that no release hit."""
    return [_over_50(one) for one in _compared(systems)] or [_NO_PAIR]


def _over_50(found: _Compared) -> Finding:
    worst = found.ratios.get(WORST)
    longer = _longer(found, _WORST_LIMIT)
    if worst is None or longer is None:
        why = found.why or "a worst latency of one model is not known"
        return about(_not_divided(why), found.titles)
    text = (
        f"{worst.words}. Above 50 times the longest latency with preemption: without it "
        f"{longer.off.text}. Above a 50th of the longest without preemption: with it "
        f"{longer.on.text}."
    )
    if longer.is_so is not None:
        return about(decided(longer.is_so, text, found.evidence), found.titles)
    needed = f"more releases of both: {_RUN} --profile standard"
    return about(undecided(text, needed, found.evidence), found.titles)


class _Longer(NamedTuple):
    """Releases without preemption above `factor` times the longest with it, and those with it above
    the longest without by that factor. `is_so`: whether those without are longer by it; None: the
    exact intervals of the shares leave it open, or too few releases were made."""

    off: Beyond
    on: Beyond
    is_so: bool | None


def _longer(found: _Compared, factor: int) -> _Longer | None:
    """None where a side has no latency, or an unreadable one."""
    off, on = found.latencies
    off_top, on_top = (max((one.max or 0 for one in own), default=0) for own in (off, on))
    counted = [
        beyond_of(own, limit)
        for own, limit in (
            (off, factor * on_top),
            (on, on_top),
            (on, off_top // factor),
            (off, off_top),
        )
    ]
    above, below = counted[:2], counted[2:]
    if above[0] is None or above[1] is None or below[0] is None or below[1] is None:
        return None
    is_so = None
    if min(found.releases) >= LEAST_VALUES:
        if are_apart(few=above[1], many=above[0]):
            is_so = True
        elif are_apart(few=below[1], many=below[0]):
            is_so = False
    return _Longer(above[0], below[0], is_so)


def _not_divided(why: str) -> Finding:
    return undecided(f"Off and on were not compared: {why}.", _COMPARE)


class _Place(NamedTuple):
    """At least `least` of `names` are among the longest `top` operations."""

    model: str
    names: tuple[str, ...]
    top: int
    least: int


_WITHOUT = _Place("without", ("fork", "exec", "copy"), top=3, least=2)
_WITH = _Place("with", ("terminal",), top=1, least=1)


def longest_paths(systems: Sequence[System]) -> list[Finding]:
    """Decides, in two parts, by the ranks of the operations (their 99 % quantiles): without
    preemption at least two of fork, exec and copy are surely among the longest three; with it the
    terminal is surely the longest. None of them can be there: not borne out. Operations that cannot
    be told apart, or were not measured, leave it open. Wrong if the paper's operations are not
    those of KRN-P-PRE: its terminal and its copies are today's."""
    findings = []
    for machine in _machines(systems):
        parts = [_longest(machine.off, _WITHOUT), _longest(machine.on, _WITH)]
        findings.append(about(all_of(parts), machine.titles))
    return findings or [undecided("The preemption model of no system is known.", _COMPARE)]


def _longest(system: System | None, place: _Place) -> Finding:
    if system is None:
        return undecided(f"KRN-P-PRE was not run {place.model} preemption.", _COMPARE)
    results = _results(system, "none") or _results(system, "")
    if not results:
        return missing(system, TEST)
    times = []
    for result in results:
        try:
            times.append(kernel_time_of(result))
        except InputError:
            times.append(None)
    ranked = [_ranks(one) if one else {} for one in times]
    shown = "; ".join(dict.fromkeys(_leading_text(own, place.top) for own in ranked))
    text = f"Longest {place.model} preemption: {shown}."
    evidence = tuple(f"{TEST} ranks of {one.id}" for one in system.documents)
    places = [[_is_leading(own, name, place.top) for name in place.names] for own in ranked]
    if all(own.count(True) >= place.least for own in places):
        return Finding(BORNE_OUT, text, evidence)
    if all(own.count(False) == len(place.names) for own in places):
        return Finding(NOT_BORNE_OUT, text, evidence)
    return undecided(text, f"more releases: {run_it(TEST)} --profile standard", evidence)


def _ranks(time: KernelTime) -> dict[str, int | None]:
    """Of the operations with enough values for a quantile."""
    return {one.name: one.rank for one in time.operations if one.quantile is not None}


def _is_leading(ranks: dict[str, int | None], name: str, top: int) -> bool | None:
    """Whether an operation is among the `top` longest; None where that is not known: it was not
    measured, nothing is ranked, or it shares its rank with too many. One without a rank is like the
    reference."""
    if name not in ranks:
        return None
    known = [one for one in ranks.values() if one is not None]
    rank = ranks[name]
    if rank is None:
        return False if len(known) >= top else None
    if sum(one <= rank for one in known) <= top:
        return True
    return False if rank > top else None


def _leading_text(ranks: dict[str, int | None], top: int) -> str:
    names = [name for name, rank in ranks.items() if rank is not None and rank <= top]
    return ", ".join(shorten(one, 20) for one in names) or "none above the reference"
