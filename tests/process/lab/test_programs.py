"""Programs of a guest: what they are, and how they are kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hardstone.errors import EXIT_UNREACHABLE, TargetError
from hardstone.lab.elf import Elf, check_static, read_elf
from hardstone.lab.programs import Programs, kept_programs
from tests.process.lab.programs import elf


@pytest.fixture(autouse=True)
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARDSTONE_LAB_DIR", str(tmp_path / "lab"))
    return tmp_path / "lab" / "programs" / "aarch64"


def build(folder: Path) -> Programs:
    programs = Programs(folder / "hardstone-probe", folder / "hardstone-guest")
    programs.probe.write_bytes(elf("aarch64"))
    programs.guest.write_bytes(elf("aarch64"))
    return programs


def forbidden(folder: Path) -> Programs:
    raise AssertionError(f"built again in {folder}")


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("is_static", [True, False])
def test_architecture_and_linkage(tmp_path: Path, arch: str, is_static: bool) -> None:
    (tmp_path / "program").write_bytes(elf(arch, is_static=is_static))
    assert read_elf(tmp_path / "program") == Elf(arch, is_static)


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(200), elf("x86_64")[:-1]]
)
def test_what_is_no_executable(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "program").write_bytes(content)
    assert read_elf(tmp_path / "program") is None
    with pytest.raises(TargetError, match="should be a program for x86_64") as caught:
        check_static(tmp_path / "program", "x86_64")
    assert caught.value.exit_code == EXIT_UNREACHABLE


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (elf("x86_64"), "should be a program for aarch64 but is one for x86_64"),
        (elf("riscv64"), "should be a program for aarch64"),
        (elf("aarch64", is_static=False), "needs shared libraries"),
    ],
)
def test_a_program_that_no_guest_can_run(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "program").write_bytes(content)
    with pytest.raises(TargetError, match=words):
        check_static(tmp_path / "program", "aarch64")


def test_built_once_and_found_again(lab: Path) -> None:
    first = kept_programs("aarch64", "k1", build)
    assert first.probe == lab / "k1" / "hardstone-probe"
    assert kept_programs("aarch64", "k1", forbidden) == first


def test_another_key_is_another_build(lab: Path) -> None:
    first = kept_programs("aarch64", "k1", build)
    assert kept_programs("aarch64", "k2", build) != first
    assert sorted(path.name for path in lab.iterdir()) == ["k1", "k2"]


@pytest.mark.parametrize("damage", ["hardstone-probe", "hardstone-guest"])
def test_a_damaged_one_is_built_again(lab: Path, damage: str) -> None:
    kept_programs("aarch64", "k1", build)
    (lab / "k1" / damage).write_bytes(b"")
    kept_programs("aarch64", "k1", build)
    assert (lab / "k1" / damage).read_bytes() == elf("aarch64")


def test_a_build_that_fails_leaves_nothing(lab: Path) -> None:
    def fails(folder: Path) -> Programs:
        (folder / "hardstone-probe").write_bytes(elf("aarch64"))
        raise TargetError("it does not build")

    with pytest.raises(TargetError, match="it does not build"):
        kept_programs("aarch64", "k1", fails)
    assert list(lab.iterdir()) == []


def test_what_nobody_used_for_a_week_goes_with_the_next_build(lab: Path) -> None:
    for key in ("old", "used"):
        kept_programs("aarch64", key, build)
    (lab / ".new-killed").mkdir()
    week_ago = time.time() - 8 * 24 * 3600
    for name in ("old", "used", ".new-killed"):
        os.utime(lab / name, (week_ago, week_ago))
    kept_programs("aarch64", "used", forbidden)
    kept_programs("aarch64", "new", build)
    assert sorted(path.name for path in lab.iterdir()) == ["new", "used"]


def test_a_folder_that_cannot_be_written_is_one_line(lab: Path) -> None:
    lab.parent.mkdir(parents=True)
    lab.write_text("a file where the folder should be")
    with pytest.raises(TargetError, match="cannot be kept in") as caught:
        kept_programs("aarch64", "k1", build)
    assert "HARDSTONE_LAB_DIR" in caught.value.remedy
