"""What a guest boots into: the drivers of its channel, found in order or told with their option,
and the archive of files that has them."""

from __future__ import annotations

import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab import initramfs
from hardstone.lab.initramfs import (
    Entry,
    Programs,
    folder,
    initramfs_for,
    make_archive,
    plain,
    program,
    read_config,
)
from hardstone.lab.kernels import Kernel, ModuleFileError, find_tree, needed_drivers, read_module
from hardstone.lab.lab_folder import lab_folder
from tests.process.lab import made_up
from tests.process.lab.test_image_file import PACKERS

OPTIONS = {"CONFIG_VIRTIO_PCI": "m", "CONFIG_VIRTIO_CONSOLE": "m"}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return made_up.make_tree(tmp_path)


def names(tree: Path | None, options: dict[str, str] | None = None) -> list[str]:
    found = needed_drivers(tree, options, arch="x86_64", release=made_up.RELEASE)
    return [driver.name for driver in found]


def the(tree: Path, name: str) -> Path:
    [path] = tree.rglob(f"{name}.ko*")
    return path


def test_a_driver_comes_after_those_that_it_depends_on(tree: Path) -> None:
    assert names(tree, OPTIONS) == made_up.ORDER
    place = tree / "kernel" / "drivers" / "uio"  # of a device: the last ones
    place.mkdir()
    (place / "uio.ko").write_bytes(made_up.driver())
    (place / "uio_pci_generic.ko").write_bytes(made_up.driver("uio"))
    assert names(tree) == [*made_up.ORDER, "uio", "uio_pci_generic"]
    shutil.rmtree(place)
    the(tree, "virtio_pci").rename(tree / "virtio-pci.ko")  # a file may have a hyphen
    assert names(tree) == made_up.ORDER
    the(tree, "virtio_ring").write_bytes(made_up.driver("virtio"))  # each needs the other
    assert set(names(tree)) == set(made_up.ORDER)
    the(tree, "virtio_ring").unlink()
    with pytest.raises(InputError, match="no driver virtio_ring"):
        names(tree)


def test_other_drivers_may_be_needed(tree: Path) -> None:
    (tree / "virtio_net.ko").write_bytes(made_up.driver("virtio_ring"))
    needed = {"virtio_net": "CONFIG_VIRTIO_NET"}
    found = needed_drivers(
        tree, None, arch="x86_64", release=made_up.RELEASE, needed=needed, welcome=()
    )
    assert [driver.name for driver in found][-2:] == ["virtio_ring", "virtio_net"]
    assert "virtio_console" not in [driver.name for driver in found]


@pytest.mark.parametrize("kind", ["xz", "gz", "zst"])
def test_compressed_drivers_are_unpacked(
    tree: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in list(tree.rglob("*.ko")):
        data = path.read_bytes()
        path.unlink()
        packed = path.with_name(f"{path.name}.{kind}")
        packed.write_bytes(PACKERS[{"gz": "gzip", "zst": "zstd"}.get(kind, kind)](data))
    drivers = needed_drivers(tree, None, arch="x86_64", release=made_up.RELEASE)
    assert [driver.name for driver in drivers] == made_up.ORDER
    assert drivers[0].data == made_up.driver("")
    if kind == "zst":
        monkeypatch.setenv("PATH", "")
        with pytest.raises(InputError, match=r"zstd, which is not installed.*apt-get install zstd"):
            names(tree)


def test_what_is_built_in_is_not_loaded(tree: Path) -> None:
    for name in ("virtio", "virtio_ring"):
        the(tree, name).unlink()
    (tree / "modules.builtin").write_text(
        "kernel/drivers/virtio/virtio.ko\nkernel/drivers/virtio/virtio_ring.ko\n"
    )
    assert names(tree) == ["virtio_pci_modern_dev", "virtio_pci", "virtio_console"]
    assert names(None, {"CONFIG_VIRTIO_PCI": "y", "CONFIG_VIRTIO_CONSOLE": "y"}) == []
    assert names(None, None) == []


@pytest.mark.parametrize(
    ("name", "option"),
    [("virtio_pci", "CONFIG_VIRTIO_PCI"), ("virtio_console", "CONFIG_VIRTIO_CONSOLE")],
)
def test_a_driver_that_is_nowhere_is_told_with_its_option(
    tree: Path, name: str, option: str
) -> None:
    the(tree, name).unlink()
    with pytest.raises(InputError, match=f"no driver {name}; switch on {option}=y or =m"):
        names(tree)
    with pytest.raises(InputError, match=f"no driver {name}; switch on {option}=y or =m"):
        names(None, {key: "y" for key in OPTIONS if key != option})
    with pytest.raises(InputError, match="as a module; give the folder of its modules: --modules"):
        names(None, OPTIONS)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (
            made_up.driver(release="6.2.0"),
            ("belongs to kernel 6.2.0, but the image is 6.1.0-7-amd64"),
        ),
        (made_up.driver(machine="aarch64"), "is for aarch64, but the kernel is for x86_64"),
        (made_up.driver(machine="i386"), "another architecture"),
        (made_up.driver()[:200], "section headers are damaged"),
        (made_up.elf("x86_64", {".text": b"x"}), "no section .modinfo"),
        (made_up.elf("x86_64", {".modinfo": b"depends=\0"}), "no field vermagic"),
        (b"hello", "not an ELF file"),
    ],
)
def test_damaged_and_foreign_drivers_are_refused(tree: Path, data: bytes, cause: str) -> None:
    the(tree, "virtio_ring").write_bytes(data)
    with pytest.raises(InputError, match=cause):
        names(tree)


def test_a_driver_cut_off_anywhere_is_refused() -> None:
    data = made_up.driver("virtio_ring")
    for length in range(len(data)):
        with pytest.raises(ModuleFileError):
            read_module(data[:length])


def test_the_tree_is_found_in_what_a_person_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"holds no modules.*lib/modules/{made_up.RELEASE}"):
        find_tree(tmp_path, made_up.RELEASE)
    tree = made_up.make_tree(tmp_path)
    (tree / "kernel").rename(tmp_path / "build")  # as in an installed tree, whose links lead to it
    (tree / "build").symlink_to(tmp_path / "build")
    with pytest.raises(InputError, match="no driver virtio_pci"):
        names(tree)
    for given in ("", "lib/modules", f"lib/modules/{made_up.RELEASE}"):
        assert find_tree(tmp_path / given, made_up.RELEASE) == tree


def test_a_config_without_what_every_guest_needs_is_refused() -> None:
    assert read_config(made_up.CONFIG, "config")["CONFIG_VIRTIO_PCI"] == "m"
    with pytest.raises(InputError, match="is not the config of a kernel"):
        read_config(b"hello", "config")
    with pytest.raises(InputError, match=r"without CONFIG_DEVTMPFS; switch on CONFIG_DEVTMPFS=y"):
        read_config(b"CONFIG_BLK_DEV_INITRD=y\n# CONFIG_DEVTMPFS is not set\n", "config")


# The archive, read back by a reader written from the format "newc"

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


def test_entries_come_back_as_they_were_and_nothing_else_is_told() -> None:
    """No time and no owner: the same entries give the same bytes."""
    archive = make_archive(ENTRIES)
    assert [entry for entry, _ in read_archive(archive)] == ENTRIES
    heads = [head for _, head in read_archive(archive)]
    assert len({head["ino"] for head in heads}) == len(ENTRIES)
    assert {head[name] for head in heads for name in ("mtime", "uid", "gid", "check")} == {0}
    assert make_archive(iter(ENTRIES)) == archive != make_archive(ENTRIES[:-1])


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    contents = {"image": b"i", "config": b"CONFIG_A=y\n", "busybox": b"bb"}
    for name, content in {**contents, "00-b.ko": b"first", "01-a.ko": b"second"}.items():
        (tmp_path / name).write_bytes(content)
    paths = {name: tmp_path / name for name in contents}
    modules = (tmp_path / "00-b.ko", tmp_path / "01-a.ko")
    return made_up.kernel(release="6.1.0", modules=modules, **paths)


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


def test_the_archive_is_made_once_for_each_state_of_the_programs_and_old_ones_go(
    kernel: Kernel, programs: Programs
) -> None:
    path = initramfs_for(kernel, programs)
    file, content = path.stat().st_ino, path.read_bytes()
    assert initramfs_for(kernel, programs) == path and path.stat().st_ino == file
    path.write_bytes(b"damaged")
    assert initramfs_for(kernel, programs) == path and path.read_bytes() == content
    made = [path]
    for number in range(initramfs.KEPT_COUNT + 2):
        programs.probe.write_bytes(b"%d" % number)
        made.append(initramfs_for(kernel, programs))
    assert len(set(made)) == len(made) and made[-1].exists()
    assert len(list((lab_folder() / "initramfs").iterdir())) == initramfs.KEPT_COUNT
