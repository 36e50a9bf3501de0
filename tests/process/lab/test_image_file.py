"""Images of kernels: which the lab takes, what packs them, and the kernel inside, kept beside."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest

from hardstone.errors import InputError
from hardstone.lab.debian import read_kernel
from hardstone.lab.kernels import (
    Kernel,
    UnpackError,
    add_kernel,
    all_kernels,
    find_kernel,
    read_image,
    remove_kernel,
    unpack,
    unpacked_kernel,
    vmlinux,
)
from hardstone.lab.lab_folder import lab_folder
from tests.process.lab import made_up
from tests.programs import script

ARM64 = made_up.arm64_image()


@pytest.mark.parametrize(
    ("data", "arch", "release", "stored"),
    [
        (made_up.bzimage(), "x86_64", made_up.RELEASE, made_up.bzimage()),
        (ARM64, "aarch64", "6.1.0-7-arm64", ARM64),
        (gzip.compress(ARM64, mtime=0), "aarch64", "6.1.0-7-arm64", ARM64),
        (made_up.zboot(ARM64), "aarch64", "6.1.0-7-arm64", ARM64),
        (made_up.bzimage("6.1\x1b[2J"), "x86_64", "", made_up.bzimage("6.1\x1b[2J")),
    ],
    ids=["bzImage", "Image", "Image.gz", "zboot", "hostile release"],
)
def test_images(data: bytes, arch: str, release: str, stored: bytes) -> None:
    image = read_image(data, "image")
    assert (image.arch, image.release, image.data) == (arch, release, stored)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "it is empty"),
        (b"root:x:0:0", "a bzImage \\(x86-64\\) or an Image \\(arm64\\)"),
        (made_up.driver(), "it is an ELF file"),
        (b"\0" * 0x24 + b"\x18\x28\x6f\x01", "it is a zImage of 32-bit ARM"),
        (b"\0" * 0x30 + b"RISCV", "it is an Image of RISC-V"),
        (made_up.bzimage(load_flags=0), "is a 32-bit kernel"),
        (made_up.bzimage(protocol=0x0206), "is a 32-bit kernel"),
        (made_up.bzimage()[:0x210], "is a damaged bzImage"),
        (gzip.compress(ARM64, mtime=0)[:-20], "gzip data is damaged or cut off"),
        (b"\x1f\x8b\x08" + b"x" * 40, "gzip data is damaged or cut off"),
        (gzip.compress(b"hello", mtime=0), "is not a kernel image"),
        (made_up.zboot(ARM64, "lzo"), "its compression 'lzo' is unknown"),
        (made_up.zboot(ARM64, "\x1b[2J"), r"its compression '\?\[2J' is unknown"),
    ],
)
def test_other_files_are_refused(data: bytes, cause: str) -> None:
    with pytest.raises(InputError, match=cause) as caught:
        read_image(data, "a\nfile")
    assert "\n" not in str(caught.value)


def test_a_path_that_is_no_file_is_refused_and_a_link_followed(tmp_path: Path) -> None:
    """A build has links to its image, and a person names it."""
    paths = {**made_up.make_kernel(tmp_path / "made")}
    os.mkfifo(tmp_path / "pipe")
    for place, reason in (("missing", "No such file"), ("made", "a folder"), ("pipe", "a pipe")):
        with pytest.raises(InputError, match=reason):
            read_kernel(**{**paths, "image": tmp_path / place})
    (tmp_path / "bzImage").symlink_to(paths["image"])
    assert read_kernel(**{**paths, "image": tmp_path / "bzImage"}).release == made_up.RELEASE


# Compressed files are unpacked up to a limit, whatever they claim

LIMIT = 1 << 20


def by_program(*command: str) -> Callable[[bytes], bytes]:
    def packed(data: bytes) -> bytes:
        if shutil.which(command[0]) is None:
            pytest.skip(f"there is no {command[0]}")
        words = [*command, "-q", "-c"]
        return subprocess.run(words, input=data, capture_output=True, check=True).stdout

    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": by_program("zstd"),
    "lz4": by_program("lz4", "-l"),  # as the kernel's build packs it
    "lzma": partial(lzma.compress, format=lzma.FORMAT_ALONE),
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_what_was_packed_comes_out_up_to_the_limit(kind: str) -> None:
    pack = PACKERS[kind]
    some = Random(1).randbytes(1 << 16)
    for data in (b"", some, some[:10] + bytes(LIMIT - 10)):
        assert unpack(pack(data), kind, LIMIT) == data
    for size in (LIMIT + 1, 4 * LIMIT):
        with pytest.raises(UnpackError, match="is larger than 1 MiB"):
            unpack(pack(bytes(size)), kind, LIMIT)


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_data_are_refused(kind: str) -> None:
    packed = PACKERS[kind](b"some text, " * 999)
    for damaged in (packed[:-1], packed[:10], b"", b"x" * 99, packed[:20] + b"\0" * 9):
        with pytest.raises(UnpackError, match=f"its {kind} data is damaged or cut off"):
            unpack(damaged, kind, LIMIT)


# The kernel in a bzImage is found, whatever packed it; or nothing is

# With the tables of addresses that follow a kernel in its payload.
KERNEL = made_up.vmlinux() + bytes(range(256)) * 99
OTHER = made_up.vmlinux() + b"another one"


def payload(kind: str, kernel: bytes = KERNEL) -> bytes:
    """As the kernel's build makes it: the size comes after, and gzip has it at its end."""
    size = b"" if kind == "gzip" else struct.pack("<I", len(kernel))
    return PACKERS[kind](kernel) + size


def image_of(kernel: bytes, kind: str = "xz") -> bytes:
    return made_up.packed_bzimage(payload(kind, kernel))


@pytest.mark.parametrize("kind", PACKERS)
def test_the_kernel_is_unpacked_unless_the_image_is_cut_off_or_damaged(kind: str) -> None:
    packed = payload(kind)
    image = made_up.packed_bzimage(packed)
    assert vmlinux(image) == KERNEL
    for removed_bytes in (1, 12, 40):
        with pytest.raises(UnpackError, match="it is cut off"):
            vmlinux(image[: -len(b"and code") - removed_bytes])
        with pytest.raises(UnpackError):
            vmlinux(made_up.packed_bzimage(packed[:-removed_bytes]))


NO_PAYLOAD = {
    "empty": b"",
    "no payload": made_up.bzimage(),
    "header": made_up.bzimage()[:0x230],
    "arm64": made_up.arm64_image(),
    "empty payload": made_up.packed_bzimage(b""),
    "short": made_up.packed_bzimage(b"abc"),
    "only a magic": made_up.packed_bzimage(b"BZh"),
    "lzo": made_up.packed_bzimage(b"\x89LZO" + payload("xz")),
    "protocol": image_of(KERNEL).replace(struct.pack("<H", 0x020F), b"\x07\x02", 1),
}
NOT_ENTERED = {
    "kind": made_up.vmlinux(kind=17),
    "owner": made_up.vmlinux(owner=b"GNU\0"),
    "machine": made_up.vmlinux(machine="i386"),
    "cut in its notes": made_up.vmlinux()[:100],
    "cut at its end": made_up.vmlinux()[:-20],
    "cut in its head": made_up.vmlinux()[:40],
    "a driver": made_up.driver(),
    "notes that nobody reads to their end": made_up.vmlinux(others_count=4000),
    "segments": made_up.vmlinux(segments_count=1000),
    "PT_LOAD": made_up.vmlinux().replace(struct.pack("<II", 4, 4), struct.pack("<II", 1, 4)),
    "no program": b"no program at all",
}
NO_KERNEL = NO_PAYLOAD | {name: image_of(kernel) for name, kernel in NOT_ENTERED.items()}


def test_a_size_must_be_that_of_the_kernel_and_older_images_have_four_sectors_of_setup() -> None:
    for size_bytes in (len(KERNEL) - 1, len(KERNEL) + 1):
        packed = PACKERS["xz"](KERNEL) + struct.pack("<I", size_bytes)
        with pytest.raises(UnpackError, match=r"it is larger|it holds"):
            vmlinux(made_up.packed_bzimage(packed))
    image = bytearray(made_up.packed_bzimage(payload("xz"), setup_sectors=4))
    image[0x1F1] = 0
    assert vmlinux(bytes(image)) == KERNEL


@pytest.mark.parametrize("name", NO_KERNEL)
def test_an_image_without_a_kernel_that_qemu_can_enter_has_none(name: str) -> None:
    assert vmlinux(NO_KERNEL[name]) == b""


def test_without_the_program_that_unpacks_it_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = made_up.packed_bzimage(b"\x28\xb5\x2f\xfd" + b"x" * 40)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnpackError, match="zstd, which is not installed"):
        vmlinux(image)


# It is kept beside its image, as a whole, and is never that of another


def added(folder: Path, image: bytes) -> Kernel:
    files = read_kernel(**made_up.make_kernel(folder, image=image))  # type: ignore[arg-type]
    return add_kernel("made", files)[0]


def unpacked_files(kernel: Kernel) -> list[Path]:
    return sorted(kernel.image.parent.glob("vmlinux-*"))


class Counting(list[bytes]):
    """Unpacks, and keeps the images."""

    def __call__(self, image: bytes) -> bytes:
        self.append(image)
        return vmlinux(image)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return added(tmp_path / "files", image_of(KERNEL))


def checked(kernel: Kernel, unpacking: Callable[[bytes], bytes] = vmlinux) -> Path:
    path = unpacked_kernel(kernel, unpacking)
    assert path is not None and path.read_bytes() == KERNEL
    return path


def test_it_is_unpacked_once_and_the_entry_says_the_same(
    kernel: Kernel, counting: Counting
) -> None:
    path = checked(kernel, counting)
    assert path.parent == kernel.image.parent
    assert unpacked_kernel(kernel, counting) == path
    assert counting == [image_of(KERNEL)]
    assert find_kernel("made") == kernel and all_kernels() == [kernel]
    assert list((lab_folder() / "work").iterdir()) == []
    remove_kernel("made")
    assert not path.exists()


def test_another_image_of_that_name_has_its_own(
    tmp_path: Path, kernel: Kernel, counting: Counting
) -> None:
    unpacked_kernel(kernel, counting)
    other = added(tmp_path / "other", image_of(OTHER))
    path = unpacked_kernel(other, counting)
    assert path is not None and path.read_bytes() == OTHER
    assert unpacked_files(other) == [path]
    assert unpacked_kernel(kernel, counting) is None  # found before the other was
    assert len(counting) == 2


@pytest.mark.parametrize("damage", [b"", KERNEL[:-1], KERNEL + b"\0", KERNEL[:-1] + b"?"])
def test_a_damaged_one_is_made_again(kernel: Kernel, damage: bytes) -> None:
    path = checked(kernel)
    path.write_bytes(damage)
    assert checked(kernel) == path
    assert unpacked_files(kernel) == [path]


@pytest.mark.parametrize("what", ["link", "folder", "pipe"])
def test_what_is_no_file_is_not_booted(kernel: Kernel, what: str, tmp_path: Path) -> None:
    path = checked(kernel)
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
    tmp_path: Path, kernel: Kernel, counting: Counting
) -> None:
    assert unpacked_kernel(replace(kernel, arch="aarch64"), counting) is None  # stored unpacked
    assert counting == []
    kernel = added(tmp_path / "empty", image_of(made_up.vmlinux(kind=17)))
    for _ in range(2):
        assert unpacked_kernel(kernel, counting) is None
    assert len(counting) == 1


def test_what_cannot_be_unpacked_here_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counting: Counting
) -> None:
    """The program may be installed later."""
    packed = b"\x28\xb5\x2f\xfd" + b"x" * 40 + struct.pack("<I", len(KERNEL))
    kernel = added(tmp_path / "files", made_up.packed_bzimage(packed))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unpacked_kernel(kernel, counting) is None
    (tmp_path / "kernel").write_bytes(KERNEL)
    script(tmp_path / "zstd", f"exec /bin/cat {tmp_path}/kernel")
    checked(kernel, counting)
    assert len(counting) == 2


def test_two_at_once_have_the_same(kernel: Kernel) -> None:
    both = threading.Barrier(2)
    found: list[Path] = []

    def together(image: bytes) -> bytes:
        both.wait()
        return vmlinux(image)

    threads = [
        threading.Thread(target=lambda: found.append(checked(kernel, together))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and unpacked_files(kernel) == [found[0]] == [found[1]]


def test_a_write_that_fails_leaves_nothing(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image is booted then, and where nothing can be kept."""

    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:9])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        assert unpacked_kernel(kernel) is None
    assert unpacked_files(kernel) == []
    assert list((lab_folder() / "work").iterdir()) == []
    (lab_folder() / "work").rmdir()
    (lab_folder() / "work").write_text("in the way")
    assert unpacked_kernel(kernel) is None
