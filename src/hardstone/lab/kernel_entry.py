"""kernel.json: what the lab knows about one kernel, checked when it is read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hardstone.files import check_regular, read_regular, write_all

NAME_OF_ENTRY = "kernel.json"
IMAGE, CONFIG, BUSYBOX, MODULES = "image", "config", "busybox", "modules"
_MOST_ENTRY_BYTES = 1 << 20

_Line = Annotated[str, msgspec.Meta(pattern=r"^[ -~]{0,1000}\Z")]
_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_ModuleName = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{2}-[A-Za-z0-9_]{1,64}\.ko\Z")]


class EntryError(Exception):
    """The entry cannot be used; the text says why."""


class StoredFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: _Hash


class KernelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`modules` are in the order of loading."""

    version: Literal[1] = 1
    arch: Literal["x86_64", "aarch64"]
    release: _Line
    package: _Line
    append: _Line
    image: StoredFile
    busybox: StoredFile
    config: StoredFile | None
    modules: Annotated[dict[_ModuleName, StoredFile], msgspec.Meta(max_length=99)]

    def files(self) -> dict[str, StoredFile]:
        """Path below the entry's folder to what is known of the file."""
        found = {IMAGE: self.image, BUSYBOX: self.busybox}
        if self.config is not None:
            found[CONFIG] = self.config
        return found | {f"{MODULES}/{name}": file for name, file in self.modules.items()}


def store_file(path: Path, data: bytes, mode: int = 0o644) -> StoredFile:
    """Writes a new file, durable; OSError if it cannot."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return StoredFile(len(data), hashlib.sha256(data).hexdigest())


def write_entry(folder: Path, entry: KernelEntry) -> None:
    """Puts kernel.json into `folder`; OSError if it cannot."""
    encoded = msgspec.json.format(msgspec.json.encode(entry), indent=2)
    store_file(folder / NAME_OF_ENTRY, encoded + b"\n")


def read_entry(folder: Path) -> KernelEntry:
    """The entry in `folder`, all of whose files are there in their size.

    EntryError for a damaged one, OSError for one that cannot be read.
    """
    try:
        data = read_regular(folder / NAME_OF_ENTRY, _MOST_ENTRY_BYTES)
        entry = msgspec.json.decode(data, type=KernelEntry)
    except FileNotFoundError:
        raise EntryError(f"{NAME_OF_ENTRY} is missing") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EntryError(f"{NAME_OF_ENTRY}: {error}") from error
    for name, file in entry.files().items():
        _check_size(folder, name, file)
    return entry


def check_content(folder: Path, entry: KernelEntry) -> None:
    """EntryError if a file of `entry` is not what was stored."""
    for name, file in entry.files().items():
        data = read_regular(folder / name, file.size)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise EntryError(f"{name} has changed since it was stored")


def _check_size(folder: Path, name: str, file: StoredFile) -> None:
    try:
        state = (folder / name).lstat()
    except FileNotFoundError:
        raise EntryError(f"{name} is missing") from None
    check_regular(state.st_mode)
    if state.st_size != file.size:
        raise EntryError(f"{name} has {state.st_size} bytes instead of {file.size}")
