"""The drivers that the lab uses, out of a tree lib/modules/RELEASE.

A driver is a module in the tree, or built in, as modules.builtin or the kernel's config says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import OddFileError, one_line, read_regular
from hardstone.lab.module_file import ModuleFile, ModuleFileError, canonical, read_module
from hardstone.lab.unpack import UnpackError, unpack

# Each with the option that builds it. Those that they depend on come along.
NEEDED = {"virtio_pci": "CONFIG_VIRTIO_PCI", "virtio_console": "CONFIG_VIRTIO_CONSOLE"}
# Taken where the tree has them: for guests with a device (extra_device.py).
WELCOME = ("uio_pci_generic",)
MOST_MODULE_BYTES = 64 << 20
_FILE = re.compile(r"([A-Za-z0-9_-]{1,64})\.ko(?:\.(xz|gz|zst))?", re.ASCII)
_KINDS = {"xz": "xz", "gz": "gzip", "zst": "zstd"}
_MOST_LIST_BYTES = 4 << 20


@dataclass(frozen=True)
class Driver:
    """A driver that must be loaded: the kernel's name for it, and its uncompressed file."""

    name: str
    data: bytes


def find_tree(folder: Path, release: str) -> Path:
    """The folder RELEASE of modules in `folder`, which may be itself or the root of a system.

    InputError if there is none.
    """
    places = ("", release, f"lib/modules/{release}", f"usr/lib/modules/{release}")
    for place in places if release else ("",):
        if any((folder / place / name).exists() for name in ("kernel", "modules.builtin")):
            return folder / place
    wanted = f"lib/modules/{release}" if release else "lib/modules/RELEASE"
    raise InputError(
        f"{one_line(str(folder))} holds no modules of the kernel",
        f"name the folder {wanted} (make modules_install INSTALL_MOD_PATH=DIR makes one)",
    )


def needed_drivers(
    tree: Path | None, options: Mapping[str, str] | None, *, arch: str, release: str
) -> list[Driver]:
    """The drivers to load, in the order of loading, from the modules in `tree`.

    `options` are those of the kernel's config, None if it is not known. InputError for a driver
    that is nowhere, with the option to switch on, and for one of another kernel. Without a tree
    and without options every driver passes as built in.
    """
    if tree is None and options is None:
        return []
    search = _Search(tree, options, arch, release)
    for name, option in NEEDED.items():
        search.take(name, option)
    for name in WELCOME:
        if name in search.files:
            search.take(name, "")
    return search.drivers


class _Search:
    def __init__(
        self, tree: Path | None, options: Mapping[str, str] | None, arch: str, release: str
    ) -> None:
        self.files = {} if tree is None else _module_files(tree)
        self.drivers: list[Driver] = []
        self._builtin = set() if tree is None else _builtin_drivers(tree)
        self._options = options or {}
        self._has_tree = tree is not None
        self._arch, self._release = arch, release
        self._taken: set[str] = set()

    def take(self, name: str, option: str) -> None:
        """Appends the driver `name` after those that it depends on; not if it is built in."""
        if name in self._taken:
            return
        self._taken.add(name)
        if name not in self.files:
            self._check_builtin(name, option)
            return
        data, module = _read_driver(self.files[name])
        self._check_match(name, module)
        for needed in module.depends:
            self.take(needed, "")
        self.drivers.append(Driver(name, data))

    def _check_builtin(self, name: str, option: str) -> None:
        said = self._options.get(option, "")
        if name in self._builtin or said == "y":
            return
        if said == "m" and not self._has_tree:
            raise InputError(
                f"the kernel has the driver {name} as a module",
                "give the folder of its modules: --modules DIR",
            )
        told = f"{option}=y or =m" if option else "it, or make modules_install again"
        raise InputError(f"the kernel has no driver {one_line(name)}", f"switch on {told}")

    def _check_match(self, name: str, module: ModuleFile) -> None:
        if module.arch != self._arch:
            raise InputError(
                f"the driver {name} is for {module.arch}, the kernel for {self._arch}",
                "give the modules of this kernel: --modules DIR",
            )
        if self._release and module.release != self._release:
            raise InputError(
                f"the driver {name} is of the kernel {one_line(module.release)}, "
                f"the image is {self._release}",
                "give the modules of this kernel: --modules DIR",
            )


def _module_files(tree: Path) -> dict[str, Path]:
    """Name to file; links are not followed, neither to folders (build) nor to files."""
    return {canonical(found[1]): path for path, found in _named_files(tree)}


def _named_files(tree: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    for folder, _, names in os.walk(tree, onerror=_raise):
        for name in names:
            if found := _FILE.fullmatch(name):
                yield Path(folder, name), found


def _raise(error: OSError) -> None:
    raise error


def _builtin_drivers(tree: Path) -> set[str]:
    try:
        text = read_regular(tree / "modules.builtin", _MOST_LIST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return set()
    names = (Path(line.strip()).name for line in text.splitlines())
    return {canonical(found[1]) for name in names if (found := _FILE.fullmatch(name))}


def _read_driver(path: Path) -> tuple[bytes, ModuleFile]:
    shown = f"the driver {one_line(path.name)}"
    kind = path.name.rpartition(".")[2]
    try:
        data = read_regular(path, MOST_MODULE_BYTES)
        unpacked = unpack(data, _KINDS[kind]) if kind in _KINDS else data
        return unpacked, read_module(unpacked)
    except OddFileError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror}", "") from error
    except UnpackError as error:
        raise InputError(f"{shown} cannot be unpacked: {error}", error.remedy) from error
    except ModuleFileError as error:
        raise InputError(f"{shown} is not usable: {error}", "") from error
