"""A kernel from files of this machine: what a person built, or what a package held."""

from __future__ import annotations

from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import followed, one_line, read_regular
from hardstone.lab.busybox import find_busybox, read_busybox
from hardstone.lab.config_file import MOST_CONFIG_BYTES, read_config
from hardstone.lab.image_file import MOST_IMAGE_BYTES, read_image
from hardstone.lab.kernels import KernelFiles
from hardstone.lab.modules import find_tree, needed_drivers
from hardstone.lab.settings import read_append


def read_kernel(
    image: Path,
    *,
    modules: Path | None = None,
    config: Path | None = None,
    busybox: Path | None = None,
    append: str = "",
    package: str = "",
) -> KernelFiles:
    """What the lab stores of a kernel: its image, its drivers out of the tree `modules`, ...

    Without `busybox` that of this machine or of another kernel is taken. InputError for files
    that are not what they should be, and for a kernel that lacks a driver.
    """
    found = read_image(_read(image, MOST_IMAGE_BYTES), str(image))
    said = None if config is None else _read(config, MOST_CONFIG_BYTES)
    options = None if said is None else read_config(said, str(config))
    try:
        tree = None if modules is None else find_tree(modules, found.release)
        drivers = needed_drivers(tree, options, arch=found.arch, release=found.release)
    except OSError as error:
        raise _unreadable(modules, error) from error
    program = find_busybox(found.arch) if busybox is None else read_busybox(busybox, found.arch)
    return KernelFiles(
        arch=found.arch,
        release=found.release,
        image=found.data,
        busybox=program,
        config=said,
        drivers=tuple(drivers),
        package=package,
        append=read_append(append),
    )


def _read(path: Path, most_bytes: int) -> bytes:
    """The content of a file that a person named; a link is followed, a pipe never waited for."""
    try:
        return read_regular(followed(path), most_bytes)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path | None, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(f"cannot read {one_line(str(path))}: {reason}", "name another path")
