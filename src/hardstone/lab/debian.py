"""Kernels of Debian and of this machine: packages fetched by apt, checked, and made entries of
the lab.

The machine's own configuration is read first, so that its proxies and logins hold.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from hardstone.errors import InputError, TargetError, printable
from hardstone.files import followed, read_regular
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
from hardstone.units import format_span

_POLL_S = 0.5
_END_S = 2.0
_MOST_COMPLAINT_CHARS = 300


def _require_tools() -> None:
    """TargetError where Debian's package tools are not installed."""
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if missing:
        raise TargetError(
            f"Debian's kernels cannot be fetched without {' and '.join(missing)}",
            "any other kernel image can be added: hardstone lab add --help",
        )


class _HeldInterrupt:
    """Holds Ctrl-C back while a process is started: in that moment nobody knows whom to end."""

    def __init__(self) -> None:
        self._has_come = False
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._has_come = True

    def let_go(self) -> None:
        """Whoever handled SIGINT before does it again, also one that has come meanwhile."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._has_come:
            signal.raise_signal(signal.SIGINT)


def _run_tool(
    command: Sequence[str],
    folder: Path,
    *,
    deadline_s: float = 120,
    waiting: Callable[[], None] = lambda: None,
) -> subprocess.CompletedProcess[str]:
    """Runs `command` in `folder` to its end, whatever its exit code, calling `waiting` meanwhile.

    TargetError where it cannot be started or passes its deadline. It gets SIGTERM if this process
    is killed.
    """
    guard = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        interrupt = _HeldInterrupt()
        try:
            process = subprocess.Popen(
                [*guard, *command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except BaseException:
            interrupt.let_go()
            raise
        with process:
            try:
                interrupt.let_go()
                output, complaint = _wait(process, deadline_s, waiting)
            except BaseException:
                _end(process)
                raise
    except TimeoutError:
        span = format_span(round(deadline_s * 1e9))
        raise TargetError(f"{command[0]} did not end within {span} and was ended") from None
    except OSError as error:
        raise TargetError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    return subprocess.CompletedProcess(command, process.returncode, output, complaint)


def _complaint_of(done: subprocess.CompletedProcess[str]) -> str:
    """What a tool of apt or dpkg complained about most, as one line; "" if about nothing."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    for kind in ("No space left", "W: Failed to fetch", "E: ", "error: ", "W: "):
        for line in lines:
            if kind in line:
                text = line.removeprefix("E: ").removeprefix("W: ").removeprefix("dpkg-deb: ")
                return printable(text)[:_MOST_COMPLAINT_CHARS]
    return printable(lines[-1])[:_MOST_COMPLAINT_CHARS] if lines and done.returncode else ""


def _check_done(done: subprocess.CompletedProcess[str], doing: str) -> str:
    """The tool's standard output; TargetError with its complaint if it failed."""
    if done.returncode == 0:
        return done.stdout
    complaint = _complaint_of(done) or f"exit code {done.returncode}"
    remedy = "free some space there" if "No space left" in complaint else ""
    raise TargetError(f"cannot {doing}: {complaint}", remedy)


def _wait(
    process: subprocess.Popen[str], deadline_s: float, waiting: Callable[[], None]
) -> tuple[str, str]:
    end_at = time.monotonic() + deadline_s
    while True:
        try:
            return process.communicate(timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            waiting()
        if time.monotonic() >= end_at:
            raise TimeoutError


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the tool and what it has started; all of them hold the pipes that are read here."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_END_S)
            return


_MOST_LIST_BYTES = 1 << 20
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PUBLIC_ARCHIVE = "http://deb.debian.org/debian"
_PUBLIC_SECURITY = "http://deb.debian.org/debian-security"
_ONE_LINE = re.compile(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.*)")
# Fields that the lab says itself, or that would leave out what it needs.
_REPLACED = {
    "types", "uris", "suites", "components", "enabled", "architectures", "languages", "targets",
    "arch", "lang", "target",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """An entry of apt's sources; `options` are those of its signature and dates, as they stand."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    def stanza(self) -> str:
        """The entry as a paragraph of a .sources file, for package lists alone."""
        fields = {
            "Types": "deb",
            "URIs": " ".join(self.uris),
            "Suites": " ".join(self.suites),
            "Components": "main",
            "Targets": "Packages",
            **self.options,
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items())


def host_sources(main_list: Path, parts: Path) -> list[Source]:
    """All enabled binary sources of this machine; files that cannot be read are left out."""
    files = [main_list]
    with contextlib.suppress(OSError):
        files += sorted(parts.iterdir())
    found: list[Source] = []
    for path in files:
        read = {".list": one_line_sources, ".sources": stanza_sources}.get(path.suffix)
        if read is not None:
            with contextlib.suppress(OSError):
                text = read_regular(followed(path), _MOST_LIST_BYTES).decode("utf-8", "replace")
                found += read(text)
    return found


def one_line_sources(text: str) -> list[Source]:
    """The entries of a file in the format `deb [OPTION=VALUE ...] URI SUITE COMPONENT...`."""
    sources = []
    for line in text.splitlines():
        if entry := _ONE_LINE.fullmatch(line.partition("#")[0].strip()):
            pairs = (pair.partition("=") for pair in (entry[1] or "").split())
            options = {name: value.replace(",", " ") for name, _, value in pairs}
            sources.append(
                Source((entry[2],), (entry[3],), tuple(entry[4].split()), _kept(options))
            )
    return sources


def stanza_sources(text: str) -> list[Source]:
    """The entries of a file in the format deb822; a value may go on in indented lines."""
    sources = []
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        fields = _fields(paragraph)
        words = {name: fields.get(name, "").split() for name in _REPLACED}
        is_off = fields.get("enabled", "yes").strip().lower() in ("no", "false", "0", "off")
        if "deb" in words["types"] and not is_off:
            uris, suites, components = (
                tuple(words[name]) for name in ("uris", "suites", "components")
            )
            sources.append(Source(uris, suites, components, _kept(fields)))
    return sources


def debian_sources(
    sources: Iterable[Source],
    release: Mapping[str, str],
    *,
    backports: bool,
    keyring: Path = _KEYRING,
) -> list[Source]:
    """Those of `sources` that hold Debian's packages for this machine, else Debian's own addresses.

    `release` is that of /etc/os-release; `keyring` has the keys of Debian's archive: TargetError
    if they are needed and missing.
    """
    codename = release.get("VERSION_CODENAME", "")
    if release.get("ID") == "debian" and codename:
        own = [found for one in sources if (found := _of_release(one, codename, backports))]
        if any(codename in source.suites for source in own):
            return own
    if not keyring.exists():
        raise TargetError(
            "the keys of Debian's archive are not installed, so its kernels cannot be verified",
            "install them: sudo apt-get install debian-archive-keyring",
        )
    name = codename if release.get("ID") == "debian" and codename else "stable"
    suites = _archive_suites(name, backports)
    signed = {"Signed-By": str(keyring)}
    archive = Source((_PUBLIC_ARCHIVE,), suites, ("main",), signed)
    return [archive, Source((_PUBLIC_SECURITY,), (f"{name}-security",), ("main",), signed)]


def _of_release(source: Source, codename: str, backports: bool) -> Source | None:
    """The part of `source` that is Debian's `codename`; its archive also gets the suites of updates
    and, where asked for, of backports."""
    uris = tuple(uri for uri in source.uris if not uri.startswith("cdrom:"))
    if not uris or "main" not in source.components:
        return None
    if codename in source.suites:
        suites = _archive_suites(codename, backports)
    else:
        known = (f"{codename}-updates", f"{codename}-security", f"{codename}-backports")
        suites = tuple(suite for suite in source.suites if suite in known)
    return Source(uris, suites, ("main",), source.options) if suites else None


def _archive_suites(codename: str, backports: bool) -> tuple[str, ...]:
    return (codename, f"{codename}-updates", *([f"{codename}-backports"] if backports else []))


def _fields(paragraph: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1] in (" ", "\t"):
            fields[name] = f"{fields.get(name, '')}\n{line}"
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def _kept(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name.lower() not in _REPLACED}


_UPDATE_DEADLINE_S = 600
_DOWNLOAD_DEADLINE_S = 3600
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]{1,100}", re.ASCII)
_PACKAGE_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]{0,100}", re.ASCII)
# The hooks of an update concern the system's own lists.
_CONFIG = """\
#clear APT::Architectures;
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
"""


@dataclass(frozen=True)
class Package:
    """A package in the archive; `text` is how apt takes it."""

    name: str
    version: str

    @property
    def text(self) -> str:
        return f"{self.name}={self.version}"


class PrivateApt:
    """apt for packages of `arch` (amd64, arm64), in `folder`, which must be empty."""

    def __init__(self, folder: Path, arch: str) -> None:
        self._folder = folder
        self._config = folder / "apt.conf"
        self._config.write_text(_CONFIG.format(arch=arch))
        for name in ("sources", "lists/partial", "cache", "packages"):
            (folder / name).mkdir(parents=True)
        (folder / "status").touch()

    def update(self, *, backports: bool) -> str:
        """Fetches the package lists. What apt could not fetch, as one line; "" if all is well."""
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            release = {}
        sources = debian_sources(self._host_sources(), release, backports=backports)
        text = "\n".join(source.stanza() for source in sources)
        (self._folder / "sources" / "debian.sources").write_text(text)
        done = _run_tool(
            self._command("apt-get", "-q", "update"), self._folder, deadline_s=_UPDATE_DEADLINE_S
        )
        is_trouble = done.returncode or "Failed to fetch" in done.stderr
        return _complaint_of(done) if is_trouble else ""

    def names(self, prefix: str) -> list[str]:
        """Names of packages that begin with `prefix`."""
        output = self._cache("pkgnames", prefix)
        return [name for name in output.split() if _NAME.fullmatch(name)]

    def packages(self, names: Iterable[str]) -> Iterator[Package]:
        """Every version of the packages `names` in the archive."""
        asked = list(names)
        for line in self._cache("madison", *asked).splitlines() if asked else ():
            name, version, *_ = [*(part.strip() for part in line.split("|")), "", ""]
            if _NAME.fullmatch(name) and _PACKAGE_VERSION.fullmatch(version):
                yield Package(name, version)

    def dependencies(self, package: Package) -> str:
        """The field Depends of `package`."""
        for line in self._cache("show", package.text).splitlines():
            if line.startswith("Depends:"):
                return line.partition(":")[2].strip()
        return ""

    def download(
        self, packages: Iterable[Package], tell: Callable[[int, int], None]
    ) -> dict[str, Path]:
        """Fetches and verifies the packages: name to file. `tell` gets the bytes fetched so far and
        those of all packages.

        TargetError with apt's reason if one cannot be had.
        """
        texts = [package.text for package in packages]
        folder = self._folder / "packages"
        total = self._size_bytes(texts)
        command = self._command("apt-get", "-q", "download", *texts)

        def tell_progress() -> None:
            files = filter(Path.is_file, folder.glob("**/*"))
            tell(sum(path.stat().st_size for path in files), total)

        done = _run_tool(command, folder, deadline_s=_DOWNLOAD_DEADLINE_S, waiting=tell_progress)
        _check_done(done, f"fetch {' and '.join(texts)}")
        files = {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}
        missing = [text for text in texts if text.partition("=")[0] not in files]
        if missing:
            raise TargetError(f"apt-get fetched no {missing[0]}", "try again")
        return files

    def _size_bytes(self, texts: Iterable[str]) -> int:
        command = self._command("apt-get", "-q", "--print-uris", "download", *texts)
        done = _run_tool(command, self._folder)
        sizes = (shlex.split(line)[2:3] for line in done.stdout.splitlines() if line[:1] == "'")
        return sum(int(size[0]) for size in sizes if size and size[0].isdigit())

    def _cache(self, *arguments: str) -> str:
        done = _run_tool(self._command("apt-cache", *arguments), self._folder)
        return _check_done(done, "read Debian's package lists")

    def _command(self, tool: str, *arguments: str) -> list[str]:
        """`-o`, whose values may hold any character, for paths; a file for what it clears."""
        places = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": self._folder / "sources",
            "Dir::State::lists": self._folder / "lists",
            "Dir::State::status": self._folder / "status",
            "Dir::Cache": self._folder / "cache",
        }
        options = [part for name, path in places.items() for part in ("-o", f"{name}={path}")]
        return [tool, "-c", str(self._config), *options, *arguments]

    def _host_sources(self) -> list[Source]:
        asked = ("LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d")
        done = _run_tool(["apt-config", "shell", *asked], self._folder)
        pairs = (word.partition("=") for word in shlex.split(done.stdout))
        places = {name: Path(value) for name, _, value in pairs}
        if done.returncode or not {"LIST", "PARTS"} <= set(places):
            return []
        return host_sources(places["LIST"], places["PARTS"])


_MOST_BYTES = 32 << 20


def _read_busybox(path: Path, arch: str) -> bytes:
    """The content of a static busybox for `arch`; InputError for anything else."""
    try:
        problem = _problem(path, arch)
        data = b"" if problem else read_regular(followed(path), _MOST_BYTES)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise InputError(f"{printable(str(path))} {problem}", _remedy(arch))
    return data


def _find_busybox(arch: str) -> bytes:
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
    return "" if elf.is_static else "is not statically linked, and a guest has no libraries"


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
    config_data = None if config is None else _read(config, MOST_CONFIG_BYTES)
    options = None if config_data is None else read_config(config_data, str(config))
    try:
        tree = None if modules is None else find_tree(modules, found.release)
        drivers = needed_drivers(tree, options, arch=found.arch, release=found.release)
    except OSError as error:
        raise _unreadable(modules, error) from error
    program = _find_busybox(found.arch) if busybox is None else _read_busybox(busybox, found.arch)
    return KernelFiles(
        arch=found.arch,
        release=found.release,
        image=found.data,
        busybox=program,
        config=config_data,
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
    return InputError(f"cannot read {printable(str(path))}: {reason}", "name another path")


KINDS = {"debian": "", "debian-rt": "rt-"}  # to what the names of packages have
_ARCHITECTURES = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}
_VERSION = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,4})*[0-9a-z.+~-]{0,40}", re.ASCII)
_BUSYBOX = "busybox-static"
_UNPACK_DEADLINE_S = 600


@dataclass(frozen=True)
class WantedKernel:
    """A kernel of Debian: `arch` in Debian's words, `version` "" for that of the release."""

    kind: str
    version: str
    arch: str

    @property
    def name(self) -> str:
        """The name in the lab: debian-rt, debian-arm64 on another machine, debian@6.12."""
        is_own = _ARCHITECTURES.get(platform.machine()) == self.arch
        version = f"@{self.version.replace('~', '-')}" if self.version else ""
        return f"{self.kind}{'' if is_own else f'-{self.arch}'}{version}"

    @property
    def package_name(self) -> re.Pattern[str]:
        """Names of the packages that hold an image; group 1 is the ABI's version.

        linux-image-6.12-amd64 is a meta package.
        """
        abi = r"[0-9]+\.[0-9]+[.~][0-9a-z.+~]+(?:-[0-9]+)?"
        return re.compile(rf"linux-image-({abi})-{KINDS[self.kind]}{self.arch}")


def parse_wanted(text: str, arch: str | None) -> WantedKernel:
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
    if asked not in _ARCHITECTURES:
        raise InputError(
            f"the lab cannot run kernels for {asked[:60]}",
            "choose with --arch: amd64 or arm64",
        )
    wanted = WantedKernel(kind, version, _ARCHITECTURES[asked])
    check_name(wanted.name)
    return wanted


@dataclass(frozen=True)
class Steps:
    """Called as the work goes on: with words for each step, and with bytes of the download."""

    step: Callable[[str], None] = lambda text: None
    download: Callable[[int, int], None] = lambda done, total: None


def get_debian(wanted: WantedKernel, steps: Steps) -> tuple[Kernel, Kernel | None]:
    """Fetches a kernel into the lab; also the one of this name that it replaced.

    TargetError for what cannot be had; then nothing is left of it.
    """
    _require_tools()
    with lab_errors("fetch a kernel into", lab_folder()), work_folder() as work:
        apt = PrivateApt(work, wanted.arch)
        steps.step(f"fetching the lists of Debian's packages for {wanted.arch}")
        trouble = apt.update(backports=bool(wanted.version))
        image = _image_of_version(apt, wanted) if wanted.version else _image_of_release(apt, wanted)
        busybox = newest(apt.packages([_BUSYBOX]))
        if image is None or busybox is None:
            raise _not_found(apt, wanted, trouble)
        if trouble:
            steps.step(
                f"not all package lists could be fetched, so there may be a newer kernel: {trouble}"
            )
        steps.step(f"fetching {image.text} and {busybox.text}")
        files = apt.download([image, busybox], steps.download)
        steps.step(f"unpacking {image.name}")
        unpacked = _unpacked(work / "root", files[image.name], files[_BUSYBOX], image)
        return add_kernel(wanted.name, unpacked)


def newest(packages: Iterable[Package]) -> Package | None:
    """The package of the highest version, by Debian's order of versions; None of none."""
    best: Package | None = None
    for package in packages:
        if best is not None:
            command = ["dpkg", "--compare-versions", package.version, "gt", best.version]
            if _run_tool(command, Path("/")).returncode != 0:
                continue
        best = package
    return best


def _image_of_release(apt: PrivateApt, wanted: WantedKernel) -> Package | None:
    """What the newest meta package depends on."""
    meta = newest(apt.packages([f"linux-image-{KINDS[wanted.kind]}{wanted.arch}"]))
    if meta is None:
        return None
    for name in re.split(r"[ ,|]+", apt.dependencies(meta)):
        if wanted.package_name.fullmatch(name):
            return newest(apt.packages([name]))
    return None


def _image_of_version(apt: PrivateApt, wanted: WantedKernel) -> Package | None:
    """The newest image whose version, or the version in whose name, begins with the wanted one:
    linux-image-6.1.0-56-amd64 is of version 6.1.192-2, and `uname -r` says 6.1.0-56."""
    beginnings = tuple(f"{wanted.version}{mark}" for mark in ".-+~")
    found = []
    for package in _images(apt, wanted):
        name = wanted.package_name.fullmatch(package.name)
        versions = (package.version, name[1] if name else "")
        if wanted.version in versions or any(one.startswith(beginnings) for one in versions):
            found.append(package)
    return newest(found)


def _images(apt: PrivateApt, wanted: WantedKernel) -> list[Package]:
    names = filter(wanted.package_name.fullmatch, apt.names("linux-image-"))
    return list(apt.packages(names))


def _not_found(apt: PrivateApt, wanted: WantedKernel, trouble: str) -> TargetError:
    if trouble:
        return TargetError(
            f"Debian's package lists cannot be fetched: {trouble}",
            "check the network, and apt's sources and proxy",
        )
    if newest(apt.packages([_BUSYBOX])) is None:
        return TargetError(f"Debian has no {_BUSYBOX} for {wanted.arch}", "check apt's sources")
    known = sorted(
        {package.version for package in _images(apt, wanted)},
        key=lambda version: [int(number) for number in re.findall(r"[0-9]+", version)],
    )[::-1]
    asked = f"no kernel {wanted.version}" if wanted.version else "no kernel"
    shown = ", ".join([*known[:6], *(["..."] if len(known) > 6 else [])])
    has = f"; it has {shown}" if known else ""
    kind = "Debian's PREEMPT_RT archive" if wanted.kind == "debian-rt" else "Debian's archive"
    return TargetError(
        f"{kind} has {asked} for {wanted.arch}{has}",
        f"use the one of the release: hardstone lab get {wanted.kind}" if wanted.version else "",
    )


def _unpacked(root: Path, image: Path, busybox: Path, package: Package) -> KernelFiles:
    root.mkdir()
    for archive in (image, busybox):
        command = ["dpkg-deb", "-x", str(archive), str(root)]
        done = _run_tool(command, root, deadline_s=_UNPACK_DEADLINE_S)
        _check_done(done, f"unpack {archive.name}")
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
        raise TargetError(
            f"{package.text} holds {what} {pattern}", ("add it by hand instead: hardstone lab add")
        )
    return inside[0]
