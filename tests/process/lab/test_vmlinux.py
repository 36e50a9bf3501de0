"""The kernel in a bzImage is found and unpacked, whatever packed it; or nothing is."""

from __future__ import annotations

import struct

import pytest

from hardstone.lab.unpack import UnpackError
from hardstone.lab.vmlinux import vmlinux
from tests.process.lab import made_up
from tests.process.lab.test_unpack import PACKERS

# With the tables of addresses that follow a kernel in its payload.
KERNEL = made_up.vmlinux() + bytes(range(256)) * 99


def payload(kind: str, kernel: bytes = KERNEL) -> bytes:
    """As the kernel's build makes it: the size comes after, and gzip has it at its end."""
    size = b"" if kind == "gzip" else struct.pack("<I", len(kernel))
    return PACKERS[kind](kernel) + size


@pytest.mark.parametrize("kind", PACKERS)
def test_the_kernel_is_unpacked(kind: str) -> None:
    assert vmlinux(made_up.packed_bzimage(payload(kind))) == KERNEL


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("removed_bytes", [1, 12, 40])
def test_an_image_that_is_cut_off_or_damaged_is_refused(kind: str, removed_bytes: int) -> None:
    packed = payload(kind)
    image = made_up.packed_bzimage(packed)
    with pytest.raises(UnpackError, match="it is cut off"):
        vmlinux(image[: -len(b"and code") - removed_bytes])
    with pytest.raises(UnpackError):
        vmlinux(made_up.packed_bzimage(packed[:-removed_bytes]))


@pytest.mark.parametrize("size_bytes", [len(KERNEL) - 1, len(KERNEL) + 1])
def test_a_size_that_is_not_that_of_the_kernel_is_refused(size_bytes: int) -> None:
    packed = PACKERS["xz"](KERNEL) + struct.pack("<I", size_bytes)
    with pytest.raises(UnpackError, match="it holds"):
        vmlinux(made_up.packed_bzimage(packed))


def test_an_older_image_has_four_sectors_of_setup_without_saying_so() -> None:
    image = bytearray(made_up.packed_bzimage(payload("xz"), setup_sectors=4))
    image[0x1F1] = 0
    assert vmlinux(bytes(image)) == KERNEL


@pytest.mark.parametrize(
    "image",
    [
        b"",
        made_up.bzimage(),
        made_up.bzimage()[:0x230],
        made_up.arm64_image(),
        made_up.packed_bzimage(b""),
        made_up.packed_bzimage(b"abc"),
        made_up.packed_bzimage(b"BZh"),
        made_up.packed_bzimage(b"\x89LZO" + payload("xz")),
        made_up.packed_bzimage(payload("xz")).replace(struct.pack("<H", 0x020F), b"\x07\x02", 1),
    ],
    ids=[
        "empty",
        "no payload",
        "header",
        "arm64",
        "empty payload",
        "short",
        "only a magic",
        "lzo",
        "protocol",
    ],
)
def test_an_image_without_a_payload_that_is_known_has_no_kernel(image: bytes) -> None:
    assert vmlinux(image) == b""


@pytest.mark.parametrize(
    "kernel",
    [
        made_up.vmlinux(kind=17),
        made_up.vmlinux(owner=b"GNU\0"),
        made_up.vmlinux(machine="i386"),
        made_up.vmlinux()[:100],
        made_up.vmlinux()[:-20],
        made_up.vmlinux()[:40],
        made_up.driver(),
        made_up.vmlinux(others_count=4000),  # nobody reads such notes to their end
        made_up.vmlinux(segments_count=1000),
        made_up.vmlinux().replace(struct.pack("<II", 4, 4), struct.pack("<II", 1, 4)),  # PT_LOAD
        b"no program at all",
    ],
)
def test_a_kernel_that_qemu_cannot_enter_is_none(kernel: bytes) -> None:
    assert vmlinux(made_up.packed_bzimage(payload("xz", kernel))) == b""


def test_without_the_program_that_unpacks_it_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = made_up.packed_bzimage(b"\x28\xb5\x2f\xfd" + b"x" * 40)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnpackError, match="there is no program zstd"):
        vmlinux(image)
