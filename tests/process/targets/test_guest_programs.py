"""Building for another architecture: which compiler, what it is asked for, and when again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hardstone.cli.probe import command
from hardstone.errors import InputError, TargetError
from hardstone.targets.compilers import cross_compiler, own_arch
from hardstone.targets.guest_programs import programs_for
from tests.conftest import ROOT
from tests.process.lab.programs import elf, write_compiler

OWN = own_arch()
OTHER = "x86_64" if OWN == "aarch64" else "aarch64"
VARIABLE = f"HARDSTONE_CC_{OTHER.upper()}"


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler anywhere but in the folder `bin`, and a lab of this test's own."""
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(tmp_path / "lab"))
    for name in (VARIABLE, "HARDSTONE_PROBE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setitem(sys.modules, "ziglang", None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree."""
    for name in ("src/main.c", "src/port/linux/calls.c", "src/port/posix/calls.c", "guest/main.c"):
        (tmp_path / "tree" / "probe" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / "probe" / name).write_text("int x;\n")
    return tmp_path / "tree"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = write_compiler(tmp_path / "mycc", elf(OTHER))
    monkeypatch.setenv(VARIABLE, f"{path} -mlittle-endian")
    return path


def calls(compiler: Path) -> list[list[str]]:
    log = Path(f"{compiler}.log")
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def test_the_named_compiler_comes_first(tmp_path: Path, compiler: Path) -> None:
    write_compiler(tmp_path / "bin" / "aarch64-linux-gnu-gcc", b"")
    assert cross_compiler(OTHER) == [str(compiler), "-mlittle-endian"]


@pytest.mark.parametrize(
    ("arch", "name"),
    [("aarch64", "aarch64-linux-gnu-gcc"), ("x86_64", "x86-64-linux-gnu-gcc")],
)
def test_then_gcc(tmp_path: Path, arch: str, name: str) -> None:
    write_compiler(tmp_path / "bin" / name, b"")
    assert cross_compiler(arch) == [name]


def test_then_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ziglang")
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    words = cross_compiler("aarch64")
    assert words[1:] == ["-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]


def test_without_any_the_packages_are_named() -> None:
    with pytest.raises(TargetError, match="there is no C compiler for aarch64") as caught:
        cross_compiler("aarch64")
    assert "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross" in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_named_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nonexistent/cc")
    with pytest.raises(TargetError, match="there is no compiler '/nonexistent/cc'") as caught:
        cross_compiler(OTHER)
    assert VARIABLE in caught.value.remedy


def test_an_unknown_architecture() -> None:
    with pytest.raises(InputError, match="there is no probe for 'vax'"):
        programs_for("vax")


def test_both_programs_with_the_port_to_linux(tree: Path, compiler: Path) -> None:
    made = programs_for(OTHER, root=tree)
    probe, guest = calls(compiler)
    assert made.probe.read_bytes() == made.guest.read_bytes() == elf(OTHER)
    assert "-static" in probe and "-static" in guest
    sources = [word.removeprefix(f"{tree}/probe/") for word in probe if word.endswith(".c")]
    assert sources == ["src/main.c", "src/port/linux/calls.c"]
    assert str(tree / "probe/guest/main.c") in guest and f"-I{tree}/probe" in guest


def test_built_once(tree: Path, compiler: Path) -> None:
    assert programs_for(OTHER, root=tree) == programs_for(OTHER, root=tree)
    assert len(calls(compiler)) == 2


@pytest.mark.parametrize("name", ["src/main.c", "guest/main.c", "src/new.h", "guest/new.h"])
def test_a_changed_source_is_built_again(tree: Path, compiler: Path, name: str) -> None:
    former = programs_for(OTHER, root=tree)
    (tree / "probe" / name).write_text("int y;\n")
    assert programs_for(OTHER, root=tree) != former
    assert len(calls(compiler)) == 4


def test_another_version_of_the_compiler_builds_again(tree: Path, compiler: Path) -> None:
    former = programs_for(OTHER, root=tree)
    write_compiler(compiler, elf(OTHER), version="made up 2")
    assert programs_for(OTHER, root=tree) != former


def test_a_compiler_that_fails_is_told_with_its_words(tree: Path, compiler: Path) -> None:
    write_compiler(compiler, b"", code=1)
    with pytest.raises(TargetError, match="made up error: no room"):
        programs_for(OTHER, root=tree)


def test_a_compiler_that_does_not_run(tree: Path, compiler: Path) -> None:
    compiler.write_text("#!/nonexistent/interpreter\n")
    with pytest.raises(TargetError, match="mycc does not run: "):
        programs_for(OTHER, root=tree)


def test_a_compiler_that_refuses_its_words(tree: Path, compiler: Path) -> None:
    compiler.write_text("#!/bin/sh\necho unknown option >&2\nexit 1\n")
    with pytest.raises(TargetError, match="--version fails: unknown option"):
        programs_for(OTHER, root=tree)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (elf("riscv64"), f"should be a program for {OTHER}"),
        (elf(OTHER, is_static=False), "needs shared libraries"),
    ],
)
def test_a_compiler_for_something_else(
    tree: Path, compiler: Path, output: bytes, words: str
) -> None:
    write_compiler(compiler, output)
    with pytest.raises(TargetError, match=words):
        programs_for(OTHER, root=tree)


def installed(tmp_path: Path, arch: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`programs_for` in an installation without source, probe or guest's program."""
    copy = tmp_path / "site" / "hardstone"
    ignored = shutil.ignore_patterns("__pycache__", "_probe")
    shutil.copytree(ROOT / "src" / "hardstone", copy, ignore=ignored)
    program = (
        "from hardstone.errors import HardstoneError\n"
        "from hardstone.targets.guest_programs import programs_for\n"
        f"try: programs_for({arch!r})\n"
        "except HardstoneError as error: print(type(error).__name__, error)"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(copy.parent), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_without_source_no_other_architecture(tmp_path: Path, compiler: Path) -> None:
    told = installed(tmp_path, OTHER).stdout
    assert told.startswith("TargetError ")
    assert "is built from its source, which this installation lacks; " in told


def own_probe(folder: Path, content: bytes) -> Path:
    """A probe for this machine in `folder`, and the guest's program beside it."""
    for name, what in {"hardstone-probe": content, "hardstone-guest": elf(OWN)}.items():
        (folder / name).write_bytes(what)
        (folder / name).chmod(0o755)
    return folder / "hardstone-probe"


def test_own_architecture_takes_the_probe_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", str(own_probe(tmp_path, elf(OWN))))
    made = programs_for(OWN)
    assert (made.probe, made.guest) == (tmp_path / "hardstone-probe", tmp_path / "hardstone-guest")


def test_own_probe_with_shared_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = own_probe(tmp_path, elf(OWN, is_static=False))
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))
    with pytest.raises(TargetError, match="needs shared libraries"):
        programs_for(OWN)


def test_no_program_for_guests(tmp_path: Path) -> None:
    probe = own_probe(tmp_path, elf(OWN))
    probe.with_name("hardstone-guest").unlink()
    told = installed(tmp_path, OWN, HARDSTONE_PROBE=str(probe)).stdout
    assert told == "TargetError there is no hardstone-guest; build it: hardstone probe build\n"


def test_the_command_prints_the_path(compiler: Path) -> None:
    done = CliRunner().invoke(command, ["build", "--arch", OTHER])
    assert done.output.splitlines()[-1] == str(programs_for(OTHER).probe)
    assert len(calls(compiler)) == 2
