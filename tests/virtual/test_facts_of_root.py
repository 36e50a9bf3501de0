"""Facts of machines that this is not: the port is shown files that were made up."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest

from hardstone.doctor import diagnose
from hardstone.model import Scalar
from tests.conftest import PROBE
from tests.unit.test_facts import check_value

TOOL = PROBE.parent / "tests" / "hardstone-facts-of-root"
CPU = "sys/devices/system/cpu"
INITIAL = {"pid": 4026531836, "user": 4026531837, "cgroup": 4026531835, "mnt": 4026531832}
DYNAMIC = "6.1.0\n#1 SMP PREEMPT_DYNAMIC Debian\n"

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason="there is no hardstone-facts-of-root: ninja"),
]


class Root:
    """A folder that stands for the root of a machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("proc/self/status", "CapEff:\t0000000000000000\n")

    def write(self, path: str, text: str | bytes) -> Root:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def link(self, path: str, to: str) -> Root:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(to)
        return self

    def namespaces(self, **changed: int) -> Root:
        for kind, number in {**INITIAL, **changed}.items():
            self.link(f"proc/self/ns/{kind}", f"{kind}:[{number}]")
        return self

    def cpus(self, online: str = "0-1") -> Root:
        return self.write(f"{CPU}/online", online + "\n")

    def task(self, pid: int, name: str, policy: int, priority: int, flags: int = 0) -> Root:
        fields = ["S", *["0"] * 5, str(flags), *["0"] * 30, str(priority), str(policy), "0"]
        text = f"{pid} ({name}) {' '.join(fields)}\n"
        self.write(f"proc/{pid}/stat", text)
        return self.write(f"proc/{pid}/task/{pid}/stat", text)

    def facts(self) -> dict[str, Scalar]:
        done = subprocess.run([TOOL, self.folder], capture_output=True, check=True)
        lines = done.stdout.decode("utf-8", "replace").split("\n")
        found = dict(map(_fact, filter(None, lines)))
        for name, value in found.items():
            check_value(name, value)
        return found

    def state(self, rule: str) -> str:
        found = diagnose(self.facts()).findings
        return next(one.state for one in found if one.rule == rule)


def _fact(line: str) -> tuple[str, Scalar]:
    name, _, value = line.partition(" ")
    words: dict[str, Scalar] = {"null": None, "true": True, "false": False}
    if value.startswith("="):
        return name, value[1:]
    return name, words[value] if value in words else int(value)


@pytest.fixture
def machine(tmp_path: Path) -> Root:
    return Root(tmp_path)


def test_an_empty_machine_tells_nothing_that_looks_fine(machine: Root) -> None:
    facts = machine.facts()
    for name in ("power.governors", "tracing.tracer", "kernel.isolated_cpus", "cpu.smt"):
        assert name not in facts
    for rule in ("governor", "tracing", "swap", "tasks", "container", "isolated-cpus", "ticks"):
        assert machine.state(rule) == "unknown", rule


def test_one_forgotten_cpu_is_seen(machine: Root) -> None:
    machine.cpus("0-1")
    for cpu, governor in enumerate(("performance", "powersave")):
        folder = f"{CPU}/cpu{cpu}/cpufreq"
        machine.write(f"{folder}/scaling_governor", governor + "\n")
        machine.write(f"{folder}/scaling_min_freq", "800000\n")
        machine.write(f"{folder}/scaling_max_freq", "3000000\n")
    facts = machine.facts()
    assert facts["power.governors"] == "performance, powersave"
    assert facts["power.frequency_is_fixed"] is False
    assert machine.state("governor") == "found"


def test_governors_of_some_cpus_only_are_not_told(machine: Root) -> None:
    machine.cpus("0-1").write(f"{CPU}/cpu0/cpufreq/scaling_governor", "performance\n")
    facts = machine.facts()
    assert facts["power.governor"] == "performance"
    assert "power.governors" not in facts


def idle(machine: Root, cpu: int, state: int, name: str, latency: int, disabled: int = 0) -> None:
    folder = f"{CPU}/cpu{cpu}/cpuidle/state{state}"
    machine.write(f"{folder}/name", name + "\n").write(f"{folder}/latency", f"{latency}\n")
    machine.write(f"{folder}/disable", f"{disabled}\n")


def test_the_deepest_state_that_is_allowed_counts(machine: Root) -> None:
    machine.cpus("0-1")
    for cpu in (0, 1):
        idle(machine, cpu, 0, "POLL", 0)
        idle(machine, cpu, 1, "C1", 2)
    idle(machine, 0, 2, "C6", 133, disabled=1)
    idle(machine, 1, 2, "C6", 133)
    facts = machine.facts()
    assert (facts["power.idle_latency_us"], facts["power.idle_deepest"]) == (133, "C6")
    machine.write(f"{CPU}/cpu1/power/pm_qos_resume_latency_us", "20\n")
    assert machine.facts()["power.idle_latency_us"] == 2
    machine.write(f"{CPU}/cpu1/power/pm_qos_resume_latency_us", "n/a\n")  # no idling at all
    assert machine.facts()["power.idle_latency_us"] == 2  # of the other CPU
    machine.write(f"{CPU}/cpu0/power/pm_qos_resume_latency_us", "n/a\n")
    only_polls = machine.facts()
    assert (only_polls["power.idle_latency_us"], only_polls["power.idle_deepest"]) == (0, "POLL")
    machine.write(f"{CPU}/cpu1/power/pm_qos_resume_latency_us", "0\n")  # no limit
    assert machine.facts()["power.idle_latency_us"] == 133
    machine.write("dev/cpu_dma_latency", (1).to_bytes(4, "little"))
    limited = machine.facts()
    assert (limited["power.dma_latency_us"], limited["power.idle_latency_us"]) == (1, 0)


def test_siblings_are_seen_where_smt_is_not_told(machine: Root) -> None:
    machine.cpus("0-1")
    for cpu in (0, 1):
        machine.write(f"{CPU}/cpu{cpu}/topology/thread_siblings_list", "0-1\n")
    assert machine.facts()["cpu.smt"] is True


def test_isolation_in_all_its_spellings(machine: Root) -> None:
    machine.write(f"{CPU}/isolated", "\n")
    facts = machine.facts()
    assert facts["kernel.isolated_cpus"] is None
    assert facts["kernel.nohz_full_cpus"] is None  # this kernel cannot
    machine.write(f"{CPU}/isolated", "2-3\n").write(f"{CPU}/nohz_full", "  (null)\n")
    machine.write("sys/fs/cgroup/cpuset.cpus.isolated", "3\n")
    facts = machine.facts()
    assert facts["kernel.isolated_cpus"] == "2-3"
    assert facts["kernel.partition_cpus"] == "3"


HEADING = "           CPU0       CPU2\n"


def test_interrupts_by_cpu_without_numbered_timers(machine: Root) -> None:
    machine.write(
        "proc/interrupts",
        HEADING
        + " 11:       5000       5000  GICv3  30 Level     arch_timer\n"
        + " 24:        10        990  IO-APIC  5-edge  disk\n"
        + "LOC:     99999          1  Local timer interrupts\n"
        + "ERR:          0\n",
    )
    machine.write("proc/irq/24/effective_affinity_list", "2\n")
    facts = machine.facts()
    assert facts["interrupts.device_count"] == 1000
    assert (facts["interrupts.busiest_cpu"], facts["interrupts.busiest_percent"]) == (2, 99)
    assert facts["interrupts.quiet_cpus"] == "0"


def test_an_interrupt_that_cannot_be_located_leaves_the_quiet_cpus_open(machine: Root) -> None:
    machine.write("proc/interrupts", HEADING + " 24:   10   990  IO-APIC  5-edge  disk\n")
    assert "interrupts.quiet_cpus" not in machine.facts()
    machine.write("proc/irq/24/smp_affinity_list", "0,2\n")
    assert machine.facts()["interrupts.quiet_cpus"] is None


def test_real_time_tasks_with_odd_names(machine: Root) -> None:
    machine.namespaces()
    machine.task(1, "init", 0, 0)
    machine.task(50, "evil) R (x, \x1b[31m", 1, 90)
    machine.task(51, "irq/9-acpi", 1, 50, flags=0x00200000)
    machine.task(52, "rr", 2, 10)
    machine.task(53, "dl", 6, 0)
    machine.task(54, "irqbalance", 0, 0)
    facts = machine.facts()
    assert facts["tasks.realtime_count"] == 3
    assert facts["tasks.realtime_kernel_count"] == 1
    assert facts["tasks.realtime_highest"] == 100
    text = str(facts["tasks.realtime"])
    assert "\x1b" not in text
    assert "evil? R ?x? ?[31m (50, fifo 90)" in text
    assert "dl (53, deadline 0)" in text
    assert facts["interrupts.has_balancer"] is True


def test_many_tasks_are_counted_and_the_text_is_limited(machine: Root) -> None:
    machine.namespaces().task(1, "init", 0, 0)
    for pid in range(100, 300):
        machine.task(pid, "a-name-of-15-ch", 1, 5)
    facts = machine.facts()
    assert facts["tasks.realtime_count"] == 200
    assert len(str(facts["tasks.realtime"])) < 700


def test_tasks_of_a_namespace_are_not_those_of_the_machine(machine: Root) -> None:
    machine.namespaces(pid=4026532999).task(1, "init", 0, 0)
    facts = machine.facts()
    assert facts["tasks.all_visible"] is False
    assert "interrupts.has_balancer" not in facts
    assert (machine.state("tasks"), machine.state("balancer")) == ("unknown", "unknown")


def test_a_proc_that_hides_the_tasks_of_others(machine: Root) -> None:
    machine.namespaces().task(1234, "mine", 0, 0)
    assert machine.facts()["tasks.all_visible"] is False


@pytest.mark.parametrize(
    ("changed", "marker", "wanted"),
    [
        ({}, None, None),
        ({}, ".dockerenv", None),  # a machine that was made from an image
        ({"mnt": 4026532000}, ".dockerenv", "docker"),  # --pid=host --cgroupns=host
        ({"pid": 4026532000}, ".dockerenv", "docker"),
        ({"pid": 4026532000}, None, "namespaces of its own"),
        ({"cgroup": 4026532000}, None, "namespaces of its own"),
        ({"user": 4026532000}, "run/.containerenv", "podman"),
    ],
)
def test_containers(
    machine: Root, changed: dict[str, int], marker: str | None, wanted: str | None
) -> None:
    machine.namespaces(**changed)
    if marker:
        machine.write(marker, "")
    assert machine.facts()["virtual.container"] == wanted


def test_a_container_by_its_control_group(machine: Root) -> None:
    machine.namespaces(mnt=4026532000).write("proc/self/cgroup", "0::/kubepods/pod1\n")
    assert machine.facts()["virtual.container"] == "kubepods"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("quiet preempt=full", "full"),
        ("preempt=full preempt=none", "none"),
        ("x.preempt=full rcutree.preempt=none", None),
        ("preempt=nonsense", None),
        ("quiet -- preempt=full", None),
        ("preempt=voluntary -- preempt=full", "voluntary"),
    ],
)
def test_the_boot_line_is_read_by_whole_options(
    machine: Root, line: str, wanted: str | None
) -> None:
    machine.write("uname", DYNAMIC).write("proc/cmdline", line + "\n")
    assert machine.facts().get("kernel.preemption_default") == wanted


def test_the_configuration_tells_the_default_packed_or_plain(machine: Root) -> None:
    machine.write("uname", DYNAMIC)
    text = "# comment\nCONFIG_PREEMPT_NONE_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n"
    machine.write("boot/config-6.1.0", text)
    assert machine.facts()["kernel.preemption_default"] == "voluntary"
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(b"CONFIG_PREEMPT=y\n" * 50) + packer.flush()
    machine.write("proc/config.gz", packed)
    facts = machine.facts()
    assert facts["kernel.preemption_default"] == "full"
    assert "kernel.preemption_model" not in facts
    assert machine.state("preemption") == "unknown"
    machine.write("proc/config.gz", packed[:20])
    assert machine.facts()["kernel.preemption_default"] == "voluntary"


def test_the_running_model_is_the_word_in_parentheses(machine: Root) -> None:
    machine.write("uname", DYNAMIC)
    machine.write("proc/self/mounts", "none /dbg debugfs rw 0 0\n")
    machine.write("proc/cmdline", "preempt=none\n")
    machine.write("dbg/sched/preempt", "none voluntary (full) lazy\n")
    assert machine.facts()["kernel.preemption_model"] == "full"
    assert machine.state("preemption") == "fine"
    assert machine.facts()["kernel.preemption_choices"] == "none, voluntary, full, lazy"


REALTIME_6_12 = (
    "6.12.117+deb12-rt-amd64\n#1 SMP PREEMPT_RT Debian 6.12.117-1~deb12u1 (2026-11-14)\n"
)


def test_a_realtime_kernel_that_can_switch_its_model(machine: Root) -> None:
    """As Debian's 6.12 tells it, whose version does not say PREEMPT_DYNAMIC."""
    machine.write("uname", REALTIME_6_12).write("sys/kernel/realtime", "1\n")
    machine.write("proc/self/mounts", "none /sys/kernel/debug debugfs rw,relatime 0 0\n")
    machine.write("sys/kernel/debug/sched/preempt", "full (lazy) laziest \n")
    facts = machine.facts()
    assert facts["kernel.realtime"] is True
    assert facts["kernel.preemption"] == "rt, lazy (dynamic)"
    assert facts["kernel.preemption_model"] == "lazy"
    assert facts["kernel.preemption_choices"] == "full, lazy, laziest"
    assert facts["kernel.preemption_is_dynamic"] is True
    assert machine.state("preemption") == "fine"
    machine.write("sys/kernel/debug/sched/preempt", "full lazy (laziest) \n")
    assert machine.facts()["kernel.preemption_model"] == "laziest"
    assert machine.state("preemption") == "fine"


@pytest.mark.parametrize(
    ("config", "is_dynamic", "preemption"),
    [
        (None, None, "rt"),
        ("CONFIG_PREEMPT=y\n# CONFIG_PREEMPT_DYNAMIC is not set\n", False, "rt"),
        (
            "CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
            True,
            "rt, lazy (dynamic, configuration)",
        ),
    ],
)
def test_a_realtime_kernel_without_debugfs(
    machine: Root, config: str | None, is_dynamic: bool | None, preemption: str
) -> None:
    machine.write("uname", REALTIME_6_12)
    if config is not None:
        machine.write("boot/config-6.12.117+deb12-rt-amd64", config)
    facts = machine.facts()
    assert facts.get("kernel.preemption_is_dynamic") is is_dynamic
    assert facts["kernel.preemption"] == preemption
    assert facts["kernel.preemption_model"] == "rt"
    assert "kernel.preemption_choices" not in facts


def test_debugfs_shows_that_there_is_no_choice(machine: Root) -> None:
    machine.write("uname", REALTIME_6_12)
    machine.write("proc/self/mounts", "none /dbg debugfs rw 0 0\n")
    machine.write("dbg/sched/features", "GENTLE_FAIR_SLEEPERS\n")
    assert machine.facts()["kernel.preemption_is_dynamic"] is False


def test_a_realtime_kernel_before_6_12_has_one_model(machine: Root) -> None:
    machine.write("uname", "6.1.0-56-rt-amd64\n#1 SMP PREEMPT_RT Debian 6.1.192-2 (2026-11-16)\n")
    facts = machine.facts()
    assert facts["kernel.preemption_is_dynamic"] is False
    assert facts["kernel.preemption"] == facts["kernel.preemption_model"] == "rt"


@pytest.mark.parametrize(
    ("version", "config", "model"),
    [
        ("#1 SMP", "# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n", "voluntary"),
        ("#1 SMP", "CONFIG_PREEMPT_NONE=y\n", "none"),
        ("#1 SMP PREEMPT", "CONFIG_PREEMPT_LAZY=y\n", "lazy"),
        ("#1 SMP PREEMPT", "CONFIG_PREEMPT=y\n", "full"),
    ],
)
def test_the_configuration_tells_the_model_of_a_kernel_that_cannot_switch(
    machine: Root, version: str, config: str, model: str
) -> None:
    machine.write("uname", f"6.14.0\n{version} Debian\n").write("boot/config-6.14.0", config)
    facts = machine.facts()
    assert facts["kernel.preemption"] == facts["kernel.preemption_model"] == model
    assert facts["kernel.preemption_is_dynamic"] is False


def test_tracing_left_on(machine: Root) -> None:
    machine.write("proc/self/mounts", "tracefs /sys/kernel/tracing tracefs rw 0 0\n")
    folder = "sys/kernel/tracing"
    machine.write(f"{folder}/current_tracer", "nop\n").write(f"{folder}/tracing_on", "1\n")
    assert machine.state("tracing") == "unknown"
    machine.write(f"{folder}/events/enable", "0\n")
    assert machine.state("tracing") == "fine"
    for text, word in (("X", "some"), ("1", "all")):
        machine.write(f"{folder}/events/enable", text + "\n")
        assert machine.facts()["tracing.events"] == word
        assert machine.state("tracing") == "found"


def supply(machine: Root, name: str, **files: str) -> None:
    for file, text in files.items():
        machine.write(f"sys/class/power_supply/{name}/{file}", text + "\n")


def test_batteries(machine: Root) -> None:
    assert "power.on_battery" not in machine.facts()
    supply(machine, "hid-mouse", type="Battery", scope="Device", status="Discharging")
    assert machine.facts()["power.on_battery"] is False
    supply(machine, "BAT1", type="Battery", status="Unknown")
    assert "power.on_battery" not in machine.facts()
    supply(machine, "BAT0", type="Battery", status="Discharging")
    assert machine.facts()["power.on_battery"] is True


def test_heat_is_counted_on_all_cpus(machine: Root) -> None:
    machine.cpus("0-1")
    machine.write(f"{CPU}/cpu0/thermal_throttle/core_throttle_count", "0\n")
    assert "power.thermal_throttles" not in machine.facts()
    machine.write(f"{CPU}/cpu1/thermal_throttle/core_throttle_count", "4\n")
    assert machine.facts()["power.thermal_throttles"] == 4
    assert machine.state("heat") == "found"
    machine.write("sys/class/thermal/cooling_device0/type", "Processor\n")
    machine.write("sys/class/thermal/cooling_device0/cur_state", "0\n")
    machine.write("sys/class/thermal/cooling_device1/type", "cpufreq-cpu0\n")
    machine.write("sys/class/thermal/cooling_device1/cur_state", "2\n")
    assert machine.facts()["power.is_cooling"] is True


def throttled(machine: Root, cpu: int, core: int, package: int, siblings: str, of: int) -> None:
    folder = f"{CPU}/cpu{cpu}"
    machine.write(f"{folder}/thermal_throttle/core_throttle_count", f"{core}\n")
    machine.write(f"{folder}/thermal_throttle/package_throttle_count", f"{package}\n")
    machine.write(f"{folder}/topology/thread_siblings_list", siblings + "\n")
    machine.write(f"{folder}/topology/physical_package_id", f"{of}\n")


def test_a_package_that_was_throttled_counts_once_for_all_its_cpus(machine: Root) -> None:
    machine.cpus("0-3")
    for cpu in range(4):
        throttled(machine, cpu, 0, 3, str(cpu), of=0)
    assert machine.facts()["power.thermal_throttles"] == 3
    throttled(machine, 2, 0, 7, "2", of=1)
    throttled(machine, 3, 0, 6, "3", of=1)  # read a moment earlier
    assert machine.facts()["power.thermal_throttles"] == 3 + 7


def test_a_core_that_was_throttled_counts_once_for_all_its_threads(machine: Root) -> None:
    machine.cpus("0-3")
    for cpu, siblings, core in ((0, "0,2", 5), (1, "1,3", 2), (2, "0,2", 6), (3, "1,3", 2)):
        throttled(machine, cpu, core, 0, siblings, of=0)
    assert machine.facts()["power.thermal_throttles"] == 6 + 2


def test_where_a_core_and_its_package_are_not_told_each_cpu_is_a_core(machine: Root) -> None:
    machine.cpus("0-1")
    for cpu in (0, 1):
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        machine.write(f"{folder}/core_throttle_count", "2\n")
        machine.write(f"{folder}/package_throttle_count", "3\n")
    assert machine.facts()["power.thermal_throttles"] == 2 + 2 + 3


@pytest.mark.parametrize(
    ("release", "model"),
    [
        ("5.10.0", "full"),
        ("6.12.99", "full"),
        ("6.13.0-rc1", "full or lazy"),
        ("6.9.0", "full"),
        ("7.0.0", "full or lazy"),
    ],
)
def test_preempt_may_be_lazy_from_6_13_on(machine: Root, release: str, model: str) -> None:
    machine.write("uname", f"{release}\n#1 SMP PREEMPT Mon Jan 1\n")
    assert machine.facts()["kernel.preemption_model"] == model
    machine.write("uname", f"{release}\n#1 SMP Mon Jan 1\n")
    assert machine.facts()["kernel.preemption_model"] == "none or voluntary"


def test_what_the_kernel_was_built_to_do_without(machine: Root) -> None:
    machine.write("uname", DYNAMIC)
    assert not {"kernel.has_nohz_full", "kernel.has_rcu_nocbs"} & set(machine.facts())
    machine.write(f"{CPU}/isolated", "\n")
    assert machine.facts()["kernel.has_nohz_full"] is False
    machine.write(f"{CPU}/nohz_full", "\n")
    assert machine.facts()["kernel.has_nohz_full"] is True
    machine.write("boot/config-6.1.0", "# CONFIG_RCU_NOCB_CPU is not set\n")
    assert machine.facts()["kernel.has_rcu_nocbs"] is False
    machine.write("boot/config-6.1.0", "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y\nCONFIG_RCU_NOCB_CPU=y\n")
    assert machine.facts()["kernel.has_rcu_nocbs"] is True


def test_the_fair_server_is_told_where_it_is_the_same_on_every_cpu(machine: Root) -> None:
    machine.cpus("0-1").write("proc/self/mounts", "none /dbg debugfs rw 0 0\n")
    names = {"kernel.fair_server_runtime_ns", "kernel.fair_server_period_ns"}

    def server(cpu: int, runtime: str, period: str = "1000000000") -> dict[str, Scalar]:
        folder = f"dbg/sched/fair_server/cpu{cpu}"
        machine.write(f"{folder}/runtime", runtime + "\n").write(f"{folder}/period", period + "\n")
        return {name: value for name, value in machine.facts().items() if name in names}

    assert server(0, "50000000") == {}  # of the other nobody told
    assert server(1, "50000000") == {
        "kernel.fair_server_runtime_ns": 50_000_000,
        "kernel.fair_server_period_ns": 1_000_000_000,
    }
    assert server(1, "0") == server(1, "50000000", "500000000") == server(1, "some") == {}
    server(0, "0")
    assert server(1, "0")["kernel.fair_server_runtime_ns"] == 0


def test_huge_pages(machine: Root) -> None:
    assert "memory.transparent_hugepage" not in machine.facts()
    machine.write("sys/kernel/mm/ksm/run", "0\n")
    assert machine.facts()["memory.transparent_hugepage"] is None
    machine.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
    assert machine.facts()["memory.transparent_hugepage"] == "always"


def test_budgets_and_who_is_granted_what(machine: Root) -> None:
    machine.write("proc/self/cgroup", "2:cpu,cpuacct:/user/one\n0::/\n")
    machine.write("sys/fs/cgroup/cpu,cpuacct/user/one/cpu.rt_runtime_us", "0\n")
    machine.write("etc/security/limits.conf", "# @no - rtprio 9\n@audio - rtprio 95 # yes\n")
    machine.write("etc/security/limits.d/x.conf", "bob hard rtprio 10\nbob soft rtprio 3\n")
    machine.write("etc/security/limits.d/x.conf.bak", "eve - rtprio 99\n")
    facts = machine.facts()
    assert facts["limits.group_rt_runtime_us"] == 0
    assert facts["limits.group_path"] == "/sys/fs/cgroup/cpu,cpuacct/user/one"
    assert facts["limits.granted_rtprio"] == "@audio=95, bob=10"


def test_stolen_time_and_mitigations(machine: Root) -> None:
    machine.write("proc/stat", "cpu  100 0 100 797 0 0 0 3 0 0\ncpu0 1 1\n")
    machine.write(f"{CPU}/vulnerabilities/mds", "Mitigation: Clear CPU buffers\n")
    machine.write(f"{CPU}/vulnerabilities/l1tf", "Not affected\n")
    machine.write(f"{CPU}/vulnerabilities/itlb", "KVM: Mitigation: VMX disabled\n")
    facts = machine.facts()
    assert facts["virtual.steal_ppm"] == 3000
    assert facts["kernel.mitigations_count"] == 2


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])
def test_inflate_undoes_deflate(level: int, strategy: int) -> None:
    text = b"".join(b"CONFIG_%d=%d\n" % (n, n * n % 97) for n in range(20_000)) + bytes(range(256))
    packer = zlib.compressobj(level, wbits=-15, strategy=strategy)
    packed = packer.compress(text) + packer.flush()
    assert _inflate(packed) == (0, text)
    code, got = _inflate(packed[: len(packed) // 2])
    assert (code, got) == (1, b"")


def test_inflate_survives_garbage() -> None:
    packer = zlib.compressobj(9, wbits=-15)
    packed = bytearray(packer.compress(b"CONFIG_A=y\n" * 3000) + packer.flush())
    for at in range(len(packed)):
        spoilt = bytearray(packed)
        spoilt[at] ^= 0x55
        assert _inflate(bytes(spoilt))[0] in (0, 1)


def _inflate(packed: bytes) -> tuple[int, bytes]:
    done = subprocess.run([TOOL, "--inflate"], input=packed, capture_output=True, check=False)
    return done.returncode, done.stdout


def test_the_device_tree_names_what_nothing_else_does(machine: Root) -> None:
    machine.write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\n")
    machine.write("proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0")
    facts = machine.facts()
    named = {facts[f"machine.{what}"] for what in ("cpu_model", "board", "product")}
    assert named == {"Raspberry Pi 5 Model B Rev 1.0"}


ARM_CPUINFO = (Path(__file__).parent / "samples" / "cpuinfo-cortex-a57.txt").read_text()


def midr(machine: Root, cpu: int, value: int) -> None:
    folder = f"{CPU}/cpu{cpu}/regs/identification"
    machine.write(f"{folder}/midr_el1", f"0x{value:016x}\n")


@pytest.mark.parametrize(
    ("values", "model"),
    [
        ([0x411FD070, 0x411FD070], "Cortex-A57"),
        ([0x410FD034, 0x410FD083], "Cortex-A53, Cortex-A72"),
        ([0x413FD0C1], "Neoverse N1"),
        ([0x414FD0B1], "Cortex-A76"),
        ([0x000F0510], "QEMU max"),
        ([0x611F0221, 0x611F0231], "Apple M1 Icestorm, Apple M1 Firestorm"),
        ([0x7A1FABC0], "ARM implementer 0x7a part 0xabc"),
    ],
)
def test_arm_processors_by_their_registers(machine: Root, values: list[int], model: str) -> None:
    machine.cpus(f"0-{len(values) - 1}" if len(values) > 1 else "0")
    machine.write("proc/cpuinfo", ARM_CPUINFO)
    machine.write("proc/device-tree/model", "linux,dummy-virt\0")
    for cpu, value in enumerate(values):
        midr(machine, cpu, value)
    facts = machine.facts()
    assert facts["machine.cpu_model"] == model
    assert facts["machine.product"] == "linux,dummy-virt"


def test_an_arm_processor_by_cpuinfo(machine: Root) -> None:
    machine.cpus().write("proc/cpuinfo", ARM_CPUINFO)
    machine.write("proc/device-tree/model", "linux,dummy-virt\0")
    assert machine.facts()["machine.cpu_model"] == "Cortex-A57"


def test_the_processor_comes_before_the_board_in_cpuinfo(machine: Root) -> None:
    machine.write("proc/cpuinfo", ARM_CPUINFO + "Model\t\t: Raspberry Pi 4 Model B Rev 1.1\n")
    assert machine.facts()["machine.cpu_model"] == "Cortex-A57"


def test_what_cpuinfo_and_dmi_name_comes_first(machine: Root) -> None:
    machine.write("proc/cpuinfo", "model name\t: A Processor\n")
    machine.write("sys/class/dmi/id/board_name", "A Board\n")
    machine.write("proc/device-tree/model", "Raspberry Pi 5 Model B Rev 1.0\0")
    facts = machine.facts()
    assert (facts["machine.cpu_model"], facts["machine.board"]) == ("A Processor", "A Board")


def test_emulation_is_told_with_its_reason(machine: Root) -> None:
    facts = machine.facts()
    assert facts["virtual.emulated"] in (True, False, None)
    assert facts["virtual.emulated_reason"]
    assert facts["virtual.time"] is None


@pytest.mark.parametrize("word", ["tcg", "icount"])
def test_the_lab_says_that_a_guest_is_emulated(machine: Root, word: str) -> None:
    machine.write("proc/cmdline", f"console=ttyAMA0 quiet hardstone.lab={word}\n")
    facts = machine.facts()
    assert facts["virtual.emulated"] is True
    assert f"hardstone.lab={word}" in str(facts["virtual.emulated_reason"])
    assert facts["virtual.time"] == ("instructions" if word == "icount" else None)
    assert machine.state("emulation") == "found"
