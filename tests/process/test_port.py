"""Ports: files of a name answer the same, and three functions of docs/how-to/port.md make one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Facts, Register
from tests.conftest import ROOT
from tests.port_build import build_port
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
    for name, file in of_the_contract(ports / "linux").items():
        assert answered(file) == answered(posix[name]), name
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
