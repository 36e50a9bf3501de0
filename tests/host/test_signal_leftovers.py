"""A probe that is killed in a test of signals, rights or the power-fail notice leaves no process,
no name and no signal."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests import machine
from tests.host.test_lock_leftovers import (
    A_MOMENT_S,
    LONG,
    at_work,
    followers,
    names_of,
    none_is_alive,
)
from tests.running import children, measuring
from tests.waiting import soon

# Alone: the queued signals of all processes of a user are counted together, and test_signals.py
# fills the queue.
realtime = pytest.mark.skipif(machine.no_realtime() is not None, reason=str(machine.no_realtime()))

CASES = [
    ("SIG-P-LAT", ["-p", "receivers=handler", "-p", "scopes=process"], 2),
    ("SIG-P-LAT", ["-p", "receivers=sigwaitinfo", "-p", "scopes=process"], 2),
    ("SIG-B-QUE", ["-p", "receivers=handler", "-p", "scopes=process"], 2),
    ("SIG-B-QUE", ["-p", "receivers=sigwaitinfo", "-p", "scopes=process"], 2),
    ("PWR-B-SIG", [], 3),
]


def queued_count() -> int:
    """Signals that are queued for this user, by whatever process."""
    line = Path("/proc/self/status").read_text().partition("\nSigQ:")[2].split()[0]
    return int(line.partition("/")[0])


@realtime
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(("test", "words", "count"), CASES)
def test_nothing_is_left(
    probe: Path, test: str, words: list[str], count: int, end: signal.Signals
) -> None:
    with at_work(probe, test, count, *LONG, *words) as (running, helpers):
        time.sleep(A_MOMENT_S)
        running.process.send_signal(end)
        running.process.wait(60)
    assert soon(partial(none_is_alive, helpers))
    assert names_of(running.pid) == set()
    assert soon(lambda: queued_count() < 1000)


@realtime
def test_the_trial_of_a_right_ends_with_the_probe(probe: Path) -> None:
    """It has another user, which takes from it that it dies with its parent: it asks again."""
    seen: set[int] = set()
    for after_s in (0, 0.003, 0.006, 0.01, 0.02, 0.03):
        with measuring(probe, "PRV-B-GRP", *LONG) as running:
            soon(lambda running=running: children(running.pid) != set())  # type: ignore[misc]
            time.sleep(after_s)
            seen |= children(running.pid)
            running.process.kill()
            running.process.wait(60)
        assert soon(partial(none_is_alive, seen))
        assert names_of(running.pid) == set()


@realtime
@pytest.mark.parametrize(("test", "words", "count"), CASES)
def test_who_waits_for_a_killed_process_is_given_up(
    probe: Path, test: str, words: list[str], count: int
) -> None:
    with at_work(probe, test, count, *LONG, *words) as (running, _):
        time.sleep(A_MOMENT_S)
        for helper in sorted(followers(running))[-1:]:  # none: it has ended by itself
            with suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)
        result = running.rest().result
    assert result.status == "failed"
    assert "ended early" in str(result.reason)
