"""A shield and cpusets that others make: inside of its own, or with a CPU to themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.host.odd import movable_interrupts, process
from tests.host.shield_state import JOURNAL, State, cpuset_mount, read_state
from tests.host.shielding import (
    FOREVER,
    GIVE_UP_S,
    QUICK,
    RESERVED,
    SHIELD_MARKS,
    all_is_back,
    command,
    shielded,
)
from tests.running import run

pytestmark = SHIELD_MARKS


@pytest.fixture
def mount() -> Path:
    found = cpuset_mount()
    if found is None or found[0] != "v1":
        pytest.skip("no cpusets of version 1")
    return found[1]


def group_in(outer: Path, name: str, member: int) -> None:
    """A group with the CPUs of the one around it, and a process in it."""
    inner = outer / name
    inner.mkdir()
    for file in ("cpuset.mems", "cpuset.cpus"):
        (inner / file).write_text((outer / file).read_text())
    (inner / "tasks").write_text(str(member))


@pytest.mark.parametrize("end", ["alone", "killed"])
def test_groups_inside_of_the_shields_own(
    probe: Path, mount: Path, before: State, end: str
) -> None:
    everywhere = os.sched_getaffinity(0)
    ours = [mount / f"hardstone-{name}" for name in ("others", "reserved")]
    with ExitStack() as stack:
        members = [stack.enter_context(process("sleep", "60")) for _ in range(3)]
        with shielded(command(probe, *FOREVER)) as shield:
            group_in(ours[0], "x", members[0])
            group_in(ours[0] / "x", "y", members[1])
            group_in(ours[1], "x", members[2])
            if end == "killed":
                shield.kill()
            else:
                shield.terminate()
            shield.communicate(timeout=GIVE_UP_S)
            all_is_back(before)
        assert [os.sched_getaffinity(member) for member in members] == [everywhere] * 3
        assert not any(group.exists() for group in ours)


def test_a_command_that_makes_a_group_in_its_own(probe: Path, mount: Path, before: State) -> None:
    words = command(probe, "mkdir", str(mount / "hardstone-reserved" / "sub"))
    done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=False)
    assert done.returncode == 0 and b" failed" not in done.stderr, done.stderr
    all_is_back(before)


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def where_it_is_read_only(place: Path) -> list[str]:
    """Before a command: it sees the place so, and nobody else does."""
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    return ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(place)]


def test_a_shielded_run_without_cpusets_is_none(probe: Path, mount: Path, before: State) -> None:
    """The journal can be made and the rest be set, but that it all rests on is refused."""
    prefix = where_it_is_read_only(mount)
    stream = run(probe, "TMR-P-LAT", *QUICK, "--cpu-config", "shielded", prefix=prefix)
    assert stream.result.status == "denied" and stream.sample_count == 0
    assert "cpuset: " in (stream.result.reason or "")
    assert "Read-only file system" in (stream.result.reason or "")
    all_is_back(before)


@pytest.mark.parametrize(("ending", "code"), [("true", 70), ("exit 41", 41)])
def test_the_exit_code_when_not_all_could_be_put_back(
    probe: Path, before: State, ending: str, code: int
) -> None:
    """COMMAND itself makes /proc/irq read-only for the shield. Its own failure goes first."""
    if not movable_interrupts() or not shutil.which("unshare"):
        pytest.skip("no interrupt can be moved here, or unshare is not installed")
    irq = "/proc/irq"
    bind = f"mount --bind {irq} {irq} && mount -o remount,bind,ro {irq} && {ending}"
    words = ["unshare", "-m", *command(probe, "sh", "-c", bind)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=GIVE_UP_S, check=False)
        assert b"is not fully given back: " in done.stderr, done.stderr
        assert JOURNAL.exists()
        assert done.returncode == code, done.stderr
    finally:
        subprocess.run([probe, "shield", "--restore"], capture_output=True, check=True)
    all_is_back(before)


@contextmanager
def exclusive(mount: Path, cpu: int) -> Iterator[Path]:
    group = mount / f"hardstone-exclusive-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpuset.mems").write_text((mount / "cpuset.mems").read_text())
        (group / "cpuset.cpus").write_text(str(cpu))
        try:
            (group / "cpuset.cpu_exclusive").write_text("1")
        except OSError:
            pytest.skip("groups of this machine share that CPU")
        yield group
    finally:
        group.rmdir()


def test_a_cpu_that_somebody_has_to_himself(probe: Path, mount: Path) -> None:
    """Without the odd values, which have a group with that CPU."""
    before = read_state()
    with exclusive(mount, RESERVED) as group:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 5, done.stderr
        (line,) = done.stderr.decode().splitlines()
        assert f"cpuset: {group} has the CPU to itself" in line
        assert "choose another one with --cpu" in line
        assert (group / "cpuset.cpus").read_text().strip() == str(RESERVED)
        stream = run(probe, "TMR-P-LAT", *QUICK, "--cpu-config", "shielded")
        assert stream.result.status == "denied" and str(group) in (stream.result.reason or "")
    all_is_back(before)


def test_the_other_cpus_that_somebody_has_to_himself(probe: Path, mount: Path) -> None:
    before = read_state()
    if len(os.sched_getaffinity(0)) != 2:
        pytest.skip("with more CPUs some are left")
    with exclusive(mount, min(os.sched_getaffinity(0))) as group:
        done = subprocess.run(command(probe, "true"), capture_output=True, check=False)
        assert done.returncode == 5, done.stderr
        assert (
            f"cpuset: {group} has the only CPUs left for other tasks to itself"
            in done.stderr.decode()
        )
    all_is_back(before)
