"""The journal of a shield in control groups of version 2."""

from __future__ import annotations

import json
import signal
import time

from hardstone.targets.lab import LabTransport
from tests.guest.called import call


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
    until = time.monotonic() + 60
    while shown(guest)["state"] != "free" and time.monotonic() < until:
        call(guest, "shield", "--restore")
    assert shown(guest) == before
