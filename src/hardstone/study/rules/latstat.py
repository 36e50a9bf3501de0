"""Conclusions of latstat 2007: the latency of Solaris under an extreme load."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from hardstone.stats.quantiles import share_high, share_low, values_to_bound
from hardstone.stats.two_runs import mean_estimate, share_estimate, values_for_share
from hardstone.study.evidence import (
    BORNE_OUT,
    CONTRADICTED,
    NOT_DECIDED,
    Finding,
    Sound,
    System,
    all_of,
    beyond,
    missing,
    not_published,
    on_linux,
    run_it,
    undecided,
)
from hardstone.units import format_count, format_ns
from hardstone.wording import shorten

TEST, LOAD = "TMR-P-LAT", "latstat"
_US = 1_000
_MEAN_NS = 4.5 * _US  # what rounds to 4 us
_WORST_NS = 32 * _US
_TAIL_NS = 13 * _US
_PER_MILLION = 1e-6
_ABOUT = 2  # "roughly 300 of over 300 million" is 1 in a million; twice as many is not
_HARD_NS = 10 * _US
# As rare as the paper's tail: fewer values that stay below say nothing about it.
_LEAST_BELOW = values_to_bound(_PER_MILLION)
_LONGER = f"a longer run under the paper's load: hardstone latstat, or {run_it(TEST, load=LOAD)}"


def _wakeups(system: System, load: str = "") -> list[Sound]:
    return system.found(TEST, "wakeup", load, part="total")


def _chosen(system: System) -> tuple[list[Sound], bool]:
    """Wake-ups under the load of the paper; else all of them, as an easier case."""
    own = _wakeups(system, LOAD)
    return (own, True) if own else (_wakeups(system), False)


def _mean(found: Sequence[Sound], limit_ns: float) -> Finding:
    """Whether the mean of all series is surely below or above the limit. The interval is wider than
    that of independent values."""
    estimates = [one for one in (mean_estimate(each.held.series) for each in found) if one]
    low = min((one.low if one.low is not None else 0.0 for one in estimates), default=0.0)
    high = max((one.high if one.high is not None else inf for one in estimates), default=inf)
    values = sum(one.count for one in found)
    mean = sum((one.held.series.mean or 0.0) * one.count for one in found) / values
    loads = ", ".join(dict.fromkeys(shorten(one.load, 32) for one in found))
    span = f"{format_ns(max(low, 0.0))} to {'unbounded' if high == inf else format_ns(high)}"
    text = f"Mean {format_ns(mean)} of {format_count(values)} values (95 %: {span}), load {loads}."
    evidence = tuple(one.figure("mean") for one in found)
    if high < limit_ns:
        return Finding(BORNE_OUT, text, evidence)
    if low > limit_ns:
        return Finding(CONTRADICTED, text, evidence)
    return undecided(text, _LONGER, evidence)


def _worst(found: Sequence[Sound], system: System) -> Finding:
    above = beyond(found, _WORST_NS, _LEAST_BELOW)
    if above is None:
        return missing(system, TEST)
    text = f"{above.text[:1].upper()}{above.text[1:]}."
    evidence = tuple(one.figure("max") for one in found)
    if above.is_exceeded:
        return Finding(CONTRADICTED, text, evidence)
    if above.is_within:
        return Finding(BORNE_OUT, text, evidence)
    needed = f"at least {format_count(_LEAST_BELOW)} values: {_LONGER}"
    return undecided(text, needed, evidence)


def _under(found: Finding, is_loaded: bool, sounds: Sequence[Sound]) -> Finding:
    """A good figure counts only under the paper's load, at its degree; a bad one always counts."""
    if found.decision != BORNE_OUT or (is_loaded and not any(s.is_short_of_load for s in sounds)):
        return found
    why = "the load was lower than requested" if is_loaded else f"this was not under load {LOAD}"
    return Finding(NOT_DECIDED, f"{found.text} But {why}.", found.evidence, _LONGER)


def mean_and_worst(system: System) -> Finding:
    """Decides, in two parts: the mean, surely below or above what rounds to 4 us; and values above
    32 us. One above contradicts it, also without load; none of at least 3 million, under load
    latstat, bears it out as measured: so many bound the share to 1 in a million, the paper's tail.
    Wrong as an answer about another load."""
    if system.apart:
        return not_published(system)
    found, is_loaded = _chosen(system)
    if not found:
        return missing(system, TEST, LOAD)
    parts = [_mean(found, _MEAN_NS), _worst(found, system)]
    return _under(all_of(parts), is_loaded, found)


def tail(system: System) -> Finding:
    """Decides: the share of values above 13 us against 2 in a million; the paper has about 1. The
    interval counts 125 values of a run as one, since they depend on each other; the exact one for
    independent values is named. Wrong if they depend on each other even more."""
    if system.apart:
        return not_published(system)
    found, is_loaded = _chosen(system)
    above = beyond(found, _TAIL_NS)
    if above is None:
        return missing(system, TEST, LOAD)
    exact = share_low(above.least, above.total, 0.025), share_high(above.most, above.total, 0.025)
    share = share_estimate(above.least, above.most, above.total)
    limit = _ABOUT * _PER_MILLION
    text = (
        f"{above.text[:1].upper()}{above.text[1:]}: {_per_million(exact[0])} to "
        f"{_per_million(exact[1])} per million (95 %, for independent values)."
    )
    evidence = tuple(one.figure("max") for one in found)
    if share.low is not None and share.low > limit:
        return Finding(CONTRADICTED, text, evidence)
    if share.high is not None and share.high <= limit:
        return _under(Finding(BORNE_OUT, text, evidence), is_loaded, found)
    needed = f"up to {format_count(values_for_share(limit))} values: {_LONGER}"
    return undecided(text, needed, evidence)


def _per_million(share: float) -> str:
    value = share / _PER_MILLION
    return format_count(round(value)) if value >= 10 else f"{value:.2g}"


def hard_real_time(system: System) -> Finding:
    """Decides: the mean under load latstat, surely below or above 10 us, which the paper calls hard
    real time. Above it contradicts it without load as well. Wrong by the yardstick: a mean bounds
    no latency, and most would ask for the worst."""
    if system.apart:
        return not_published(system)
    found, is_loaded = _chosen(system)
    if not found:
        return missing(system, TEST, LOAD)
    return _under(_mean(found, _HARD_NS), is_loaded, found)


def challenges_linux(system: System) -> Finding:
    """Decides, on Linux without load: a mean surely above 4 us or a value above 32 us bears it out;
    a mean surely below and none above, of at least 3 million, contradicts it. Wrong as an answer
    about any other Linux, or about the machine of the paper, which was another."""
    other = on_linux(system)
    if other is not None:
        return other
    if system.apart:
        return not_published(system)
    found = _wakeups(system, "none")
    if not found:
        return missing(system, TEST, "none")
    kept = all_of([_mean(found, _MEAN_NS), _worst(found, system)])
    if kept.decision == NOT_DECIDED:
        return kept
    opposite = BORNE_OUT if kept.decision == CONTRADICTED else CONTRADICTED
    return Finding(opposite, f"This Linux without load: {kept.text}", kept.evidence)
