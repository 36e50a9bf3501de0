"""Hypervisors and emulators, by CPUID, by the names that a machine gives and by the lab's boot
line: what the machines of test_each_fact.py leave out."""

from __future__ import annotations

import pytest

from hardstone.model import Source
from hardstone.raw_facts import read_facts

DMI = "/sys/class/dmi/id"
TREE = "/proc/device-tree"
NOTHING = "no hypervisor was detected, but there may be one"
MAY_BE = "runs in KVM or is emulated"
QEMU = {f"{DMI}/sys_vendor": "QEMU\n"}
VIRT = {f"{TREE}/compatible": "linux,dummy-virt"}
EDK = {f"{TREE}/fw-cfg@9020000/compatible": "other,fw-cfg"}
UNKNOWN = "not reported"


def by(leaf: str, vendor: str = "GenuineIntel") -> dict[str, str]:
    return {"cpuid:0": vendor, "cpuid:0x40000000": leaf}


def cpuinfo(implementer: str, part: str) -> dict[str, str]:
    text = f"processor\t: 0\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n"
    return {"/proc/cpuinfo": text}


def running(program: str) -> dict[str, str]:
    return {"/proc/self/task/PID/exe": f"/usr/bin/{program}"}


def lab(line: str, of: dict[str, str]) -> dict[str, str]:
    return {"/proc/cmdline": f"{line}\n", **of}


def product(name: str) -> dict[str, str]:
    return {**QEMU, f"{DMI}/product_name": f"{name}\n"}


@pytest.mark.parametrize(
    ("texts", "hypervisor", "is_emulated", "reason"),
    [
        # by CPUID: 12 characters, "?" for those that are not printed
        *(
            (by(name, "AuthenticAMD"), name, False, f"CPUID names the hypervisor {name}")
            for name in ("KVMKVMKVM", "Microsoft Hv", "VMwareVMware", "XenVMMXenVMM")
        ),
        (by("SomethingNew"), "SomethingNew", None, "an unknown hypervisor, SomethingNew"),
        (by("\0" * 12), "unnamed", None, "CPUID names an unknown hypervisor, unnamed"),
        (by("\x01\x7fAB"), "??AB", None, "CPUID names an unknown hypervisor, ??AB"),
        # user mode
        (running("qemu-aarch64-static"), UNKNOWN, True, "this process runs in qemu-aarch64-static"),
        # by names
        ({f"{TREE}/hypervisor/compatible": "linux,kvm", **VIRT}, "linux,kvm", False,
         "names the hypervisor linux,kvm"),
        ({f"{TREE}/hypervisor/compatible": "xen"}, "xen", False, "names the hypervisor xen"),
        (product("KVM Virtual Machine"), "QEMU", False, "the hypervisor KVM Virtual Machine"),
        ({f"{DMI}/sys_vendor": "VMware, Inc.\n"}, "VMware", False, "the hypervisor VMware, Inc."),
        (product("QEMU Virtual Machine"), "QEMU", None, f"QEMU Virtual Machine, which {MAY_BE}"),
        ({f"{TREE}/compatible": "riscv-virtio"}, "QEMU virt", None, "riscv-virtio, which runs"),
        ({f"{TREE}/compatible": "raspberrypi,4-model-b"}, UNKNOWN, None, NOTHING),
        ({f"{TREE}/compatible": "linux,dummy-virt\0another"}, "QEMU virt", None,
         "linux,dummy-virt, which runs"),
        ({**cpuinfo("0x41", "0xd07"), **VIRT}, "QEMU virt", None, MAY_BE),
        (EDK, UNKNOWN, None, NOTHING),
        # the lab's word: what contradicts kvm stays
        (lab("hardstone.lab=kvm", {}), UNKNOWN, False, "hardstone.lab=kvm, names KVM"),
        (lab("hardstone.lab=kvm", running("qemu-arm")), UNKNOWN, True, "runs in qemu-arm"),
        (lab("hardstone.lab=other", {}), UNKNOWN, None, NOTHING),
        (lab("quiet xhardstone.lab=tcg -- hardstone.lab=tcg", {}), UNKNOWN, None, NOTHING),
    ],
)  # fmt: skip
def test_what_stands_between_a_target_and_its_processor(
    texts: dict[str, str], hypervisor: str | None, is_emulated: bool | None, reason: str
) -> None:
    found = read_facts([Source(source=name, text=text) for name, text in texts.items()], {})
    assert found.get("virtual.hypervisor", UNKNOWN) == hypervisor
    assert found["virtual.emulated"] is is_emulated
    assert reason in str(found["virtual.emulated_reason"])
