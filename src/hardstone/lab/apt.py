"""apt with a state of its own: lists, cache and sources in one folder, nothing of the system's.

The machine's own configuration is read first, so that its proxies and logins hold.
"""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.lab.apt_sources import Source, debian_sources, host_sources
from hardstone.lab.package_tool import check_done, complaint_of, run_tool

_UPDATE_DEADLINE_S = 600
_DOWNLOAD_DEADLINE_S = 3600
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]{1,100}", re.ASCII)
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]{0,100}", re.ASCII)
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
        sources = debian_sources(self._host_sources(), _os_release(), backports=backports)
        text = "\n".join(source.stanza() for source in sources)
        (self._folder / "sources" / "debian.sources").write_text(text)
        done = run_tool(
            self._command("apt-get", "-q", "update"), self._folder, deadline_s=_UPDATE_DEADLINE_S
        )
        is_trouble = done.returncode or "Failed to fetch" in done.stderr
        return complaint_of(done) if is_trouble else ""

    def names(self, prefix: str) -> list[str]:
        """Names of packages that begin with `prefix`."""
        output = self._cache("pkgnames", prefix)
        return [name for name in output.split() if _NAME.fullmatch(name)]

    def packages(self, names: Iterable[str]) -> Iterator[Package]:
        """Every version of the packages `names` in the archive."""
        asked = list(names)
        for line in self._cache("madison", *asked).splitlines() if asked else ():
            name, version, *_ = [*(part.strip() for part in line.split("|")), "", ""]
            if _NAME.fullmatch(name) and _VERSION.fullmatch(version):
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
        """Fetches and verifies the packages: name to file. Tells bytes that are there, and all.

        TargetError with apt's reason if one cannot be had.
        """
        texts = [package.text for package in packages]
        folder = self._folder / "packages"
        total = self._size_bytes(texts)
        command = self._command("apt-get", "-q", "download", *texts)
        done = run_tool(
            command,
            folder,
            deadline_s=_DOWNLOAD_DEADLINE_S,
            waiting=lambda: tell(_bytes_in(folder), total),
        )
        check_done(done, f"fetch {' and '.join(texts)}")
        files = {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}
        missing = [text for text in texts if text.partition("=")[0] not in files]
        if missing:
            raise TargetError(f"apt-get fetched no {missing[0]}", "try again")
        return files

    def _size_bytes(self, texts: Iterable[str]) -> int:
        command = self._command("apt-get", "-q", "--print-uris", "download", *texts)
        done = run_tool(command, self._folder)
        sizes = (shlex.split(line)[2:3] for line in done.stdout.splitlines() if line[:1] == "'")
        return sum(int(size[0]) for size in sizes if size and size[0].isdigit())

    def _cache(self, *arguments: str) -> str:
        done = run_tool(self._command("apt-cache", *arguments), self._folder)
        return check_done(done, "read Debian's package lists")

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
        done = run_tool(["apt-config", "shell", *asked], self._folder)
        pairs = (word.partition("=") for word in shlex.split(done.stdout))
        places = {name: Path(value) for name, _, value in pairs}
        if done.returncode or not {"LIST", "PARTS"} <= set(places):
            return []
        return host_sources(places["LIST"], places["PARTS"])


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("**/*") if path.is_file())
