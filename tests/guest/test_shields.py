"""A shield in control groups of version 2: what it changes in a whole machine, and what it leaves.

One boot serves all tests: each compares the machine with what it found, in place of a snapshot."""

from __future__ import annotations

import json
import signal

from hardstone.targets.lab import LabTransport
from tests.guest.called import call, shell

# CPUs of every process that is not a thread of the kernel, and of every interrupt.
PLACES = """
for one in /proc/[0-9]*; do
    [ -e $one/exe ] && echo "process ${one#/proc/} $(grep Cpus_allowed_list $one/status)"
done 2>/dev/null | sed 's/Cpus_allowed_list:.//'
for one in /proc/irq/[0-9]*; do
    echo "interrupt ${one#/proc/irq/} $(cat $one/smp_affinity_list)"
done
"""
RESERVED, OTHER = "1", "0"
LOOKS = 300


def shown(guest: LabTransport) -> dict[str, object]:
    found: dict[str, object] = json.loads(call(guest, "shield", "--show", "--json")[1])
    return found


def test_a_shield_is_undone(guest: LabTransport) -> None:
    before = shown(guest)
    script = "cat /sys/fs/cgroup/*/cpuset.cpus.partition; exit 7"
    code, partition = call(guest, "shield", "--", "sh", "-c", script)
    assert (code, partition.split()) == (7, ["root"])
    assert shown(guest) == before


def test_a_killed_shield_is_undone(guest: LabTransport) -> None:
    before = shown(guest)
    assert call(guest, "shield", "--", "sh", "-c", "kill -9 $PPID")[0] == 128 + signal.SIGKILL
    # By its guard. Each look gives the guest time.
    looks = (shown(guest) for _ in range(LOOKS))
    assert any(state == before for state in looks)


def places(said: str) -> dict[tuple[str, str], str]:
    """CPUs by kind and number."""
    return {(kind, number): cpus for kind, number, cpus in map(str.split, said.splitlines())}


def test_a_shield_moves_all_others_and_puts_them_back(guest: LabTransport) -> None:
    before = places(shell(guest, PLACES))
    code, said = call(guest, "shield", "--cpu", RESERVED, "--", "sh", "-c", f"echo $$; {PLACES}")
    own, _, rest = said.partition("\n")
    during = places(rest)
    assert code == 0
    assert during.pop(("process", own)) == RESERVED
    everywhere = {key for key in before.keys() & during.keys() if before[key] == "0-1"}
    processes = {key for key in everywhere if key[0] == "process"}
    assert ("process", "1") in processes
    assert {during[key] for key in processes} == {OTHER}
    assert OTHER in {during[key] for key in everywhere - processes}
    after = places(shell(guest, PLACES))
    lasting = before.keys() & after.keys()
    assert {key: after[key] for key in lasting} == {key: before[key] for key in lasting}
