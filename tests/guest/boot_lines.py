"""Words for a kernel's boot line, and the rules of the doctor that they change."""

from __future__ import annotations

_TUNED = (
    "isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0 threadirqs "
    "mitigations=off nowatchdog transparent_hugepage=never highres=off"
)
# Rule to its states without the words and with them, and the words.
CHANGED = {
    "isolated-cpus": ("found", "fine", "isolcpus="),
    "ticks": ("found", "fine", "nohz_full="),
    "timer-migration": ("found", "fine", "isolcpus= and nohz_full="),
    "interrupts-everywhere": ("found", "fine", "irqaffinity="),
    "mitigations": ("found", "fine", "mitigations=off"),
    "watchdog": ("found", "fine", "nowatchdog"),
    "huge-pages": ("found", "fine", "transparent_hugepage=never"),
    "timer-resolution": ("fine", "found", "highres=off"),
    "clock-source": ("fine", "found", "clocksource="),
}


def why_without_effect(rule: str, arch: str, is_realtime: bool) -> str:
    """Why the words change nothing in this kernel, "" if they do."""
    if rule == "clock-source" and arch != "x86_64":
        return f"{arch} has one clock source only"
    if rule == "mitigations" and arch == "aarch64":
        return "an arm64 kernel cannot leave out that of spectre_v1"
    if rule == "huge-pages" and is_realtime:
        return "a PREEMPT_RT kernel has no transparent huge pages"
    return ""


def tuned(arch: str) -> str:
    """All of them."""
    return f"{_TUNED} clocksource=hpet" if arch == "x86_64" else _TUNED
