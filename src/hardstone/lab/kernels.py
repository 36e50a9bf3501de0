"""The kernels of the lab: entries, images, modules, and what is read from both; and the
uncompressed kernel of an image, kept in its folder.

A driver is a module in the tree, or built in, as modules.builtin or the kernel's config says.

An entry is made in another folder and renamed, so that neither a kill nor a full disk leaves half
of one.

Its file is named after the image and after its own content, so that neither another image nor a
damaged file is ever booted in its place. An empty one: QEMU cannot boot what the image holds.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hardstone.errors import InputError, printable
from hardstone.files import (
    OddFileError,
    check_regular,
    read_regular,
    sync_folder,
    write_all,
)
from hardstone.lab.lab_folder import (
    console_log,
    discard,
    entry_folder,
    entry_names,
    exchange,
    lab_errors,
    lab_folder,
    put_back,
    work_folder,
)

_MOST_UNPACKED_BYTES = 512 << 20


class UnpackError(Exception):
    """The data are damaged, too large, or of a kind that nothing here unpacks."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.remedy = remedy


def unpack(data: bytes, kind: str, most_bytes: int = _MOST_UNPACKED_BYTES) -> bytes:
    """`data` without its compression: gzip, xz, zstd, lz4, lzma or bzip2. UnpackError with the
    reason. Of lz4 as kernels have it, nothing shows that whole blocks are missing at the end."""
    reader = _READERS.get(kind)
    if reader is None:
        raise UnpackError(f"its compression '{kind}' is unknown", "use gzip, xz, zstd or none")
    unpacked, is_whole = reader(data, most_bytes + 1)
    if len(unpacked) > most_bytes:
        raise UnpackError(f"it is larger than {most_bytes >> 20} MiB")
    if not is_whole:
        raise UnpackError(f"its {kind} data is damaged or cut off")
    return unpacked


def _gunzip(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except zlib.error:
        return b"", False


def _unxz(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = lzma.LZMADecompressor(memlimit=_MOST_UNPACKED_BYTES)
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except lzma.LZMAError:
        return b"", False


def _unbzip2(data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    unpacker = bz2.BZ2Decompressor()
    try:
        return unpacker.decompress(data, most_bytes), unpacker.eof
    except OSError:
        return b"", False


def _by_program(name: str, data: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """Decompresses what Python has no module for: zstd before 3.14, and lz4."""
    program = shutil.which(name)
    if program is None:
        raise UnpackError(
            f"it is compressed with {name}, which is not installed",
            f"install it: sudo apt-get install {name}",
        )
    with tempfile.TemporaryFile() as packed:
        packed.write(data)
        packed.seek(0)
        command = [program, "-d", "-q", "-c"]
        with subprocess.Popen(
            command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            output = process.stdout
            unpacked = output.read(most_bytes) if output else b""
            if len(unpacked) == most_bytes:
                process.kill()
    return unpacked, process.returncode == 0 and bool(data)


_READERS: dict[str, Callable[[bytes, int], tuple[bytes, bool]]] = {
    "gzip": _gunzip,
    "xz": _unxz,
    "lzma": _unxz,  # the older format of the same library
    "bzip2": _unbzip2,
    "zstd": partial(_by_program, "zstd"),
    "lz4": partial(_by_program, "lz4"),
}


Architecture = Literal["x86_64", "aarch64"]
MOST_IMAGE_BYTES = _MOST_UNPACKED_BYTES
RELEASE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~-]{0,63}", re.ASCII)
_WANTED = "a bzImage (x86-64) or an Image (arm64) is needed"
_BUILT = "a build has it in arch/x86/boot/bzImage or arch/arm64/boot/Image"
_BANNER = re.compile(rb"Linux version ([^ \0]{1,64}) ")
_X86_64_ENTRY = 1  # XLF_KERNEL_64 of Documentation/arch/x86/boot.rst
_FIRST_PROTOCOL_WITH_XLOADFLAGS = 0x020C


@dataclass(frozen=True)
class Image:
    """A kernel as QEMU boots it: `data` is unpacked where QEMU may not unpack it.

    `release`: what `uname -r` will say, "" if the image hides it.
    """

    arch: Architecture
    release: str
    data: bytes


def read_image(data: bytes, name: str) -> Image:
    """The image in the content of the file `name`; InputError for anything else."""
    if data[0x202:0x206] == b"HdrS":
        return Image("x86_64", _bzimage_release(data, name), data)
    try:
        data = _payload(data)
    except UnpackError as error:
        raise InputError(f"{printable(name)} cannot be unpacked: {error}", error.remedy) from error
    if data[0x38:0x3C] == b"ARM\x64":
        found = _BANNER.search(data)
        return Image("aarch64", _release(found[1] if found else b""), data)
    raise InputError(f"{printable(name)} is not a kernel image: {_kind(data)}{_WANTED}", _BUILT)


def _bzimage_release(data: bytes, name: str) -> str:
    """The boot protocol's header: Documentation/arch/x86/boot.rst."""
    if len(data) < 0x264:
        raise InputError(f"{printable(name)} is a damaged bzImage: it ends in its header", _BUILT)
    (protocol,) = struct.unpack_from("<H", data, 0x206)
    (load_flags,) = struct.unpack_from("<H", data, 0x236)
    if protocol < _FIRST_PROTOCOL_WITH_XLOADFLAGS or not load_flags & _X86_64_ENTRY:
        raise InputError(
            f"{printable(name)} is a 32-bit kernel: {_WANTED}", "build it with CONFIG_64BIT"
        )
    (offset,) = struct.unpack_from("<H", data, 0x20E)
    text = data[offset + 0x200 :][:64] if offset else b""
    return _release(text.partition(b"\0")[0].partition(b" ")[0])


def _payload(data: bytes) -> bytes:
    """What is in a gzip file, or in a program that EFI starts and that unpacks itself."""
    if data[:2] == b"\x1f\x8b":
        return unpack(data, "gzip")
    if data[:2] == b"MZ" and data[4:8] == b"zimg" and len(data) >= 64:
        start, size = struct.unpack_from("<II", data, 8)
        kind = data[24:56].partition(b"\0")[0].decode("ascii", "replace")
        return unpack(data[start : start + size], printable(kind))
    return data


def _release(text: bytes) -> str:
    release = text.decode("ascii", "replace")
    return release if RELEASE.fullmatch(release) else ""


def _kind(data: bytes) -> str:
    """What the file is instead, for formats that people mistake for it; "" if unknown."""
    if data[:4] == b"\x7fELF":
        return "it is an ELF file (vmlinux?); "
    if data[0x24:0x28] == b"\x18\x28\x6f\x01":
        return "it is a zImage of 32-bit ARM; "
    if data[0x30:0x35] == b"RISCV":
        return "it is an Image of RISC-V; "
    return "it is empty; " if not data else ""


_MACHINES = {62: "x86_64", 183: "aarch64"}
_HEADER_BYTES = 64
_SECTION_BYTES = 64
_MOST_SECTIONS = 4096


class ModuleFileError(Exception):
    """The file is not a driver for a kernel of the lab."""


@dataclass(frozen=True)
class ModuleFile:
    """`depends`: names of the drivers that must be loaded before; `release`: uname -r."""

    arch: str
    release: str
    depends: tuple[str, ...]


def read_module(data: bytes) -> ModuleFile:
    """The driver in the content of an uncompressed .ko file; ModuleFileError with the reason."""
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < _HEADER_BYTES:
        raise ModuleFileError("it is not an ELF file of 64 bits")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine not in _MACHINES:
        raise ModuleFileError(f"it is for another architecture (ELF machine {machine})")
    pairs = (field.partition(b"=")[::2] for field in _modinfo(data).split(b"\0"))
    fields = {key: value.decode("ascii", "replace") for key, value in pairs}
    if b"vermagic" not in fields:
        raise ModuleFileError("it has no field vermagic")
    depends = fields.get(b"depends", "").split(",")
    return ModuleFile(
        _MACHINES[machine],
        fields[b"vermagic"].partition(" ")[0],
        tuple(_canonical(name) for name in depends if name),
    )


def _canonical(name: str) -> str:
    """A driver's name as the kernel knows it: file names may have "-" for "_"."""
    return name.replace("-", "_")


def _modinfo(data: bytes) -> bytes:
    sections = _sections(data)
    (names_index,) = struct.unpack_from("<H", data, 62)
    if names_index >= len(sections):
        raise ModuleFileError("its section headers are damaged")
    _, names_at, names_size = sections[names_index]
    names = data[names_at : names_at + names_size]
    for name_at, start, size in sections:
        if names[name_at:].startswith(b".modinfo\0"):
            return data[start : start + size]
    raise ModuleFileError("it has no section .modinfo")


def _sections(data: bytes) -> list[tuple[int, int, int]]:
    """For each section: where its name begins, where it begins, and its bytes."""
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if size != _SECTION_BYTES or count > _MOST_SECTIONS or at + size * count > len(data):
        raise ModuleFileError("its section headers are damaged")
    headers = (struct.unpack_from("<IIQQQQ", data, at + size * i) for i in range(count))
    return [(name, start, length) for name, _, _, _, start, length in headers]


# Each with the option that builds it. Those that they depend on come along.
_NEEDED = {"virtio_pci": "CONFIG_VIRTIO_PCI", "virtio_console": "CONFIG_VIRTIO_CONSOLE"}
# Taken where the tree has them: for guests with a device.
_WELCOME = ("uio_pci_generic",)
_MOST_MODULE_BYTES = 64 << 20
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
        f"{printable(str(folder))} holds no modules of the kernel",
        f"name the folder {wanted} (make modules_install INSTALL_MOD_PATH=DIR makes one)",
    )


def needed_drivers(
    tree: Path | None,
    options: Mapping[str, str] | None,
    *,
    arch: str,
    release: str,
    needed: Mapping[str, str] = _NEEDED,
    welcome: Sequence[str] = _WELCOME,
) -> list[Driver]:
    """The drivers to load, in the order of loading, from the modules in `tree`.

    `options` are those of the kernel's config, None if it is not known. `needed`: name to the
    option that builds it; `welcome`: taken where the tree has them. InputError for a driver that is
    nowhere, with the option to switch on, and for one of another kernel. Without a tree and without
    options every driver passes as built in.
    """
    if tree is None and options is None:
        return []
    search = _Search(tree, options, arch, release)
    for name, option in needed.items():
        search.take(name, option)
    for name in welcome:
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
        value = self._options.get(option, "")
        if name in self._builtin or value == "y":
            return
        if value == "m" and not self._has_tree:
            raise InputError(
                f"the kernel has the driver {name} as a module",
                "give the folder of its modules: --modules DIR",
            )
        what = f"{option}=y or =m" if option else "it, or run make modules_install again"
        raise InputError(f"the kernel has no driver {printable(name)}", f"switch on {what}")

    def _check_match(self, name: str, module: ModuleFile) -> None:
        if module.arch != self._arch:
            raise InputError(
                f"the driver {name} is for {module.arch}, but the kernel is for {self._arch}",
                "give the modules of this kernel: --modules DIR",
            )
        if self._release and module.release != self._release:
            raise InputError(
                f"the driver {name} belongs to kernel {printable(module.release)}, but the image "
                f"is {self._release}",
                "give the modules of this kernel: --modules DIR",
            )


def _module_files(tree: Path) -> dict[str, Path]:
    """Name to file; links are not followed, neither to folders (build) nor to files."""
    files = {}
    for folder, _, names in os.walk(tree, onerror=_raise):
        for name in names:
            if found := _FILE.fullmatch(name):
                files[_canonical(found[1])] = Path(folder, name)
    return files


def _raise(error: OSError) -> None:
    raise error


def _builtin_drivers(tree: Path) -> set[str]:
    try:
        text = read_regular(tree / "modules.builtin", _MOST_LIST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return set()
    names = (Path(line.strip()).name for line in text.splitlines())
    return {_canonical(found[1]) for name in names if (found := _FILE.fullmatch(name))}


def _read_driver(path: Path) -> tuple[bytes, ModuleFile]:
    shown = f"the driver {printable(path.name)}"
    kind = path.name.rpartition(".")[2]
    try:
        data = read_regular(path, _MOST_MODULE_BYTES)
        unpacked = unpack(data, _KINDS[kind]) if kind in _KINDS else data
        return unpacked, read_module(unpacked)
    except OddFileError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror}", "") from error
    except UnpackError as error:
        raise InputError(f"{shown} cannot be unpacked: {error}", error.remedy) from error
    except ModuleFileError as error:
        raise InputError(f"{shown} is not usable: {error}", "") from error


_NAME_OF_ENTRY = "kernel.json"
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


def _store_file(path: Path, data: bytes, mode: int = 0o644) -> StoredFile:
    """Writes a new file, durable; OSError if it cannot."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return StoredFile(len(data), hashlib.sha256(data).hexdigest())


def _read_entry(folder: Path) -> KernelEntry:
    """The entry in `folder`, all of whose files are there in their size.

    EntryError for a damaged one, OSError for one that cannot be read.
    """
    try:
        data = read_regular(folder / _NAME_OF_ENTRY, _MOST_ENTRY_BYTES)
        entry = msgspec.json.decode(data, type=KernelEntry)
    except FileNotFoundError:
        raise EntryError(f"{_NAME_OF_ENTRY} is missing") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EntryError(f"{_NAME_OF_ENTRY}: {error}") from error
    for name, file in entry.files().items():
        try:
            state = (folder / name).lstat()
        except FileNotFoundError:
            raise EntryError(f"{name} is missing") from None
        check_regular(state.st_mode)
        if state.st_size != file.size:
            raise EntryError(f"{name} has {state.st_size} bytes instead of {file.size}")
    return entry


def _check_content(folder: Path, entry: KernelEntry) -> None:
    """EntryError if a file of `entry` is not what was stored."""
    for name, file in entry.files().items():
        data = read_regular(folder / name, file.size)
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise EntryError(f"{name} has changed since it was stored")


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
            entry = _read_entry(folder)
            _check_content(folder, entry)
        except EntryError as error:
            raise InputError(
                f"the lab's kernel '{name}' is damaged: {printable(str(error))}",
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
        if os.path.lexists(folder):
            return
        names = entry_names()
    shown = ", ".join([*names[:8], *(["..."] if len(names) > 8 else [])])
    is_of_debian = name.partition("@")[0] in ("debian", "debian-rt")
    raise InputError(
        f"the lab has no kernel '{name}'{f'; it has {shown}' if names else ''}",
        f"fetch it: hardstone lab get {name}"
        if is_of_debian
        else "see how to add one: hardstone lab --help",
    )


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
            yield name, _read_entry(entry_folder(name))
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
        image=_store_file(folder / IMAGE, files.image),
        busybox=_store_file(folder / BUSYBOX, files.busybox, 0o755),
        config=None if files.config is None else _store_file(folder / CONFIG, files.config),
        modules={
            name: _store_file(folder / MODULES / name, driver.data)
            for name, driver in zip(names, files.drivers, strict=True)
        },
    )
    encoded = msgspec.json.format(msgspec.json.encode(entry), indent=2)
    _store_file(folder / _NAME_OF_ENTRY, encoded + b"\n")
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


# Of Documentation/arch/x86/boot.rst.
_SETUP_SECTORS, _MAGIC, _PROTOCOL, _PAYLOAD = 0x1F1, 0x202, 0x206, 0x248
_SETUP_BYTES = 0x250
_FIRST_PROTOCOL_WITH_PAYLOAD = 0x0208
_PAYLOAD_KINDS = {
    b"\x1f\x8b\x08": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x02\x21\x4c\x18": "lz4",  # what `lz4 -l` writes
    b"\x5d\0\0": "lzma",
    b"BZh": "bzip2",
}
_HEAD = struct.Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")
_X86_64 = 62
_PT_NOTE = 4
_SIZE_BYTES = 4
# Kernels have five segments, and notes of less than 4 KiB.
_MOST_SEGMENTS = 64
_MOST_NOTES_BYTES = 1 << 16
# Where QEMU enters a kernel that was built with CONFIG_PVH; the kernel's header
# include/xen/interface/elfnote.h has it.
_PHYS32_ENTRY = 18


def vmlinux(image: bytes) -> bytes:
    """The kernel in the bzImage `image`; b"" where there is none that QEMU can boot.

    UnpackError where it is damaged or cut off, or what unpacks it is missing.
    """
    payload = _compressed_payload(image)
    kind = next((kind for magic, kind in _PAYLOAD_KINDS.items() if payload.startswith(magic)), "")
    if not kind or len(payload) < _SIZE_BYTES:
        return b""
    (size_bytes,) = struct.unpack("<I", payload[-_SIZE_BYTES:])  # of what it holds
    packed = payload if kind == "gzip" else payload[:-_SIZE_BYTES]
    kernel = unpack(packed, kind, min(size_bytes, _MOST_UNPACKED_BYTES))
    if len(kernel) != size_bytes:
        raise UnpackError(f"it holds {len(kernel)} bytes instead of {size_bytes}")
    return kernel if _has_entry(kernel) else b""


def _compressed_payload(image: bytes) -> bytes:
    if len(image) < _SETUP_BYTES or image[_MAGIC : _MAGIC + 4] != b"HdrS":
        return b""
    (protocol,) = struct.unpack_from("<H", image, _PROTOCOL)
    if protocol < _FIRST_PROTOCOL_WITH_PAYLOAD:
        return b""
    start = ((image[_SETUP_SECTORS] or 4) + 1) * 512
    offset, size_bytes = struct.unpack_from("<II", image, _PAYLOAD)
    payload = image[start + offset :][:size_bytes]
    if len(payload) < size_bytes:
        raise UnpackError("it is cut off")
    return payload


def _has_entry(kernel: bytes) -> bool:
    """Whether it is an ELF file with the note that says where QEMU enters it."""
    if len(kernel) < _HEAD.size or kernel[:6] != b"\x7fELF\x02\x01":
        return False
    _, machine, _, _, at, *_, size, count, _, _, _ = _HEAD.unpack_from(kernel)
    table = kernel[at : at + size * count]
    if machine != _X86_64 or size != _SEGMENT.size or len(table) < size * count:
        return False
    if count > _MOST_SEGMENTS:
        return False
    segments = (_SEGMENT.unpack_from(table, one * size) for one in range(count))
    return any(
        _is_in_notes(kernel[offset : offset + min(size_bytes, _MOST_NOTES_BYTES)])
        for kind, _, offset, _, _, size_bytes, *_ in segments
        if kind == _PT_NOTE
    )


def _is_in_notes(notes: bytes) -> bool:
    at = 0
    while at + _NOTE.size <= len(notes):
        name_bytes, content_bytes, kind = _NOTE.unpack_from(notes, at)
        at += _NOTE.size
        if kind == _PHYS32_ENTRY and notes[at : at + name_bytes] == b"Xen\0":
            return True
        at += -(-name_bytes // 4) * 4 + -(-content_bytes // 4) * 4
    return False


_PREFIX = "vmlinux-"
_DIGITS = 32


def unpacked_kernel(kernel: Kernel, unpack: Callable[[bytes], bytes] = vmlinux) -> Path | None:
    """The kernel in `kernel.image` as a file that QEMU boots; None where it has to boot the image:
    that holds nothing else, cannot be unpacked here, or there is no room to keep the file."""
    if kernel.arch != "x86_64":  # others are stored unpacked
        return None
    try:
        path = _kept(kernel)
        if path is None:
            image = read_regular(kernel.image, MOST_IMAGE_BYTES)
            if hashlib.sha256(image).hexdigest() != kernel.sha256:
                return None  # another image was stored just now
            content = unpack(image)
            path = kernel.image.with_name(_name(kernel, content))
            with work_folder() as work:
                (work / path.name).write_bytes(content)
                (work / path.name).rename(path)
        return path if path.stat().st_size else None
    except (OSError, UnpackError):
        return None


def _kept(kernel: Kernel) -> Path | None:
    for path in kernel.image.parent.glob(f"{_of(kernel)}*"):
        with contextlib.suppress(OddFileError):
            content = read_regular(path, _MOST_UNPACKED_BYTES)
            if path.name == _name(kernel, content):
                return path
    return None


def _name(kernel: Kernel, content: bytes) -> str:
    return _of(kernel) + hashlib.sha256(content).hexdigest()[:_DIGITS]


def _of(kernel: Kernel) -> str:
    return f"{_PREFIX}{kernel.sha256[:_DIGITS]}-"
