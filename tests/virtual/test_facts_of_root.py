"""Facts of machines that this is not: the port is shown files that were made up, and the toolkit
reads what it sends of them."""

from __future__ import annotations

import json
import subprocess
import zlib
from pathlib import Path

import pytest

from hardstone.doctor.diagnose import diagnose
from hardstone.model import Facts, Scalar
from hardstone.targets.probe_target import decode_facts
from tests.conftest import PROBE
from tests.unit.test_facts import check_value

TOOL = PROBE.parent / "tests" / "hardstone-facts-of-root"
CPU = "sys/devices/system/cpu"
INITIAL = {"pid": 4026531836, "user": 4026531837, "cgroup": 4026531835, "mnt": 4026531832}
DYNAMIC = "6.1.0\n#1 SMP PREEMPT_DYNAMIC Debian\n"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="no hardstone-facts-of-root: ninja")


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
        found = self.document().facts
        for name, value in found.items():
            check_value(name, value)
        return found

    def document(self) -> Facts:
        done = subprocess.run([TOOL, self.folder], capture_output=True, check=True)
        return decode_facts(done.stdout)

    def state(self, rule: str) -> str:
        return state_of(rule, self.facts())


def state_of(rule: str, facts: dict[str, Scalar]) -> str:
    return next(one.state for one in diagnose(facts).findings if one.rule == rule)


@pytest.fixture
def machine(tmp_path: Path) -> Root:
    return Root(tmp_path)


SAMPLES = Path(__file__).parent / "samples"
ARM_CPUINFO = (SAMPLES / "cpuinfo-cortex-a57.txt").read_text()
ABSENT = "not reported"
Step = tuple[dict[str, str], dict[str, Scalar]]


def made_up() -> dict[str, list[Step]]:
    """Files and what is to be found then, step by step."""
    machines: dict[str, list[Step]] = {}
    steps: list[Step] = []
    for line in (SAMPLES / "machines.txt").read_text().splitlines()[3:]:
        if line.startswith("== "):
            steps = machines[line[3:]] = []
        elif line.startswith(" "):
            name, _, value = line.strip().partition(" = ")
            steps[-1][1][name] = json.loads(value)
        elif line:
            if not steps or steps[-1][1]:
                steps.append(({}, {}))
            path, _, text = line.partition(": ")
            steps[-1][0][path.rstrip(":")] = text.encode().decode("unicode_escape")
    return machines


MACHINES = made_up()


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(machine: Root, name: str) -> None:
    for files, wanted in MACHINES[name]:
        for path, text in files.items():
            machine.write(path, text if text.endswith("\0") else f"{text}\n")
        facts = machine.facts()
        found = {
            key: facts.get(key, ABSENT) if "." in key else state_of(key, facts) for key in wanted
        }
        assert found == wanted, files


def test_an_empty_machine_tells_nothing_that_looks_fine(machine: Root) -> None:
    facts = machine.facts()
    for name in ("power.governors", "tracing.tracer", "kernel.isolated_cpus", "cpu.smt"):
        assert name not in facts
    for rule in ("governor", "tracing", "swap", "tasks", "container", "isolated-cpus", "ticks"):
        assert machine.state(rule) == "unknown", rule


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
    """It comes before the board."""
    machine.cpus().write("proc/device-tree/model", "linux,dummy-virt\0")
    for more in ("", "Model\t\t: Raspberry Pi 4 Model B Rev 1.1\n"):
        machine.write("proc/cpuinfo", ARM_CPUINFO + more)
        assert machine.facts()["machine.cpu_model"] == "Cortex-A57"


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
