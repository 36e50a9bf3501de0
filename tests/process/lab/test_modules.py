"""The drivers of the channel: found, in order, of this kernel, or told with their option."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab.config_file import read_config
from hardstone.lab.modules import find_tree, needed_drivers
from tests.process.lab import made_up
from tests.process.lab.test_unpack import PACKERS

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


@pytest.mark.parametrize("kind", ["xz", "gz", "zst"])
def test_compressed_drivers_are_unpacked(tree: Path, kind: str) -> None:
    for path in list(tree.rglob("*.ko")):
        data = path.read_bytes()
        path.unlink()
        packed = path.with_name(f"{path.name}.{kind}")
        packed.write_bytes(PACKERS[{"gz": "gzip", "zst": "zstd"}.get(kind, kind)](data))
    drivers = needed_drivers(tree, None, arch="x86_64", release=made_up.RELEASE)
    assert [driver.name for driver in drivers] == made_up.ORDER
    assert drivers[0].data == made_up.driver("")


def test_without_zstd_its_package_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = the(tree, "virtio_pci")
    path.rename(path.with_name("virtio_pci.ko.zst"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"no program zstd.*apt-get install zstd"):
        names(tree)


def test_a_name_may_have_a_hyphen_in_its_file(tree: Path) -> None:
    the(tree, "virtio_pci").rename(tree / "virtio-pci.ko")
    assert names(tree) == made_up.ORDER


def test_what_is_built_in_is_not_loaded(tree: Path) -> None:
    for name in ("virtio", "virtio_ring"):
        the(tree, name).unlink()
    (tree / "modules.builtin").write_text(
        "kernel/drivers/virtio/virtio.ko\nkernel/drivers/virtio/virtio_ring.ko\n"
    )
    assert names(tree) == ["virtio_pci_modern_dev", "virtio_pci", "virtio_console"]


def test_the_config_says_too_what_is_built_in(tmp_path: Path) -> None:
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


def test_modules_that_are_not_given_are_asked_for() -> None:
    with pytest.raises(InputError, match="as a module; give the folder of its modules: --modules"):
        names(None, OPTIONS)


def test_the_driver_of_a_device_comes_last_where_the_tree_has_it(tree: Path) -> None:
    place = tree / "kernel" / "drivers" / "uio"
    place.mkdir()
    (place / "uio.ko").write_bytes(made_up.driver())
    (place / "uio_pci_generic.ko").write_bytes(made_up.driver("uio"))
    assert names(tree) == [*made_up.ORDER, "uio", "uio_pci_generic"]


def test_a_driver_that_another_needs_is_told(tree: Path) -> None:
    the(tree, "virtio_ring").unlink()
    with pytest.raises(InputError, match="no driver virtio_ring"):
        names(tree)


def test_drivers_that_need_each_other_end(tree: Path) -> None:
    the(tree, "virtio_ring").write_bytes(made_up.driver("virtio"))
    assert set(names(tree)) == set(made_up.ORDER)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (made_up.driver(release="6.2.0"), "is of the kernel 6.2.0, the image is 6.1.0-7-amd64"),
        (made_up.driver(machine="aarch64"), "is for aarch64, the kernel for x86_64"),
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


def test_a_driver_cut_off_anywhere_is_refused(tree: Path) -> None:
    path = the(tree, "virtio_pci")
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(InputError, match="is not usable"):
            names(tree)


def test_links_in_a_tree_are_not_followed(tree: Path, tmp_path: Path) -> None:
    """A tree that was installed has the link `build` to the source, with its own modules."""
    build = tmp_path / "build"
    shutil.move(tree / "kernel", build)
    (tree / "build").symlink_to(build)
    with pytest.raises(InputError, match="no driver virtio_pci"):
        names(tree)


@pytest.mark.parametrize("given", ["", "lib/modules", f"lib/modules/{made_up.RELEASE}"])
def test_the_tree_is_found_in_what_a_person_names(tmp_path: Path, given: str) -> None:
    tree = made_up.make_tree(tmp_path)
    assert find_tree(tmp_path / given, made_up.RELEASE) == tree


def test_a_folder_without_modules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"holds no modules.*lib/modules/{made_up.RELEASE}"):
        find_tree(tmp_path, made_up.RELEASE)


def test_a_config_without_what_every_guest_needs_is_refused() -> None:
    assert read_config(made_up.CONFIG, "config")["CONFIG_VIRTIO_PCI"] == "m"
    with pytest.raises(InputError, match="is not the config of a kernel"):
        read_config(b"hello", "config")
    with pytest.raises(InputError, match=r"without CONFIG_DEVTMPFS; switch on CONFIG_DEVTMPFS=y"):
        read_config(b"CONFIG_BLK_DEV_INITRD=y\n# CONFIG_DEVTMPFS is not set\n", "config")
