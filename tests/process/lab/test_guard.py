"""The guard of a guest, with a program that only sleeps for QEMU, and the guest's folder: it goes
when nobody lives for it any more."""

from __future__ import annotations

import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hardstone.lab.lab_folder import make_guest_folder, remove_abandoned_guests
from hardstone.lab.qemu import guard_command
from hardstone.targets.host_memory import remove_abandoned
from tests.running import has_ended
from tests.waiting import LONGEST_S, wait_until

MOST_BYTES = 1 << 20
SLEEPS = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(1000)"


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    folder, lock = make_guest_folder(tmp_path)
    try:
        yield folder, lock
    finally:
        os.close(lock)


@pytest.fixture
def folder(locked: tuple[Path, int]) -> Path:
    return locked[0]


@pytest.fixture
def guard(locked: tuple[Path, int]) -> Iterator[subprocess.Popen[bytes]]:
    yield from started(*locked)


def started(
    folder: Path, lock: int, program: str = SLEEPS, *, on_one_cpu: bool = False
) -> Iterator[subprocess.Popen[bytes]]:
    guarding = guard_command(folder, lock, MOST_BYTES, on_one_cpu=on_one_cpu)
    words = [*guarding, sys.executable, "-IS", "-c", program]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[lock])
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until_started(folder: Path) -> int:
    def said() -> str:
        path = folder / "qemu"
        return path.read_text() if path.exists() else ""

    return int(wait_until(lambda: said().endswith("\n") and said(), "it did not start"))


def until_gone(pid: int) -> None:
    wait_until(lambda: has_ended(pid), "it is still there")


@pytest.mark.parametrize("end", ["the tool", "a request", "a kill"])
def test_the_end_of_tool_or_guard_ends_the_guest_and_removes_its_folder(
    folder: Path, guard: subprocess.Popen[bytes], end: str
) -> None:
    pid = until_started(folder)
    if end == "the tool":
        guard.communicate(timeout=LONGEST_S)  # closes the pipe, as the kernel does after a kill
    elif end == "a request":
        guard.terminate()
        guard.wait(LONGEST_S)
    else:
        guard.kill()
    until_gone(pid)
    assert folder.exists() == (end == "a kill")


def test_the_lock_is_the_guard_s_and_not_the_guest_s(tmp_path: Path) -> None:
    """After a kill of tool and guard nobody holds it, whatever became of the guest."""
    folder, lock = make_guest_folder(tmp_path)
    for guard in started(folder, lock):
        os.close(lock)  # as at the end of the tool
        pid = until_started(folder)
        held = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
        assert str(folder) not in held
        remove_abandoned_guests(tmp_path)
        assert folder.exists()
        guard.kill()
        guard.wait(LONGEST_S)
        remove_abandoned_guests(tmp_path)
        assert not folder.exists()
        until_gone(pid)


def test_a_guest_that_writes_without_end_is_ended(locked: tuple[Path, int]) -> None:
    folder, lock = locked
    program = (
        "import os, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "print(os.getpid(), file=sys.stderr, flush=True)\n"
        f"open({str(folder / 'console')!r}, 'wb').write(bytes({2 * MOST_BYTES}))\nsignal.pause()"
    )
    for guard in started(folder, lock, program):
        until_gone(until_started(folder))  # by itself: at the end of the tool its guard kills it
        assert (folder / "console").stat().st_size == MOST_BYTES
        guard.communicate(timeout=LONGEST_S)
        assert guard.returncode == 128 + signal.SIGXFSZ


@pytest.mark.parametrize("on_one_cpu", [False, True])
def test_a_guest_that_counts_instructions_has_one_cpu(
    locked: tuple[Path, int], on_one_cpu: bool
) -> None:
    """Its guard has all that there were: that it takes one is over when QEMU has begun."""
    own = os.sched_getaffinity(0)
    for guard in started(*locked, on_one_cpu=on_one_cpu):
        pid = until_started(locked[0])
        assert os.sched_getaffinity(pid) == ({max(own)} if on_one_cpu else own)
        wait_until(lambda pid=guard.pid: os.sched_getaffinity(pid) == own)


# Its folder


@pytest.mark.parametrize("is_next_command", [False, True])
def test_a_folder_without_a_lock_goes_and_what_is_linked_elsewhere_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_next_command: bool
) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path))
    folder, lock = make_guest_folder(tmp_path)
    (folder / "recording").write_bytes(b"values")
    run = tmp_path / "hardstone-20260101T000000Z-abcdef-x"
    run.mkdir()
    os.link(folder / "recording", run / "1.rec")
    remove_abandoned_guests(tmp_path)
    assert (folder / "recording").exists()
    os.close(lock)
    if is_next_command:
        remove_abandoned(tmp_path / "store" / "journals")
    else:
        remove_abandoned_guests(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [run.name]
    assert (run / "1.rec").read_bytes() == b"values"


def test_only_folders_of_this_kind_and_user_go(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (tmp_path / "hardstone-lab-link").symlink_to(elsewhere)
    (tmp_path / "hardstone-lab-file").touch()
    (tmp_path / "hardstone-other").mkdir()
    if os.geteuid() == 0:
        folder, lock = make_guest_folder(tmp_path)
        os.close(lock)
        os.chown(folder, 65534, 65534)
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned_guests(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


CALLS = ("hardstone.lab.lab_folder.tempfile.mkdtemp", "os.open", "fcntl.flock", "os.stat")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_before", [True, False])
def test_in_a_race_nobody_loses_a_folder_and_none_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_before: bool
) -> None:
    """Another process removes abandoned folders between two calls of the one that makes its own."""
    removed = []

    def clean() -> None:
        child = os.fork()
        if child == 0:
            monkeypatch.undo()
            remove_abandoned_guests(tmp_path)
            os._exit(0)
        os.waitpid(child, 0)
        removed.append(child)

    def racing(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            if is_before and not removed:
                clean()
            answer = call(*arguments, **more)
            if not is_before and not removed:
                clean()
            return answer

        return called

    monkeypatch.setattr(name, racing(pkgutil.resolve_name(name)))
    folder, lock = make_guest_folder(tmp_path)
    monkeypatch.undo()
    assert removed
    (folder / "recording").write_bytes(b"kept")
    remove_abandoned_guests(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["recording"]
    os.close(lock)
    remove_abandoned_guests(tmp_path)
    assert list(tmp_path.iterdir()) == []
