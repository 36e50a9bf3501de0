"""A release under way: its folders and files, its steps, and what all of them use."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

import docs_site
from docs_site import StepError

SUMS = "SHA256SUMS"
# The architectures of the wheels, by the names of `hardstone probe build`, as wheels name them.
MACHINES = {"x86-64": "x86_64", "arm64": "aarch64"}
# What --without may leave out.
PARTS = ("wheel-x86-64", "wheel-arm64", "debian", "lintian", "emulation", "browser")


@dataclass
class Work:
    """One release under way. Everything is below `folder`, until the last step."""

    root: Path
    version: Version
    without: frozenset[str] = frozenset()
    is_tagging: bool = False
    commit: str = ""  # that of the release
    epoch_s: int = 0  # of that commit: SOURCE_DATE_EPOCH
    state: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.root / "build" / "release" / str(self.version)

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def dist(self) -> Path:
        return self.folder / "dist"

    @property
    def downloads(self) -> Path:
        return self.root / "build" / "release" / "downloads"

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name.replace(' ', '-')}.log"

    def scratch(self, name: str) -> Path:
        """An empty folder."""
        folder = self.folder / "scratch" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def environment(self, **more: str) -> dict[str, str]:
        """That of builds: the same wherever they run, and without this checkout's modules."""
        own = {"SOURCE_DATE_EPOCH": str(self.epoch_s), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        left_out = ("PYTHONPATH", "HARDSTONE_PROBE", "HARDSTONE_ARCHES", "HARDSTONE_WHEEL_ARCH")
        return {name: os.environ[name] for name in os.environ if name not in left_out} | own | more

    @property
    def sdist(self) -> Path:
        return self.dist / f"hardstone-{self.version}.tar.gz"

    def wheel(self, arch: str) -> Path | None:
        found = sorted(self.dist.glob(f"hardstone-{self.version}-*_{MACHINES[arch]}.whl"))
        return found[0] if found else None

    @property
    def documents(self) -> Path:
        return self.dist / f"hardstone-{self.version}-docs.tar.gz"


@dataclass(frozen=True)
class Step:
    """`run` returns a note for its line. One that makes files names them, so that they are kept
    when the release goes on; one that checks has to pass again when any file has changed."""

    name: str
    about: str
    run: Callable[[Work], str]
    makes: str = ""  # a pattern below dist
    parts: tuple[str, ...] = ()  # of PARTS: it is left out with any of them


def git(folder: Path, *words: str, **environment: str) -> str:
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        (*_, why) = ["no reason given", *done.stderr.strip().splitlines()]
        raise StepError(f"git {words[0]}: {why}")
    return done.stdout.strip()


def digests(folder: Path, pattern: str = "*") -> dict[str, str]:
    return {path.name: docs_site.digest(path) for path in sorted(folder.glob(pattern))}


def sums(folder: Path) -> str:
    """Of all files of a release, in the form of sha256sum."""
    found = digests(folder).items()
    return "".join(f"{digest}  {name}\n" for name, digest in found if name != SUMS)


def native() -> str:
    return next((arch for arch, name in MACHINES.items() if name == platform.machine()), "x86-64")


def unpacked(archive: Path, folder: Path) -> Path:
    """The only folder at the top of an archive."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def debian_version(version: Version, form: str) -> str:
    """As Debian orders versions, a release candidate before its release; `form` is the text of
    debian/source/format."""
    upstream = re.sub(r"(?<=\d)(a|b|rc)(?=\d)", r"~\1", str(version))
    return f"{upstream}-1" if "quilt" in form else upstream
