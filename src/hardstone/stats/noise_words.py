"""What a reader of a noise analysis must know, in words."""

from __future__ import annotations

from hardstone.model import Noise, Result
from hardstone.stats.comb import MOST_SLOTS
from hardstone.stats.comb_names import IRREGULAR
from hardstone.units import format_ns

_TICK_GONE = 0.5
_AWAY = 0.5
_USUAL_NS = 10_000_000  # the longest period of a usual tick


def is_mostly_away(noise_ns: int, watched_ns: int) -> bool:
    """Whether gaps took more than half of the time: a quota, a budget, other tasks."""
    return noise_ns > _AWAY * watched_ns


def no_tick_words(noise: Noise) -> str:
    """Why the series `tick` has no values."""
    if noise.watched_ns == 0:
        return "no window has all its gaps: raise gaps_count"
    kernel = noise.kernel_tick_ns
    if noise.watched_ns > MOST_SLOTS * (kernel or _USUAL_NS):
        return f"{format_ns(noise.watched_ns)} of watching are more than its gaps can tell of"
    text = "no gaps recur with "
    text += f"the kernel's tick ({format_ns(kernel)})" if kernel else "any usual tick"
    near = next((one for one in noise.combs if one.name == IRREGULAR), None)
    if near is not None:
        text += f" in nine of ten slots; at {near.rate_hz:.2f} Hz "
        return f"{text}{near.coverage:.0%} of them have one"
    if kernel is None or noise.timer_interrupts_count is None or not noise.counted_ns:
        return f"{text}, and the kernel does not say how many timer interrupts it had"
    expected = noise.counted_ns / kernel
    text += f": the kernel counted {noise.timer_interrupts_count} timer interrupts in "
    text += f"{format_ns(noise.counted_ns)}, a tick would have made {expected:.0f}"
    if is_mostly_away(noise.noise_ns, noise.watched_ns):
        return f"{text}. The loop had the CPU for less than half of the time: this tells of no tick"
    if noise.timer_interrupts_count < _TICK_GONE * expected:
        text += ". It stops the tick on this CPU (nohz_full)"
    else:
        text += ". They take less than the threshold, or come at no steady period"
    return text


def notes_of(noise: Noise, result: Result) -> list[str]:
    """What makes these figures doubtful, or narrower than they seem."""
    notes = []
    if noise.left_out_windows:
        notes.append(
            f"{noise.left_out_windows} windows lack gaps that found no room. They were the busiest "
            f"and are left out: tick and other are of {format_ns(noise.watched_ns)} of watching"
        )
    if result.conditions.realtime is False:
        notes.append("the thread was not real-time: gaps include other tasks of the CPU")
    if is_mostly_away(noise.noise_ns, noise.watched_ns):
        notes.append(
            "gaps took more than half of the time: what recurs may follow from what took the CPU "
            "(a quota, a budget, other tasks), and is not held against the kernel's counts"
        )
    if result.conditions.clock == "monotonic":
        notes.append("the loop read clock_gettime, not the counter: short gaps are not seen")
    steal_ns = result.environment.get("steal_ns", 0)
    if steal_ns > 0:
        notes.append(
            f"the hypervisor took {format_ns(steal_ns)} of the CPU: gaps include what it did"
        )
    instrument = result.instrument
    if instrument is not None and not instrument.trusted and result.conditions.clock != "monotonic":
        notes.append(f"the counter is not trusted ({instrument.reason}): periods may be wrong")
    return notes
