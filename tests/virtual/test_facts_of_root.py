"""Facts of machines that this is not: the port is shown files that were made up, and the toolkit
reads what it sends of them."""

from __future__ import annotations

import json
import re
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
        place.unlink(missing_ok=True)
        place.symlink_to(to)
        return self

    def namespaces(self, **changed: int) -> Root:
        for kind, number in {**INITIAL, **changed}.items():
            self.link(f"proc/self/ns/{kind}", f"{kind}:[{number}]")
        return self

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
            path, sign, text = re.split(r"(: |:$| -> )", line, maxsplit=1)
            steps[-1][0][path] = sign.strip(": ") + text.encode().decode("unicode_escape")
    assert all(facts for steps in machines.values() for _, facts in steps)
    return machines


MACHINES = made_up()


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(machine: Root, name: str) -> None:
    for files, wanted in MACHINES[name]:
        for path, text in files.items():
            if text.startswith("->"):
                machine.link(path, text.removeprefix("->"))
            else:
                machine.write(path, text if text.endswith("\0") else f"{text}\n")
        facts = machine.facts()
        found = {
            key: facts.get(key, ABSENT) if "." in key else state_of(key, facts) for key in wanted
        }
        assert found == wanted, files


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
