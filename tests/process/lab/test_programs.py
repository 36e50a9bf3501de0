"""Programs of a guest: what they are, how they are built for its architecture, and kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from hardstone.cli.probe import command
from hardstone.errors import EXIT_UNREACHABLE, InputError, TargetError
from hardstone.lab.initramfs import Elf, Programs, check_static, kept_programs, read_elf
from hardstone.targets.build import (
    ARCHES,
    arch_of,
    cross_compiler,
    own_arch,
    probe_for,
    programs_for,
)
from tests.conftest import ROOT
from tests.process.lab.made_up import program

OWN = own_arch()
OTHER = "x86_64" if OWN == "aarch64" else "aarch64"
VARIABLE = f"HARDSTONE_CC_{OTHER.upper()}"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the lab keeps them; no compiler is anywhere but in the folder `bin`."""
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(tmp_path / "lab"))
    for name in (VARIABLE, "HARDSTONE_PROBE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    return tmp_path / "lab" / "programs" / "aarch64"


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("is_static", [True, False])
def test_architecture_and_linkage(tmp_path: Path, arch: str, is_static: bool) -> None:
    (tmp_path / "program").write_bytes(program(arch, is_static=is_static))
    assert read_elf(tmp_path / "program") == Elf(arch, is_static)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "should be a program for aarch64"),
        (b"#!/bin/sh\n", "should be a program for aarch64"),
        (b"\x7fELF\x01\x01" + bytes(200), "should be a program for aarch64"),
        (program()[:-1], "should be a program for aarch64"),
        (program(), "should be a program for aarch64 but is one for x86_64"),
        (program("riscv64"), "should be a program for aarch64"),
        (program("aarch64", is_static=False), "needs shared libraries"),
    ],
)
def test_what_no_guest_can_run(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "program").write_bytes(content)
    assert (read_elf(tmp_path / "program") is None) == (len(content) != len(program()))
    with pytest.raises(TargetError, match=words) as caught:
        check_static(tmp_path / "program", "aarch64")
    assert caught.value.exit_code == EXIT_UNREACHABLE


# How they are kept


def build(folder: Path) -> Programs:
    programs = Programs(folder / "hardstone-probe", folder / "hardstone-guest")
    programs.probe.write_bytes(program("aarch64"))
    programs.guest.write_bytes(program("aarch64"))
    return programs


def forbidden(folder: Path) -> Programs:
    raise AssertionError(f"built again in {folder}")


def test_built_once_for_each_key_and_found_again(kept: Path) -> None:
    first = kept_programs("aarch64", "k1", build)
    assert first.probe == kept / "k1" / "hardstone-probe"
    assert kept_programs("aarch64", "k1", forbidden) == first
    assert kept_programs("aarch64", "k2", build) != first
    assert sorted(path.name for path in kept.iterdir()) == ["k1", "k2"]


@pytest.mark.parametrize("damage", ["hardstone-probe", "hardstone-guest"])
def test_a_damaged_one_is_built_again(kept: Path, damage: str) -> None:
    kept_programs("aarch64", "k1", build)
    (kept / "k1" / damage).write_bytes(b"")
    kept_programs("aarch64", "k1", build)
    assert (kept / "k1" / damage).read_bytes() == program("aarch64")


def test_a_build_that_fails_leaves_nothing(kept: Path) -> None:
    def fails(folder: Path) -> Programs:
        (folder / "hardstone-probe").write_bytes(program("aarch64"))
        raise TargetError("it does not build")

    with pytest.raises(TargetError, match="it does not build"):
        kept_programs("aarch64", "k1", fails)
    assert list(kept.iterdir()) == []


def test_what_nobody_used_for_a_week_goes_with_the_next_build(kept: Path) -> None:
    for key in ("old", "used"):
        kept_programs("aarch64", key, build)
    (kept / ".new-killed").mkdir()
    week_ago = time.time() - 8 * 24 * 3600
    for name in ("old", "used", ".new-killed"):
        os.utime(kept / name, (week_ago, week_ago))
    kept_programs("aarch64", "used", forbidden)
    kept_programs("aarch64", "new", build)
    assert sorted(path.name for path in kept.iterdir()) == ["new", "used"]


def test_a_folder_that_cannot_be_written_is_one_line(kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text("a file where the folder should be")
    with pytest.raises(TargetError, match="cannot be kept in") as caught:
        kept_programs("aarch64", "k1", build)
    assert "HARDSTONE_LAB_DIR" in caught.value.remedy


# Which compiler, what it is asked for, and when again


FAILS = b"#!/bin/sh\necho unknown option >&2\nexit 1\n"


def write_compiler(path: Path, output: bytes, version: str = "made up 1", code: int = 0) -> Path:
    """A compiler that writes `output` and logs its arguments, one call a line, to PATH.log."""
    path.write_text(f"""#!{sys.executable} -IS
import sys
words = sys.argv[1:]
if "--version" in words:
    print({version!r})
    sys.exit(0)
open({str(path) + ".log"!r}, "a").write(" ".join(words) + "\\n")
if {code}:
    sys.exit("made up error: no room")
open(words[words.index("-o") + 1], "wb").write({output!r})
""")
    path.chmod(0o755)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree."""
    for name in ("src/main.c", "src/port/linux/cpus.c", "src/port/posix/cpus.c", "guest/main.c"):
        (tmp_path / "tree" / "probe" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / "probe" / name).write_text("int x;\n")
    return tmp_path / "tree"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = write_compiler(tmp_path / "mycc", program(OTHER))
    monkeypatch.setenv(VARIABLE, f"{path} -mlittle-endian")
    return path


def calls(compiler: Path) -> list[list[str]]:
    log = Path(f"{compiler}.log")
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "armv7l", "riscv64"])
def test_the_named_compiler_comes_before_gcc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: str
) -> None:
    (wanted,) = (one for one in ARCHES if one.name == arch)
    write_compiler(tmp_path / "bin" / f"{wanted.system}-gcc", b"")
    assert cross_compiler(arch) == [f"{wanted.system}-gcc", *wanted.gcc]
    named = write_compiler(tmp_path / "mycc", b"")
    monkeypatch.setenv(wanted.variable, f"{named} -mlittle-endian")
    assert cross_compiler(arch) == [str(named), "-mlittle-endian"]


def test_gcc_comes_before_zig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ziglang")
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    words = cross_compiler("aarch64")
    assert words[1:] == ["-m", "ziglang", "cc", "-target", "aarch64-linux-musl"]
    write_compiler(tmp_path / "bin" / "aarch64-linux-gnu-gcc", b"")
    assert cross_compiler("aarch64") == ["aarch64-linux-gnu-gcc"]


def test_without_any_compiler_the_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TargetError, match="there is no C compiler for aarch64") as caught:
        cross_compiler("aarch64")
    assert "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross" in caught.value.remedy
    assert "\n" not in str(caught.value)
    monkeypatch.setenv(VARIABLE, "/nonexistent/cc")
    with pytest.raises(TargetError, match="there is no compiler '/nonexistent/cc'") as caught:
        cross_compiler(OTHER)
    assert VARIABLE in caught.value.remedy


def test_an_unknown_architecture() -> None:
    with pytest.raises(InputError, match="there is no probe for 'vax'"):
        programs_for("vax")


def test_both_programs_are_built_once_with_the_port_to_linux(tree: Path, compiler: Path) -> None:
    made = programs_for(OTHER, root=tree)
    probe, guest = calls(compiler)
    assert made.probe.read_bytes() == made.guest.read_bytes() == program(OTHER)
    assert "-static" in probe and "-static" in guest
    sources = [word.removeprefix(f"{tree}/probe/") for word in probe if word.endswith(".c")]
    assert sources == ["src/main.c", "src/port/linux/cpus.c"]
    assert str(tree / "probe/guest/main.c") in guest and f"-I{tree}/probe" in guest
    assert programs_for(OTHER, root=tree) == made
    assert len(calls(compiler)) == 2


def test_a_change_of_source_or_compiler_builds_again(tree: Path, compiler: Path) -> None:
    made = {programs_for(OTHER, root=tree).probe}
    for name in ("src/main.c", "guest/main.c", "src/new.h", "guest/new.h"):
        (tree / "probe" / name).write_text("int y;\n")
        made.add(programs_for(OTHER, root=tree).probe)
    write_compiler(compiler, program(OTHER), version="made up 2")
    made.add(programs_for(OTHER, root=tree).probe)
    assert len(made) == 6
    assert len(calls(compiler)) == 12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (partial(Path.write_bytes, data=b"#!/nonexistent/interpreter\n"), "mycc does not run: "),
        (partial(Path.write_bytes, data=FAILS), "--version fails: unknown option"),
        (partial(write_compiler, output=b"", code=1), "made up error: no room"),
        (partial(write_compiler, output=program("riscv64")), f"should be a program for {OTHER}"),
        (partial(write_compiler, output=program(OTHER, is_static=False)), "needs shared libraries"),
    ],
)
def test_a_compiler_that_fails_or_is_for_something_else(
    tree: Path, compiler: Path, make: Callable[[Path], object], words: str
) -> None:
    make(compiler)
    with pytest.raises(TargetError, match=words):
        programs_for(OTHER, root=tree)


@pytest.fixture
def own_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A probe for this machine that is in use, and the guest's program beside it."""
    for name in ("hardstone-probe", "hardstone-guest"):
        (tmp_path / name).write_bytes(program(OWN))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("HARDSTONE_PROBE", str(tmp_path / "hardstone-probe"))
    return tmp_path / "hardstone-probe"


def test_own_architecture_takes_the_probe_in_use(own_probe: Path) -> None:
    made = programs_for(OWN)
    assert (made.probe, made.guest) == (own_probe, own_probe.with_name("hardstone-guest"))
    own_probe.write_bytes(program(OWN, is_static=False))
    with pytest.raises(TargetError, match="needs shared libraries"):
        programs_for(OWN)


# The probe for a target


def test_a_target_of_this_architecture_gets_the_probe_in_use(own_probe: Path) -> None:
    assert probe_for(OWN) == own_probe


def test_a_target_of_another_one_gets_what_is_built_for_it(tree: Path, compiler: Path) -> None:
    probe = probe_for(OTHER, root=tree)
    assert probe.read_bytes() == program(OTHER)
    assert probe_for(OTHER, root=tree) == probe
    assert len(calls(compiler)) == 2


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("armv6l", "no probe for 'armv6l': its processor lacks"),
        ("i686", "no probe for 'i686': .* use a kernel of 64 bits"),
        (
            "sparc\x1b[2J",
            r"no probe for 'sparc.*; there is one for x86_64, aarch64, armv7l, riscv64",
        ),
    ],
)
def test_a_machine_that_there_is_no_probe_for(machine: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        probe_for(machine)
    told = f"{caught.value.cause}; {caught.value.remedy}"
    assert re.search(words, told) and "\x1b" not in told


def test_32_bits_on_a_processor_of_64_is_armv7() -> None:
    assert arch_of("armv8l").name == "armv7l"


def test_an_installation_without_source_and_program_for_guests_says_so(
    tmp_path: Path, own_probe: Path
) -> None:
    own_probe.with_name("hardstone-guest").unlink()
    copy = tmp_path / "site" / "hardstone"
    shutil.copytree(ROOT / "src" / "hardstone", copy, ignore=shutil.ignore_patterns("_probe"))
    code = (
        "import sys\n"
        "from hardstone.errors import HardstoneError\n"
        "from hardstone.targets.build import programs_for\n"
        "for arch in sys.argv[1:]:\n"
        "    try: programs_for(arch)\n"
        "    except HardstoneError as error: print(type(error).__name__, error)"
    )
    env, words = {**os.environ, "PYTHONPATH": str(copy.parent)}, [sys.executable, "-c", code]
    done = subprocess.run([*words, OTHER, OWN], env=env, capture_output=True, text=True, check=True)
    source, guest = done.stdout.splitlines()
    assert source.startswith("TargetError ")
    assert "is built from its source, which this installation lacks; " in source
    assert guest == "TargetError there is no hardstone-guest; build it: hardstone probe build"


def test_the_command_prints_the_path(compiler: Path) -> None:
    done = CliRunner().invoke(command, ["build", "--arch", OTHER])
    assert done.output.splitlines()[-1] == str(programs_for(OTHER).probe)
    assert len(calls(compiler)) == 2
