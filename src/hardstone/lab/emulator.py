"""The QEMU that boots guests of an architecture."""

from __future__ import annotations

import shutil

from hardstone.errors import TargetError

_PACKAGES = {"x86_64": "qemu-system-x86", "aarch64": "qemu-system-arm"}


def emulator(arch: str) -> str:
    """Path of the QEMU for guests of `arch`; TargetError with the package to install."""
    name = f"qemu-system-{arch}"
    found = shutil.which(name)
    if found is None:
        raise TargetError(
            f"there is no {name}, which the lab boots guests in",
            f"install it: sudo apt-get install {_PACKAGES[arch]}",
        )
    return found
