"""The frequency of this machine's counter, for guests whose counter it is."""

from __future__ import annotations

from hardstone.errors import HardstoneError
from hardstone.targets.probe_target import ProbeTarget


def host_tsc_khz(target: ProbeTarget) -> int | None:
    """As the probe of `target`, which is this machine, measured it; as a rule within 1 ppm. None
    where it is no TSC, or where the probe or the kernel does not trust it. Takes a second."""
    try:
        clock = target.facts().instrument
    except HardstoneError:
        return None
    if clock.clock != "tsc" or not clock.trusted or clock.counter_hz is None:
        return None
    return round(clock.counter_hz / 1000)
