"""Ports: files of a name answer the same, three functions of docs/how-to/port.md make one, and that
for FreeBSD links with its headers and libraries, which the PyPI package ziglang holds."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Facts, Register
from tests.conftest import ROOT
from tests.port_build import build_port
from tests.programs import needed, ran
from tests.running import run

BLOCK = re.compile(r"^```c\n(/\* (\w+\.c): .*?)^```$", re.MULTILINE | re.DOTALL)


def how_to() -> str:
    return (ROOT / "docs/how-to/port.md").read_text()


def answered(file: Path) -> set[str]:
    """The functions of the contract in a file."""
    return set(
        re.findall(r"^[a-z][\w *]*?\b(port_\w+)\([^;]*?\)\n\{", file.read_text(), re.MULTILINE)
    )


def of_the_contract(folder: Path) -> dict[str, Path]:
    """Files of a port that posix has too."""
    names = {file.name for file in (ROOT / "probe/src/port/posix").glob("*.c")}
    return {file.name: file for file in folder.glob("*.c") if file.name in names}


def test_files_of_the_same_name_answer_the_same_functions() -> None:
    ports = ROOT / "probe/src/port"
    posix = of_the_contract(ports / "posix")
    cells = re.findall(r"^\| (`\w+\.c`.*?) \|", how_to(), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+\.c)`", " ".join(cells))) == sorted(posix)
    for port in ("linux", "freebsd"):
        for name, file in of_the_contract(ports / port).items():
            assert answered(file) == answered(posix[name]), (port, name)
    own = ["clock.c", "cpus.c", "name.c", "sources.c"]
    assert sorted(of_the_contract(ports / "freebsd")) == own
    every = [name for file in posix.values() for name in sorted(answered(file))]
    assert len(every) == len(set(every)) > 100


@pytest.mark.full
def test_a_port_of_three_functions_builds_and_measures(tmp_path: Path) -> None:
    files = {name: text for text, name in BLOCK.findall(how_to())}
    assert sorted(files) == ["facts.c", "name.c", "sources.c"]
    port = tmp_path / "board"
    port.mkdir()
    for name, text in files.items():
        (port / name).write_text(text)
    probe = build_port(tmp_path, "board", port)
    listed = subprocess.check_output([probe, "list", "--json"])
    assert msgspec.json.decode(listed, type=Register).tests
    told = msgspec.json.decode(subprocess.check_output([probe, "facts", "--json"]), type=Facts)
    assert told.facts["probe.port"] == "board"
    assert told.facts["machine.board"] == "Example 1" and told.facts["kernel.hz"] == 100
    assert [(one.source, one.text) for one in told.sources or ()] == [
        ("board/revision", "revision 3")
    ]
    stream = run(probe, "CLK-B-RES", "--samples", "10", "--policy", "other")
    assert stream.result.status == "measured"


# Nothing of it runs here.
CROSS_FILE = """[binaries]
c = ['{python}', '-m', 'ziglang', 'cc', '-target', '{arch}-freebsd']
ar = ['{python}', '-m', 'ziglang', 'ar']
[host_machine]
system = 'freebsd'
cpu_family = '{arch}'
cpu = '{arch}'
endian = 'little'
"""


@pytest.mark.full
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_the_whole_probe_links_for_freebsd(arch: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("the PyPI package ziglang, which has FreeBSD's headers, is not installed")
    meson, ninja = needed("meson"), needed("ninja")
    cross = tmp_path / "freebsd.ini"
    cross.write_text(CROSS_FILE.format(python=sys.executable, arch=arch))
    build = tmp_path / "build"
    for command in (
        [meson, "setup", str(build), str(ROOT / "probe"), "--cross-file", str(cross)],
        [ninja, "-C", str(build), "hardstone-probe"],
    ):
        done = ran(command)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    program = (build / "hardstone-probe").read_bytes()
    # zig's linker leaves the byte of the system in the head at 0.
    assert program[:4] == b"\x7fELF" and b"/libexec/ld-elf.so.1\0" in program[:4096]
    assert program[18] == {"x86_64": 62, "aarch64": 183}[arch]
