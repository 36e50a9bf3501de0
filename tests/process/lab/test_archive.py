"""Archives of files for a kernel, read back by a reader written from the format "newc"."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from hardstone.lab import initramfs
from hardstone.lab.archive import Entry, folder, make_archive, plain, program
from hardstone.lab.initramfs import initramfs_for
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import lab_folder
from hardstone.lab.programs import Programs

FIELDS = "ino mode uid gid nlink mtime size devmajor devminor rdevmajor rdevminor namesize check"


def read_archive(archive: bytes) -> list[tuple[Entry, dict[str, int]]]:
    """Entries and their heads up to the trailer: a head of 110 bytes in hexadecimal digits, the
    name with a 0 byte, the content, both filled up to 4 bytes."""
    found, at = [], 0
    while True:
        assert at % 4 == 0 and archive[at : at + 6] == b"070701"
        digits = archive[at + 6 : at + 110]
        numbers = [int(digits[i : i + 8], 16) for i in range(0, 104, 8)]
        head = dict(zip(FIELDS.split(), numbers, strict=True))
        name_end = at + 110 + head["namesize"]
        name = archive[at + 110 : name_end]
        assert name.endswith(b"\0") and b"\0" not in name[:-1]
        start = name_end + -name_end % 4
        end = start + head["size"]
        at = end + -end % 4
        path = name[:-1].decode()
        if path == "TRAILER!!!":
            assert at == len(archive)
            return found
        device = (head["rdevmajor"], head["rdevminor"])
        found.append((Entry(path, head["mode"], archive[start:end], device), head))


ENTRIES = [
    folder("bin"),
    *(plain(f"bin/{'n' * length}", b"c" * length) for length in range(1, 9)),
    program("bin/run", b"#!/bin/sh\n"),
    plain("empty", b""),
    Entry("console", stat.S_IFCHR | 0o600, device=(5, 1)),
    plain("ünïcode", b"\0\xff"),
]


def test_entries_come_back_as_they_were() -> None:
    assert [entry for entry, _ in read_archive(make_archive(ENTRIES))] == ENTRIES


def test_inode_numbers_differ_and_no_time_or_owner_is_told() -> None:
    heads = [head for _, head in read_archive(make_archive(ENTRIES))]
    assert len({head["ino"] for head in heads}) == len(ENTRIES)
    assert {head[name] for head in heads for name in ("mtime", "uid", "gid", "check")} == {0}


def test_the_same_entries_give_the_same_bytes_and_others_do_not() -> None:
    assert make_archive(ENTRIES) == make_archive(iter(ENTRIES))
    assert make_archive(ENTRIES) != make_archive(ENTRIES[:-1])


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    contents = {"image": b"i", "config": b"CONFIG_A=y\n", "busybox": b"bb"}
    for name, content in {**contents, "00-b.ko": b"first", "01-a.ko": b"second"}.items():
        (tmp_path / name).write_bytes(content)
    return Kernel(
        name="made",
        arch="x86_64",
        release="6.1.0",
        package="",
        sha256="0" * 64,
        append="",
        image=tmp_path / "image",
        config=tmp_path / "config",
        busybox=tmp_path / "busybox",
        modules=(tmp_path / "00-b.ko", tmp_path / "01-a.ko"),
    )


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    for name in ("probe", "guest"):
        (tmp_path / name).write_bytes(name.encode())
    return Programs(tmp_path / "probe", tmp_path / "guest")


def test_a_guest_boots_into_its_programs_and_drivers(kernel: Kernel, programs: Programs) -> None:
    entries = [entry for entry, _ in read_archive(initramfs_for(kernel, programs).read_bytes())]
    contents = {entry.path: entry.content for entry in entries if stat.S_ISREG(entry.mode)}
    assert contents.pop("init").startswith(b"#!/bin/busybox sh\n")
    assert contents.pop("etc/passwd").startswith(b"root:x:0:0:")
    assert contents == {
        "bin/busybox": b"bb",
        "bin/hardstone-guest": b"guest",
        "bin/hardstone-probe": b"probe",
        "boot/config-6.1.0": b"CONFIG_A=y\n",
        "modules/00-b.ko": b"first",
        "modules/01-a.ko": b"second",
    }
    for entry in entries:  # the kernel makes no folder that was not named before
        parent = entry.path.rpartition("/")[0]
        before = entries[: entries.index(entry)]
        assert not parent or folder(parent) in before
    runnable = {entry.path for entry in entries if entry.mode == stat.S_IFREG | 0o755}
    assert runnable == {"init", "bin/busybox", "bin/hardstone-guest", "bin/hardstone-probe"}


def test_drivers_of_a_device_are_only_where_the_device_is(
    kernel: Kernel, programs: Programs, tmp_path: Path
) -> None:
    plain = initramfs_for(kernel, programs).read_bytes()
    drivers = [
        tmp_path / f"0{place}-{name}.ko" for place, name in ((2, "uio"), (3, "uio_pci_generic"))
    ]
    for path in drivers:
        path.write_bytes(b"driver")
    kernel = replace(kernel, modules=(*kernel.modules, *drivers))
    assert initramfs_for(kernel, programs).read_bytes() == plain
    entries = read_archive(initramfs_for(kernel, programs, "edu").read_bytes())
    names = [entry.path for entry, _ in entries if entry.path.startswith("modules/")]
    assert names == [f"modules/{path.name}" for path in kernel.modules]


def test_the_archive_is_made_once_and_again_where_it_is_damaged(
    kernel: Kernel, programs: Programs
) -> None:
    path = initramfs_for(kernel, programs)
    state, content = path.stat(), path.read_bytes()
    assert initramfs_for(kernel, programs) == path and path.stat() == state
    path.write_bytes(b"damaged")
    assert initramfs_for(kernel, programs) == path and path.read_bytes() == content


def test_each_state_of_the_programs_has_an_archive_and_old_ones_go(
    kernel: Kernel, programs: Programs
) -> None:
    made = []
    for number in range(initramfs.KEPT_COUNT + 2):
        programs.probe.write_bytes(b"%d" % number)
        made.append(initramfs_for(kernel, programs))
    assert len(set(made)) == len(made) and made[-1].exists()
    left = list((lab_folder() / "initramfs").iterdir())
    assert len(left) == initramfs.KEPT_COUNT
