"""Conclusions of Obenland 2000: LynxOS against Solaris, with and without a reserved CPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from hardstone.event_names import POSIX_LIMITS
from hardstone.model import as_integer
from hardstone.study.evidence import (
    BORNE_OUT,
    LEAST_VALUES,
    NOT_BORNE_OUT,
    NOT_DECIDED,
    RESERVED,
    STANDARD,
    Beyond,
    Finding,
    Ratio,
    Sound,
    System,
    about,
    all_needed,
    all_of,
    are_apart,
    beyond,
    decided,
    medians,
    missing,
    more_values,
    not_published,
    on_real_caches,
    ratio_of,
    run_it,
    undecided,
    under_full_load,
)
from hardstone.units import format_ns
from hardstone.wording import shorten

RESPONSE, JITTER, INVERSION = "RSP-P-FIX", "TMR-P-JIT", "MUT-P-INV"
_US, _MS = 1_000, 1_000_000
_EQUAL = 1.1  # a smaller difference of medians is none that the tool would call one
_WITHIN = 1.1  # of the block: the paper has 9.9 to 10.1 of 10 ms where it says deterministic
_UNSUITABLE = 2  # blocks; the paper has 460 to 1200
_STEADY = 0.9  # of the block: a shorter one hides what delays it
_LATE_SHARE = 0.1  # of the period of a timer
_JITTER_NS = 200 * _US


class _Blocks(NamedTuple):
    """Blocks of one kind: how many took over 1.1 and over 2 times their calibrated time."""

    series: list[Sound]
    within: Beyond
    unsuitable: Beyond


def _blocks(system: System, load: str) -> dict[str, _Blocks]:
    """By kind. A block whose median is shorter than it was calibrated to is left out; a longer one
    is what the load takes, and counts."""
    found: dict[str, list[Sound]] = {}
    for one in system.found(RESPONSE, "time", load):
        if one.median >= _STEADY * _block_ns(one):
            found.setdefault(one.held.labels.get("kind", ""), []).append(one)
    counted = {}
    for kind, series in found.items():
        block = max(map(_block_ns, series))
        own = [one for one in series if _block_ns(one) == block]
        within, unsuitable = (beyond(own, round(block * one)) for one in (_WITHIN, _UNSUITABLE))
        if within and unsuitable:
            counted[kind] = _Blocks(own, within, unsuitable)
    return counted


def _all_kinds(found: Finding, blocks: dict[str, _Blocks], system: System) -> Finding:
    """A finding that no block was late does not count where a kind of them was left out."""
    kinds = {one.held.labels.get("kind", "") for one in system.found(RESPONSE, "time", "heavy")}
    left_out = sorted(kinds - set(blocks))
    if not left_out:
        return found
    names = ", ".join(shorten(one, 20) for one in left_out)
    text = f"{found.text} Left out, as its blocks do not take their calibrated time: {names}."
    return undecided(text, f"a steady frequency: {run_it(RESPONSE, load='heavy')}", found.evidence)


def _block_ns(one: Sound) -> int:
    value = as_integer(one.held.result.params.get("block_ns"))
    return value if value and value > 0 else 10 * _MS


def _blocks_text(found: dict[str, _Blocks]) -> str:
    return "; ".join(f"{kind} {one.within.text}" for kind, one in found.items())


def _worst(series: Iterable[Sound]) -> tuple[str, ...]:
    return tuple(one.figure("max") for one in series)


def _determinism(system: System) -> Finding:
    """Decides: the worst response of each kind of block under load heavy, against 1.1 times the
    time that the block was calibrated to. One value above contradicts; none of at least 20 bears
    it out, as measured. Wrong if the frequency changed after the calibration, which lengthens or
    shortens every block; then it is left out."""
    if system.is_emulated:
        return not_published(system)
    found = _blocks(system, "heavy")
    if not found:
        return missing(system, RESPONSE, "heavy")
    series = [one for own in found.values() for one in own.series]
    text = f"Blocks under load heavy: {_blocks_text(found)}."
    if any(one.within.is_exceeded for one in found.values()):
        return Finding(NOT_BORNE_OUT, text, _worst(series))
    if not all(one.within.is_within for one in found.values()):
        return undecided(text, more_values(RESPONSE, load="heavy"), _worst(series))
    kept = under_full_load(Finding(BORNE_OUT, text, _worst(series)), series, system)
    return _all_kinds(kept, found, system)


def reserved_cpu(systems: Sequence[System]) -> list[Finding]:
    """Decides: `_determinism` of each system with a reserved CPU; the same machine without one is
    named as well. Wrong if the reservation did not take: the run says so."""
    reserved = [one for one in systems if one.cpu_config == RESERVED]
    if not reserved:
        needed = run_it(RESPONSE, load="heavy", cpu_config=f"{STANDARD},{RESERVED}")
        return [undecided("No CPU was reserved.", needed)]
    return [_reserved(one, systems) for one in reserved]


def _reserved(one: System, systems: Sequence[System]) -> Finding:
    found, title = _determinism(one), one.title
    standard = _standard_of(one, systems)
    own = _blocks(standard, "heavy") if standard else {}
    text, evidence = found.text, found.evidence
    if standard and own:
        text = f"{text} Without a reserved CPU: {_blocks_text(own)}."
        evidence += _worst(each for blocks in own.values() for each in blocks.series)
        title = f"{title} and {standard.title}"
    return Finding(found.decision, text, evidence, found.needed, title)


def _standard_of(one: System, systems: Sequence[System]) -> System | None:
    same = [other for other in systems if other.machine == one.machine]
    return next((other for other in same if other.cpu_config == STANDARD), None)


def standard_unsuitable(system: System) -> Finding | None:
    """Decides, for a system without a reserved CPU under load heavy: a block that takes over twice
    its calibrated time, or a timer that is late by over its period, bears it out, if none of its
    kind took over 1.1 times, or was late by over a tenth, without load: else something other than
    load delays it. No block above 1.1 times and no timer late by over a tenth of its period: not
    borne out. In between nothing follows. Wrong where the load did not reach its degree: then the
    answer stays open."""
    if system.cpu_config != STANDARD:
        return None
    if system.is_emulated:
        return not_published(system)
    blocks = _blocks(system, "heavy")
    if not blocks:
        return missing(system, RESPONSE, "heavy")
    timers = _timers(system, "heavy")
    texts = [f"blocks ({kind}) {one.within.text}" for kind, one in blocks.items()]
    texts += [f"timers of {format_ns(period)} {one.text}" for period, (_, one) in timers.items()]
    text = f"Under load heavy: {'; '.join(texts)}."
    series = [one for own in blocks.values() for one in own.series]
    series += [one for own, _ in timers.values() for one in own]
    slow = {kind for kind, one in blocks.items() if one.unsuitable.is_exceeded}
    late = {
        period
        for period, (own, _) in timers.items()
        if (found := beyond(own, period)) is not None and found.is_exceeded
    }
    if slow or late:
        text = f"{text} In the paper blocks took 460 to 1 200 times their time."
        return _by_load(Finding(BORNE_OUT, text, _worst(series)), slow, late, system)
    limits = [one.within for one in blocks.values()] + [one for _, one in timers.values()]
    if all(one.is_within for one in limits):
        kept = under_full_load(Finding(NOT_BORNE_OUT, text, _worst(series)), series, system)
        return _all_kinds(kept, blocks, system)
    return undecided(text, more_values(RESPONSE, JITTER, load="heavy"), _worst(series))


def _by_load(found: Finding, slow: set[str], late: set[int], system: System) -> Finding:
    """`found`, if the blocks or the timers that are late under load are not late without."""
    calm = {kind: one.within for kind, one in _blocks(system, "none").items() if kind in slow}
    timers = {period: one for period, (_, one) in _timers(system, "none").items() if period in late}
    if not calm and not timers:
        return undecided(found.text, run_it(RESPONSE, JITTER, load="none,heavy"), found.evidence)
    if any(one.is_within for one in (*calm.values(), *timers.values())):
        return found
    said = [f"blocks ({kind}) {one.text}" for kind, one in calm.items()]
    said += [f"timers of {format_ns(period)} {one.text}" for period, one in timers.items()]
    text = f"{found.text} Without load {'; '.join(said)}: not only load delays this system."
    return undecided(text, "a machine that is quiet without load", found.evidence)


def _timers(system: System, load: str) -> dict[int, tuple[list[Sound], Beyond]]:
    """Timers by period, with their values above a tenth of it. Of the signal handler alone, as in
    the paper; fewer than LEAST_VALUES values say nothing unless one is above."""
    found: dict[int, list[Sound]] = {}
    for one in system.found(JITTER, "jitter", load, mechanism="timer-handler"):
        period = as_integer(one.held.series.labels.get("period_ns"))
        if period and period > 0:
            found.setdefault(period, []).append(one)
    counted = {
        period: (own, beyond(own, round(period * _LATE_SHARE))) for period, own in found.items()
    }
    return {
        period: (own, one)
        for period, (own, one) in counted.items()
        if one is not None and (one.total >= LEAST_VALUES or one.is_exceeded)
    }


def both_suit(systems: Sequence[System]) -> list[Finding]:
    """Decides, for each machine: one configuration in which no block took over 1.1 times its
    calibrated time under load heavy, and no timer was over 200 us late without load, as in all
    configurations of the paper, bears it out. Where that fails also with a reserved CPU, it is
    not borne out. Wrong for a program with other limits than these two."""
    findings = []
    for machine in dict.fromkeys(one.machine for one in systems):
        own = [one for one in systems if one.machine == machine]
        each = [(one, _suits(one)) for one in own]
        title = " and ".join(one.title for one in own)
        good = next((pair for pair in each if pair[1].decision == BORNE_OUT), None)
        text = " ".join(f"{one.title}: {found.text}" for one, found in each)
        evidence = tuple(line for _, found in each for line in found.evidence)
        needed = all_needed(found for _, found in each)
        decision = NOT_DECIDED
        if good is not None:
            decision, text, evidence, title = (
                BORNE_OUT,
                good[1].text,
                good[1].evidence,
                good[0].title,
            )
        elif all(found.decision == NOT_BORNE_OUT for _, found in each):
            is_reserved = any(one.cpu_config == RESERVED for one in own)
            decision = NOT_BORNE_OUT if is_reserved else NOT_DECIDED
            needed = run_it(RESPONSE, JITTER, load="none,heavy", cpu_config=RESERVED)
        findings.append(
            Finding(decision, text, evidence, "" if decision != NOT_DECIDED else needed, title)
        )
    return findings


def _suits(system: System) -> Finding:
    parts = [_determinism(system)]
    if system.apart:
        return all_of([*parts, not_published(system)])
    found = system.found(JITTER, "jitter", "none", mechanism="timer-handler")
    late = beyond(found, _JITTER_NS)
    if late is None:
        return all_of([*parts, missing(system, JITTER, "none")])
    text = f"Timers without load: {late.text}."
    if late.is_exceeded or late.is_within:
        return all_of([*parts, decided(late.is_within, text, _worst(found))])
    return all_of([*parts, undecided(text, more_values(JITTER), _worst(found))])


_OVERHEAD: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("SEM-P-RTP", "round_trip", {"kind": "unnamed", "scope": "thread"}),
    ("SEM-P-RTP", "round_trip", {"kind": "unnamed", "scope": "process"}),
    ("SIG-P-LAT", "latency", {"receiver": "handler", "scope": "process"}),
)
# What a block of 10 ms may be delayed by where the paper calls it deterministic: a tenth.
_DELAY_NS = _MS


def low_overhead(system: System) -> Finding:
    """Decides, in three parts, under load heavy. The medians of the semaphore round trip and of
    signals over those without load: one over 10 % longer contradicts it. Their values above 1 ms,
    by which a block of 10 ms may be late: one contradicts it. Blocks and timers, as in
    `standard_unsuitable`: a block over 1.1 times its time or a timer late by over a tenth of its
    period contradicts it. Borne out if all medians are within 10 % and no value is beyond a limit.
    Wrong by drift of the machine between the two loads, which a run measures one after the other.
    Overhead itself has no limit in the paper."""
    return all_of([*_same_under_load(system), _determinism(system), _timers_on_time(system)])


def _same_under_load(system: System) -> list[Finding]:
    """The medians of what load heavy may slow, and its values above the delay that is allowed."""
    texts: list[str] = []
    ratios: list[Ratio] = []
    series: list[Sound] = []
    tails: list[Beyond] = []
    for test, name, labels in _OVERHEAD:
        calm, loaded = (system.found(test, name, load, **labels) for load in ("none", "heavy"))
        tail, tail_without = beyond(loaded, _DELAY_NS), beyond(calm, _DELAY_NS)
        if tail is None or tail_without is None:
            continue
        ratio = ratio_of(calm, loaded)
        texts.append(
            f"{test} ({', '.join(labels.values())}) {ratio.text}, {tail.text}, "
            f"without load {tail_without.text}"
        )
        ratios.append(ratio)
        tails.append(tail)
        series += [*calm, *loaded]
    needed = more_values("SEM-P-RTP", "SIG-P-LAT", load="none,heavy")
    if not ratios:
        text = "No test was measured both without load and under load heavy."
        return [undecided(text, needed)]
    text = f"Medians under load heavy over those without load: {'; '.join(texts)}."
    evidence = (*medians([series]), *_worst(series))
    if any(one.is_above(_EQUAL) for one in ratios) or any(one.is_exceeded for one in tails):
        return [Finding(NOT_BORNE_OUT, text, evidence)]
    is_same = all(one.is_below(_EQUAL) for one in ratios) and all(one.is_within for one in tails)
    if len(ratios) == len(_OVERHEAD) and is_same:
        return [under_full_load(Finding(BORNE_OUT, text, evidence), series, system)]
    return [undecided(text, needed, evidence)]


def _timers_on_time(system: System) -> Finding:
    """Timers under load heavy, none of which is late by over a tenth of its period."""
    if system.is_emulated:
        return not_published(system)
    timers = _timers(system, "heavy")
    if not timers:
        return missing(system, JITTER, "heavy")
    series = [one for own, _ in timers.values() for one in own]
    words = "; ".join(f"{format_ns(period)} {one.text}" for period, (_, one) in timers.items())
    text = f"Timers under load heavy: {words}."
    if any(one.is_exceeded for _, one in timers.values()):
        return Finding(NOT_BORNE_OUT, text, _worst(series))
    return under_full_load(Finding(BORNE_OUT, text, _worst(series)), series, system)


def _of_one_size(found: Sequence[Sound]) -> list[Sound]:
    """Of messages of several sizes the smallest."""
    sizes = [as_integer(one.held.series.labels.get("size_bytes")) or 0 for one in found]
    least = min(sizes, default=0)
    return [one for one, size in zip(found, sizes, strict=True) if size == least]


_HALF = 2
_LEAST_ROUNDS = 6  # of each: fewer are never apart


def inheritance(system: System) -> Finding:
    """Decides: how many rounds delay the high thread by over half of the medium thread's work,
    without inheritance (`none`) and with it (`inherit`). Apart by their exact intervals, at least
    six rounds of each, with inheritance the fewer: borne out. All of both delayed, none of both, or
    the opposite contradicts it. Each round makes the inversion on purpose, so it is not rare. Wrong
    if something else took the CPU for half of the medium thread's work."""
    for load in ("heavy", ""):
        plain, inheriting = (
            system.found(INVERSION, "delay", load, protocol=one) for one in ("none", "inherit")
        )
        if plain and inheriting:
            break
    else:
        return missing(system, INVERSION)
    work = {_medium_ns(one) for one in [*plain, *inheriting]}
    if len(work) > 1:
        text = "The medium thread's work differs between the runs."
        return undecided(text, run_it(INVERSION))
    delayed, spared = (beyond(own, min(work) // _HALF, 1) for own in (plain, inheriting))
    if delayed is None or spared is None:
        return missing(system, INVERSION)
    text = f"Without inheritance {delayed.text}; with it {spared.text}."
    evidence = _worst([*plain, *inheriting])
    if are_apart(spared, delayed):
        return Finding(BORNE_OUT, text, evidence)
    are_all = delayed.least == delayed.total and spared.least == spared.total
    are_none = not delayed.most and not spared.most
    is_enough = min(delayed.total, spared.total) >= _LEAST_ROUNDS
    if is_enough and (are_all or are_none or are_apart(delayed, spared)):
        return Finding(NOT_BORNE_OUT, text, evidence)
    return undecided(text, f"more rounds: {run_it(INVERSION)} --samples 200", evidence)


def _medium_ns(one: Sound) -> int:
    value = as_integer(one.held.result.params.get("medium_ns"))
    return value if value and value > 0 else 10 * _MS


_MUCH = 2.0


def named_slower(system: System) -> Finding:
    """Decides: the median of signal and wait of a named semaphore over that of one in memory, no
    thread waiting. Over 1.1 times bears it out; surely less than twice contradicts "much slower",
    where the cost of the clock, which is in both, counts for neither. Wrong where both are so near
    that cost that little else is in them."""
    plain, named = (
        system.found("SEM-P-SIG", "signal_wait", "", kind=kind, scope="thread")
        for kind in ("unnamed", "named")
    )
    if not plain or not named:
        return missing(system, "SEM-P-SIG")
    ratio = ratio_of(plain, named)
    text = f"Signal and wait of a named semaphore over that of one in memory: {ratio.text}."
    evidence = medians([plain, named])
    twice = min(_MUCH - one.cost_ns / one.median if one.median else 0.0 for one in plain)
    if ratio.is_above(_EQUAL) or ratio.is_below(twice):
        return decided(ratio.is_above(_EQUAL), text, evidence)
    return undecided(text, more_values("SEM-P-SIG"), evidence)


_ABOUT = 1.25


def primitives_equal(system: System) -> Finding:
    """Decides: the median round trip of named semaphores and of the mutex over that of unnamed
    semaphores, between threads. All within a quarter: borne out; one surely further: not borne out.
    The paper's figure gives no number for "about equal": the quarter is this tool's."""
    base = system.found("SEM-P-RTP", "round_trip", "", kind="unnamed", scope="thread")
    others = {
        kind: system.found("SEM-P-RTP", "round_trip", "", kind=kind, scope="thread")
        for kind in ("named", "mutex")
    }
    if not base or not all(others.values()):
        return missing(system, "SEM-P-RTP")
    ratios = {kind: ratio_of(base, own) for kind, own in others.items()}
    words = "; ".join(f"{kind} {one.text}" for kind, one in ratios.items())
    text = f"Round trip over that of an unnamed semaphore: {words}."
    evidence = medians([base, *others.values()])
    if any(one.is_above(_ABOUT) or one.is_below(1 / _ABOUT) for one in ratios.values()):
        return Finding(NOT_BORNE_OUT, text, evidence)
    if all(one.is_within(_ABOUT) for one in ratios.values()):
        return Finding(BORNE_OUT, text, evidence)
    return undecided(text, more_values("SEM-P-RTP"), evidence)


def processes_switch(system: System) -> Finding:
    """Decides: the median round trip between processes over that between threads, unnamed
    semaphores. Surely below 1 bears it out, surely above contradicts it. Wrong if "slightly" is
    less than the interval: then nothing is decided."""
    threads, processes = (
        system.found("SEM-P-RTP", "round_trip", "", kind="unnamed", scope=scope)
        for scope in ("thread", "process")
    )
    if not threads or not processes:
        return missing(system, "SEM-P-RTP")
    ratio = ratio_of(threads, processes)
    evidence = medians([threads, processes])
    text = f"Round trip between processes over that between threads: {ratio.text}."
    if ratio.is_below(1) or ratio.is_above(1):
        return on_real_caches(decided(ratio.is_below(1), text, evidence), system)
    return undecided(text, more_values("SEM-P-RTP"), evidence)


class _Two(NamedTuple):
    first: System
    second: System

    @property
    def titles(self) -> str:
        return f"{self.first.title} and {self.second.title}"


def _different(systems: Sequence[System]) -> list[_Two]:
    """Pairs of systems on another machine or with another kernel, of one CPU configuration."""
    return [
        _Two(*pair)
        for pair in combinations(systems, 2)
        if pair[0].machine != pair[1].machine and pair[0].cpu_config == pair[1].cpu_config
    ]


def resolution_and_priorities(systems: Sequence[System]) -> list[Finding]:
    """Decides, for two systems: the larger of the ratios of clock resolution and of the number of
    priorities, against the ratios of their medians (round trips, signals). Larger than all: borne
    out; surely smaller than one: not borne out. One system alone has its figures named. Wrong if
    the claimed resolution is not the real one, which CLK-B-RES tests."""
    tests = ("CLK-B-RES", "SEM-P-RTP", "SIG-P-LAT", "POS-B-INV")
    pairs = _different(systems)
    if not pairs:
        needed = f"a second system: {run_it(*tests)}"
        return [about(_alone(one, needed), one.title) for one in systems]
    return [about(_differ_most(*pair), pair.titles) for pair in pairs]


def _alone(system: System, needed: str) -> Finding:
    resolution = _resolution(system)
    if resolution is None and _priorities(system) is None:
        return missing(system, "CLK-B-RES")
    text = f"Two systems are needed; only one was measured. {_figures(system)}."
    return undecided(text, needed, _worst([resolution] if resolution else []))


def _resolution(system: System) -> Sound | None:
    return system.longest("CLK-B-RES", "claimed", "", clock="CLOCK_MONOTONIC")


def _figures(system: System) -> str:
    resolution, count = _resolution(system), _priorities(system)
    clock = "not known" if resolution is None else format_ns(resolution.held.series.max)
    return f"Clock resolution {clock}, {count or 'an unknown number of'} priorities"


def _priorities(system: System) -> int | None:
    """Priorities of SCHED_FIFO: what POS-B-INV found, else what the facts say."""
    for run in system.runs:
        for result in run.results:
            for event in result.events:
                count = as_integer(event.data.get("priorities_fifo_count"))
                if event.name == POSIX_LIMITS and count and count > 0:
                    return count
    ends = [as_integer(system.facts.get(f"limits.priority_{one}")) for one in ("min", "max")]
    low, high = ends
    return None if low is None or high is None or high < low else high - low + 1


def _differ_most(one: System, other: System) -> Finding:
    needed = run_it("CLK-B-RES", "POS-B-INV", "SEM-P-RTP", "SIG-P-LAT")
    figures = f"{_figures(one)}; of the second: {_figures(other)}."
    clocks = [found for found in map(_resolution, (one, other)) if found]
    steps = [found.held.series.max or 0 for found in clocks]
    counts = [found for found in map(_priorities, (one, other)) if found]
    if len(steps) < 2 or len(counts) < 2 or not all(steps):
        return undecided(figures, needed, _worst(clocks))
    ratios = []
    for test, name, labels in _OVERHEAD:
        first, second = (each.found(test, name, "none", **labels) for each in (one, other))
        if first and second:
            ratios.append(ratio_of(first, second))
    known = [each for each in ratios if each.value is not None]
    if not known:
        why = ratios[0].why if ratios else "none was measured on both"
        return undecided(f"{figures} No times to compare: {why}.", needed, _worst(clocks))
    largest = max(max(steps) / min(steps), max(counts) / min(counts))
    text = f"{figures} Medians of the second over those of the first: "
    text += f"{', '.join(each.text for each in known)}."
    if any(each.is_above(largest) or each.is_below(1 / largest) for each in known):
        return Finding(NOT_BORNE_OUT, text, _worst(clocks))
    if largest > _EQUAL and all(each.is_within(largest) for each in known):
        return Finding(BORNE_OUT, text, _worst(clocks))
    return undecided(text, f"{needed} --profile standard", _worst(clocks))


_LEAST_RATES = 4  # of each side: 1 in 35 orders of 8 values has all of one side first


def latency_against_throughput(systems: Sequence[System]) -> list[Finding]:
    """Decides, for two systems: the one with the lower median latency of a message queue has the
    lower throughput. The latency by the interval of the ratio, the throughput by ranges of at least
    four values each that do not overlap. Both better on one system contradicts it. The paper
    suspects the hardware, so systems on one machine say more."""
    needed = run_it("MSG-P-LAT", "MSG-P-THR")
    pairs = _different(systems)
    if not pairs:
        return [
            about(
                undecided(
                    "Two systems are needed; only one was measured.", f"a second system: {needed}"
                ),
                one.title,
            )
            for one in systems
        ]
    return [about(_trade(*pair, needed), pair.titles) for pair in pairs]


def _trade(one: System, other: System, needed: str) -> Finding:
    latency = [
        _of_one_size(each.found("MSG-P-LAT", "latency", "none", kind="mq", scope="thread"))
        for each in (one, other)
    ]
    rates = [
        each.longest("MSG-P-THR", "throughput", "none", kind="mq", scope="thread")
        for each in (one, other)
    ]
    if not all(latency) or rates[0] is None or rates[1] is None:
        return undecided(
            "Latency and throughput of message queues were not measured on both systems.", needed
        )
    ratio = ratio_of(latency[0], latency[1])
    if ratio.value is None:
        return undecided(f"Their latencies cannot be compared: {ratio.why}.", needed)
    first, second = rates[0].held.series, rates[1].held.series
    text = (
        f"Latency of the second over that of the first: {ratio.text}; throughput "
        f"{rates[0].held.series.mean or 0:.3g} and {rates[1].held.series.mean or 0:.3g} bytes/s."
    )
    evidence = (*medians(latency), rates[0].figure("min"), rates[1].figure("min"))
    is_enough = min(first.count, second.count) >= _LEAST_RATES
    first_more = (first.min or 0) > (second.max or 0)
    second_more = (second.min or 0) > (first.max or 0)
    is_decided = ratio.is_above(_EQUAL) or ratio.is_below(1 / _EQUAL)
    if not is_enough or not is_decided or first_more == second_more:
        return undecided(text, f"more values: {needed} --profile standard", evidence)
    is_first_quicker = ratio.is_above(_EQUAL)
    return decided(is_first_quicker == second_more, text, evidence)
