"""An unpacked kernel is kept beside its image, as a whole, and is never that of another."""

from __future__ import annotations

import lzma
import os
import struct
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hardstone.lab.kernels import Kernel, add_kernel, all_kernels, find_kernel, remove_kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.lab.own_kernel import read_kernel
from hardstone.lab.unpacked_kernel import unpacked_kernel
from hardstone.lab.vmlinux import vmlinux
from tests.process.lab import made_up

KERNEL = made_up.vmlinux() + b"a first kernel"
OTHER = made_up.vmlinux() + b"another one"


def bzimage(kernel: bytes) -> bytes:
    return made_up.packed_bzimage(lzma.compress(kernel) + struct.pack("<I", len(kernel)))


def added(folder: Path, image: bytes) -> Kernel:
    files = read_kernel(**made_up.make_kernel(folder, image=image))  # type: ignore[arg-type]
    return add_kernel("made", files)[0]


def unpacked_files(kernel: Kernel) -> list[Path]:
    return sorted(kernel.image.parent.glob("vmlinux-*"))


class Counting:
    """Unpacks, and keeps the images."""

    def __init__(self) -> None:
        self.images: list[bytes] = []

    def __call__(self, image: bytes) -> bytes:
        self.images.append(image)
        return vmlinux(image)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return added(tmp_path / "files", bzimage(KERNEL))


def test_it_is_unpacked_once_and_the_entry_says_the_same(
    kernel: Kernel, counting: Counting
) -> None:
    path = unpacked_kernel(kernel, counting)
    assert path is not None and path.read_bytes() == KERNEL
    assert path.parent == kernel.image.parent
    assert unpacked_kernel(kernel, counting) == path
    assert counting.images == [bzimage(KERNEL)]
    assert find_kernel("made") == kernel and all_kernels() == [kernel]
    assert list((lab_folder() / "work").iterdir()) == []
    remove_kernel("made")
    assert not path.exists()


def test_another_image_of_that_name_has_its_own(
    tmp_path: Path, kernel: Kernel, counting: Counting
) -> None:
    unpacked_kernel(kernel, counting)
    other = added(tmp_path / "other", bzimage(OTHER))
    path = unpacked_kernel(other, counting)
    assert path is not None and path.read_bytes() == OTHER
    assert unpacked_files(other) == [path]
    assert unpacked_kernel(kernel, counting) is None  # found before the other was
    assert len(counting.images) == 2


@pytest.mark.parametrize("damage", [b"", KERNEL[:-1], KERNEL + b"\0", KERNEL[:-1] + b"?"])
def test_a_damaged_one_is_made_again(kernel: Kernel, damage: bytes) -> None:
    path = unpacked_kernel(kernel)
    assert path is not None
    path.write_bytes(damage)
    assert unpacked_kernel(kernel) == path
    assert path.read_bytes() == KERNEL and unpacked_files(kernel) == [path]


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
def test_what_is_no_file_is_not_booted(kernel: Kernel, what: str, tmp_path: Path) -> None:
    path = unpacked_kernel(kernel)
    assert path is not None
    path.unlink()
    (tmp_path / "elsewhere").write_bytes(KERNEL)
    if what == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif what == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    found = unpacked_kernel(kernel)
    assert found is None or (found.is_file() and not found.is_symlink())


def test_an_image_that_holds_nothing_to_boot_is_unpacked_once(
    tmp_path: Path, counting: Counting
) -> None:
    kernel = added(tmp_path / "files", bzimage(made_up.vmlinux(kind=17)))
    assert unpacked_kernel(kernel, counting) is None
    assert unpacked_kernel(kernel, counting) is None
    assert len(counting.images) == 1


def test_what_cannot_be_unpacked_here_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: Counting
) -> None:
    """The program may be installed later."""
    packed = b"\x28\xb5\x2f\xfd" + b"x" * 40 + struct.pack("<I", len(KERNEL))
    kernel = added(tmp_path / "files", made_up.packed_bzimage(packed))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unpacked_kernel(kernel, counting) is None
    program = tmp_path / "zstd"
    (tmp_path / "kernel").write_bytes(KERNEL)
    program.write_text(f"#!/bin/sh\nexec /bin/cat {tmp_path}/kernel\n")
    program.chmod(0o755)
    path = unpacked_kernel(kernel, counting)
    assert path is not None and path.read_bytes() == KERNEL
    assert len(counting.images) == 2


def test_where_nothing_can_be_kept_the_image_is_booted(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lab_folder() / "work").rmdir()
    (lab_folder() / "work").write_text("in the way")
    assert unpacked_kernel(kernel) is None


def test_an_arm64_kernel_is_stored_unpacked(kernel: Kernel, counting: Counting) -> None:
    assert unpacked_kernel(replace(kernel, arch="aarch64"), counting) is None
    assert counting.images == []


def test_two_at_once_have_the_same(kernel: Kernel) -> None:
    both = threading.Barrier(2)
    found: list[Path | None] = []

    def together(image: bytes) -> bytes:
        both.wait()
        return vmlinux(image)

    def find() -> None:
        found.append(unpacked_kernel(kernel, together))

    threads = [threading.Thread(target=find) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (path,) = set(found)
    assert path is not None and path.read_bytes() == KERNEL
    assert unpacked_files(kernel) == [path]


def test_a_write_that_fails_leaves_nothing(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:9])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert unpacked_kernel(kernel) is None
    assert unpacked_files(kernel) == []
    assert list((lab_folder() / "work").iterdir()) == []
