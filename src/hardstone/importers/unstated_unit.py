"""The unit of wake-up latencies whose file does not state it: ns or us, by the shortest of them.

cyclictest and jitterdebugger print plain numbers: microseconds, or nanoseconds with -N. The rule:

- Below 300: us, for certain. No thread wakes up within 300 ns of its release.
- From 10 000 on: ns, if each thread has at least two values. In us no wake-up would come within
  10 ms of its release, the tick of the slowest common kernel (HZ=100) without high-resolution
  timers. One value proves nothing: a stall of the machine makes the first one of each thread late.
- Below 1000: us, which is the default of both tools; 1000 ns would be very short.
- Else, or where the tool says that there are no high-resolution timers: both are possible. A fast
  machine in ns and a slow one in us look the same, so a person has to say it.
- Without a shortest value: us.

What is taken without being certain is a loss "unit", and `--unit` overrides it.
"""

from __future__ import annotations

from typing import NamedTuple

from hardstone.model import Loss

_TOO_SHORT_NS = 300
_HARDLY_NS = 1000
_TICK_US = 10_000
_US = 1000
_FEWEST = 2


class UnstatedUnit(NamedTuple):
    """`unit_ns` is taken: 1 or 1000. `doubt`: why it may as well be the other one, for
    `Reading.unit_doubt`."""

    unit_ns: int
    losses: list[Loss]
    doubt: str | None = None


def unit_by_shortest(
    tool: str, least: int | None, fewest: int, *, has_coarse_timers: bool = False
) -> UnstatedUnit:
    """The unit that `least`, the shortest wake-up as printed, allows. None: not known. `fewest`: of
    how many values at least each thread is."""
    if least is not None and least < _TOO_SHORT_NS:
        return UnstatedUnit(_US, [])
    default = _taken("microseconds", f"; with {tool} -N it is nanoseconds (--unit ns)")
    if least is None or least < _HARDLY_NS:
        return UnstatedUnit(_US, default)
    if least < _TICK_US or has_coarse_timers or fewest < _FEWEST:
        doubt = (
            "it does not state its unit, and its values fit both: the shortest wake-up is "
            f"{least} ns, as {tool} -N prints it, or {least} us"
        )
        return UnstatedUnit(_US, default, doubt)
    why = f", since in microseconds no wake-up would have taken less than {least // _US} ms"
    return UnstatedUnit(1, _taken("nanoseconds", f"{why} (--unit us)"))


def _taken(unit: str, why: str) -> list[Loss]:
    text = f"The file does not state its unit: {unit} were taken{why}."
    return [Loss(what="unit", text=text)]
