"""Build hook: the probe goes into the wheel, built by the C compiler of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROBE = "hardstone-probe"


class ProbeBuildHook(BuildHookInterface[Any]):
    """An editable installation finds the probe in build/ and needs no hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # The folder must outlive this call: the wheel is written after it.
        self._folder = tempfile.TemporaryDirectory(prefix="hardstone-")
        probe = build_probe(Path(self.root) / "probe", Path(self._folder.name))
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"
        build_data["force_include"][str(probe)] = f"hardstone/_probe/{PROBE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_probe(source: Path, build: Path) -> Path:
    """Builds the probe; raises RuntimeError, with the compiler's words, where it cannot."""
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run([*meson, "setup", str(build), str(source), "-Ddebug=false"])
    run([*meson, "compile", "-C", str(build), PROBE])
    return build / PROBE


def run(command: list[str]) -> None:
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        remedy = "the wheel holds the probe, which needs a C compiler (build-essential)"
        raise RuntimeError(f"{' '.join(command)} failed; {remedy}\n{done.stdout}")
