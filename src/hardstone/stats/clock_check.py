"""Whether the target's clock ran as fast as that of the machine that the toolkit runs on.

A guest that calibrated its clock wrongly is consistent within itself: nothing that its probe
measures shows it.
"""

from __future__ import annotations

from hardstone.model import ClockCheck
from hardstone.units import format_count, format_ns

_MOST_PERCENT = 1


def clocks_apart(check: ClockCheck) -> str | None:
    """The reason, if the spans differ by more than 1 % beyond the uncertainty; else None."""
    beyond_ns = abs(check.target_ns - check.host_ns) - _uncertainty_ns(check)
    if check.host_ns <= 0 or 100 * beyond_ns <= _MOST_PERCENT * check.host_ns:
        return None
    if check.target_ns <= 0:
        return f"the target's clock {'went back' if check.target_ns else 'stood still'}"
    speed = _speed_text(check.target_ns / check.host_ns)
    return f"the target's clock ran {speed} times as fast as this machine's"


def clocks_not_held(check: ClockCheck) -> str | None:
    """The reason, if the uncertainty exceeds 1 % of the span and nothing else is seen; else None.

    Without a span there is nothing to hold against either.
    """
    uncertainty_ns = _uncertainty_ns(check)
    is_sure = 100 * uncertainty_ns <= _MOST_PERCENT * check.host_ns
    if (check.host_ns > 0 and is_sure) or clocks_apart(check):
        return None
    return (
        "the target's clock could not be held against this machine's: "
        f"uncertain by {format_ns(uncertainty_ns)} in {format_ns(max(check.host_ns, 0))}"
    )


def _uncertainty_ns(check: ClockCheck) -> int:
    return max(check.uncertainty_ns, 0)


def _speed_text(ratio: float) -> str:
    """Four significant digits: a clock that is off by 1 % is not called 1.0 times as fast."""
    if ratio < 0.001:
        return "less than 0.001"
    return format_count(round(ratio)) if ratio >= 1000 else f"{ratio:.4g}"
