"""The kernels of the lab: kernels/NAME/ holds kernel.json and the files that it names.

An entry is made in a folder beside and renamed, so that neither a kill nor a full disk leaves
half of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import one_line, sync_folder
from hardstone.lab.entry_folder import entry_folder, entry_names, exchange, put_back
from hardstone.lab.image_file import Architecture
from hardstone.lab.kernel_entry import (
    BUSYBOX,
    CONFIG,
    IMAGE,
    MODULES,
    EntryError,
    KernelEntry,
    check_content,
    read_entry,
    store_file,
    write_entry,
)
from hardstone.lab.lab_folder import console_log, discard, lab_errors, lab_folder, work_folder
from hardstone.lab.modules import Driver


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel in the lab. `arch`: x86_64 or aarch64; `release`: as `uname -r`, or "";
    `package`: NAME=VERSION, or ""; `sha256`: of the image; `modules`: in the order of loading."""

    name: str
    arch: str
    release: str
    package: str
    sha256: str
    append: str
    image: Path
    config: Path | None
    busybox: Path
    modules: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class KernelFiles:
    """What a kernel of the lab is made of: contents, not paths."""

    arch: Architecture
    release: str
    image: bytes
    busybox: bytes
    config: bytes | None
    drivers: tuple[Driver, ...]
    package: str = ""
    append: str = ""


def find_kernel(name: str) -> Kernel:
    """The kernel `name`, all of whose files are as they were stored.

    InputError for an unknown or damaged one, TargetError where the folder cannot be read.
    """
    check_known(name)
    folder = entry_folder(name)
    with lab_errors("read", folder):
        try:
            entry = read_entry(folder)
            check_content(folder, entry)
        except EntryError as error:
            raise InputError(
                f"the kernel '{name}' in the lab is damaged: {one_line(str(error))}",
                f"get or add it again, or remove it: hardstone lab remove {name}",
            ) from error
    return _kernel(name, entry)


def all_kernels() -> list[Kernel]:
    """Every usable kernel, by name; `damaged_kernels` has the others."""
    return [_kernel(name, entry) for name, entry in _entries() if isinstance(entry, KernelEntry)]


def damaged_kernels() -> dict[str, str]:
    """Name to reason of the kernels that cannot be used."""
    return {name: entry for name, entry in _entries() if isinstance(entry, str)}


def add_kernel(name: str, files: KernelFiles) -> tuple[Kernel, Kernel | None]:
    """Stores a kernel; also the one of this name that it replaced, if that was usable.

    InputError for a bad name; TargetError where the folder cannot be written: then the kernel
    that was there stays.
    """
    folder = entry_folder(name)
    before = next((kernel for kernel in all_kernels() if kernel.name == name), None)
    with lab_errors("store a kernel in", lab_folder()), work_folder() as work:
        entry = _write(work / name, files)
        exchange(work / name, folder)
    return _kernel(name, entry), before


def check_known(name: str) -> None:
    """InputError if the lab has no kernel of that name, usable or not."""
    folder = entry_folder(name)
    with lab_errors("read", folder):
        put_back(folder)
        if not os.path.lexists(folder):
            raise InputError(_unknown(name), _how_to_have(name))


def remove_kernel(name: str) -> None:
    """Removes a kernel, usable or not; InputError if there is none."""
    check_known(name)
    with lab_errors("remove", entry_folder(name)):
        discard(entry_folder(name))
        console_log(name).unlink(missing_ok=True)


def _entries() -> Iterator[tuple[str, KernelEntry | str]]:
    """Name to entry, or to the reason why it cannot be used."""
    with lab_errors("read", lab_folder()):
        names = entry_names()
    for name in names:
        try:
            yield name, read_entry(entry_folder(name))
        except EntryError as error:
            yield name, str(error)
        except OSError as error:
            yield name, error.strerror or str(error)


def _write(folder: Path, files: KernelFiles) -> KernelEntry:
    (folder / MODULES).mkdir(parents=True)
    names = [f"{place:02}-{driver.name}.ko" for place, driver in enumerate(files.drivers)]
    entry = KernelEntry(
        arch=files.arch,
        release=files.release,
        package=files.package,
        append=files.append,
        image=store_file(folder / IMAGE, files.image),
        busybox=store_file(folder / BUSYBOX, files.busybox, 0o755),
        config=None if files.config is None else store_file(folder / CONFIG, files.config),
        modules={
            name: store_file(folder / MODULES / name, driver.data)
            for name, driver in zip(names, files.drivers, strict=True)
        },
    )
    write_entry(folder, entry)
    sync_folder(folder / MODULES)
    sync_folder(folder)
    return entry


def _kernel(name: str, entry: KernelEntry) -> Kernel:
    folder = entry_folder(name)
    return Kernel(
        name=name,
        arch=entry.arch,
        release=entry.release,
        package=entry.package,
        sha256=entry.image.sha256,
        append=entry.append,
        image=folder / IMAGE,
        config=None if entry.config is None else folder / CONFIG,
        busybox=folder / BUSYBOX,
        modules=tuple(folder / MODULES / module for module in sorted(entry.modules)),
    )


def _unknown(name: str) -> str:
    names = entry_names()
    shown = ", ".join([*names[:8], *(["..."] if len(names) > 8 else [])])
    return f"the lab has no kernel '{name}'{f'; it has {shown}' if names else ''}"


def _how_to_have(name: str) -> str:
    if name.partition("@")[0] in ("debian", "debian-rt"):
        return f"fetch it: hardstone lab get {name}"
    return "see how to have one: hardstone lab --help"
