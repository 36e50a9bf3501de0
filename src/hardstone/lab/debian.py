"""Kernels of Debian and of this machine: fetched, checked, and made entries of the lab."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import InputError, TargetError
from hardstone.files import followed, one_line, read_regular
from hardstone.lab.apt import Package, PrivateApt, check_done, require_tools, run_tool
from hardstone.lab.initramfs import MOST_CONFIG_BYTES, read_config, read_elf
from hardstone.lab.kernels import (
    MOST_IMAGE_BYTES,
    Kernel,
    KernelFiles,
    add_kernel,
    all_kernels,
    find_tree,
    needed_drivers,
    read_image,
)
from hardstone.lab.lab_folder import check_name, lab_errors, lab_folder, work_folder
from hardstone.lab.settings import read_append

_MOST_BYTES = 32 << 20


def read_busybox(path: Path, arch: str) -> bytes:
    """The content of a static busybox for `arch`; InputError for anything else."""
    try:
        problem = _problem(path, arch)
        data = b"" if problem else read_regular(followed(path), _MOST_BYTES)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise InputError(f"{one_line(str(path))} {problem}", _remedy(arch))
    return data


def find_busybox(arch: str) -> bytes:
    """This machine's busybox, or that of a kernel in the lab; InputError if none is usable."""
    installed = shutil.which("busybox")
    kept = [kernel.busybox for kernel in all_kernels() if kernel.arch == arch]
    for path in [Path(installed), *kept] if installed else kept:
        try:
            if not _problem(path, arch):
                return read_regular(followed(path), _MOST_BYTES)
        except OSError:
            continue
    raise InputError(f"there is no static busybox for {arch}", _remedy(arch))


def _problem(path: Path, arch: str) -> str:
    """Why a guest of `arch` could not run the program, "" if it can. OSError: it is unreadable."""
    elf = read_elf(followed(path))
    if elf is None:
        return "is not a program for 64 bits"
    if elf.arch != arch:
        return f"is not a program for {arch}"
    return "" if elf.is_static else "is not static, and a guest has no libraries"


def _remedy(arch: str) -> str:
    if arch == platform.machine() and shutil.which("apt-get"):
        return "install one: sudo apt-get install busybox-static"
    return f"give one with --busybox, or fetch one: hardstone lab get debian --arch {arch}"


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


KINDS = {"debian": "", "debian-rt": "rt-"}  # to what the names of packages have
ARCHITECTURES = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}
_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,4})*[0-9a-z.+~-]{0,40}", re.ASCII)
_BUSYBOX = "busybox-static"
_UNPACK_DEADLINE_S = 600


@dataclass(frozen=True)
class Wanted:
    """A kernel of Debian: `arch` in Debian's words, `version` "" for that of the release."""

    kind: str
    version: str
    arch: str

    @property
    def name(self) -> str:
        """The name in the lab: debian-rt, debian-arm64 on another machine, debian@6.12."""
        is_own = ARCHITECTURES.get(platform.machine()) == self.arch
        version = f"@{self.version.replace('~', '-')}" if self.version else ""
        return f"{self.kind}{'' if is_own else f'-{self.arch}'}{version}"

    @property
    def package_name(self) -> re.Pattern[str]:
        """Names of the packages that hold an image; group 1 is the ABI's version.

        linux-image-6.12-amd64 is a meta package.
        """
        abi = r"[0-9]+\.[0-9]+[.~][0-9a-z.+~]+(?:-[0-9]+)?"
        return re.compile(rf"linux-image-({abi})-{KINDS[self.kind]}{self.arch}")


def parse_wanted(text: str, arch: str | None) -> Wanted:
    """The kernel that KIND[@VERSION] names, for `arch` or this machine; InputError."""
    kind, at, version = text.partition("@")
    if kind not in KINDS:
        raise InputError(
            f"'{kind[:60]}' is not a kernel that can be fetched", f"choose from {', '.join(KINDS)}"
        )
    if at and not _VERSION.fullmatch(version):
        raise InputError(
            f"'{version[:60]}' is not a version of a kernel", f"write for example {kind}@6.12"
        )
    asked = arch or platform.machine()
    if asked not in ARCHITECTURES:
        raise InputError(
            f"the lab runs no kernels for {asked[:60]}",
            "choose with --arch: amd64 or arm64",
        )
    wanted = Wanted(kind, version, ARCHITECTURES[asked])
    check_name(wanted.name)
    return wanted


@dataclass(frozen=True)
class Steps:
    """Called as the work goes on: with words for each step, and with bytes of the download."""

    step: Callable[[str], None] = lambda text: None
    download: Callable[[int, int], None] = lambda done, total: None


def get_debian(wanted: Wanted, steps: Steps) -> tuple[Kernel, Kernel | None]:
    """Fetches a kernel into the lab; also the one of this name that it replaced.

    TargetError for what cannot be had; then nothing is left of it.
    """
    require_tools()
    with lab_errors("fetch a kernel into", lab_folder()), work_folder() as work:
        return add_kernel(wanted.name, _fetched(wanted, work, steps))


def _fetched(wanted: Wanted, work: Path, steps: Steps) -> KernelFiles:
    apt = PrivateApt(work, wanted.arch)
    steps.step(f"fetching the lists of Debian's packages for {wanted.arch}")
    trouble = apt.update(backports=bool(wanted.version))
    image = _image_of_version(apt, wanted) if wanted.version else _image_of_release(apt, wanted)
    busybox = newest(apt.packages([_BUSYBOX]))
    if image is None or busybox is None:
        raise _not_found(apt, wanted, trouble)
    if trouble:
        steps.step(f"not all lists could be fetched, so there may be a newer one: {trouble}")
    steps.step(f"fetching {image.text} and {busybox.text}")
    files = apt.download([image, busybox], steps.download)
    steps.step(f"unpacking {image.name}")
    return _unpacked(work / "root", files[image.name], files[_BUSYBOX], image)


def newest(packages: Iterable[Package]) -> Package | None:
    """The package of the highest version, by Debian's order of versions; None of none."""
    best: Package | None = None
    for package in packages:
        if best is None or _is_newer(package.version, best.version):
            best = package
    return best


def _is_newer(version: str, than: str) -> bool:
    command = ["dpkg", "--compare-versions", version, "gt", than]
    return run_tool(command, Path("/")).returncode == 0


def _image_of_release(apt: PrivateApt, wanted: Wanted) -> Package | None:
    """What the newest meta package depends on."""
    meta = newest(apt.packages([f"linux-image-{KINDS[wanted.kind]}{wanted.arch}"]))
    if meta is None:
        return None
    for name in re.split(r"[ ,|]+", apt.dependencies(meta)):
        if wanted.package_name.fullmatch(name):
            return newest(apt.packages([name]))
    return None


def _image_of_version(apt: PrivateApt, wanted: Wanted) -> Package | None:
    return newest(
        package
        for package in _images(apt, wanted)
        if any(_is_of(wanted.version, version) for version in _versions(package, wanted))
    )


def _images(apt: PrivateApt, wanted: Wanted) -> list[Package]:
    names = filter(wanted.package_name.fullmatch, apt.names("linux-image-"))
    return list(apt.packages(names))


def _versions(package: Package, wanted: Wanted) -> tuple[str, str]:
    """6.1.192-2 and the version in the name, which `uname -r` says: 6.1.0-56."""
    found = wanted.package_name.fullmatch(package.name)
    return package.version, found[1] if found else ""


def _is_of(asked: str, version: str) -> bool:
    """6.1 asks for 6.1.192-2, and not for 6.12."""
    return version == asked or version.startswith(tuple(f"{asked}{mark}" for mark in ".-+~"))


def _not_found(apt: PrivateApt, wanted: Wanted, trouble: str) -> TargetError:
    if trouble:
        return TargetError(
            f"Debian's package lists cannot be fetched: {trouble}",
            "check the network, and apt's sources and proxy",
        )
    if newest(apt.packages([_BUSYBOX])) is None:
        return TargetError(f"Debian has no {_BUSYBOX} for {wanted.arch}", "check apt's sources")
    known = sorted({package.version for package in _images(apt, wanted)}, key=_by_numbers)[::-1]
    asked = f"no kernel {wanted.version}" if wanted.version else "no kernel"
    shown = ", ".join([*known[:6], *(["..."] if len(known) > 6 else [])])
    has = f"; it has {shown}" if known else ""
    kind = "Debian's PREEMPT_RT archive" if wanted.kind == "debian-rt" else "Debian's archive"
    return TargetError(
        f"{kind} has {asked} for {wanted.arch}{has}",
        f"take that of the release: hardstone lab get {wanted.kind}" if wanted.version else "",
    )


def _by_numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", version)]


def _unpacked(root: Path, image: Path, busybox: Path, package: Package) -> KernelFiles:
    root.mkdir()
    for archive in (image, busybox):
        command = ["dpkg-deb", "-x", str(archive), str(root)]
        done = run_tool(command, root, deadline_s=_UNPACK_DEADLINE_S)
        check_done(done, f"unpack {archive.name}")
    return read_kernel(
        _only(root, "boot/vmlinuz-*", package),
        modules=_only(root, "lib/modules/*", package, "usr/lib/modules/*"),
        config=_only(root, "boot/config-*", package),
        busybox=_only(root, "bin/busybox", package, "usr/bin/busybox"),
        package=package.text,
    )


def _only(root: Path, pattern: str, package: Package, other: str = "") -> Path:
    """The one path of that pattern that is in the package, also by way of links."""
    found: list[Path] = [*root.glob(pattern), *(root.glob(other) if other else ())]
    inside = [path for path in found if followed(path).is_relative_to(followed(root))]
    if len(inside) != 1:
        what = "no" if not inside else f"{len(inside)} files as"
        raise TargetError(f"{package.text} holds {what} {pattern}", "add it by hand instead")
    return inside[0]
