"""A device of a guest that raises interrupts when a program asks: QEMU's edu, which the kernel's
uio_pci_generic serves as /dev/uio0."""

from __future__ import annotations

import re
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import read_regular
from hardstone.lab.config_file import MOST_CONFIG_BYTES, read_config
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import lab_errors

PCI_IDS = {"edu": "1234:11e8"}  # vendor and device
_DRIVER = "uio_pci_generic"
_OPTION = "CONFIG_UIO_PCI_GENERIC"
_OF_DEVICE = re.compile(r"[0-9]{2}-(?:uio|uio_pci_generic)\.ko", re.ASCII)
_OF_DEBIAN = re.compile(r"(debian(?:-rt)?)(?:-(amd64|arm64))?((?:@.*)?)", re.ASCII)


def check_device(kernel: Kernel, device: str | None) -> None:
    """InputError if a device is asked for and the kernel has no driver for it. Where nothing is
    known of a driver that may be built in, the guest says so."""
    if device is None or any(path.name.endswith(f"-{_DRIVER}.ko") for path in kernel.modules):
        return
    options = _options(kernel)
    if options is None or options.get(_OPTION) == "y":
        return
    what = f"the kernel '{kernel.name}' in the lab has no driver {_DRIVER} for the device {device}"
    if options.get(_OPTION) == "m":
        raise InputError(f"{what}: it was stored without it", _how_to_have(kernel))
    raise InputError(what, f"switch on {_OPTION}=m and add it again, with --modules DIR")


def loaded_modules(kernel: Kernel, device: str | None) -> list[Path]:
    """The kernel's modules that a guest loads: those of a device only if it has one."""
    wants = device is not None
    return [path for path in kernel.modules if wants or not _OF_DEVICE.fullmatch(path.name)]


def _options(kernel: Kernel) -> dict[str, str] | None:
    if kernel.config is None:
        return None
    with lab_errors("read", kernel.config):
        data = read_regular(kernel.config, MOST_CONFIG_BYTES)
    return read_config(data, str(kernel.config))


def _how_to_have(kernel: Kernel) -> str:
    found = _OF_DEBIAN.fullmatch(kernel.name) if kernel.package else None
    if found is None:
        return f"add it again, with --modules DIR: hardstone lab add {kernel.name}"
    kind, arch, version = found.groups()
    return f"fetch it again: hardstone lab get {kind}{version}{f' --arch {arch}' if arch else ''}"
