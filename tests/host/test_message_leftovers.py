"""A probe that is killed while it has message queues, FIFOs, sockets and a second process leaves
nothing of it."""

from __future__ import annotations

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.host.test_lock_leftovers import (
    A_MOMENT_S,
    GONE_S,
    HERE,
    LONG,
    after_a_kill,
    at_work,
    has_ended,
    has_measured,
    names_of,
    none_is_alive,
)
from tests.running import measuring
from tests.waiting import soon

KINDS = ["mq", "pipe", "fifo", "unix", "sysv", "ring"]
SYSV = Path("/proc/sysvipc/msg")


def queues_of(pid: int, folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if f"hardstone-{pid}-" in path.name}


def sysv_of_this_user() -> set[str]:
    """Ids of the System V queues, with their keys."""
    if not SYSV.exists():
        return set()
    fields = [line.split() for line in SYSV.read_text().splitlines()[1:]]
    return {f"{one[0]}/{one[1]}" for one in fields if int(one[7]) == os.geteuid()}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", ["MSG-P-LAT", "MSG-P-THR"])
def test_nothing_is_left(
    probe: Path, queues: Path, scratch: Path, test: str, kind: str, end: signal.Signals
) -> None:
    before = sysv_of_this_user()
    words = ["-p", f"kinds={kind}", "-p", "scopes=process", "-p", "sizes_bytes=64"]
    with at_work(probe, test, 2, *LONG, *words) as (running, helpers):
        time.sleep(A_MOMENT_S)
        running.process.send_signal(end)
        running.process.wait(GONE_S)
    assert soon(partial(none_is_alive, helpers))
    assert names_of(running.pid) | queues_of(running.pid, queues) == set()
    assert list(scratch.iterdir()) == []
    assert soon(lambda: sysv_of_this_user() <= before)


@pytest.mark.parametrize("kind", ["mq", "sysv"])
def test_nothing_is_left_of_verdicts(probe: Path, queues: Path, kind: str) -> None:
    """At several moments of its second."""
    before = sysv_of_this_user()
    words = ["-p", f"kinds={kind}", *HERE]
    for after_s in (0.0, 0.003, 0.01, 0.03, 0.1):
        with measuring(probe, "MSG-B-PRI", *words) as running:
            time.sleep(after_s)
            running.process.kill()
            running.process.wait(GONE_S)
        assert soon(lambda: sysv_of_this_user() <= before)
        assert soon(lambda pid=running.pid: not queues_of(pid, queues) | names_of(pid))


@pytest.mark.parametrize(
    ("breach", "kind"), [("mq_stays", "mq"), ("fifo_stays", "fifo")], ids=["mq", "fifo"]
)
def test_a_kill_between_making_a_name_and_removing_it(
    shared_probe: Path,
    broken_libc: Path,
    queues: Path,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    breach: str,
    kind: str,
) -> None:
    words = ["-p", f"kinds={kind}", "-p", "scopes=thread"]

    def names(pid: int) -> set[str]:
        return queues_of(pid, queues) | {path.name for path in scratch.glob("*/hardstone-*")}

    monkeypatch.setenv("HARDSTONE_BROKEN", breach)
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    with measuring(shared_probe, "MSG-P-LAT", *LONG, *words) as running:
        monkeypatch.delenv("LD_PRELOAD")
        assert soon(lambda: bool(names(running.pid)) or has_ended(running))
        running.process.kill()
        running.process.wait(GONE_S)
    assert soon(lambda: not names(running.pid) and not list(scratch.iterdir()))


@pytest.mark.parametrize("kind", KINDS)
def test_who_waits_for_a_killed_process_is_given_up(probe: Path, scratch: Path, kind: str) -> None:
    """At once, not at the deadline; what was measured is kept."""
    words = ["-p", f"kinds={kind}", "-p", "scopes=process", "-p", "sizes_bytes=64"]
    stream = after_a_kill(
        probe, "MSG-P-LAT", *LONG, *words, first=lambda running, _: has_measured(running)
    )
    assert stream.code == 3 and stream.sample_count > 0
    assert stream.result.status == "failed"
    assert stream.result.reason == "the process of the second party ended early"
    assert soon(lambda: list(scratch.iterdir()) == [])
