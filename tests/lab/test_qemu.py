"""The command line of QEMU, by architecture and accelerator."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.lab.kernels import Kernel
from hardstone.lab.qemu import Machine


@pytest.fixture(autouse=True)
def made_up_emulators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for arch in ("x86_64", "aarch64"):
        program = tmp_path / f"qemu-system-{arch}"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def command(
    arch: str, accel: str, folder: str = "/f", host_tsc_khz: int | None = None
) -> list[str]:
    place = Path("/k")
    kernel = Kernel(
        name="made", arch=arch, release="", package="", sha256="0" * 64, append="kernels=own",
        image=place / "image", config=None, busybox=place / "busybox", modules=(),
    )  # fmt: skip
    machine = Machine(
        kernel=kernel, initramfs=Path("/i"), accel=accel, cpus=1, memory_mib=256, append="mine=1",
        host_tsc_khz=host_tsc_khz,
    )  # fmt: skip
    return machine.command(Path(folder), (7, 8))


def after(words: list[str], option: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == option]


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("accel", ["kvm", "tcg", "icount"])
def test_every_guest_is_without_network_and_tells_how_it_runs(arch: str, accel: str) -> None:
    words = command(arch, accel)
    assert Path(words[0]).name == f"qemu-system-{arch}" and after(words, "-nic") == ["none"]
    assert after(words, "-smp") == ["1"] and after(words, "-m") == ["256M"]
    line = after(words, "-append")[0].split()
    assert f"hardstone.lab={accel}" in line and line[-2:] == ["kernels=own", "mine=1"]
    assert ("-icount" in words) == (accel == "icount") == ("nokaslr" in line)
    assert ("socket,id=port,fd=7" in words) == (accel != "icount")
    for bell, descriptor in enumerate((7, 8)):
        is_there = f"file,id=bell{bell},path=/dev/fd/{descriptor}" in words
        assert is_there == (accel == "icount")


def test_commas_in_paths_are_doubled() -> None:
    words = command("x86_64", "icount", "/a,b")
    shown = [word for word in words if "/a," in word]
    assert len(shown) == 3 and all("/a,,b/" in word for word in shown)


@pytest.mark.parametrize(
    ("arch", "accel", "is_given"),
    [
        ("x86_64", "tcg", True),
        ("x86_64", "kvm", False),
        ("x86_64", "icount", False),  # its counter counts instructions
        ("aarch64", "tcg", False),
    ],
)
def test_a_guest_is_told_the_frequency_of_a_counter_that_is_this_machine_s(
    arch: str, accel: str, is_given: bool
) -> None:
    (line,) = after(command(arch, accel, host_tsc_khz=2596122), "-append")
    assert ("tsc_early_khz=2596122" in line.split()) == is_given
    assert "tsc_early_khz" not in after(command(arch, accel), "-append")[0]
