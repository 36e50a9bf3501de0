"""Which kernels the tests boot, and what Debian built them to be."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hardstone.errors import HardstoneError
from hardstone.lab.emulator import emulator
from hardstone.lab.kernels import Kernel, find_kernel
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
