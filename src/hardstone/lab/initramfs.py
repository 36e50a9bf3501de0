"""The initramfs of a guest: the probe, modules, and devices that the kernel needs, as a cpio
archive.

The same entries give the same bytes: times are 0 and inode numbers count, since the bytes of an
initramfs move what a deterministic guest measures.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError, TargetError
from hardstone.files import followed, is_regular, open_regular, read_regular, replace_file
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import lab_errors, lab_folder

MOST_CONFIG_BYTES = 4 << 20
_LINE = re.compile(r"(CONFIG_[A-Z0-9_]+)=(.*)", re.ASCII)
# Without them no kernel starts the lab's guest.
_DEMANDED = ("CONFIG_BLK_DEV_INITRD", "CONFIG_DEVTMPFS")


def read_config(data: bytes, name: str) -> dict[str, str]:
    """Option to value ("y", "m", ...) of the config in `data`; options that are off are missing.

    InputError if there is no option in it, or a kernel built so cannot run in the lab.
    """
    lines = data.decode("utf-8", "replace").splitlines()
    options = {found[1]: found[2] for line in lines if (found := _LINE.fullmatch(line))}
    if not options:
        raise InputError(
            f"{name} is not the config of a kernel", ("a config has lines such as CONFIG_PCI=y")
        )
    for option in _DEMANDED:
        if options.get(option) != "y":
            raise InputError(f"the kernel is built without {option}", f"switch on {option}=y")
    return options


_MOST_ELF_BYTES = 1 << 28
# Class of 32 and of 64 bits: the file's head, and the head of a segment.
_HEADS = {1: struct.Struct("<16sHHIIIIIHHHHHH"), 2: struct.Struct("<16sHHIQQQIHHHHHH")}
_SEGMENTS = {1: struct.Struct("<I28x"), 2: struct.Struct("<I28x24x")}
_INTERPRETER = 3  # PT_INTERP: the loader of shared libraries
_REMEDY = "unset HARDSTONE_PROBE, or name another compiler"
_STATIC_REMEDY = "link it with -static, which needs static libraries (in libc6-dev)"
_ARCHES = {(2, 62): "x86_64", (2, 183): "aarch64", (1, 40): "armv7l", (2, 243): "riscv64"}


@dataclass(frozen=True)
class Elf:
    """`arch`: x86_64, aarch64, armv7l, riscv64, or "" for any other. Static: needs no shared
    library."""

    arch: str
    is_static: bool


def read_elf(path: Path) -> Elf | None:
    """None for what is no ELF executable, little-endian. OSError if it cannot be read."""
    with open_regular(path, _MOST_ELF_BYTES) as file:
        start = file.read(_HEADS[2].size)
        bits = start[4] if start[:4] == b"\x7fELF" and start[5:6] == b"\x01" else 0
        if bits not in _HEADS or len(start) < _HEADS[bits].size:
            return None
        head, segment = _HEADS[bits], _SEGMENTS[bits]
        (_, _, machine, _, _, at, *_, size, count, _, _, _) = head.unpack(start[: head.size])
        file.seek(at)
        table = file.read(size * count)
    if size < segment.size or len(table) < size * count:
        return None
    kinds = [segment.unpack_from(table, i * size)[0] for i in range(count)]
    return Elf(_ARCHES.get((bits, machine), ""), _INTERPRETER not in kinds)


def check_static(path: Path, arch: str) -> None:
    """TargetError unless `path` is a program for `arch` that needs no shared library."""
    try:
        elf = read_elf(path)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}", "build it again") from error
    if elf is None or elf.arch != arch:
        kind = f"one for {elf.arch}" if elf and elf.arch else "something else"
        raise TargetError(f"{path} should be a program for {arch} but is {kind}", _REMEDY)
    if not elf.is_static:
        raise TargetError(f"{path} needs shared libraries, which a guest lacks", _STATIC_REMEDY)


_MAGIC = "070701"
_END = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file or folder: `mode` with its type, `device` the numbers of a device file."""

    path: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(path: str) -> Entry:
    """A folder that its owner writes."""
    return Entry(path, stat.S_IFDIR | 0o755)


def program(path: str, content: bytes) -> Entry:
    """A file that can be executed."""
    return Entry(path, stat.S_IFREG | 0o755, content)


def plain(path: str, content: bytes) -> Entry:
    """A file that is only read."""
    return Entry(path, stat.S_IFREG | 0o644, content)


def make_archive(entries: Iterable[Entry]) -> bytes:
    """The archive. Folders come before what they hold, as the kernel wants them."""
    archive = bytearray()
    for number, entry in enumerate([*entries, Entry(_END, 0)], 1):
        name = entry.path.encode() + b"\0"
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.content), 0, 0)
        head = [*fields, *entry.device, len(name), 0]
        archive += _MAGIC.encode() + b"".join(b"%08x" % field for field in head)
        for part in (name, entry.content):
            archive += part + bytes(-(len(archive) + len(part)) % 4)
    return bytes(archive)


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
    if kernel.config is None:
        return
    with lab_errors("read", kernel.config):
        data = read_regular(kernel.config, MOST_CONFIG_BYTES)
    options = read_config(data, str(kernel.config))
    if options.get(_OPTION) == "y":
        return
    what = f"the lab's kernel '{kernel.name}' has no driver {_DRIVER} for the device {device}"
    if options.get(_OPTION) == "m":
        raise InputError(f"{what}: it was added without the driver", _how_to_have(kernel))
    raise InputError(what, f"switch on {_OPTION}=m and add it again, with --modules DIR")


def loaded_modules(kernel: Kernel, device: str | None) -> list[Path]:
    """The kernel's modules that a guest loads: those of a device only if it has one."""
    wants = device is not None
    return [path for path in kernel.modules if wants or not _OF_DEVICE.fullmatch(path.name)]


def _how_to_have(kernel: Kernel) -> str:
    found = _OF_DEBIAN.fullmatch(kernel.name) if kernel.package else None
    if found is None:
        return f"add it again, with --modules DIR: hardstone lab add {kernel.name}"
    kind, arch, version = found.groups()
    return f"fetch it again: hardstone lab get {kind}{version}{f' --arch {arch}' if arch else ''}"


_UNUSED_S = 7 * 24 * 3600


@dataclass(frozen=True)
class Programs:
    """Executables that need no shared library: the probe, and process 1 of a guest."""

    probe: Path
    guest: Path

    def check(self, arch: str) -> None:
        """TargetError unless both are there, for `arch`, and static."""
        check_static(self.probe, arch)
        check_static(self.guest, arch)


def kept_programs(arch: str, key: str, build: Callable[[Path], Programs]) -> Programs:
    """The programs for `arch` under `key`, built if they are missing or damaged.

    `build` puts them into the folder that it is given; they appear whole or not at all. The key
    names everything that they are made of: a probe of another state would give wrong figures.
    """
    folder = lab_folder() / "programs" / arch
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder):
            return _kept(folder / key, arch, build)
    except OSError as error:
        raise TargetError(
            f"the programs for {arch} cannot be kept in {folder}: {error.strerror or error}",
            "free some space, or name another folder in HARDSTONE_LAB_DIR",
        ) from error


def _kept(place: Path, arch: str, build: Callable[[Path], Programs]) -> Programs:
    try:
        programs = Programs(place / "hardstone-probe", place / "hardstone-guest")
        programs.check(arch)
    except TargetError:  # missing, or damaged
        _drop_unused(place.parent)
        _build_whole(place, build)
    os.utime(place)
    return programs


def _build_whole(place: Path, build: Callable[[Path], Programs]) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        built = build(fresh)
        for program in (built.probe, built.guest):
            with program.open("rb") as file:
                os.fsync(file.fileno())
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _drop_unused(folder: Path) -> None:
    """Former states, and what a killed build left: those that nobody has used for a week."""
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            if entry.lstat().st_mtime < time.time() - _UNUSED_S:
                shutil.rmtree(entry)


_FOLDERS = ("bin", "boot", "dev", "etc", "modules", "proc", "run", "sys", "tmp", "var")
_CONSOLE = Entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
_INIT = Path(__file__).with_name("init.sh")
_USERS = b"root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
KEPT_COUNT = 16
_MOST_BYTES = 256 * 2**20  # of a program or module


def initramfs_for(kernel: Kernel, programs: Programs, device: str | None = None) -> Path:
    """The archive for this kernel, from the cache if it is there; TargetError where it cannot be
    written. The drivers of `device` move nothing in guests without it."""
    archive = make_archive(_entries(kernel, programs, device))
    path = lab_folder() / "initramfs" / f"{hashlib.sha256(archive).hexdigest()[:32]}.cpio"
    with lab_errors("write the initramfs to", path.parent):
        if not (is_regular(path, len(archive)) and _read(path) == archive):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, archive, 0o644, is_durable=False)
            # Each build of the probe makes a new archive.
            archives = sorted(path.parent.glob("*.cpio"), key=lambda one: one.stat().st_mtime)
            for old in archives[:-KEPT_COUNT]:
                old.unlink(missing_ok=True)
        os.utime(path)  # the one in use is the newest
    return path


def _read(path: Path) -> bytes:
    return read_regular(followed(path), _MOST_BYTES)


def _entries(kernel: Kernel, programs: Programs, device: str | None) -> list[Entry]:
    config = [] if kernel.config is None else [kernel.config]
    modules = loaded_modules(kernel, device)
    return [
        *map(folder, _FOLDERS),
        _CONSOLE,
        program("init", _INIT.read_bytes()),
        plain("etc/passwd", _USERS),
        program("bin/busybox", _read(kernel.busybox)),
        program("bin/hardstone-guest", _read(programs.guest)),
        program("bin/hardstone-probe", _read(programs.probe)),
        *(plain(f"boot/config-{kernel.release}", _read(path)) for path in config),
        *(plain(f"modules/{path.name}", _read(path)) for path in modules),
    ]
