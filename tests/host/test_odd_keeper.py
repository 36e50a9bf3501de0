"""Tests that are killed leave no odd values behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.host.odd import odd_values
from tests.host.shield_state import cpuset_mount, differences, read_state
from tests.host.shielding import GIVE_UP_S, RESERVED, SHIELD_MARKS, assert_same
from tests.running import has_ended
from tests.waiting import wait_until

pytestmark = SHIELD_MARKS
ROOT = Path(__file__).resolve().parents[2]
SET_THEM = """
import time
from tests.host.odd import odd_values
with odd_values(int(__import__("sys").argv[1])) as odd:
    print(odd.busy, odd.grouped, odd.pinned, flush=True)
    time.sleep(60)
"""


def test_values_come_back_when_the_tests_are_killed() -> None:
    before = read_state()
    words = [sys.executable, "-c", SET_THEM, str(RESERVED)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT) as tests:
        assert tests.stdout is not None
        started = [int(word) for word in tests.stdout.readline().split()]
        assert differences(before, read_state()) != []
        tests.send_signal(signal.SIGKILL)
        tests.wait(timeout=GIVE_UP_S)
    wait_until(lambda: all(has_ended(pid) for pid in started), "its processes go on")
    wait_until(lambda: differences(before, read_state()) == [], "odd values are left")
    mount = cpuset_mount()
    assert mount is None or not list(mount[1].glob("hardstone-odd-*"))


def test_values_come_back_as_ever() -> None:
    before = read_state()
    with odd_values(RESERVED) as odd:
        assert differences(before, read_state()) != []
        assert os.sched_getaffinity(odd.pinned) == {RESERVED}
    assert_same(before)
