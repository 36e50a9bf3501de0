"""`lab:NAME[,KEY=VALUE...]`: read, and made the command line of QEMU by architecture, accelerator
and device."""

from __future__ import annotations

import os
import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardstone.errors import InputError
from hardstone.lab.debian import read_kernel
from hardstone.lab.initramfs import PCI_IDS, check_device, loaded_modules
from hardstone.lab.kernels import Kernel, add_kernel
from hardstone.lab.qemu import Machine, boot_line_of, cpu_count
from hardstone.lab.settings import (
    DEVICES,
    LabSettings,
    choose_accel,
    kvm_obstacle,
    parse_settings,
    with_settings,
)
from hardstone.targets.lab import host_tsc_khz, lab_transport
from hardstone.targets.probe_target import ProbeTarget
from tests.process.lab import made_up
from tests.process.lab.made_up_lab import MadeUpLab
from tests.programs import script
from tests.unit.stats import make


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("debian", LabSettings(kernel="debian")),
        (
            "debian-rt@6.12,cpus=4,memory=2G,preempt=full,accel=tcg",
            LabSettings(
                kernel="debian-rt@6.12", cpus=4, memory_mib=2048, preempt="full", accel="tcg"
            ),
        ),
        ("k,memory=512", LabSettings(kernel="k", memory_mib=512)),
    ],
)
def test_a_target_is_read(text: str, expected: LabSettings) -> None:
    assert parse_settings(text) == expected


settings = st.builds(
    LabSettings,
    kernel=st.sampled_from(["debian", "a.b@6.1+x-1"]),
    memory_mib=st.none() | st.integers(128, 4096),
    preempt=st.none() | st.sampled_from(["none", "full", "lazy"]),
    is_deterministic=st.booleans(),
    device=st.none() | st.just("edu"),
    append=st.sampled_from(["", "a=1,2", "deterministic,cpus=9", "append=x"]),
)


@given(settings)
def test_the_name_is_read_back(given_settings: LabSettings) -> None:
    assert parse_settings(given_settings.name) == given_settings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a valid name of a lab kernel"),
        ("../etc", "not a valid name of a lab kernel"),
        ("a\x1b[31m", "not a valid name of a lab kernel"),
        ("k,cpus=0", "cpus=0"),
        ("k,cpus=x", "cpus=x"),
        ("k,cpus=99999999999999999999", "not a count"),
        ("k,memory=12T", "memory=12T"),
        ("k,memory=1M", "not a size"),
        ("k,preempt=rt", "none, voluntary, full, lazy"),
        ("k,accel=hax", "auto, kvm, tcg"),
        ("k,deterministic=yes", "no value"),
        ("k,device=e1000", "known: edu"),
        ("k,device=edu,device=edu", "twice"),
        ("k,deterministic,cpus=2", "one CPU"),
        ("k,deterministic,accel=kvm", "counts instructions"),
        ("k,cpus=1,cpus=2", "twice"),
        ("k,speed=9", "known: cpus"),
        ("k,append=a\nb", "printable ASCII"),
        ("k,append=quiet hardstone.lab=kvm", "hardstone. are reserved for the lab"),
        ("k,", "unknown setting"),
    ],
)
def test_a_wrong_target_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_settings(text)
    assert reason in str(refused.value)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize(
    ("target", "line", "cpus"),
    [
        ("k", "", min(2, len(os.sched_getaffinity(0)))),
        ("k,preempt=full", "preempt=full", min(2, len(os.sched_getaffinity(0)))),
        ("k,cpus=3,append=a=1 b", "a=1 b", 3),
        ("k,deterministic,preempt=full,append=preempt=none", "preempt=full preempt=none", 1),
    ],
)
def test_a_target_s_words_for_the_kernel_and_its_cpus(target: str, line: str, cpus: int) -> None:
    assert (boot_line_of(parse_settings(target)), cpu_count(parse_settings(target))) == (line, cpus)


def test_options_are_merged_into_the_target_unless_they_contradict_it() -> None:
    merged = with_settings(parse_settings("k,cpus=2"), cpus="2", preempt="full", append=None)
    assert merged.name == "k,cpus=2,preempt=full"
    with pytest.raises(InputError, match="differ"):
        with_settings(parse_settings("k,preempt=none"), preempt="full")


# Which accelerator, by what this machine shows


@pytest.mark.parametrize(
    ("info", "arch", "has_device", "obstacle"),
    [
        ("processor\t: 0\nflags\t\t: fpu vme vmx smx\nbugs\t\t: spectre\n", "x86_64", True, None),
        ("flags\t\t: fpu svm\n", "x86_64", True, None),
        # As in a guest; other lines and longer words name it.
        ("model\t: vmx\nflags\t\t: fpu vmxnet svm_lock\nvmx flags\t: vnmi\n", "x86_64", True, ""),
        ("", "x86_64", True, ""),
        ("flags\t\t: fpu svm\n", "aarch64", True, "the kernel is for aarch64"),
        ("flags\t\t: fpu svm\n", "x86_64", False, "there is no"),
    ],
)
def test_the_machine_says_whether_it_virtualises(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    info: str,
    arch: str,
    has_device: bool,
    obstacle: str | None,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text(info)
    if has_device:
        (tmp_path / "kvm").touch()
    found = kvm_obstacle(arch, tmp_path / "kvm", tmp_path / "cpuinfo")
    assert (found is None) == (obstacle is None)
    assert obstacle is None or obstacle in str(found)
    if found is None:
        monkeypatch.setattr("os.access", lambda path, mode: False)
        assert "group kvm" in str(kvm_obstacle(arch, tmp_path / "kvm", tmp_path / "cpuinfo"))
        monkeypatch.undo()
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")  # which shows no flag for it
        assert kvm_obstacle("aarch64", tmp_path / "kvm", tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("target", "obstacle", "expected"),
    [
        ("k", None, "kvm"),
        ("k", "no", "tcg"),
        ("k,accel=kvm", None, "kvm"),
        ("k,accel=tcg", None, "tcg"),
        ("k,accel=tcg", "no", "tcg"),
        ("k,deterministic", None, "icount"),
        ("k,deterministic,accel=tcg", "no", "icount"),
    ],
)
def test_what_is_asked_for_and_what_can_be_had(
    target: str, obstacle: str | None, expected: str
) -> None:
    assert choose_accel(parse_settings(target), "x86_64", lambda arch: obstacle) == expected
    with pytest.raises(InputError, match="KVM cannot run this guest: it rains"):
        choose_accel(parse_settings("k,accel=kvm"), "x86_64", lambda arch: "it rains")


# The command line of QEMU

X86 = ["console=ttyS0", "no_timer_check", "quiet", "panic=-1"]
ARM = ["console=ttyAMA0", "quiet", "panic=-1"]
TSC = ["tsc=reliable", "clocksource=tsc"]
REPEATABLE = ["nokaslr", "norandmaps", "random.trust_cpu=off", "random.trust_bootloader=off"]
GUESTS = [(arch, accel) for arch in ("x86_64", "aarch64") for accel in ("kvm", "tcg", "icount")]


@pytest.fixture
def emulators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for arch in ("x86_64", "aarch64"):
        script(tmp_path / f"qemu-system-{arch}")
    monkeypatch.setenv("PATH", str(tmp_path))


needs_emulators = pytest.mark.usefixtures("emulators")


def command(
    arch: str,
    accel: str,
    folder: str = "/f",
    host_tsc_khz: int | None = None,
    device: str | None = None,
    unpacked: Path | None = None,
) -> list[str]:
    kernel = made_up.kernel(arch=arch, append="kernels=own")
    machine = Machine(
        kernel=kernel, initramfs=Path("/i"), accel=accel, cpus=1, memory_mib=256,
        append="mine=1", host_tsc_khz=host_tsc_khz, device=device, unpacked=unpacked,
    )  # fmt: skip
    return machine.command(Path(folder), (7, 8))


def after(words: list[str], option: str) -> list[str]:
    return [words[i + 1] for i, word in enumerate(words) if word == option]


@needs_emulators
@pytest.mark.parametrize(
    ("arch", "accel", "cpu", "words"),
    [
        ("x86_64", "kvm", "host", X86),
        ("x86_64", "tcg", "max", [*X86, *TSC, "tsc_early_khz=2596122"]),
        ("x86_64", "icount", "qemu64", [*X86, *TSC, *REPEATABLE]),
        ("aarch64", "kvm", "host", ARM),
        ("aarch64", "tcg", "cortex-a57", ARM),
        ("aarch64", "icount", "cortex-a57", [*ARM, *REPEATABLE]),
    ],
)
def test_every_guest_is_without_network_and_tells_how_it_runs(
    arch: str, accel: str, cpu: str, words: list[str]
) -> None:
    """The rate of a counter is told only where it is this machine's: icount has its own."""
    found = command(arch, accel, host_tsc_khz=2596122)
    assert Path(found[0]).name == f"qemu-system-{arch}"
    assert after(found, "-cpu") == [cpu]
    assert after(found, "-machine") == ([] if arch == "x86_64" else ["virt"])
    assert after(found, "-nic") == ["none"]
    assert after(found, "-smp") == ["1"] and after(found, "-m") == ["256M"]
    (line,) = after(found, "-append")
    assert sorted(line.split()[:-2]) == sorted([*words, f"hardstone.lab={accel}"])
    assert line.split()[-2:] == ["kernels=own", "mine=1"]  # a person's words are the last
    assert "tsc_early_khz" not in after(command(arch, accel), "-append")[0]


@pytest.mark.parametrize(
    ("changed", "khz"),
    [
        ({}, 2_596_122),
        ({"clock": "cntvct"}, None),
        ({"clock": "monotonic", "counter_hz": None}, None),
        ({"trusted": False}, None),
        ({"counter_hz": None}, None),
    ],
)
def test_a_guest_is_told_only_a_rate_that_is_trusted(
    changed: dict[str, object], khz: int | None
) -> None:
    clock = msgspec.structs.replace(make.instrument(), **{"counter_hz": 2_596_121_800, **changed})
    facts = SimpleNamespace(instrument=clock)
    target = cast(ProbeTarget, SimpleNamespace(facts=lambda: facts))
    assert host_tsc_khz(target) == khz


@needs_emulators
@pytest.mark.parametrize(("arch", "accel"), GUESTS)
def test_only_a_guest_that_counts_instructions_has_a_time_of_its_own(arch: str, accel: str) -> None:
    words, is_counting = command(arch, accel), accel == "icount"
    threads = {"kvm": "kvm", "tcg": "tcg,thread=multi", "icount": "tcg,thread=single"}
    assert after(words, "-accel") == [threads[accel]]
    assert after(words, "-icount") == (["shift=1,sleep=off"] if is_counting else [])
    assert after(words, "-rtc") == (["base=2026-01-01T00:00:00,clock=vm"] if is_counting else [])
    assert ("socket,id=port,fd=7" in words) != is_counting
    for bell, descriptor in enumerate((7, 8)):
        assert (f"file,id=bell{bell},path=/dev/fd/{descriptor}" in words) == is_counting


@needs_emulators
def test_commas_in_paths_are_doubled() -> None:
    words = command("x86_64", "icount", "/a,b")
    shown = [word for word in words if "/a," in word]
    assert len(shown) == 3 and all("/a,,b/" in word for word in shown)


@needs_emulators
@pytest.mark.parametrize(("arch", "accel"), GUESTS)
def test_a_device_comes_behind_those_of_every_guest_and_is_named_to_the_kernel(
    arch: str, accel: str
) -> None:
    without, with_device = command(arch, accel), command(arch, accel, device="edu")
    (line,), (before,) = after(with_device, "-append"), after(without, "-append")
    assert line.split()[-3:] == ["hardstone.uio=1234:11e8", "kernels=own", "mine=1"]
    assert line.replace("hardstone.uio=1234:11e8 ", "") == before
    added = [*without, "-device", "edu,addr=0x13"]
    assert [word for word in with_device if word != line] == [
        word for word in added if word != before
    ]


@needs_emulators
def test_an_unpacked_kernel_is_booted_in_place_of_the_image_and_the_boot_line_says_so() -> None:
    packed = command("x86_64", "tcg")
    unpacked = command("x86_64", "tcg", unpacked=Path("/u"))
    assert (after(packed, "-kernel"), after(unpacked, "-kernel")) == (["/k/image"], ["/u"])
    said = " hardstone.boot=vmlinux"
    assert said in after(unpacked, "-append")[0] and said not in after(packed, "-append")[0]
    assert [word.replace(said, "") for word in unpacked if word != "/u"] == [
        word for word in packed if word != "/k/image"
    ]


# A device beside those of every guest: its driver is there, or told how to be had

CONFIG = b"CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\n"
OPTION = b"CONFIG_UIO_PCI_GENERIC="


def with_drivers(folder: Path, config: bytes | None, *modules: str, name: str = "own") -> Kernel:
    if config is not None:
        (folder / "config").write_bytes(config)
    package = "linux-image=1" if name.startswith("debian") else ""
    fields = {"config": None if config is None else folder / "config", "package": package}
    return made_up.kernel(name=name, modules=tuple(folder / one for one in modules), **fields)


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
    check_device(with_drivers(tmp_path, config, *modules), "edu")
    assert tuple(PCI_IDS) == DEVICES


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
    without = with_drivers(tmp_path, config, "00-virtio_ring.ko", name=name)
    check_device(without, None)
    with pytest.raises(InputError) as refused:
        check_device(without, "edu")
    assert refused.value.remedy == remedy
    assert f"the lab's kernel '{name}' has no driver uio_pci_generic" in str(refused.value)


def test_only_a_guest_with_a_device_loads_its_drivers(tmp_path: Path) -> None:
    names = ("00-virtio.ko", "01-uio.ko", "02-uio_pci_generic.ko", "03-uiox.ko")
    found = with_drivers(tmp_path, None, *names)
    assert [path.name for path in loaded_modules(found, "edu")] == list(names)
    assert [path.name for path in loaded_modules(found, None)] == ["00-virtio.ko", "03-uiox.ko"]


def test_a_target_with_a_device_needs_the_driver_before_anything_boots(
    made_up_lab: MadeUpLab,
) -> None:
    files = made_up.make_kernel(made_up_lab.folder / "more")
    files["config"].write_bytes(made_up.CONFIG + OPTION + b"m\n")
    stored = read_kernel(**files)  # type: ignore[arg-type]
    add_kernel("lacking", stored)
    with pytest.raises(InputError, match="added without the driver"):
        lab_transport("lacking,device=edu")
    add_kernel("able", replace(stored, config=None))
    guest = lab_transport("able,device=edu")
    guest.open()
    guest.close()
    (words,) = made_up_lab.boots()
    assert words[words.index("edu,addr=0x13") - 1] == "-device"
    assert "hardstone.uio=1234:11e8" in words[words.index("-append") + 1].split()
