"""What a kernel for guests needs and does not find is said in a skip, and is no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab_kernels
from hardstone.lab.kernels import KernelFiles, add_kernel
from probe_checks import Skip

EMULATORS = ("qemu-system-x86_64", "qemu-system-aarch64")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs; it has none."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add_emulators(programs: Path) -> None:
    for name in EMULATORS:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)


def test_without_qemu_the_skip_says_what_to_install(programs: Path) -> None:
    with pytest.raises(Skip, match=r"debian is not booted: .*qemu-system-x86"):
        lab_kernels.fetch(1)()


def test_without_apt_the_skip_says_why_nothing_was_fetched(programs: Path) -> None:
    add_emulators(programs)
    with pytest.raises(Skip, match=r"debian cannot be fetched: .*apt"):
        lab_kernels.fetch(1)()


def test_a_kernel_that_is_there_is_not_fetched_again(programs: Path) -> None:
    add_emulators(programs)
    (name,) = lab_kernels.NAMES[:1]
    files = KernelFiles(
        arch="x86_64", release="6.1", image=b"image", busybox=b"busybox", config=None, drivers=()
    )
    add_kernel(name, files)
    assert lab_kernels.fetch(1)() == []


def test_all_kernels_that_are_missing_are_named(programs: Path) -> None:
    with pytest.raises(Skip) as skipped:
        lab_kernels.fetch(len(lab_kernels.STANDARD))()
    assert [name for name in lab_kernels.NAMES if f"{name} is not" not in str(skipped.value)] == []
