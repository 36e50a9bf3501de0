"""An archive of packages for the made-up apt."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.process.lab import made_up

# A module is compiled once, and not for each call.
_TOOL = f"""#!{sys.executable} -IS
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import made_up_apt
sys.exit(made_up_apt.main())
"""
TOOLS = ("apt-get", "apt-cache", "apt-config", "dpkg", "dpkg-deb")
SOURCES = """\
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/own.gpg
"""


class MadeUpArchive:
    """`say` changes what the tools do; `calls` are the tools' calls, with their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        self.release = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
        for tool in TOOLS:
            script = self.programs / tool
            script.write_text(_TOOL)
            script.chmod(0o755)
        (folder / "sources.list.d").mkdir()
        (folder / "sources.list.d" / "debian.sources").write_text(SOURCES)
        self.description = folder / "archive"
        self._said: dict[str, Any] = {"packages": []}
        self.say()
        self.add("busybox-static", "1:1.35.0-4")
        (self.tree("busybox-static") / "bin").mkdir(parents=True)
        (self.tree("busybox-static") / "bin" / "busybox").write_bytes(made_up.program())

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on no program of this machine is on the PATH, and the machine is an x86-64."""
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setenv("MADE_UP_ARCHIVE", str(self.description))
        monkeypatch.setattr("platform.freedesktop_os_release", lambda: self.release)
        monkeypatch.setattr("platform.machine", lambda: "x86_64")

    def say(self, **said: Any) -> None:
        self._said |= said
        self.description.write_text(repr(self._said))

    def tree(self, name: str) -> Path:
        """The folder that the package `name` unpacks to."""
        return self.folder / "trees" / name

    def add(self, name: str, version: str, depends: str = "") -> None:
        package = {"name": name, "version": version, "depends": depends}
        self._said["packages"].append(package | {"tree": str(self.tree(name))})
        self.say()

    def add_image(self, release: str, version: str) -> Path:
        """A package with a kernel; its folder."""
        name = f"linux-image-{release}"
        self.add(name, version)
        root = self.tree(name)
        (root / "boot").mkdir(parents=True)
        (root / "boot" / f"vmlinuz-{release}").write_bytes(made_up.bzimage(release))
        (root / "boot" / f"config-{release}").write_bytes(made_up.CONFIG)
        made_up.make_tree(root, release)
        return root

    def add_release(self, release: str = "6.1.0-7-amd64", version: str = "6.1.9-1") -> Path:
        """A package with a kernel, and the meta package that leads to it."""
        flavour = "rt-amd64" if release.endswith("-rt-amd64") else "amd64"
        self.add(f"linux-image-{flavour}", version, f"linux-image-{release} (= {version})")
        return self.add_image(release, version)

    @property
    def calls(self) -> list[list[str]]:
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [ast.literal_eval(line) for line in lines]

    @property
    def sources(self) -> str:
        """What the last update was told to fetch."""
        return (self.folder / "sources").read_text()
