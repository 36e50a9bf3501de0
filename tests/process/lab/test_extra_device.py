"""A device beside those of every guest: its driver is there, or told how to be had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hardstone.errors import InputError
from hardstone.lab.extra_device import PCI_IDS, check_device, loaded_modules
from hardstone.lab.kernels import Kernel, add_kernel
from hardstone.lab.own_kernel import read_kernel
from hardstone.lab.settings import DEVICES
from hardstone.targets.lab import lab_transport
from tests.process.lab import made_up
from tests.process.lab.made_up_lab import MadeUpLab

CONFIG = b"CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\n"
OPTION = b"CONFIG_UIO_PCI_GENERIC="


def kernel(folder: Path, config: bytes | None, *modules: str, name: str = "own") -> Kernel:
    """One of a person's own; of Debian where `name` says so."""
    if config is not None:
        (folder / "config").write_bytes(config)
    return Kernel(
        name=name,
        arch="x86_64",
        release="",
        package="linux-image=1" if name.startswith("debian") else "",
        sha256="0" * 64,
        append="",
        image=folder / "image",
        config=None if config is None else folder / "config",
        busybox=folder / "busybox",
        modules=tuple(folder / module for module in modules),
    )


def test_every_device_has_its_numbers() -> None:
    assert tuple(PCI_IDS) == DEVICES


@pytest.mark.parametrize(
    ("config", "modules"),
    [
        (CONFIG, ("00-uio.ko", "01-uio_pci_generic.ko")),
        (None, ("06-uio_pci_generic.ko",)),
        (CONFIG + OPTION + b"y\n", ()),
        (None, ()),  # it may be built in: the guest knows
    ],
)
def test_a_kernel_that_has_the_driver(
    tmp_path: Path, config: bytes | None, modules: tuple[str, ...]
) -> None:
    check_device(kernel(tmp_path, config, *modules), "edu")


@pytest.mark.parametrize(
    ("name", "said", "remedy"),
    [
        ("own", b"m", "add it again, with --modules DIR: hardstone lab add own"),
        ("own", b"", "switch on CONFIG_UIO_PCI_GENERIC=m and add it again, with --modules DIR"),
        ("debian", b"m", "fetch it again: hardstone lab get debian"),
        ("debian-rt@6.12", b"m", "fetch it again: hardstone lab get debian-rt@6.12"),
        (
            "debian-rt-arm64@6.12",
            b"m",
            "fetch it again: hardstone lab get debian-rt@6.12 --arch arm64",
        ),
    ],
)
def test_a_kernel_without_the_driver_is_told_how_to_have_it(
    tmp_path: Path, name: str, said: bytes, remedy: str
) -> None:
    config = CONFIG + (OPTION + said + b"\n" if said else b"")
    without = kernel(tmp_path, config, "00-virtio_ring.ko", name=name)
    check_device(without, None)
    with pytest.raises(InputError) as refused:
        check_device(without, "edu")
    assert refused.value.remedy == remedy
    assert f"the kernel '{name}' in the lab has no driver uio_pci_generic" in str(refused.value)


def test_only_a_guest_with_a_device_loads_its_drivers(tmp_path: Path) -> None:
    names = ("00-virtio.ko", "01-uio.ko", "02-uio_pci_generic.ko", "03-uiox.ko")
    found = kernel(tmp_path, None, *names)
    assert [path.name for path in loaded_modules(found, "edu")] == list(names)
    assert [path.name for path in loaded_modules(found, None)] == ["00-virtio.ko", "03-uiox.ko"]


def test_a_target_with_a_device_needs_the_driver_before_anything_boots(
    made_up_lab: MadeUpLab,
) -> None:
    files = made_up.make_kernel(made_up_lab.folder / "more")
    files["config"].write_bytes(made_up.CONFIG + OPTION + b"m\n")
    stored = read_kernel(**files)  # type: ignore[arg-type]
    add_kernel("lacking", stored)
    with pytest.raises(InputError, match="stored without it"):
        lab_transport("lacking,device=edu")
    add_kernel("able", replace(stored, config=None))
    guest = lab_transport("able,device=edu")
    guest.open()
    guest.close()
    (words,) = made_up_lab.boots()
    assert words[words.index("edu,addr=0x13") - 1] == "-device"
    assert "hardstone.uio=1234:11e8" in words[words.index("-append") + 1].split()
