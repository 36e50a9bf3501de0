"""Parameters of two results of one test that make their values unlike."""

from __future__ import annotations

from typing import NamedTuple

from hardstone.model import ParamValue, Result

# They say where, how long, or what is recorded besides: values mean the same with any of them.
_FREE = frozenset(
    {
        *("uio", "raise_bytes", "raise_value", "acknowledge_bytes", "acknowledge_value"),
        *("gaps_count", "threshold_ns", "frames", "block_steps", "simulated_s", "file_bytes"),
        *("interrupts", "period_min_ns", "period_max_ns"),
    }
)


class UnlikeParameter(NamedTuple):
    """A parameter `name` with its two values."""

    name: str
    first: ParamValue
    other: ParamValue


def unlike_parameters(first: Result, other: Result) -> list[UnlikeParameter]:
    """Single values that differ, calibrated ones apart; the values of a list are labels of series.

    What a document does not have is not known, and does not differ.
    """
    calibrated = set(first.calibrated) | set(other.calibrated)
    names = [one for one in first.params if one not in calibrated and one not in _FREE]
    pairs = (UnlikeParameter(one, first.params[one], other.params.get(one, "")) for one in names)
    return [
        one
        for one in pairs
        if one.name in other.params
        and not isinstance(one.first, list)
        and not isinstance(one.other, list)
        and one.first != one.other
    ]
