"""Facts about a machine that must not change while it is measured."""

from __future__ import annotations

from collections.abc import Mapping

from hardstone.model import Moved, Scalar

STEADY_FACTS = (
    "machine.arch",
    "machine.cpu_model",
    "cpu.online",
    "cpu.allowed",
    "cpu.count",
    "cpu.smt",
    "memory.total_bytes",
    "kernel.name",
    "kernel.release",
    "kernel.version",
    "kernel.preemption",
    "kernel.realtime",
    "kernel.hz",
    "kernel.cmdline",
    "kernel.clocksource",
    "kernel.rt_runtime_us",
    "kernel.rt_period_us",
    "power.governor",
    "power.idle_states",
    "virtual.hypervisor",
    "virtual.container",
    "limits.can_realtime",
    "limits.can_lock",
)


def environment_moved(before: Mapping[str, Scalar], after: Mapping[str, Scalar]) -> list[Moved]:
    """Each steady fact that differs, with both values; null where it was not known."""
    return [
        Moved(fact=fact, before=before.get(fact), after=after.get(fact))
        for fact in STEADY_FACTS
        if before.get(fact) != after.get(fact)
    ]
