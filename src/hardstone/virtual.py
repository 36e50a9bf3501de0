"""What stands between a target and its processor: a hypervisor, an emulator, a container, and the
time that a hypervisor takes. From the texts of sources.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hardstone.sources import Found, Known, Raw, number_of


def virtual_facts(raw: Raw, _known: Known) -> Found:
    """Processors other than x86 have no flag of a hypervisor: names of the firmware show some, but
    none can be excluded."""
    has_cpuid = "cpuid:0" in raw
    hypervisor = hypervisor_by_names(raw)
    if has_cpuid:
        hypervisor = None
        if "cpuid:0x40000000" in raw:
            hypervisor = _signature(raw, "cpuid:0x40000000") or "unnamed"
    if hypervisor is not None or has_cpuid:
        yield "virtual.hypervisor", hypervisor
    found = emulation_by_names(raw)
    if has_cpuid:
        found = emulation_by_cpuid(raw, _signature(raw, "cpuid:0"), hypervisor or "")
    found = emulation_by_lab(raw, found)
    yield "virtual.emulated", found.is_emulated
    yield "virtual.emulated_reason", found.reason
    yield "virtual.time", "instructions" if raw.boot_option(_LAB) == "icount" else None
    yield from _container(raw)
    yield from _steal(raw)


def _signature(raw: Raw, source: str) -> str:
    """The 12 characters of a CPUID leaf, "?" for those that are not printed."""
    data = (raw.data(source) or b"")[:12].partition(b"\0")[0]
    return "".join(chr(one) if 0x20 <= one <= 0x7E else "?" for one in data)


class Emulation(NamedTuple):
    """Whether the processor is emulated (None: not known), and what tells. `is_qemu`: the firmware
    names QEMU, which may be run by KVM."""

    is_emulated: bool | None
    reason: str
    is_qemu: bool = False


_LAB = "hardstone.lab"
_TRANSLATORS = ("VirtualApple", "MicrosoftXTA")
# fmt: off
_VIRTUALIZERS = (
    "KVMKVMKVM", "Linux KVM Hv", "Microsoft Hv", "VMwareVMware", "XenVMMXenVMM", "bhyve bhyve",
    "VBoxVBoxVBox", "ACRNACRNACRN", "NVMMNVMM", "HAXMHAXMHAXM", "Jailhouse", "QNXQVMBSQG",
    "OpenBSDVMM58", "prl hyperv",
)
# fmt: on
_DMI = "/sys/class/dmi/id"
_TREE = "/proc/device-tree"
# Sources that name a hypervisor whatever they say, and those that name a machine.
_NAMED_HYPERVISORS = (f"{_TREE}/hypervisor/compatible", "/sys/hypervisor/type")
_NAMED_MACHINES = (f"{_DMI}/product_name", f"{_DMI}/sys_vendor", f"{_TREE}/compatible")
_OF_KVM = ("KVM", "Amazon EC2", "Google")
_OF_OTHERS = ("VMware", "Parallels", "Apple Virtualization", "Xen", "Microsoft")
_OF_QEMU = ("QEMU", "Bochs", "dummy-virt", "riscv-virtio")
_MOST_NAME = 60


def _holds(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def emulation_by_cpuid(raw: Raw, vendor: str, hypervisor: str) -> Emulation:
    """By the vendors of leaf 0, and of leaf 0x40000000 ("": there is no hypervisor)."""
    if _holds(vendor, _TRANSLATORS):
        return Emulation(True, f"CPUID names the translator {vendor}")
    if hypervisor == "TCGTCGTCGTCG":
        return Emulation(True, "CPUID names QEMU's emulator, TCG")
    if (found := _by_user_mode(raw)) is not None:
        return found
    if hypervisor:
        is_known = _holds(hypervisor, _VIRTUALIZERS)
        kind = "the hypervisor" if is_known else "an unknown hypervisor,"
        return Emulation(False if is_known else None, f"CPUID names {kind} {hypervisor}")
    found = emulation_by_names(raw)
    if found.is_emulated is None and not found.is_qemu:
        return Emulation(False, "CPUID names no hypervisor")
    return found


def _by_user_mode(raw: Raw) -> Emulation | None:
    program = (raw.text("/proc/self/task/PID/exe") or "").rpartition("/")[2]
    if not program.startswith("qemu-"):
        return None
    return Emulation(True, f"this process runs in {program[:_MOST_NAME]}")


def emulation_by_names(raw: Raw) -> Emulation:
    """By the names in device tree, DMI and /proc/cpuinfo; of a device tree the first of several.
    The processor "max" of QEMU's emulator has implementer 0 (reserved for software), part 'Q'."""
    if (by_user := _by_user_mode(raw)) is not None:
        return by_user
    if (raw.cpuinfo("CPU implementer"), raw.cpuinfo("CPU part")) == ("0x00", "0x051"):
        return Emulation(True, "the processor is QEMU's own model (part 0x051)")
    found = Emulation(None, "no hypervisor was detected, but there may be one")
    for source in (*_NAMED_HYPERVISORS, *_NAMED_MACHINES):
        text = raw.text(source)
        if text is None:
            continue
        name = text[:_MOST_NAME]
        if source in _NAMED_HYPERVISORS or _holds(text, (*_OF_KVM, *_OF_OTHERS)):
            return Emulation(False, f"{source} names the hypervisor {name}")
        if _holds(text, _OF_QEMU) and not found.is_qemu:
            reason = f"{source} names QEMU's machine {name}, which runs in KVM or is emulated"
            found = Emulation(None, reason, is_qemu=True)
    if not found.is_qemu and _has_qemu_device(raw):
        reason = "the device tree has QEMU's fw-cfg: the machine runs in KVM or is emulated"
        found = Emulation(None, reason, is_qemu=True)
    return found


def _has_qemu_device(raw: Raw) -> bool:
    """The device through which QEMU hands files to its guests."""
    return any(
        name.startswith("fw-cfg@") and text == "qemu,fw-cfg-mmio"
        for name, text in raw.below(_TREE).items()
    )


def emulation_by_lab(raw: Raw, found: Emulation) -> Emulation:
    """By the boot line: hardstone's lab starts each guest with hardstone.lab=tcg, icount or kvm.
    What contradicts "kvm" stays."""
    word = raw.boot_option(_LAB)
    told = f"the lab's boot line, {_LAB}={word}, names"
    if word in ("tcg", "icount"):
        return Emulation(True, f"{told} QEMU's emulator")
    if word == "kvm" and found.is_emulated is not True:
        return Emulation(False, f"{told} KVM")
    return found


def emulation_by_board(known: Known) -> Found:
    """By the board that the image of another system than Linux was built for."""
    board, chip = (str(known.get(f"machine.{one}") or "") for one in ("board", "chip"))
    if "qemu" in f"{board} {chip}".lower():
        yield "virtual.emulated", None
        reason = f"the image is for QEMU's machine {board}, which runs in KVM or is emulated"
        yield "virtual.emulated_reason", reason[:200]


def hypervisor_by_names(raw: Raw) -> str | None:
    """The hypervisor's name by device tree and DMI; None: they name none."""
    makers = ("QEMU", *_OF_KVM, *_OF_OTHERS[:-1])
    named = raw.text("/sys/hypervisor/type") or raw.text(f"{_TREE}/hypervisor/compatible")
    if named:
        return named
    for source in (f"{_DMI}/sys_vendor", f"{_DMI}/product_name", f"{_TREE}/compatible"):
        text = raw.text(source) or ""
        maker = next((one for one in makers if one in text), None)
        if maker:
            return maker
        if _holds(text, ("dummy-virt", "riscv-virtio")):
            return "QEMU virt"
    return "QEMU" if _has_qemu_device(raw) else None


# The initial namespaces have constant numbers, that of mounts since about Linux 6.18.
_FIRST = {"pid": "4026531836", "user": "4026531837", "cgroup": "4026531835", "mnt": "4026531832"}


def _container(raw: Raw) -> Found:
    """A process in all initial namespaces is not in a container, even if the system was installed
    from an image that has a container manager's traces."""
    kind = _container_manager(raw)
    is_known = all(raw.text(f"/proc/self/ns/{one}") for one in ("pid", "cgroup"))
    is_first = all(_is_in_first(raw, one) for one in ("pid", "user", "cgroup"))
    if is_known and is_first and (kind is None or _is_first_mount(raw)):
        yield "virtual.container", None
    elif kind is not None or is_known:
        yield "virtual.container", kind or "namespaces of its own"


def _is_in_first(raw: Raw, kind: str) -> bool:
    return raw.text(f"/proc/self/ns/{kind}") == f"{kind}:[{_FIRST[kind]}]"


def _is_first_mount(raw: Raw) -> bool:
    """On older kernels only a process that may read /proc/1/ns knows the initial one."""
    own = raw.text("/proc/self/ns/mnt")
    return _is_in_first(raw, "mnt") or (own is not None and own == raw.text("/proc/1/ns/mnt"))


def _container_manager(raw: Raw) -> str | None:
    """Name of the container manager, by the traces it leaves; None: none found."""
    if "/.dockerenv" in raw:
        return "docker"
    if "/run/.containerenv" in raw:
        return "podman"
    if (named := raw.text("/run/systemd/container")) is not None:
        return named
    groups = raw.text("/proc/self/cgroup") or ""
    words = ("kubepods", "docker", "containerd", "libpod", "lxc")
    return next((word for word in words if word in groups), None)


def _steal(raw: Raw) -> Found:
    """ "cpu  user nice system idle iowait irq softirq steal ..." since boot."""
    line = raw.text("/proc/stat") or ""
    if not line.startswith("cpu "):
        return
    ticks = [number_of(word) or 0 for word in line.split()[1:9]]
    steal = ticks[7] if len(ticks) > 7 else 0
    if sum(ticks) > 0:
        yield "virtual.steal_ppm", steal * 1_000_000 // sum(ticks)
