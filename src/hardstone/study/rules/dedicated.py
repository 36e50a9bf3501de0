"""Conclusions of Dedicated Systems 2012: QNX, Windows CE7 and Linux with PREEMPT_RT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hardstone.catalogue import load_catalogue
from hardstone.model import as_integer
from hardstone.present.stars_text import meaning_text, stars_text
from hardstone.study.evidence import (
    BORNE_OUT,
    LEAST_VALUES,
    NOT_BORNE_OUT,
    Beyond,
    Finding,
    Ratio,
    Sound,
    System,
    all_of,
    are_apart,
    beyond,
    decided,
    is_loaded,
    medians,
    missing,
    more_values,
    not_published,
    on_linux,
    on_real_caches,
    ratio_of,
    run_it,
    undecided,
)
from hardstone.systems.criteria import OUT_OF_THE_BOX, configuration_of
from hardstone.systems.rating import Rating, halves, overall_caps, rate, weighted_mean
from hardstone.units import format_count, format_ns
from hardstone.wording import range_text, shorten

SWITCH, TICK = "THR-P-SLS", "CLK-P-DUR"
_EQUAL = 1.1  # a smaller difference of medians is none that the tool would call one
_HARD = 4.0  # stars from which on "hard real-time is met"
_MAY_LIMIT = ("virtual machine",)
_UNFAIR = ("parameters changed", "not scheduled as real-time", "emulated", "virtual time")


def _ratings(system: System) -> list[Rating]:
    """Of the runs under load, else of all, those that have an overall rating."""
    rated = [(one, rate(one)) for one in system.runs]
    known = [(one, found) for one, found in rated if found.overall is not None]
    loaded = [found for one, found in known if is_loaded(one)]
    return loaded or [found for _, found in known]


def _meets_hard(system: System, *, is_capped: bool) -> Finding:
    """Decides: the stars by the paper's criteria. At least four for certain, of a full run under
    load: hard real time is met. Below four at best: it is not, and missing figures could only lower
    it. `is_capped`: as rated; else by the figures alone, whatever the system took to configure.
    Wrong as far as the formula is, which was worked out from three systems."""
    if system.apart:
        return not_published(system)
    needed = "hardstone evaluate --load heavy --profile standard"
    found = _ratings(system)
    if not found:
        return undecided("None of its runs has an overall rating.", needed)
    stars, rating = min(
        ((_stars(one, is_capped=is_capped), one) for one in found), key=lambda pair: pair[0]
    )
    text = f"{stars_text(rating)}: {meaning_text(rating)}."
    if not is_capped:
        text = f"{text} Without the limit for its configuration: {stars:g} stars."
    evidence = tuple(
        f"rating of {one.id} under load {shorten(one.condition.load)}" for one in system.runs
    )
    if stars < _HARD and not any(one.startswith(_UNFAIR) for one in rating.rated_as):
        return Finding(NOT_BORNE_OUT, text, evidence)
    is_full = not rating.is_at_most and set(rating.rated_as) <= set(_MAY_LIMIT)
    if stars >= _HARD and is_full and rating.lowest is None:
        return Finding(BORNE_OUT, text, evidence)
    return undecided(text, needed, evidence)


def _stars(rating: Rating, *, is_capped: bool) -> float:
    """Overall stars; without the cap of the configuration if asked for."""
    if is_capped:
        return rating.overall or 0.0
    scores = {one.category: one.score for one in rating.categories if one.score is not None}
    caps = [cap.score for cap in overall_caps(rating.categories, OUT_OF_THE_BOX)]
    return halves(min(weighted_mean(scores), *caps))


def out_of_the_box(system: System) -> Finding | None:
    """Decides: `_meets_hard` of a system that nobody configured: no reserved CPU, no boot option
    for it, no switched preemption model. Others say nothing about it."""
    configured = [one for one in system.column.subjects if configuration_of(one) != OUT_OF_THE_BOX]
    return None if configured else _meets_hard(system, is_capped=True)


def linux_if_configured(system: System) -> Finding:
    """Decides: `_meets_hard` of a Linux with PREEMPT_RT that was configured for it, by its figures:
    the stars themselves are capped for what had to be configured. One that nobody configured, or
    without PREEMPT_RT, says nothing about it. "Not comparable" is the paper's, and has no rule."""
    other = on_linux(system)
    if other is not None:
        return other
    if system.facts.get("kernel.realtime") is not True:
        return undecided("This kernel has no PREEMPT_RT.", "a kernel with PREEMPT_RT")
    if all(configuration_of(one) == OUT_OF_THE_BOX for one in system.column.subjects):
        command = "hardstone evaluate --load heavy --cpu-config shielded --profile standard"
        return undecided(
            "This system was not configured for real time.",
            f"configure it as hardstone doctor says, then {command}",
        )
    return _meets_hard(system, is_capped=False)


def switch_by_cache_and_tick(system: System) -> Finding:
    """Decides, in two parts. The average: the median switch with the most threads over that with
    two; surely longer: borne out, surely not longer: not borne out. The longest, with any number of
    threads: of the switches that took as much longer than the median as the shortest tick takes,
    the share that took longer than by the longest tick. None of at least 20: borne out; more than
    of the ticks themselves, by exact intervals: something longer than the tick was there, and it is
    not borne out. That caches are the reason is not tested. The paper has means; the median is not
    moved by the tick."""
    found = system.found(SWITCH, "switch")
    numbers = sorted({as_integer(one.held.series.labels.get("threads")) or 0 for one in found})
    if len(numbers) < 2 or numbers[0] != 2:
        return missing(system, SWITCH)
    few, many = (
        [one for one in found if one.held.labels.get("threads") == str(count)]
        for count in (numbers[0], numbers[-1])
    )
    ratio = ratio_of(few, many)
    text = f"Switch among {format_count(numbers[-1])} threads over that between 2: {ratio.text}."
    average = undecided(text, more_values(SWITCH), medians([few, many]))
    if ratio.is_above(1) or ratio.is_below(_EQUAL):
        average = on_real_caches(decided(ratio.is_above(1), text, medians([few, many])), system)
    return all_of([average, _worst_by_tick(system, found)])


def _worst_by_tick(system: System, found: Sequence[Sound]) -> Finding:
    """One part for each load under which switches and ticks were measured."""
    parts = []
    for load in dict.fromkeys(one.load for one in found):
        ticks = [one for one in system.found(TICK, "tick", load) if one.load == load]
        if sum(one.count for one in ticks) >= LEAST_VALUES:
            own = [one for one in found if one.load == load]
            parts.append(_longest_switch(own, ticks, load))
    if parts:
        return all_of(parts)
    return undecided("Too few ticks were found under the load of the switches.", _WITH_TICK)


_WITH_TICK = run_it(SWITCH, TICK)


def _longest_switch(found: Sequence[Sound], ticks: Sequence[Sound], load: str) -> Finding:
    hit = _hit_by_tick(found, ticks)
    if hit is None:
        return undecided("A histogram of switches or ticks is not readable.", _WITH_TICK)
    text = f"{_ticks_text(ticks)}; {hit.text_of('switches')}; load {shorten(load, 32)}."
    evidence = tuple(one.figure("max") for one in [*found, *ticks])
    if hit.is_longer:
        return Finding(NOT_BORNE_OUT, text, evidence)
    if hit.is_within:
        return Finding(BORNE_OUT, text, evidence)
    return undecided(text, more_values(SWITCH), evidence)


class _Hit(NamedTuple):
    """Values that something as long as a tick delayed. `beyond`: those of them that took longer
    than a median and the longest tick; `ticks`: the ticks themselves, none of which is longer."""

    beyond: Beyond
    ticks: Beyond
    values: int

    @property
    def is_longer(self) -> bool:
        """Whether more of them than of the ticks are longer, by exact intervals: their number
        differs from that of the ticks, so maxima say nothing."""
        return bool(self.beyond.total) and are_apart(few=self.ticks, many=self.beyond)

    @property
    def is_within(self) -> bool:
        return self.beyond.is_within

    def text_of(self, name: str) -> str:
        """ "of 40 000 switches 25 were hit by one, 1 of them longer than by the longest (...)"."""
        count = format_count(self.values)
        if not self.beyond.total:
            return f"of {count} {name} none was delayed by as much (worst observed {self._worst})"
        return (
            f"of {count} {name} {format_count(self.beyond.total)} were delayed by as much, "
            f"{self._beyond} of them by more than the longest tick (worst observed {self._worst})"
        )

    @property
    def _worst(self) -> str:
        return format_ns(self.beyond.worst)

    @property
    def _beyond(self) -> str:
        least, most = format_count(self.beyond.least), format_count(self.beyond.most)
        return "none" if not self.beyond.most else most if least == most else f"{least} to {most}"


def _hit_by_tick(found: Sequence[Sound], ticks: Sequence[Sound]) -> _Hit | None:
    """None if a histogram is not readable. Each series has its own median."""
    low, high = _tick_range(ticks)
    least = most = hit = fewest = 0
    for one in found:
        as_tick = beyond([one], round(one.median + low))
        longer = beyond([one], round(one.median + high))
        if as_tick is None or longer is None:
            return None
        hit, fewest = hit + as_tick.most, fewest + as_tick.least
        least, most = least + longer.least, most + longer.most
    longest = beyond(ticks, high)
    if longest is None:
        return None
    worst = max((one.held.series.max or 0 for one in found), default=0)
    total = hit if most else fewest
    own = Beyond(limit=high, least=least, most=most, total=total, worst=worst)
    return _Hit(own, longest, sum(one.count for one in found))


def _tick_range(ticks: Sequence[Sound]) -> tuple[int, int]:
    lows, highs = zip(
        *((t.held.series.min or 0, t.held.series.max or 0) for t in ticks), strict=True
    )
    return min(lows), max(highs)


def _ticks_text(ticks: Sequence[Sound]) -> str:
    low, high = map(format_ns, _tick_range(ticks))
    return f"{format_count(sum(one.count for one in ticks))} ticks took {range_text(low, high)}"


def _most_waiters(found: Sequence[Sound]) -> list[Sound]:
    most = max((as_integer(one.held.series.labels.get("waiters")) or 0 for one in found), default=0)
    return [one for one in found if one.held.labels.get("waiters") == str(most)]


def semaphore_release_grows(system: System) -> Finding:
    """Decides, in two parts, with the most waiters: the median release over the median acquisition,
    surely longer; and the releases that were delayed as by a tick, more of which than of the ticks
    themselves took longer than by the longest one, by exact intervals. None of at least 20 did:
    not borne out. One part that is surely not so contradicts it; where no tick hit a release, the
    second says nothing. Wrong if something else than the tick was longer: the cause is not
    tested."""
    other = on_linux(system)
    if other is not None:
        return other
    acquire, release = (
        _most_waiters(system.found("SEM-P-ARC", name, "", kind="unnamed", scope="thread"))
        for name in ("acquire", "release")
    )
    if not acquire or not release:
        return missing(system, "SEM-P-ARC")
    ratio = ratio_of(acquire, release)
    text = f"Release over acquisition: {ratio.text}."
    evidence = medians([acquire, release])
    average = undecided(text, more_values("SEM-P-ARC"), evidence)
    if ratio.is_above(1) or ratio.is_below(1):
        average = decided(ratio.is_above(1), text, evidence)
    return all_of([average, _release_by_tick(system, release)])


def _release_by_tick(system: System, release: Sequence[Sound]) -> Finding:
    """The worst release against the longest tick of the same loads."""
    loads = {one.load for one in release}
    ticks = [one for one in system.found(TICK, "tick") if one.load in loads]
    if sum(one.count for one in ticks) < LEAST_VALUES:
        text = "Too few ticks were found under the load of the releases."
        return undecided(text, run_it("SEM-P-ARC", TICK))
    hit = _hit_by_tick(release, ticks)
    if hit is None:
        return missing(system, "SEM-P-ARC")
    text = f"{_ticks_text(ticks)}; {hit.text_of('releases')}."
    evidence = tuple(one.figure("max") for one in [*release, *ticks])
    if hit.is_longer:
        return Finding(BORNE_OUT, text, evidence)
    if hit.is_within:
        return Finding(NOT_BORNE_OUT, text, evidence)
    return undecided(text, more_values("SEM-P-ARC"), evidence)


def mutex_release_grows(system: System) -> Finding:
    """Decides: the median release of a contended mutex that inherits over its acquisition, surely
    longer or surely shorter. Its release over that of a mutex that does not inherit is named: it
    says whether inheritance is the reason, which the paper only supposes."""
    other = on_linux(system)
    if other is not None:
        return other
    acquire, release, plain = (
        system.found("MUT-P-ARC", name, "", protocol=protocol)
        for name, protocol in (("acquire", "inherit"), ("release", "inherit"), ("release", "none"))
    )
    if not acquire or not release:
        return missing(system, "MUT-P-ARC")
    ratio = ratio_of(acquire, release)
    text = f"Release over acquisition: {ratio.text}"
    if plain:
        text += f"; over a release without inheritance: {ratio_of(plain, release).text}"
    evidence = medians([acquire, release, plain])
    if ratio.is_above(1) or ratio.is_below(1):
        return decided(ratio.is_above(1), f"{text}.", evidence)
    return undecided(f"{text}.", more_values("MUT-P-ARC"), evidence)


def semaphore_without_kernel(system: System) -> Finding:
    """Decides: acquisition and release without contention of a semaphore that stays in user space
    (`unnamed`) over those of the kinds that always enter the kernel. All surely shorter: borne out;
    one surely not: not borne out. Wrong near the cost of the clock, which narrows the ratio."""
    other = on_linux(system)
    if other is not None:
        return other
    kinds = load_catalogue().entry("SEM-P-RTP").kernel_kinds.get("always", [])
    ratios: dict[str, Ratio] = {}
    used: list[list[Sound]] = []
    for name in ("acquire", "release"):
        light = system.found("SEM-P-ARN", name, "", kind="unnamed", scope="thread")
        for kind in kinds:
            heavy = system.found("SEM-P-ARN", name, "", kind=kind, scope="thread")
            if light and heavy:
                ratios[f"{name}, {kind}"] = ratio_of(heavy, light)
                used += [light, heavy]
    if not ratios:
        return missing(system, "SEM-P-ARN")
    words = "; ".join(f"{which} {one.text}" for which, one in ratios.items())
    text = f"Semaphores in memory over those that enter the kernel: {words}."
    evidence = medians(used)
    if any(one.is_above(1 / _EQUAL) for one in ratios.values()):
        return Finding(NOT_BORNE_OUT, text, evidence)
    if all(one.is_below(1) for one in ratios.values()):
        return Finding(BORNE_OUT, text, evidence)
    return undecided(text, more_values("SEM-P-ARN"), evidence)
