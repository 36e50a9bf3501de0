"""Only kernels that the lab can boot are taken, each with its architecture and release."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab.image_file import read_image
from hardstone.lab.own_kernel import read_kernel
from tests.process.lab import made_up

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
        (b"root:x:0:0", "want bzImage \\(x86-64\\) or Image \\(arm64\\)"),
        (made_up.driver(), "it is an ELF file"),
        (b"\0" * 0x24 + b"\x18\x28\x6f\x01", "it is a zImage of 32-bit ARM"),
        (b"\0" * 0x30 + b"RISCV", "it is an Image of RISC-V"),
        (made_up.bzimage(load_flags=0), "is a 32-bit kernel"),
        (made_up.bzimage(protocol=0x0206), "is a 32-bit kernel"),
        (made_up.bzimage()[:0x210], "is a damaged bzImage"),
        (gzip.compress(ARM64, mtime=0)[:-20], "gzip data are damaged or cut off"),
        (b"\x1f\x8b\x08" + b"x" * 40, "gzip data are damaged or cut off"),
        (gzip.compress(b"hello", mtime=0), "is not a kernel image"),
        (made_up.zboot(ARM64, "lzo"), "its compression 'lzo' is not known"),
        (made_up.zboot(ARM64, "\x1b[2J"), r"its compression '\?\[2J' is not known"),
    ],
)
def test_other_files_are_refused(data: bytes, cause: str) -> None:
    with pytest.raises(InputError, match=cause) as caught:
        read_image(data, "a\nfile")
    assert "\n" not in str(caught.value)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    paths = {**made_up.make_kernel(tmp_path / "made")}
    os.mkfifo(tmp_path / "pipe")
    for place, reason in (("missing", "No such file"), ("made", "a folder"), ("pipe", "a pipe")):
        with pytest.raises(InputError, match=reason):
            read_kernel(**{**paths, "image": tmp_path / place})


def test_a_link_that_a_person_names_is_followed(tmp_path: Path) -> None:
    """A build has links to its image."""
    paths = made_up.make_kernel(tmp_path / "made")
    (tmp_path / "bzImage").symlink_to(paths["image"])
    assert read_kernel(**{**paths, "image": tmp_path / "bzImage"}).release == made_up.RELEASE
