"""Which kernels the tests boot, what Debian built them to be, and words for their boot lines."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.kernels import Kernel, find_kernel
from hardstone.lab.qemu import emulator
from lab_kernels import NAMES

NO_DRIVER = "the kernel was stored without the driver of QEMU's edu"


@dataclass(frozen=True)
class Build:
    """The preemption of a kernel: `model` after a boot without `preempt=`, and `choices`, those
    that it can switch between: none if the model is built in."""

    is_realtime: bool
    model: str
    choices: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Those that `preempt=` can choose."""
        return tuple(choice for choice in self.choices if choice != "laziest")

    @property
    def most_preemptible(self) -> str:
        """What follows the kernel's name in a target whose every task is preemptible."""
        return ",preempt=full" if "full" in self.choices else ""


_STANDARD = ("none", "voluntary", "full")
_REALTIME = ("full", "lazy", "laziest")
BUILDS = {
    "debian": Build(False, "voluntary", _STANDARD),
    "debian-rt": Build(True, "rt"),
    "debian@6.12": Build(False, "voluntary", _STANDARD),
    "debian-rt@6.12": Build(True, "lazy", _REALTIME),
    "debian-arm64": Build(False, "voluntary"),
    "debian-rt-arm64": Build(True, "rt"),
}


def names_of(option: str) -> list[str]:
    """The kernels that `--kernels` names: "all", or names with commas."""
    names = list(NAMES) if option == "all" else option.split(",")
    if unknown := [name for name in names if name not in BUILDS]:
        raise pytest.UsageError(f"--kernels: {unknown[0]} is none of {', '.join(BUILDS)}")
    return names


def kernel_of(nodeid: str) -> str:
    """The kernel in which a test runs, by the first of its parameters."""
    parameters = nodeid.partition("[")[2]
    return max((name for name in BUILDS if parameters.startswith(name)), key=len, default="")


def found_kernel(name: str) -> Kernel:
    """The kernel of the lab; skips where it cannot be booted."""
    try:
        kernel = find_kernel(name)
        emulator(kernel.arch)
    except HardstoneError as error:
        pytest.skip(f"lab:{name}: {error}")
    return kernel


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


def tuned_line(arch: str) -> str:
    """All words of CHANGED."""
    return f"{_TUNED} clocksource=hpet" if arch == "x86_64" else _TUNED
