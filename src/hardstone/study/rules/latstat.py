"""Conclusions of latstat 2007: the latency of Solaris under an extreme load."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from hardstone.stats.quantiles import share_high, share_low, values_to_bound
from hardstone.stats.two_runs import mean_estimate, share_estimate, values_for_share
from hardstone.study.evidence import (
    BORNE_OUT,
    NOT_BORNE_OUT,
    NOT_DECIDED,
    RESERVED,
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
_BETTER_NS = 3.5 * _US  # what rounds to less than 4 us
_WORST_NS = 32 * _US
_TAIL_NS = 13 * _US
_PER_MILLION = 1e-6
_ABOUT = 2  # "roughly 300 of over 300 million" is 1 in a million; twice as many is not
_HARD_NS = 10 * _US
# As rare as the paper's tail: fewer values that stay below say nothing about it.
_LEAST_BELOW = values_to_bound(_PER_MILLION)
_COMMAND = f"hardstone latstat --load latstat --cpu-config {RESERVED}"
_LONGER = f"a longer run: {_COMMAND}"


def _wakeups(system: System, load: str) -> list[Sound]:
    """Of one load alone: another, or more of it, has another mean."""
    found = system.found(TEST, "wakeup", load, part="total")
    return [one for one in found if one.load == load]


def _why_not_as_published(system: System) -> Finding | None:
    """The paper measured under an extreme load, on a CPU that it had reserved; what was measured
    under other conditions is no easier case of it, nor a harder one, and decides nothing."""
    if system.apart:
        return not_published(system)
    if system.cpu_config == RESERVED and _wakeups(system, LOAD):
        return None
    found = system.found(TEST, "wakeup", part="total")
    if not found:
        return missing(system, TEST, LOAD)
    loads = ", ".join(dict.fromkeys(shorten(one.load, 32) for one in found))
    text = (
        f"The paper measured under extreme load on a reserved CPU; here {TEST} was measured on a "
        f"{shorten(system.cpu_config, 20)} CPU under load {loads}."
    )
    return undecided(text, _COMMAND, tuple(one.figure("mean") for one in found))


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
        return Finding(NOT_BORNE_OUT, text, evidence)
    return undecided(text, _LONGER, evidence)


def _worst(found: Sequence[Sound], system: System) -> Finding:
    above = beyond(found, _WORST_NS, _LEAST_BELOW)
    if above is None:
        return missing(system, TEST)
    text = f"{above.text[:1].upper()}{above.text[1:]}."
    evidence = tuple(one.figure("max") for one in found)
    if above.is_exceeded:
        return Finding(NOT_BORNE_OUT, text, evidence)
    if above.is_within:
        return Finding(BORNE_OUT, text, evidence)
    needed = f"at least {format_count(_LEAST_BELOW)} values: {_LONGER}"
    return undecided(text, needed, evidence)


def _under(found: Finding, sounds: Sequence[Sound]) -> Finding:
    """A good figure counts only where the load reached its degree; a bad one always counts."""
    if found.decision != BORNE_OUT or not any(one.is_short_of_load for one in sounds):
        return found
    text = f"{found.text} But the load was lower than requested."
    return Finding(NOT_DECIDED, text, found.evidence, _LONGER)


def mean_and_worst(system: System) -> Finding:
    """Decides, in two parts, under load latstat on a reserved CPU: the mean, surely below or above
    what rounds to 4 us; and values above 32 us. One above contradicts it; none of at least 3
    million bears it out as measured: so many bound the share to 1 in a million, the paper's tail.
    Wrong as an answer about another load or a CPU that is shared: there it stays open."""
    other = _why_not_as_published(system)
    if other is not None:
        return other
    found = _wakeups(system, LOAD)
    return _under(all_of([_mean(found, _MEAN_NS), _worst(found, system)]), found)


def tail(system: System) -> Finding:
    """Decides, under the paper's conditions as `mean_and_worst`: the share of values above 13 us
    against 2 in a million; the paper has about 1. The interval counts 125 values of a run as one,
    since they depend on each other; the exact one for independent values is named. Wrong if they
    depend on each other even more."""
    other = _why_not_as_published(system)
    if other is not None:
        return other
    found = _wakeups(system, LOAD)
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
        return Finding(NOT_BORNE_OUT, text, evidence)
    if share.high is not None and share.high <= limit:
        return _under(Finding(BORNE_OUT, text, evidence), found)
    needed = f"up to {format_count(values_for_share(limit))} values: {_LONGER}"
    return undecided(text, needed, evidence)


def _per_million(share: float) -> str:
    value = share / _PER_MILLION
    return format_count(round(value)) if value >= 10 else f"{value:.2g}"


def hard_real_time(system: System) -> Finding:
    """Decides: the mean under load latstat on a reserved CPU, surely below or above 10 us, which
    the paper calls hard real time. Wrong by the yardstick: a mean bounds no latency, and most would
    ask for the worst."""
    other = _why_not_as_published(system)
    if other is not None:
        return other
    found = _wakeups(system, LOAD)
    return _under(_mean(found, _HARD_NS), found)


_WITHOUT_LOAD = f"{run_it(TEST, load='none')} --profile soak"


def challenges_linux(system: System) -> Finding:
    """Decides: it is said of any Linux, so one that is better contradicts it and none bears it out.
    Better, without load: a mean surely below what rounds to 4 us, and none of at least 3 million
    values above 32 us, the paper's worst under load. A slower Linux leaves it open. Wrong as far as
    the machine is another than the paper's."""
    other = on_linux(system)
    if other is not None:
        return other
    if system.apart:
        return not_published(system)
    found = _wakeups(system, "none")
    if not found:
        return missing(system, TEST, "none")
    better = all_of([_mean(found, _BETTER_NS), _worst(found, system)])
    if better.decision == BORNE_OUT:
        text = f"This Linux without load is better: {better.text}"
        return Finding(NOT_BORNE_OUT, text, better.evidence)
    if better.decision == NOT_BORNE_OUT:
        text = f"{better.text} A slower Linux does not decide it: another may be faster."
        return undecided(text, f"a faster Linux without load: {_WITHOUT_LOAD}", better.evidence)
    return undecided(better.text, f"more values: {_WITHOUT_LOAD}", better.evidence)
