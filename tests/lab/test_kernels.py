"""Kernels of the lab are stored as a whole, found again, and refused when they are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab.kernels import (
    add_kernel,
    all_kernels,
    damaged_kernels,
    find_kernel,
    remove_kernel,
)
from hardstone.lab.lab_folder import lab_folder
from hardstone.lab.own_kernel import read_kernel
from tests.lab import made_up


def stored(tmp_path: Path, name: str = "mine", **more: str) -> None:
    add_kernel(name, read_kernel(**made_up.make_kernel(tmp_path / "made"), **more))


def test_a_kernel_is_found_as_it_was_added(tmp_path: Path) -> None:
    stored(tmp_path, append="quiet", package="linux-image-6.1.0-7-amd64=6.1.1-1")
    kernel = find_kernel("mine")
    assert (kernel.name, kernel.arch, kernel.release) == ("mine", "x86_64", made_up.RELEASE)
    assert (kernel.append, kernel.package) == ("quiet", "linux-image-6.1.0-7-amd64=6.1.1-1")
    assert kernel.image.read_bytes() == made_up.bzimage()
    assert kernel.busybox.read_bytes() == made_up.busybox()
    assert kernel.busybox.stat().st_mode & 0o111
    assert kernel.config is not None and kernel.config.read_bytes() == made_up.CONFIG
    assert [path.name[3:-3] for path in kernel.modules] == made_up.ORDER
    assert all_kernels() == [kernel]


def test_what_replaces_a_kernel_says_what_was_there(tmp_path: Path) -> None:
    stored(tmp_path)
    first = find_kernel("mine")
    second, before = add_kernel(
        "mine", read_kernel(**made_up.make_kernel(tmp_path / "other", "6.2.0"))
    )
    assert before == first
    assert find_kernel("mine") == second and second.release == "6.2.0"


def test_a_removed_kernel_is_gone(tmp_path: Path) -> None:
    stored(tmp_path)
    remove_kernel("mine")
    assert all_kernels() == [] and damaged_kernels() == {}
    assert {path.name for path in lab_folder().rglob("*")} == {"lock", "work", "kernels"}
    with pytest.raises(InputError, match="no kernel 'mine'"):
        remove_kernel("mine")


@pytest.mark.parametrize("name", ["../mine", "", ".mine", "Mine", "a/b", "a" * 62, "mine\n", "-m"])
def test_a_bad_name_is_refused(name: str, tmp_path: Path) -> None:
    files = read_kernel(**made_up.make_kernel(tmp_path / "made"))
    for call in (find_kernel, remove_kernel, lambda name: add_kernel(name, files)):
        with pytest.raises(InputError, match="cannot be the name of a kernel"):
            call(name)
    assert not lab_folder().exists()
