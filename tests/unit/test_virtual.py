"""Hypervisors, emulators and containers, by CPUID and by the names that a machine gives."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec
import pytest

from hardstone.model import Source
from hardstone.raw_facts import read_facts
from hardstone.sources import Raw
from hardstone.virtual import (
    Emulation,
    emulation_by_cpuid,
    emulation_by_lab,
    emulation_by_names,
    hypervisor_by_names,
)

DMI = "/sys/class/dmi/id"
TREE = "/proc/device-tree"
NOTHING = "no hypervisor was detected, but there may be one"
MAY_BE = "runs in KVM or is emulated"
QEMU = {f"{DMI}/sys_vendor": "QEMU\n"}
VIRT = {f"{TREE}/compatible": "linux,dummy-virt"}


def raw(texts: Mapping[str, str]) -> Raw:
    return Raw(Source(source=name, text=text) for name, text in texts.items())


def cpuinfo(implementer: str, part: str) -> dict[str, str]:
    text = f"processor\t: 0\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n"
    return {"/proc/cpuinfo": text}


@pytest.mark.parametrize(
    ("vendor", "hypervisor", "is_emulated", "reason"),
    [
        ("GenuineIntel", "TCGTCGTCGTCG", True, "CPUID names QEMU's emulator, TCG"),
        *(
            ("AuthenticAMD", name, False, f"CPUID names the hypervisor {name}")
            for name in ("KVMKVMKVM", "Microsoft Hv", "VMwareVMware", "XenVMMXenVMM")
        ),
        *(
            ("GenuineIntel", name, None, f"CPUID names an unknown hypervisor, {name}")
            for name in ("SomethingNew", "unnamed")
        ),
        ("VirtualApple", "", True, "CPUID names the translator VirtualApple"),
        ("GenuineIntel", "", False, "CPUID names no hypervisor"),
    ],
)
def test_cpuid(vendor: str, hypervisor: str, is_emulated: bool | None, reason: str) -> None:
    found = emulation_by_cpuid(raw({}), vendor, hypervisor)
    assert (found.is_emulated, found.reason) == (is_emulated, reason)


def test_qemu_can_hide_the_flag_of_a_hypervisor() -> None:
    reason = f"{DMI}/sys_vendor names QEMU's machine QEMU, which {MAY_BE}"
    assert emulation_by_cpuid(raw(QEMU), "GenuineIntel", "")[:2] == (None, reason)
    reason = "CPUID names the hypervisor KVMKVMKVM"
    assert emulation_by_cpuid(raw(QEMU), "GenuineIntel", "KVMKVMKVM")[:2] == (False, reason)


def test_the_signatures_of_cpuid() -> None:
    name = base64.b64encode(b"KVMKVMKVM\0\0\0").decode()
    signature = Source(source="cpuid:0x40000000", base64=name)
    vendor = Source(source="cpuid:0", text="GenuineIntel")
    assert read_facts([vendor], {})["virtual.hypervisor"] is None
    assert "virtual.hypervisor" not in read_facts([], {})
    assert read_facts([vendor, signature], {})["virtual.hypervisor"] == "KVMKVMKVM"
    odd = msgspec.structs.replace(signature, base64=base64.b64encode(b"\x01\xffAB").decode())
    assert read_facts([vendor, odd], {})["virtual.hypervisor"] == "??AB"
    none = msgspec.structs.replace(signature, base64=base64.b64encode(bytes(12)).decode())
    assert read_facts([vendor, none], {})["virtual.hypervisor"] == "unnamed"


def test_user_mode() -> None:
    program = {"/proc/self/task/PID/exe": "/usr/bin/qemu-aarch64-static"}
    reason = "this process runs in qemu-aarch64-static"
    assert emulation_by_names(raw(program))[:2] == (True, reason)
    assert emulation_by_cpuid(raw(program), "GenuineIntel", "")[:2] == (True, reason)
    program = {"/proc/self/task/PID/exe": "/usr/bin/hardstone-probe"}
    assert emulation_by_names(raw(program)) == Emulation(None, NOTHING)


@pytest.mark.parametrize(
    ("texts", "is_emulated", "reason"),
    [
        (
            {f"{TREE}/hypervisor/compatible": "linux,kvm", **VIRT},
            False,
            "names the hypervisor linux,kvm",
        ),
        ({f"{TREE}/hypervisor/compatible": "xen"}, False, "names the hypervisor xen"),
        (
            {"/sys/hypervisor/type": "xen\n"},
            False,
            "/sys/hypervisor/type names the hypervisor xen",
        ),
        (
            {**QEMU, f"{DMI}/product_name": "KVM Virtual Machine\n"},
            False,
            "names the hypervisor KVM Virtual Machine",
        ),
        ({f"{DMI}/sys_vendor": "VMware, Inc.\n"}, False, "names the hypervisor VMware, Inc."),
        (
            {**QEMU, f"{DMI}/product_name": "QEMU Virtual Machine\n"},
            None,
            f"QEMU Virtual Machine, which {MAY_BE}",
        ),
        (VIRT, None, "linux,dummy-virt, which runs"),
        ({f"{TREE}/compatible": "riscv-virtio"}, None, "riscv-virtio, which runs"),
        ({f"{TREE}/compatible": "raspberrypi,4-model-b"}, None, NOTHING),
        (
            {**cpuinfo("0x00", "0x051"), **VIRT},
            True,
            "the processor is QEMU's own model",
        ),
        ({**cpuinfo("0x41", "0xd07"), **VIRT}, None, "runs in KVM"),
        (
            {f"{TREE}/fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio"},
            None,
            f"QEMU's fw-cfg: the machine {MAY_BE}",
        ),
        ({f"{TREE}/compatible": "linux,dummy-virt\0another"}, None, "linux,dummy-virt, which runs"),
    ],
)
def test_names(texts: dict[str, str], is_emulated: bool | None, reason: str) -> None:
    found = emulation_by_names(raw(texts))
    assert found.is_emulated is is_emulated and reason in found.reason


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("quiet hardstone.lab=tcg\n", None, True),
        ("hardstone.lab=icount nokaslr\n", None, True),
        ("hardstone.lab=tcg\n", False, True),
        ("hardstone.lab=kvm\n", None, False),
        ("hardstone.lab=kvm\n", True, True),
        ("hardstone.lab=other\n", None, None),
        ("quiet xhardstone.lab=tcg -- hardstone.lab=tcg\n", None, None),
    ],
)
def test_the_word_of_the_lab(line: str, before: bool | None, after: bool | None) -> None:
    found = emulation_by_lab(raw({"/proc/cmdline": line}), Emulation(before, "as before"))
    assert found.is_emulated is after
    assert ("hardstone.lab=" in found.reason) is (before is not after)


@pytest.mark.parametrize(
    ("source", "text", "name"),
    [
        ("/sys/hypervisor/type", "xen\n", "xen"),
        (f"{TREE}/hypervisor/compatible", "linux,kvm", "linux,kvm"),
        (f"{DMI}/sys_vendor", "QEMU\n", "QEMU"),
        (f"{TREE}/compatible", "linux,dummy-virt", "QEMU virt"),
        (f"{TREE}/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio", "QEMU"),
        (f"{TREE}/fw-cfg@9020000/compatible", "other,fw-cfg", None),
        (f"{TREE}/compatible", "raspberrypi,4-model-b", None),
    ],
)
def test_names_of_hypervisors(source: str, text: str, name: str | None) -> None:
    assert hypervisor_by_names(raw({source: text})) == name
