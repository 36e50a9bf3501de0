"""Made-up kernels, drivers and programs: the headers that the lab looks at, and little else."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

from hardstone.lab.kernels import Kernel

MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243, "i386": 3}
RELEASE = "6.1.0-7-amd64"
CONFIG = (
    b"CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\nCONFIG_VIRTIO_PCI=m\nCONFIG_VIRTIO_CONSOLE=m\n"
)
# As in 6.1, where virtio_ring comes before virtio.
DEPENDS = {
    "virtio_ring": "",
    "virtio": "virtio_ring",
    "virtio_pci_modern_dev": "",
    "virtio_pci": "virtio_pci_modern_dev,virtio_ring,virtio",
    "virtio_console": "virtio,virtio_ring",
}
ORDER = ["virtio_pci_modern_dev", "virtio_ring", "virtio", "virtio_pci", "virtio_console"]


def bzimage(
    release: str = RELEASE, *, load_flags: int = 0x3F, protocol: int = 0x020F, more: bytes = b""
) -> bytes:
    header = bytearray(0x600)
    header[0:2] = b"MZ"
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", header, 0x206, protocol)
    struct.pack_into("<H", header, 0x20E, 0x300)
    struct.pack_into("<H", header, 0x236, load_flags)
    header[0x500:] = f"{release} (someone@somewhere) #1 SMP".encode().ljust(0x100, b"\0")
    return bytes(header) + more


def vmlinux(
    *,
    kind: int = 18,
    owner: bytes = b"Xen\0",
    machine: str = "x86_64",
    others_count: int = 1,
    segments_count: int = 1,
) -> bytes:
    """A program with segments of notes: others, and one that says where QEMU enters a kernel unless
    `kind` or `owner` are others."""
    others = [(6, b"Xen\0", b"linux\0")] * others_count
    notes = [*others, (kind, owner, struct.pack("<Q", 0x1000000))]
    content = b"".join(
        struct.pack("<III", len(name), len(said), number) + name + said + bytes(-len(said) % 4)
        for number, name, said in notes
    )
    start = bytearray(64)
    start[0:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", start, 18, MACHINES[machine])
    struct.pack_into("<Q", start, 32, 64)
    struct.pack_into("<HH", start, 54, 56, segments_count)
    at = 64 + 56 * segments_count
    segment = struct.pack("<IIQQQQQQ", 4, 4, at, 0, 0, len(content), len(content), 4)
    return bytes(start) + segment * segments_count + content


def packed_bzimage(payload: bytes, *, setup_sectors: int = 5) -> bytes:
    """A bzImage that holds `payload`, after some of what unpacks it."""
    image = bytearray(bzimage(more=b"\x90" * ((setup_sectors + 1) * 512 + 0x2CC - 0x600)))
    image[0x1F1] = setup_sectors
    struct.pack_into("<II", image, 0x248, 0x2CC, len(payload))
    return bytes(image) + payload + b"and code"


def arm64_image(release: str = "6.1.0-7-arm64") -> bytes:
    header = bytearray(64)
    header[0:2] = b"MZ"
    header[0x38:0x3C] = b"ARM\x64"
    return bytes(header) + f"...Linux version {release} (someone) #1\0".encode()


def zboot(payload: bytes, kind: str = "gzip") -> bytes:
    """An arm64 kernel that EFI starts, and that unpacks itself."""
    header = bytearray(64)
    header[0:2] = b"MZ"
    header[4:8] = b"zimg"
    packed = gzip.compress(payload, mtime=0)
    struct.pack_into("<II", header, 8, len(header), len(packed))
    header[24 : 24 + len(kind)] = kind.encode()
    return bytes(header) + packed + b"after"


def elf(machine: str, sections: dict[str, bytes]) -> bytes:
    """A file with these sections, and with the section of their names."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in [*sections, ".shstrtab"])
    contents = {**sections, ".shstrtab": names}
    body, headers = b"", b"\0" * 64
    for name, content in contents.items():
        name_at = names.index(b"\0" + name.encode() + b"\0") + 1
        header = struct.pack("<IIQQQQ", name_at, 1, 0, 0, 64 + len(body), len(content))
        headers += header.ljust(64, b"\0")
        body += content
    start = bytearray(64)
    start[0:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", start, 18, MACHINES[machine])
    struct.pack_into("<Q", start, 40, 64 + len(body))
    struct.pack_into("<HHH", start, 58, 64, len(contents) + 1, len(contents))
    return bytes(start) + body + headers


def driver(depends: str = "", *, release: str = RELEASE, machine: str = "x86_64") -> bytes:
    fields = ("license=GPL", f"depends={depends}", f"vermagic={release} SMP preempt")
    return elf(machine, {".text": b"\x90" * 7, ".modinfo": "\0".join(fields).encode() + b"\0"})


def program(machine: str = "x86_64", *, is_static: bool = True) -> bytes:
    """A program with two program headers; the second one names a loader if it is not static."""
    if machine == "armv7l":  # of 32 bits
        start = bytearray(52 + 2 * 32)
        start[0:6] = b"\x7fELF\x01\x01"
        struct.pack_into("<H", start, 18, 40)
        struct.pack_into("<I", start, 28, 52)
        struct.pack_into("<HH", start, 42, 32, 2)
        struct.pack_into("<I", start, 52, 1)
        struct.pack_into("<I", start, 52 + 32, 1 if is_static else 3)
        return bytes(start)
    start = bytearray(64 + 2 * 56)
    start[0:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<H", start, 18, MACHINES[machine])
    struct.pack_into("<Q", start, 32, 64)
    struct.pack_into("<HH", start, 54, 56, 2)
    struct.pack_into("<I", start, 64, 1)
    struct.pack_into("<I", start, 64 + 56, 1 if is_static else 3)
    return bytes(start)


def make_tree(folder: Path, release: str = RELEASE, machine: str = "x86_64") -> Path:
    """A tree lib/modules/RELEASE in `folder` with the drivers of `DEPENDS`."""
    tree = folder / "lib" / "modules" / release
    for name, depends in DEPENDS.items():
        place = tree / "kernel" / "drivers" / ("char" if name == "virtio_console" else "virtio")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.ko").write_bytes(driver(depends, release=release, machine=machine))
    (tree / "modules.builtin").write_text("kernel/drivers/tty/serial/8250/8250.ko\n")
    return tree


busybox = program


def kernel(**changed: Any) -> Kernel:
    """An entry of the lab, whose files need not be there."""
    fields: dict[str, Any] = {"name": "made", "arch": "x86_64", "release": "", "append": ""}
    fields |= {"package": "", "sha256": "0" * 64, "config": None, "modules": ()}
    fields |= {"image": Path("/k/image"), "busybox": Path("/k/busybox")}
    return Kernel(**(fields | changed))


def make_kernel(
    folder: Path, release: str = RELEASE, image: bytes | None = None
) -> dict[str, Path]:
    """Files of a whole kernel: the arguments of `read_kernel`."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {"image": image or bzimage(release), "config": CONFIG, "busybox": program()}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents} | {"modules": make_tree(folder, release)}
