"""Each fact that the toolkit reads: a machine whose facts all differ, and rows that change some of
its sources. The sources that facts.toml names are compared with those that are read."""

from __future__ import annotations

import re

import pytest

from hardstone.facts import load_facts
from hardstone.model import Scalar, Source
from hardstone.raw_facts import read_facts
from tests.unit.test_facts import check_value

Told = dict[str, Scalar]

# Of a source: the probe does not send it. Of a fact: it is left out.
NOT_TOLD = "not reported"
CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
DMI = "/sys/class/dmi/id"
TREE = "/proc/device-tree"
HUGE = "/sys/kernel/mm/transparent_hugepage"
KERNEL = "/proc/sys/kernel"
NS = "/proc/self/ns"
POWER = "/sys/class/power_supply"
COOLING = "/sys/class/thermal/cooling_device"
THROTTLE = f"{CPU}/cpu*/thermal_throttle"
FREQUENCY = f"{CPU}/cpu*/cpufreq"
STATE = f"{CPU}/cpu*/cpuidle/state"
SERVER = "debugfs:sched/fair_server/cpu*"
LIMITS = "/etc/security"
PACKED = "/proc/config.gz"
BOOT = "/boot/config-6.12.1"
MODULES = "/lib/modules/6.12.1/config"

# Sources with their texts (None: present, without a text), and the facts that the probe sends.
KNOWN = ("kernel.release", "kernel.version", "power.dma_latency_us")
MACHINE: Told = {
    "kernel.release": "6.12.1",
    "kernel.version": "#1 SMP PREEMPT_DYNAMIC",
    "power.dma_latency_us": 1000,
    "/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian 12"\nID=debian\n',
    f"{LIMITS}/limits.conf": "# - - rtprio 97\n@audio - rtprio 95 # 1\n#@video - rtprio 96\n",
    f"{LIMITS}/limits.d/a.conf": "ann hard rtprio 80\nbob soft rtprio 70\nann - nice 60\n",
    "/usr/sbin/grubby": None,
    "/proc/cmdline": "ro idle=nomwait -- idle=halt\n",
    "/proc/cpuinfo": "processor\t: 0\nmodel name\t: Processor N\n",
    "/proc/meminfo": "MemTotal:  9000 kB\nSwapTotal:  1000 kB\nSwapFree:  300 kB\n",
    "/proc/stat": "cpu  100 20 80 600 50 30 20 100 7 8",
    f"{TREE}/model": "Tree\0",
    f"{DMI}/board_name": "Board\n",
    f"{DMI}/product_name": "Product\n",
    f"{DMI}/sys_vendor": "QEMU\n",
    "cpuid:0": "GenuineIntel",
    "cpuid:0x40000000": "KVMKVMKVM\0\0\0",
    "/proc/self/task/PID/exe": "/usr/bin/hardstone-probe",
    "/proc/self/cgroup": "0::/user.slice\n",
    f"{NS}/cgroup": "cgroup:[4026531835]",
    f"{NS}/mnt": "mnt:[4026531832]",
    f"{NS}/pid": "pid:[4026531836]",
    f"{NS}/user": "user:[4026531837]",
    f"{KERNEL}/random/boot_id": "0b7e\n",
    f"{KERNEL}/nmi_watchdog": "11\n",
    f"{KERNEL}/numa_balancing": "12\n",
    f"{KERNEL}/sched_rt_period_us": "1000000\n",
    f"{KERNEL}/sched_rt_runtime_us": "950000\n",
    f"{KERNEL}/soft_watchdog": "13\n",
    f"{KERNEL}/tainted": "14\n",
    f"{KERNEL}/timer_migration": "15\n",
    f"{KERNEL}/watchdog": "16\n",
    f"{KERNEL}/watchdog_thresh": "17\n",
    "/sys/kernel/realtime": "0\n",
    "/sys/kernel/mm": None,
    "/sys/kernel/mm/ksm/run": "18\n",
    HUGE: None,
    f"{HUGE}/enabled": "always [madvise] never\n",
    "/sys/devices/system/node/node0": None,
    "/sys/devices/system/node/node1": None,
    "/sys/fs/cgroup/cpuset.cpus.isolated": "1\n",
    f"{CLOCK}/available_clocksource": "tsc hpet\n",
    f"{CLOCK}/current_clocksource": "tsc\n",
    f"{CPU}/online": "0-2\n",
    f"{CPU}/possible": "0-7\n",
    f"{CPU}/isolated": "2\n",
    f"{CPU}/nohz_full": "1-2\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/smt/control": "on\n",
    f"{CPU}/vulnerabilities": None,
    f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n",
    f"{CPU}/vulnerabilities/mds": "Not affected\n",
    f"{CPU}/vulnerabilities/spectre_v1": "Mitigation: barriers\n",
    f"{CPU}/cpu*/topology/thread_siblings_list": "0-1 0-1\n2 2\n",
    f"{CPU}/cpu*/topology/physical_package_id": "0-1 0\n2 1\n",
    f"{THROTTLE}/core_throttle_count": "0 3\n1 4\n2 10\n",
    f"{THROTTLE}/package_throttle_count": "0-1 100\n2 1000\n",
    f"{FREQUENCY}/scaling_governor": "0-1 performance\n2 powersave\n",
    f"{FREQUENCY}/scaling_min_freq": "0-1 3000\n2 800\n",
    f"{FREQUENCY}/scaling_max_freq": "0-2 3000\n",
    f"{CPU}/cpuidle/current_driver": "intel_idle\n",
    f"{CPU}/cpuidle/current_governor": "menu\n",
    f"{CPU}/cpu*/power/pm_qos_resume_latency_us": "0-2 0\n",
    f"{STATE}0/latency": "0-2 0\n",
    f"{STATE}0/name": "0-2 POLL\n",
    f"{STATE}0/disable": "0-2 0\n",
    f"{STATE}1/latency": "0-2 10\n",
    f"{STATE}1/name": "0-2 C1\n",
    f"{STATE}1/disable": "0-2 0\n",
    f"{STATE}2/latency": "0-2 85\n",
    f"{STATE}2/name": "0-2 C6\n",
    f"{STATE}2/disable": "0 1\n1-2 0\n",
    POWER: None,
    f"{POWER}/AC/type": "Mains\n",
    f"{POWER}/BAT0/type": "Battery\n",
    f"{POWER}/BAT0/status": "Charging\n",
    f"{POWER}/mouse/type": "Battery\n",
    f"{POWER}/mouse/status": "Discharging\n",
    f"{POWER}/mouse/scope": "Device\n",
    f"{COOLING}0/type": "Fan\n",
    f"{COOLING}0/cur_state": "5\n",
    f"{COOLING}1/type": "Processor\n",
    f"{COOLING}1/cur_state": "0\n",
    "tracefs:current_tracer": "function\n",
    "tracefs:events/enable": "X\n",
    "tracefs:tracing_on": "1\n",
    "debugfs:sched/features": "GENTLE_FAIR_SLEEPERS\n",
    "debugfs:sched/preempt": "none voluntary (full) lazy\n",
    f"{SERVER}/period": "0-2 1000000000\n",
    f"{SERVER}/runtime": "0-2 50000000\n",
    PACKED: "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_RCU_NOCB_CPU=y\n",
    BOOT: "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PROVE_LOCKING=y\n",
    MODULES: "CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_RCU_NOCB_CPU=y\n",
}
KVM = "CPUID names the hypervisor KVMKVMKVM"
MAY_BE = "runs in KVM or is emulated"
NOTHING = "no hypervisor was detected, but there may be one"
FACTS: Told = {
    "cpu.online": "0-2",
    "cpu.possible": "0-7",
    "cpu.smt": True,
    "cpu.smt_control": "on",
    "kernel.clocksource": "tsc",
    "kernel.clocksources": "tsc hpet",
    "kernel.cmdline": "ro idle=nomwait -- idle=halt",
    "kernel.fair_server_period_ns": 1_000_000_000,
    "kernel.fair_server_runtime_ns": 50_000_000,
    "kernel.has_nohz_full": True,
    "kernel.has_rcu_nocbs": True,
    "kernel.isolated_cpus": "2",
    "kernel.lock_checking": False,
    "kernel.mitigations": "meltdown, spectre_v1",
    "kernel.mitigations_count": 2,
    "kernel.nmi_watchdog": 11,
    "kernel.nohz_full_cpus": "1-2",
    "kernel.partition_cpus": "1",
    "kernel.preemption": "full (dynamic)",
    "kernel.preemption_choices": "none, voluntary, full, lazy",
    "kernel.preemption_is_dynamic": True,
    "kernel.preemption_model": "full",
    "kernel.realtime": False,
    "kernel.rt_period_us": 1_000_000,
    "kernel.rt_runtime_us": 950_000,
    "kernel.soft_watchdog": 13,
    "kernel.tainted": 14,
    "kernel.timer_migration": 15,
    "kernel.watchdog": 16,
    "kernel.watchdog_threshold_s": 17,
    "limits.granted_rtprio": "@audio=95, ann=80",
    "machine.board": "Board",
    "machine.cpu_model": "Processor N",
    "machine.product": "Product",
    "memory.has_nodes": True,
    "memory.ksm": 18,
    "memory.numa_balancing": 12,
    "memory.swap_bytes": 1_024_000,
    "memory.swap_used_bytes": 716_800,
    "memory.transparent_hugepage": "madvise",
    "os.boot_id": "0b7e",
    "os.boot_tool": "grubby",
    "os.name": "Debian 12",
    "power.frequency_is_fixed": False,
    "power.governor": "performance",
    "power.governors": "performance, powersave",
    "power.idle_boot": "nomwait",
    "power.idle_deepest": "C6",
    "power.idle_driver": "intel_idle",
    "power.idle_governor": "menu",
    "power.idle_latency_us": 85,
    "power.idle_states": "POLL, C1, C6",
    "power.is_cooling": False,
    "power.on_battery": False,
    "power.thermal_throttles": 1114,  # cores 4 + 10, packages 100 + 1000
    "tracing.events": "some",
    "tracing.is_recording": True,
    "tracing.tracer": "function",
    "virtual.container": None,
    "virtual.emulated": False,
    "virtual.emulated_reason": KVM,
    "virtual.hypervisor": "KVMKVMKVM",
    "virtual.steal_ppm": 100_000,
    "virtual.time": None,
}


def gone(*sources: str) -> dict[str, Scalar]:
    return dict.fromkeys(sources, NOT_TOLD)


# Changes of the machine that several rows begin with, and the facts that change with them.
HIDDEN: Told = gone("debugfs:sched/preempt") | {"debugfs": "refused"}
DEFAULT: Told = {
    "kernel.debugfs": "refused",
    "kernel.preemption": "full (dynamic, configuration)",
    "kernel.preemption_choices": NOT_TOLD,
    "kernel.preemption_default": "full",
    "kernel.preemption_model": NOT_TOLD,
}
REALTIME: Told = {
    "kernel.debugfs": "refused",
    "kernel.preemption": "rt",
    "kernel.preemption_choices": NOT_TOLD,
    "kernel.preemption_is_dynamic": False,
    "kernel.preemption_model": "rt",
    "kernel.realtime": True,
}
RT_SHOWN: Told = {"kernel.realtime": True, "kernel.preemption": "rt, full (dynamic)"}
SWITCHED: Told = {
    "kernel.preemption": "rt, full (dynamic, configuration)",
    "kernel.preemption_default": "full",
    "kernel.preemption_is_dynamic": True,
}
CONSTANT: Told = REALTIME | {"kernel.realtime": False}
RT_VERSION: Told = HIDDEN | {"kernel.version": "#1 SMP PREEMPT_RT"}
RT_WITHOUT_DEBUGFS: Told = RT_VERSION | gone("debugfs:sched/features")
NO_PACKED: Told = {"kernel.has_rcu_nocbs": False, "kernel.lock_checking": True}
NO_CONFIG: Told = {"kernel.has_rcu_nocbs": NOT_TOLD, "kernel.lock_checking": NOT_TOLD}
NO_FLAG: Told = gone("cpuid:0x40000000")
UNNAMED: Told = NO_FLAG | gone(f"{DMI}/sys_vendor")
NO_CPUID: Told = UNNAMED | gone("cpuid:0")
ARM: Told = NO_CPUID | {
    "/proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd07\n",
    f"{CPU}/cpu*/regs/identification/midr_el1": "0 0x410fd034\n1-2 0x410fd083\n",
}
UNKNOWN: Told = {
    "virtual.emulated": None,
    "virtual.emulated_reason": NOTHING,
    "virtual.hypervisor": NOT_TOLD,
}
PREEMPT_6_13: Told = {"kernel.version": "#1 SMP PREEMPT", "kernel.release": "6.13.0"}
OTHER_MOUNTS: Told = {f"{NS}/mnt": "mnt:[5]"}
NAMES = {"Model": "Model M", "uarch": "Design U", "cpu model": "Model C", "Hardware": "Hardware H"}


def default(model: str, by: str = "configuration") -> Told:
    """The model that is active unless somebody switched it."""
    return DEFAULT | {
        "kernel.preemption": f"{model} (dynamic, {by})",
        "kernel.preemption_default": model,
    }


def constant(model: str) -> Told:
    return CONSTANT | {"kernel.preemption": model, "kernel.preemption_model": model}


def idle(deepest: str, latency_us: int) -> Told:
    return {"power.idle_deepest": deepest, "power.idle_latency_us": latency_us}


def booted(line: str) -> Told:
    """The facts of another boot line, which says nothing of idle states."""
    return {"kernel.cmdline": line, "power.idle_boot": NOT_TOLD}


def emulated(value: bool | None, reason: str, hypervisor: str | None) -> Told:
    return {
        "virtual.emulated": value,
        "virtual.emulated_reason": reason,
        "virtual.hypervisor": hypervisor,
    }


def in_lab(word: str) -> Told:
    reason = f"the lab's boot line, hardstone.lab={word}, names QEMU's emulator"
    return booted(f"hardstone.lab={word}") | emulated(True, reason, "KVMKVMKVM")


def named(source: str, name: str, hypervisor: str | None) -> Told:
    """Whether it is emulated is not known: a source names a machine of QEMU."""
    return emulated(None, f"{source} names QEMU's machine {name}, which {MAY_BE}", hypervisor)


def cpuinfo(*names: str) -> Told:
    """Other names of the processor. The first that raw_facts.py asks for is the last line."""
    return {"/proc/cpuinfo": "".join(f"{one}\t: {NAMES[one]}\n" for one in reversed(names))}


# Changes of MACHINE, and the facts that then differ from FACTS; all other facts stay the same.
ROWS: dict[str, tuple[Told, Told]] = {
    "the machine": ({}, {}),
    # ---- system and processor ----
    "name without quotes": ({"/etc/os-release": "PRETTY_NAME=Poky\n"}, {"os.name": "Poky"}),
    "grubby in the other folder": (gone("/usr/sbin/grubby") | {"/usr/bin/grubby": None}, {}),
    "update-grub": (
        gone("/usr/sbin/grubby") | {"/usr/sbin/update-grub": None},
        {"os.boot_tool": "update-grub"},
    ),
    "both tools": ({"/usr/sbin/update-grub": None}, {}),
    "no tool": (gone("/usr/sbin/grubby"), {"os.boot_tool": NOT_TOLD}),
    "no product by DMI": (gone(f"{DMI}/product_name"), {"machine.product": "Tree"}),
    "no board by DMI": (gone(f"{DMI}/board_name"), {"machine.board": "Tree"}),
    "registers of ARM": (ARM, UNKNOWN | {"machine.cpu_model": "Cortex-A53, Cortex-A72"}),
    "no registers": (
        ARM | gone(f"{CPU}/cpu*/regs/identification/midr_el1"),
        UNKNOWN | {"machine.cpu_model": "Cortex-A57"},
    ),
    "model name before registers": (
        {f"{CPU}/cpu*/regs/identification/midr_el1": "0-2 0x410fd034\n"},
        {},
    ),
    "registers before other names": (
        cpuinfo(*NAMES) | {f"{CPU}/cpu*/regs/identification/midr_el1": "0-2 0x410fd034\n"},
        {"machine.cpu_model": "Cortex-A53"},
    ),
    "first of the names": (cpuinfo(*NAMES), {"machine.cpu_model": "Model M"}),
    "second": (cpuinfo("uarch", "cpu model", "Hardware"), {"machine.cpu_model": "Design U"}),
    "third": (cpuinfo("cpu model", "Hardware"), {"machine.cpu_model": "Model C"}),
    "last": (cpuinfo("Hardware"), {"machine.cpu_model": "Hardware H"}),
    "none": (gone("/proc/cpuinfo"), {"machine.cpu_model": "Tree"}),
    "no weakness": (
        gone(f"{CPU}/vulnerabilities/meltdown", f"{CPU}/vulnerabilities/spectre_v1"),
        {"kernel.mitigations": None, "kernel.mitigations_count": 0},
    ),
    "no siblings, SMT is on": (
        gone(f"{CPU}/cpu*/topology/thread_siblings_list") | {f"{CPU}/smt/active": "1\n"},
        {"power.thermal_throttles": 1117},
    ),
    "no siblings, SMT is off": (
        gone(f"{CPU}/cpu*/topology/thread_siblings_list"),
        {"cpu.smt": False, "power.thermal_throttles": 1117},
    ),
    "no core is shared": (
        {
            f"{CPU}/cpu*/topology/thread_siblings_list": "0 0\n1 1\n2 2\n",
            f"{CPU}/smt/active": "1\n",
        },
        {"cpu.smt": False, "power.thermal_throttles": 1117},
    ),
    "siblings with a comma": (
        {f"{CPU}/cpu*/topology/thread_siblings_list": "0 0\n1-2 1,2\n"},
        {"power.thermal_throttles": 1113},
    ),
    # ---- kernel ----
    "nothing isolated": ({f"{CPU}/isolated": "\n"}, {"kernel.isolated_cpus": None}),
    "no CPU without ticks": ({f"{CPU}/nohz_full": "  (null)\n"}, {"kernel.nohz_full_cpus": None}),
    "built without": (
        gone(f"{CPU}/nohz_full"),
        {"kernel.nohz_full_cpus": None, "kernel.has_nohz_full": False},
    ),
    "older than both": (
        gone(f"{CPU}/nohz_full", f"{CPU}/isolated"),
        {
            "kernel.isolated_cpus": NOT_TOLD,
            "kernel.nohz_full_cpus": NOT_TOLD,
            "kernel.has_nohz_full": NOT_TOLD,
        },
    ),
    "no partition": (
        {"/sys/fs/cgroup/cpuset.cpus.isolated": "\n"},
        {"kernel.partition_cpus": None},
    ),
    "configuration in /boot": (gone(PACKED), NO_PACKED),
    "configuration of the modules": (gone(PACKED, BOOT), {}),
    "no configuration": (gone(PACKED, BOOT, MODULES), NO_CONFIG),
    "no configuration of this release": (gone(PACKED) | {"kernel.release": "6.12.2"}, NO_CONFIG),
    "an option that is a module": (
        {PACKED: "CONFIG_PREEMPT=y\nCONFIG_RCU_NOCB_CPU=m\n"},
        {"kernel.has_rcu_nocbs": False},
    ),
    "locks are checked": ({"/proc/lockdep": None}, {"kernel.lock_checking": True}),
    "budgets that differ": (
        {f"{SERVER}/runtime": "0-1 50000000\n2 0\n"},
        {"kernel.fair_server_runtime_ns": NOT_TOLD, "kernel.fair_server_period_ns": NOT_TOLD},
    ),
    "tracing is off": (
        {"tracefs:tracing_on": "0\n", "tracefs:events/enable": "0\n"},
        {"tracing.is_recording": False, "tracing.events": "none"},
    ),
    "all events": ({"tracefs:events/enable": "1\n"}, {"tracing.events": "all"}),
    # ---- preemption ----
    "PREEMPT_RT that debugfs shows": ({"kernel.version": "#1 SMP PREEMPT_RT"}, RT_SHOWN),
    "PREEMPT RT of old kernels": ({"kernel.version": "#1 SMP PREEMPT RT"}, RT_SHOWN),
    "a kernel that says so in its file": ({"/sys/kernel/realtime": "1\n"}, RT_SHOWN),
    "one choice": (
        {"debugfs:sched/preempt": "(lazy)\n"},
        {
            "kernel.preemption": "lazy",
            "kernel.preemption_choices": "lazy",
            "kernel.preemption_is_dynamic": False,
            "kernel.preemption_model": "lazy",
        },
    ),
    "no choice is marked": (
        {"debugfs:sched/preempt": "none full\n"},
        DEFAULT | {"kernel.debugfs": "mounted"},
    ),
    "hidden": (HIDDEN, DEFAULT),
    "no debugfs": (HIDDEN | {"debugfs": "none"}, DEFAULT | {"kernel.debugfs": "none"}),
    "debugfs nowhere": (
        HIDDEN | {"debugfs": "not mounted"},
        DEFAULT | {"kernel.debugfs": "not mounted"},
    ),
    "hidden, by the boot line": (
        HIDDEN | {"/proc/cmdline": "preempt=none"},
        default("none", "boot line") | booted("preempt=none"),
    ),
    "hidden, no model in the boot line": (
        HIDDEN | {"/proc/cmdline": "preempt=any"},
        DEFAULT | booted("preempt=any"),
    ),
    "hidden, by /boot": (HIDDEN | gone(PACKED), default("voluntary") | NO_PACKED),
    "hidden, by the modules": (HIDDEN | gone(PACKED, BOOT), default("none")),
    "hidden, no configuration": (
        HIDDEN | gone(PACKED, BOOT, MODULES),
        DEFAULT
        | NO_CONFIG
        | {
            "kernel.preemption": "dynamic (active model not visible)",
            "kernel.preemption_default": NOT_TOLD,
        },
    ),
    "constant, full": (
        HIDDEN | {"kernel.version": "#1 SMP PREEMPT", PACKED: "CONFIG_PREEMPT_LAZY=y"},
        constant("full") | {"kernel.has_rcu_nocbs": False},
    ),
    "constant, lazy from Linux 6.13 on": (
        HIDDEN | PREEMPT_6_13 | {PACKED: "CONFIG_PREEMPT_LAZY=y"},
        constant("lazy") | {"kernel.has_rcu_nocbs": False},
    ),
    "constant, full or lazy": (
        HIDDEN | gone(PACKED) | PREEMPT_6_13,
        constant("full or lazy") | NO_CONFIG,
    ),
    "constant, by /boot": (
        HIDDEN | gone(PACKED) | {"kernel.version": "#1 SMP"},
        constant("voluntary") | NO_PACKED,
    ),
    "constant, by the modules": (
        HIDDEN | gone(PACKED, BOOT) | {"kernel.version": "#1 SMP"},
        constant("none"),
    ),
    "constant, none or voluntary": (
        HIDDEN | gone(PACKED, BOOT, MODULES) | {"kernel.version": "#1 SMP"},
        constant("none or voluntary") | NO_CONFIG,
    ),
    "PREEMPT_RT, debugfs has no choice": (RT_VERSION, REALTIME),
    "PREEMPT_RT, by its file": (HIDDEN | {"/sys/kernel/realtime": "1\n"}, REALTIME),
    "PREEMPT_RT that can be switched": (RT_WITHOUT_DEBUGFS, REALTIME | SWITCHED),
    "PREEMPT_RT that can be switched, by its file": (
        HIDDEN | gone("debugfs:sched/features") | {"/sys/kernel/realtime": "1\n"},
        REALTIME | SWITCHED,
    ),
    "PREEMPT_RT before Linux 6.12": (RT_WITHOUT_DEBUGFS | {"kernel.release": "6.11.9"}, REALTIME),
    "PREEMPT_RT, by /boot": (RT_WITHOUT_DEBUGFS | gone(PACKED), REALTIME | NO_PACKED),
    "PREEMPT_RT, by the modules": (
        RT_WITHOUT_DEBUGFS | gone(PACKED, BOOT),
        REALTIME
        | SWITCHED
        | {
            "kernel.preemption": "rt, none (dynamic, configuration)",
            "kernel.preemption_default": "none",
        },
    ),
    "PREEMPT_RT, no configuration": (
        RT_WITHOUT_DEBUGFS | gone(PACKED, BOOT, MODULES),
        REALTIME | NO_CONFIG | {"kernel.preemption_is_dynamic": NOT_TOLD},
    ),
    # ---- memory ----
    "one node": (gone("/sys/devices/system/node/node1"), {"memory.has_nodes": False}),
    "huge pages are not read": (gone(f"{HUGE}/enabled"), {"memory.transparent_hugepage": NOT_TOLD}),
    "no huge pages": (gone(f"{HUGE}/enabled", HUGE), {"memory.transparent_hugepage": None}),
    "nothing of memory": (
        gone(f"{HUGE}/enabled", HUGE, "/sys/kernel/mm"),
        {"memory.transparent_hugepage": NOT_TOLD},
    ),
    # ---- frequency, battery, heat ----
    "fixed frequency": (
        {f"{FREQUENCY}/scaling_min_freq": "0-2 3000\n"},
        {"power.frequency_is_fixed": True},
    ),
    "governors of some CPUs": (
        {f"{FREQUENCY}/scaling_governor": "0-1 schedutil\n"},
        {
            "power.governor": "schedutil",
            "power.governors": NOT_TOLD,
            "power.frequency_is_fixed": NOT_TOLD,
        },
    ),
    "on battery": ({f"{POWER}/BAT0/status": "Discharging\n"}, {"power.on_battery": True}),
    "battery of a mouse": (gone(f"{POWER}/mouse/scope"), {"power.on_battery": True}),
    "battery in an unknown state": (
        {f"{POWER}/BAT0/status": "Unknown\n"},
        {"power.on_battery": NOT_TOLD},
    ),
    "no battery": (gone(f"{POWER}/BAT0/type", f"{POWER}/BAT0/status"), {}),
    "processor is cooled": ({f"{COOLING}1/cur_state": "1\n"}, {"power.is_cooling": True}),
    "frequency is lowered": ({f"{COOLING}0/type": "cpufreq-cpu0\n"}, {"power.is_cooling": True}),
    "CPU is made idle": ({f"{COOLING}0/type": "cpu-idle-0\n"}, {"power.is_cooling": True}),
    "fan alone": (
        gone(f"{COOLING}1/type", f"{COOLING}1/cur_state"),
        {"power.is_cooling": NOT_TOLD},
    ),
    "no count of packages": (
        gone(f"{THROTTLE}/package_throttle_count"),
        {"power.thermal_throttles": 14},
    ),
    # ---- idle states ----
    "idle= without a value": (
        {"/proc/cmdline": "ro idle"},
        {"kernel.cmdline": "ro idle", "power.idle_boot": None},
    ),
    "deepest state is off": ({f"{STATE}2/disable": "0-2 1\n"}, idle("C1", 10)),
    "limit of all CPUs": ({"power.dma_latency_us": 50}, idle("C1", 10)),
    "limit of each CPU": (
        {f"{CPU}/cpu*/power/pm_qos_resume_latency_us": "0-2 9\n"},
        idle("POLL", 0),
    ),
    "no idle state is allowed": (
        {f"{CPU}/cpu*/power/pm_qos_resume_latency_us": "0-2 n/a\n"},
        idle("POLL", 0),
    ),
    "state without a name": (
        gone(f"{STATE}2/name"),
        {"power.idle_deepest": None, "power.idle_states": "POLL, C1"},
    ),
    "no driver": (
        gone(*(f"{STATE}{n}/{file}" for n in range(3) for file in ("latency", "name", "disable")))
        | {f"{CPU}/cpuidle/current_driver": "none\n"},
        {
            "power.idle_deepest": NOT_TOLD,
            "power.idle_driver": "none",
            "power.idle_latency_us": NOT_TOLD,
            "power.idle_states": None,
        },
    ),
    # ---- hypervisor, emulation, container ----
    "QEMU hides the flag": (NO_FLAG, named(f"{DMI}/sys_vendor", "QEMU", None)),
    "emulator": (
        {"cpuid:0x40000000": "TCGTCGTCGTCG"},
        emulated(True, "CPUID names QEMU's emulator, TCG", "TCGTCGTCGTCG"),
    ),
    "translator": (
        {"cpuid:0": "VirtualApple"},
        emulated(True, "CPUID names the translator VirtualApple", "KVMKVMKVM"),
    ),
    "hardware": (UNNAMED, emulated(False, "CPUID names no hypervisor", None)),
    "user mode": (
        {"/proc/self/task/PID/exe": "/usr/bin/qemu-arm"},
        emulated(True, "this process runs in qemu-arm", "KVMKVMKVM"),
    ),
    "no CPUID": (NO_CPUID, UNKNOWN),
    "no CPUID, maker by DMI": (
        NO_CPUID | {f"{DMI}/sys_vendor": "QEMU\n"},
        named(f"{DMI}/sys_vendor", "QEMU", "QEMU"),
    ),
    "no CPUID, product by DMI": (
        NO_CPUID | {f"{DMI}/product_name": "KVM\n"},
        emulated(False, f"{DMI}/product_name names the hypervisor KVM", "KVM")
        | {"machine.product": "KVM"},
    ),
    "no CPUID, file of the hypervisor": (
        NO_CPUID | {"/sys/hypervisor/type": "xen\n"},
        emulated(False, "/sys/hypervisor/type names the hypervisor xen", "xen"),
    ),
    "no CPUID, hypervisor of the tree": (
        NO_CPUID | {f"{TREE}/hypervisor/compatible": "linux,kvm\0"},
        emulated(
            False, f"{TREE}/hypervisor/compatible names the hypervisor linux,kvm", "linux,kvm"
        ),
    ),
    "no CPUID, machine of the tree": (
        NO_CPUID | {f"{TREE}/compatible": "linux,dummy-virt\0"},
        named(f"{TREE}/compatible", "linux,dummy-virt", "QEMU virt"),
    ),
    "QEMU's machine of the tree": (
        UNNAMED | {f"{TREE}/compatible": "riscv-virtio\0"},
        named(f"{TREE}/compatible", "riscv-virtio", None),
    ),
    "no CPUID, QEMU's device": (
        NO_CPUID | {f"{TREE}/fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio\0"},
        emulated(None, f"the device tree has QEMU's fw-cfg: the machine {MAY_BE}", "QEMU"),
    ),
    "QEMU's device": (
        UNNAMED | {f"{TREE}/fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio\0"},
        emulated(None, f"the device tree has QEMU's fw-cfg: the machine {MAY_BE}", None),
    ),
    "QEMU's processor": (
        NO_CPUID | {"/proc/cpuinfo": "CPU implementer\t: 0x00\nCPU part\t: 0x051\n"},
        UNKNOWN
        | {
            "machine.cpu_model": "QEMU max",
            "virtual.emulated": True,
            "virtual.emulated_reason": "the processor is QEMU's own model (part 0x051)",
        },
    ),
    "lab": (
        {"/proc/cmdline": "hardstone.lab=icount\n"},
        in_lab("icount") | {"virtual.time": "instructions"},
    ),
    "lab in real time": ({"/proc/cmdline": "hardstone.lab=tcg\n"}, in_lab("tcg")),
    "processes of its own": (
        {f"{NS}/pid": "pid:[5]"},
        {"virtual.container": "namespaces of its own"},
    ),
    "namespaces are not reported": (gone(f"{NS}/pid"), {"virtual.container": NOT_TOLD}),
    "image of a container": ({"/.dockerenv": None}, {}),
    "docker": (OTHER_MOUNTS | {"/.dockerenv": None}, {"virtual.container": "docker"}),
    "podman": (OTHER_MOUNTS | {"/run/.containerenv": None}, {"virtual.container": "podman"}),
    "name by systemd": (
        OTHER_MOUNTS | {"/run/systemd/container": "lxc-libvirt\n"},
        {"virtual.container": "lxc-libvirt"},
    ),
    "name by the control group": (
        OTHER_MOUNTS | {"/proc/self/cgroup": "0::/kubepods/pod1\n"},
        {"virtual.container": "kubepods"},
    ),
    "image on a kernel before the constant number": (
        OTHER_MOUNTS | {"/.dockerenv": None, "/proc/1/ns/mnt": "mnt:[5]"},
        {},
    ),
    # ---- limits ----
    "nobody is granted": (
        {f"{LIMITS}/limits.conf": "# none\n", f"{LIMITS}/limits.d/a.conf": "\n"},
        {"limits.granted_rtprio": None},
    ),
}
TOOLKIT = [name for name, fact in load_facts().items() if fact.sender == "toolkit"]


def read(machine: Told) -> dict[str, Scalar]:
    """The facts of a machine; a source that is NOT_TOLD is left out."""
    sources = [
        Source(source=name, text=None if text is None else str(text))
        for name, text in machine.items()
        if name not in KNOWN and text != NOT_TOLD
    ]
    return read_facts(sources, {name: machine[name] for name in KNOWN})


def wanted(title: str) -> dict[str, Scalar]:
    return {name: one for name, one in (FACTS | ROWS[title][1]).items() if one != NOT_TOLD}


def pattern(sources: list[str]) -> re.Pattern[str]:
    """Of sources of the register: `*` stands for a part of one name."""
    return re.compile("|".join(re.escape(one).replace(r"\*", "[^/]+") for one in sources))


def within(told: Told, sources: re.Pattern[str]) -> dict[str, Scalar]:
    return {name: one for name, one in told.items() if name in KNOWN or sources.fullmatch(name)}


def without(told: Told, sources: re.Pattern[str]) -> dict[str, Scalar]:
    return {name: one for name, one in told.items() if not sources.fullmatch(name)}


@pytest.mark.parametrize("title", ROWS)
def test_the_facts_of_a_machine(title: str) -> None:
    found = read({**MACHINE, **ROWS[title][0]})
    assert found == wanted(title)
    for name, value in found.items():
        check_value(name, value)


def test_every_fact_has_a_row_and_each_claim_both_values() -> None:
    values: dict[str, set[Scalar]] = {}
    for title in ROWS:
        for name, value in wanted(title).items():
            values.setdefault(name, set()).add(value)
    assert sorted(values) == TOOLKIT
    claims = {name for name in TOOLKIT if load_facts()[name].type == "bool"}
    assert claims == {name for name in claims if values[name] >= {False, True}}


def test_the_register_names_every_source_of_the_rows() -> None:
    """A wrong name in a row would change nothing, as if the fact did not depend on it."""
    names = {*MACHINE, *(name for changes, _ in ROWS.values() for name in changes)} - {*KNOWN}
    named = pattern([one for fact in TOOLKIT for one in load_facts()[fact].sources])
    assert not {name for name in names if not named.fullmatch(name)}


def test_no_two_facts_of_the_machine_are_equal() -> None:
    """Otherwise a fact that is read from the source of another one would go unnoticed."""
    values = [one for one in FACTS.values() if one is not None and type(one) is not bool]
    assert len(values) == len(set(values))


@pytest.mark.parametrize("name", TOOLKIT)
def test_a_fact_needs_no_source_that_the_register_does_not_name(name: str) -> None:
    """Read from the named sources alone, it has the value that it has with all sources."""
    named = pattern(load_facts()[name].sources)
    machine = within(MACHINE, named)
    of_machine = read(machine)
    for title, (changes, _) in ROWS.items():
        changed = within(changes, named)
        found = read({**machine, **changed}) if changed else of_machine
        assert found.get(name, NOT_TOLD) == wanted(title).get(name, NOT_TOLD), title


@pytest.mark.parametrize("name", TOOLKIT)
def test_a_fact_needs_each_source_that_the_register_names(name: str) -> None:
    """Some machine gives another value when that source is removed."""
    sources = load_facts()[name].sources
    named, unread = pattern(sources), set(sources)
    for title, (changes, _) in ROWS.items():
        changed = within(changes, named)
        if not changed and changes:
            continue  # for this fact the same as MACHINE, the first row
        machine, value = within(MACHINE, named) | changed, wanted(title).get(name, NOT_TOLD)
        for one in sorted(unread):
            rest = without(machine, pattern([one]))
            if rest != machine and read(rest).get(name, NOT_TOLD) != value:
                unread.remove(one)
    assert not unread
