"""What limits the figures of KRN-P-PRE: what was too rare, too short, or not known."""

from __future__ import annotations

from collections.abc import Iterator

from hardstone.present.quantile_text import lacking_quantile, level_text
from hardstone.present.section_text import percent, rate_text
from hardstone.present.wording import shorten
from hardstone.stats.blocking_rate import unseen_per_s
from hardstone.stats.conditions import listed
from hardstone.stats.kernel_operations import MOST_OF_OTHERS, KernelTime, Operation
from hardstone.stats.quantiles import values_for
from hardstone.stats.residuals import LEAST_IDLE, Idle
from hardstone.stats.section_time import time_longer
from hardstone.units import format_count, format_ns

_LENGTHS_NS = (1e5, 1e6, 1e7)
_MOST_ABOVE = 0.01  # of the reference: about what a wide distribution leaves above the limit
_TOO_MUCH = 1.05
_MOST_WAITED = 0.1


def notes_on(found: KernelTime) -> Iterator[str]:
    """One line for each limit that the reader must know."""
    yield from _on_ranks(found)
    if found.reference and found.is_reference_of_others:
        yield _on_reference_of_others(found.reference)
        yield from _on_kernel_time(found)
        return
    if found.idle is None:
        yield (
            f"The reference (operation none) has fewer than {LEAST_IDLE} releases or is missing: "
            "nothing is told from the idle latency, so only latencies are given."
        )
        return
    yield _on_limit(found, found.idle)
    yield from _on_reference(found)
    yield from _on_what_does_not_fall(found)
    yield from _on_the_rare(found)
    yield from _on_kernel_time(found)


def _on_ranks(found: KernelTime) -> Iterator[str]:
    ranks = [one.rank for one in found.operations if one.rank is not None]
    if len(set(ranks)) < len(ranks):
        yield (
            "=: not distinguishable from the first of the same rank, whose interval overlaps that "
            "of this operation."
        )
    alike = [_name(one) for one in found.operations if one.is_like_reference]
    level = level_text(found.q)
    if alike:
        yield (
            f"~: not distinguishable from the reference, so without a rank: {listed(alike)}. "
            f"The interval of {level} is not above that of the reference."
        )
    if found.reference and found.reference.quantile is None:
        lacks = lacking_quantile(found.q, found.reference.series.count)
        yield f"No rank is beside the reference: {level} {lacks}."
    few = [_name(one) for one in found.operations if one.quantile is None]
    if few:
        needed = format_count(values_for(found.q))
        yield f"Too few releases for a rank ({level} needs {needed}): {listed(few)}."


def _on_reference_of_others(one: Operation) -> str:
    return (
        f"The reference is that of other processes: before {percent(one.still_share)} of its "
        f"values its own had not run, and others had the CPU for {percent(one.waited_share)} of "
        f"its time; the limit is {percent(MOST_OF_OTHERS)}. So no rates and no sections are given. "
        "Ranks and latencies hold for what had the CPU. Measure without other work on it."
    )


def _on_limit(found: KernelTime, idle: Idle) -> str:
    start = found.whole.blocking.residuals.start_ns if found.whole.blocking else 0.0
    return (
        f"Nothing shorter than {format_ns(start)} is told from the idle latency (mean "
        f"{format_ns(idle.mean_ns)}, standard deviation {format_ns(idle.stddev_ns)})."
    )


def _on_reference(found: KernelTime) -> Iterator[str]:
    blocking = found.reference.blocking if found.reference else None
    if blocking is None:
        return
    above, releases = blocking.residuals.blocked, blocking.residuals.releases
    if above > _MOST_ABOVE * releases:
        yield (
            f"{format_count(above)} of {format_count(releases)} releases of the reference are "
            "above that too: about that share of each operation is not its own."
        )


def _on_what_does_not_fall(found: KernelTime) -> Iterator[str]:
    every = [one for one in [*found.operations, found.whole] if one.blocking]
    odd = [_name(one) for one in every if one.blocking and not one.blocking.falls]
    if odd:
        yield (
            f"No rate and no sections of {listed(odd)}: their short residuals are rarer than longer"
            " ones, which random moments within sections do not give. Each wake-up from the "
            "operation takes longer than one from the reference."
        )


def _on_the_rare(found: KernelTime) -> Iterator[str]:
    """For the operation with the fewest releases."""
    known = [one.blocking.residuals for one in found.operations if one.blocking]
    fewest = min(known, key=lambda one: one.releases, default=None)
    if fewest is None:
        return
    rates = [(length, unseen_per_s(fewest, length)) for length in _LENGTHS_NS]
    told = [f"{format_ns(length)}: {rate_text(rate)}" for length, rate in rates if rate is not None]
    if told:
        yield (
            "Too rare to have been seen, at 95 %: sections that come less often than this while an "
            f"operation runs, by their length: {', '.join(told)}."
        )


def _on_kernel_time(found: KernelTime) -> Iterator[str]:
    unknown = [_name(one) for one in found.operations if one.kernel_share is None]
    if unknown:
        yield f"Time in the kernel not counted: {listed(unknown)}. No share of it is given."
    waited = max((one.waited_share for one in found.operations), default=0.0)
    if waited > _MOST_WAITED:
        yield (
            f"Other processes had the CPU for up to {percent(waited)} of the time while an "
            "operation was ready: what they do in the kernel counts too."
        )
    blocked = [_name(one) for one in found.operations if _is_blocked_too_much(one)]
    if blocked:
        yield (
            f"Blocked for longer than in the kernel: {listed(blocked)}. Interrupts, other threads "
            "or the hypervisor block too, and count as sections."
        )


def _is_blocked_too_much(one: Operation) -> bool:
    """Whether the CPU was blocked for more of the time than the operation was in the kernel."""
    if one.blocking is None or one.kernel_share is None:
        return False
    longer = time_longer(one.blocking.rate).share
    return bool(longer.size) and float(longer[0]) > _TOO_MUCH * one.kernel_share


def _name(one: Operation) -> str:
    return shorten(one.name, 24)
