"""The kernel that an image unpacks when it starts, kept beside the image: in emulation a kernel
needs as long to unpack itself as to boot.

Its file is named after the image and after its own content, so that neither another image nor a
damaged file is ever booted in its place. An empty one: QEMU cannot boot what the image holds.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from hardstone.files import OddFileError, read_regular
from hardstone.lab.image_file import MOST_IMAGE_BYTES
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import work_folder
from hardstone.lab.unpack import MOST_UNPACKED_BYTES, UnpackError
from hardstone.lab.vmlinux import vmlinux

_PREFIX = "vmlinux-"
_DIGITS = 32


def unpacked_kernel(kernel: Kernel, unpack: Callable[[bytes], bytes] = vmlinux) -> Path | None:
    """The kernel in `kernel.image` as a file that QEMU boots; None where it has to boot the image:
    that holds nothing else, cannot be unpacked here, or there is no room to keep the file."""
    if kernel.arch != "x86_64":  # others are stored unpacked
        return None
    try:
        path = _kept(kernel) or _made(kernel, unpack(_image(kernel)))
        return path if path.stat().st_size else None
    except (OSError, UnpackError):
        return None


def _kept(kernel: Kernel) -> Path | None:
    for path in kernel.image.parent.glob(f"{_of(kernel)}*"):
        with contextlib.suppress(OddFileError):
            content = read_regular(path, MOST_UNPACKED_BYTES)
            if path.name == _name(kernel, content):
                return path
    return None


def _image(kernel: Kernel) -> bytes:
    image = read_regular(kernel.image, MOST_IMAGE_BYTES)
    if hashlib.sha256(image).hexdigest() != kernel.sha256:
        raise UnpackError("another image was stored just now")
    return image


def _made(kernel: Kernel, content: bytes) -> Path:
    path = kernel.image.with_name(_name(kernel, content))
    with work_folder() as work:
        (work / path.name).write_bytes(content)
        (work / path.name).rename(path)
    return path


def _name(kernel: Kernel, content: bytes) -> str:
    return _of(kernel) + hashlib.sha256(content).hexdigest()[:_DIGITS]


def _of(kernel: Kernel) -> str:
    return f"{_PREFIX}{kernel.sha256[:_DIGITS]}-"
