"""The port for FreeBSD compiles and links against FreeBSD's headers and libraries, which the PyPI
package ziglang holds. Nothing of it runs here."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.process.test_port import answered, of_the_contract

ARCHITECTURES = ("x86_64", "aarch64")
CROSS_FILE = """[binaries]
c = ['{python}', '-m', 'ziglang', 'cc', '-target', '{arch}-freebsd']
ar = ['{python}', '-m', 'ziglang', 'ar']
[host_machine]
system = 'freebsd'
cpu_family = '{arch}'
cpu = '{arch}'
endian = 'little'
"""


def needs_ziglang() -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the PyPI package ziglang, which has FreeBSD's headers, is not installed")


def test_files_of_the_port_answer_the_same_functions_as_those_of_posix() -> None:
    ports = ROOT / "probe/src/port"
    posix = of_the_contract(ports / "posix")
    files = of_the_contract(ports / "freebsd")
    assert sorted(files) == ["clock.c", "cpus.c", "name.c", "sources.c"]
    for name, file in files.items():
        assert answered(file) == answered(posix[name]), name


@pytest.mark.full
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_whole_probe_links_for_freebsd(arch: str, tmp_path: Path) -> None:
    needs_ziglang()
    meson, ninja = shutil.which("meson"), shutil.which("ninja")
    if meson is None or ninja is None:
        pytest.skip("meson and ninja are not on the path")
    cross = tmp_path / "freebsd.ini"
    cross.write_text(CROSS_FILE.format(python=sys.executable, arch=arch))
    build = tmp_path / "build"
    for command in (
        [meson, "setup", str(build), str(ROOT / "probe"), "--cross-file", str(cross)],
        [ninja, "-C", str(build), "hardstone-probe"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    program = (build / "hardstone-probe").read_bytes()
    # zig's linker leaves the byte of the system in the head at 0.
    assert program[:4] == b"\x7fELF" and b"/libexec/ld-elf.so.1\0" in program[:4096]
    assert program[18] == {"x86_64": 62, "aarch64": 183}[arch]
