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
from hardstone.targets.arches import ARCHES, arch_of, cross_compiler, own_arch
from hardstone.targets.build import probe_for, programs_for
from tests.conftest import ROOT
from tests.process.lab.made_up import program

OWN = own_arch()
OTHER = "x86_64" if OWN == "aarch64" else "aarch64"
VARIABLE = f"HARDSTONE_CC_{OTHER.upper()}"
TOOLS = ["cat", "dirname", "find", "grep", "mkdir", "mv", "rm", "sed", "sort", "tail", "tr"]


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the lab keeps them; no compiler is anywhere but in the folder `bin`."""
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(tmp_path / "lab"))
    for name in (VARIABLE, "HARDSTONE_PROBE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    return tmp_path / "lab" / "programs" / "aarch64"


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "armv7l", "riscv64"])
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
    Path(f"{path}.output").write_bytes(output)
    fail = "echo made up error: no room >&2; exit 1" if code else ":"
    path.write_text(f"""#!/bin/sh
case "$*" in *--version*) echo {version}; exit 0 ;; esac
echo "$*" >>{path}.log
{fail}
while [ "$1" != -o ]; do shift; done
cat {path}.output >"$2"
""")
    path.chmod(0o755)
    return path


SOURCES = ["src/agent/child.c", "src/agent/frame.c", "src/main.c", "src/port/linux/cpus.c"]
SOURCES += ["src/port/posix/tick.c"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree."""
    probe = tmp_path / "tree" / "probe"
    for name in (*SOURCES, "src/port/posix/cpus.c", "guest/main.c"):
        (probe / name).parent.mkdir(parents=True, exist_ok=True)
        (probe / name).write_text("int x;\n")
    shutil.copy(ROOT / "probe" / "build.sh", probe)
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


def compiled(compiler: Path) -> list[str]:
    return [words[words.index("-c") + 1] for words in calls(compiler) if "-c" in words]


def links(compiler: Path) -> list[list[str]]:
    return [words for words in calls(compiler) if "-lpthread" in words]


def test_both_programs_are_built_once_with_the_port_to_linux(tree: Path, compiler: Path) -> None:
    made = programs_for(OTHER, root=tree)
    assert made.probe.read_bytes() == made.guest.read_bytes() == program(OTHER)
    assert all("-static" in words and "-s" in words for words in links(compiler))
    of_guest = ["../guest/main.c", "agent/child.c", "agent/frame.c"]
    of_probe = [name.removeprefix("src/") for name in SOURCES]
    assert sorted(compiled(compiler)) == sorted(of_guest + of_probe)
    assert programs_for(OTHER, root=tree) == made
    assert len(links(compiler)) == 2


def test_a_change_of_source_or_compiler_builds_again(tree: Path, compiler: Path) -> None:
    made = {programs_for(OTHER, root=tree).probe}
    for name in ("src/main.c", "guest/main.c", "src/new.h", "guest/new.h"):
        (tree / "probe" / name).write_text("int y;\n")
        made.add(programs_for(OTHER, root=tree).probe)
    write_compiler(compiler, program(OTHER), version="made up 2")
    made.add(programs_for(OTHER, root=tree).probe)
    assert len(made) == 6
    assert len(links(compiler)) == 12


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


def test_a_library_that_no_compiler_here_has(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no C compiler for riscv64 with musl") as caught:
        cross_compiler("riscv64", "musl")
    assert caught.value.remedy.endswith("pip install ziglang")
    with pytest.raises(TargetError, match="no C compiler for riscv64 with glibc") as caught:
        cross_compiler("riscv64", "glibc")
    assert "apt-get install gcc-riscv64-linux-gnu" in caught.value.remedy
    write_compiler(tmp_path / "bin" / "riscv64-linux-gnu-gcc", b"")
    assert cross_compiler("riscv64", "glibc") == ["riscv64-linux-gnu-gcc"]
    with pytest.raises(TargetError, match="with musl"):
        cross_compiler("riscv64", "musl")


def test_musl_for_this_machine_needs_no_zig(tmp_path: Path) -> None:
    write_compiler(tmp_path / "bin" / "musl-gcc", b"")
    assert cross_compiler(OWN, "musl")[0] == "musl-gcc"


def test_32_bits_on_a_processor_of_64_is_armv7() -> None:
    assert arch_of("armv8l").name == "armv7l"


def installed(tmp_path: Path, code: str, *words: str) -> list[str]:
    """What `code` prints in an installation, in `tmp_path`/site, with those words."""
    copy = tmp_path / "site" / "hardstone"
    shutil.copytree(
        ROOT / "src" / "hardstone",
        copy,
        ignore=shutil.ignore_patterns("_probe"),
        dirs_exist_ok=True,
    )
    whole = (
        "import sys\n"
        "from hardstone.errors import HardstoneError\n"
        "from hardstone.targets.build import probe_for, programs_for, source_archive\n"
        "for arch in sys.argv[1:]:\n"
        f"    try: {code}\n"
        "    except HardstoneError as error: print(type(error).__name__, error)"
    )
    env = {**os.environ, "PYTHONPATH": str(copy.parent)}
    command = [sys.executable, "-c", whole, *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_an_installation_without_source_and_program_for_guests_says_so(
    tmp_path: Path, own_probe: Path
) -> None:
    own_probe.with_name("hardstone-guest").unlink()
    source, guest = installed(tmp_path, "programs_for(arch)", OTHER, OWN)
    assert source.startswith("TargetError ")
    assert "is built from its source, which this installation lacks; " in source
    assert guest == "TargetError there is no hardstone-guest; build it: hardstone probe build"
    (told,) = installed(tmp_path, "source_archive()", OTHER)
    assert "is not part of this installation" in told


def test_an_installation_has_the_probes_that_it_brought(tmp_path: Path, own_probe: Path) -> None:
    own_probe.write_bytes(program(OWN, is_static=False))
    for arch, content in ((OWN, program(OWN)), ("armv7l", program("armv7l")), ("riscv64", b"?")):
        place = tmp_path / "site" / "hardstone" / "_probe" / arch / "hardstone-probe"
        place.parent.mkdir(parents=True)
        place.write_bytes(content)
    own, board, damaged = installed(tmp_path, "print(probe_for(arch))", OWN, "armv7l", "riscv64")
    assert own.endswith(f"site/hardstone/_probe/{OWN}/hardstone-probe")
    assert board.endswith("site/hardstone/_probe/armv7l/hardstone-probe")
    assert "should be a program for riscv64" in damaged


def test_an_installation_builds_from_the_source_that_it_brought(
    tmp_path: Path, tree: Path, compiler: Path
) -> None:
    shutil.copytree(tree, tmp_path / "site" / "hardstone" / "_probe" / "source")
    (path,) = installed(tmp_path, "print(probe_for(arch))", OTHER)
    assert Path(path).read_bytes() == program(OTHER)
    assert len(links(compiler)) == 2


@pytest.mark.slow
def test_the_command_prints_the_path(compiler: Path) -> None:
    done = CliRunner().invoke(command, ["build", "--arch", OTHER])
    assert done.output.splitlines()[-1] == str(programs_for(OTHER).probe)
    assert len(links(compiler)) == 2
