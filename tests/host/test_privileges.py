"""Who has no right is refused, and who is granted one gets that: each claim fails on a libc that
answers otherwise."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamEvent
from tests import machine
from tests.host.test_signals import failing, on
from tests.running import Stream, run

root = pytest.mark.skipif(machine.no_other_user() is not None, reason=str(machine.no_other_user()))
limits = pytest.mark.skipif(machine.no_prlimit() is not None, reason=str(machine.no_prlimit()))

CALLS = {f"refused/{right}" for right in ("realtime", "memory_lock", "nice", "io_realtime")}
FILES = {f"refused/{right}" for right in ("affinity", "offline", "cpuset")}
GRANTS = {f"granted/{right}" for right in ("realtime", "memory_lock", "nice")}
CAPABILITIES = {"granted/cap_sys_nice", "granted/cap_ipc_lock"}

# Verdicts that must fail, and no others. Limits are the library's: not every root may raise
# one.
BREACHES = [
    ("prv_own", set()),
    (
        "prv_own,prv_realtime",
        {
            "refused/realtime",
            "granted/realtime",
            "granted/memory_lock",
            "granted/nice",
            "granted/cap_ipc_lock",
        },
    ),
    (
        "prv_own,prv_lock",
        {
            "refused/memory_lock",
            "granted/realtime",
            "granted/memory_lock",
            "granted/cap_sys_nice",
        },
    ),
    ("prv_own,prv_nice", {"refused/nice", "granted/nice"}),
    ("prv_own,prv_io", {"refused/io_realtime"}),
    ("prv_own,prv_affinity", {"refused/affinity"}),
    ("prv_own,prv_open", {"refused/offline", "refused/cpuset"}),
    ("prv_one_more", GRANTS),
    ("prv_one_less", GRANTS),
    ("prv_nothing", {"refused/memory_lock"} | GRANTS | CAPABILITIES),
    ("prv_own,prv_sys_admin", CAPABILITIES),
]


def missing() -> set[str]:
    """What this machine has nothing of, such as a file that takes a CPU offline."""
    found = set()
    if not list(Path("/sys/devices/system/cpu").glob("cpu*/online")):
        found.add("refused/offline")
    groups = Path("/sys/fs/cgroup")
    if not ((groups / "cgroup.subtree_control").exists() or (groups / "cpuset/tasks").exists()):
        found.add("refused/cpuset")
    return found


def measured(probe: Path, quick: list[str], *words: str, libc: dict[str, str]) -> Stream:
    stream = run(probe, "PRV-B-GRP", *words, *quick, variables=libc)
    assert stream.code == stream.told_code, stream.stderr
    return stream


@root
@pytest.mark.parametrize(("breach", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_signals: Path, quick: list[str], breach: str, fail: set[str]
) -> None:
    stream = measured(shared_probe, quick, libc=on(broken_signals, breach))
    told = {event.split(": ")[0] for event in texts(stream, "right_not_tried")}
    assert failing(stream) == fail - told
    assert set(stream.verdicts) | told == CALLS | FILES | GRANTS | CAPABILITIES
    assert told <= missing() | {"refused/io_realtime"}


def texts(stream: Stream, name: str) -> list[str]:
    return [event.text for event in stream.of(StreamEvent) if event.name == name]


@root
def test_what_root_is_refused_as_well_is_no_answer(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    stream = measured(shared_probe, quick, libc=on(broken_signals, "prv_own,prv_filter"))
    assert "refused/io_realtime" not in stream.verdicts
    told = texts(stream, "right_not_tried")
    assert any("refused/io_realtime: root is refused it as well" in text for text in told)


@root
def test_root_that_cannot_become_another_user(
    shared_probe: Path, broken_signals: Path, quick: list[str]
) -> None:
    """As in a user namespace that has one user."""
    stream = measured(shared_probe, quick, libc=on(broken_signals, "prv_own,prv_stuck"))
    assert stream.result.status == "denied"
    assert "-p user=" in str(stream.result.remedy)
    assert stream.verdicts == {}
    assert all("becoming an ordinary user" in text for text in texts(stream, "right_not_tried"))


@root
@limits
def test_an_ordinary_user_answers_for_himself(open_probe: Path, quick: list[str]) -> None:
    """Nobody can grant him anything: that is said, and is no verdict."""
    prefix = machine.as_nobody()
    stream = run(open_probe, "PRV-B-GRP", *quick, prefix=prefix)
    assert failing(stream) == set()
    assert set(stream.verdicts) >= CALLS | {"refused/affinity"}
    told = texts(stream, "right_not_tried")
    for name in ("granted/realtime", *CAPABILITIES):
        assert name not in stream.verdicts
        (text,) = [one for one in told if one.startswith(name)]
        assert "root" in text


@root
@limits
def test_process_1_may_be_the_callers_own(open_probe: Path, quick: list[str]) -> None:
    """As in a container that runs as an ordinary user."""
    space = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("unshare makes no space of processes here")
    shell = ["bash", "-c", '"$0" "$@"; exit $?']
    stream = run(open_probe, "PRV-B-GRP", *quick, prefix=[*space, *machine.as_nobody(), *shell])
    assert failing(stream) == set()
    assert "refused/affinity" not in stream.verdicts
    told = texts(stream, "right_not_tried")
    assert any(text.startswith("refused/affinity: process 1 is") for text in told)


@root
def test_the_machine_is_as_it_was(probe: Path, quick: list[str]) -> None:
    """Neither the limits, the nice value and the affinity of who calls, nor a CPU has changed."""

    def state() -> tuple[object, ...]:
        online = Path("/sys/devices/system/cpu/online").read_text()
        return os.nice(0), os.sched_getaffinity(0), os.sched_getscheduler(0), online

    before = state()
    measured(probe, quick, libc={})
    assert state() == before


@root
@pytest.mark.parametrize("user", ["1", "4242", "65534"])
def test_any_user_will_do(probe: Path, quick: list[str], user: str) -> None:
    stream = measured(probe, quick, "-p", f"user={user}", libc={})
    assert failing(stream) == set()
    assert set(stream.verdicts) >= CALLS | CAPABILITIES
