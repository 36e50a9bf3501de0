"""A second measurement waits for the first; a lock that cannot be made stops nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hardstone.errors import TargetError
from hardstone.targets.alone import holder_text, measuring_alone

_HOLDER = """
import sys
from pathlib import Path
from hardstone.targets.alone import measuring_alone
with measuring_alone(lambda: False, print, print, Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def alone(
    lock: Path, told: list[str], is_stopped: bool = False, **more: Any
) -> AbstractContextManager[None]:
    own = lock.with_name("own")
    return measuring_alone(
        lambda: is_stopped, told.append, told.append, lock, own_lock_file=own, **more
    )


@contextmanager
def holder_of(lock: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", _HOLDER, str(lock)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        yield holder


def test_a_second_one_says_who_holds_it_and_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    lock, told = tmp_path / "lock", list[str]()
    with holder_of(lock) as holder:

        def kill(who: str) -> None:
            told.append(who)
            holder.kill()

        with measuring_alone(lambda: False, kill, told.append, lock):
            assert holder.wait() < 0
            with pytest.raises(BlockingIOError), lock.open() as third:
                fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (said,) = told
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert f"(pid {holder.pid} of user {user}: {sys.executable} -c ?import sys" in said


def test_a_second_one_that_is_stopped_does_not_wait(tmp_path: Path) -> None:
    lock, told = tmp_path / "lock", list[str]()
    with holder_of(lock) as holder:
        with alone(lock, told, is_stopped=True):
            assert holder.poll() is None
        holder.kill()
    assert len(told) == 1


def test_a_wait_has_the_limit_that_was_asked_for(tmp_path: Path) -> None:
    lock, told = tmp_path / "lock", list[str]()
    with holder_of(lock) as holder:
        with pytest.raises(TargetError) as caught, alone(lock, told, wait_s=0.0):
            pytest.fail("it is held")
        assert f"pid {holder.pid} of user" in caught.value.cause
        assert "--wait TIME" in caught.value.remedy
        holder.kill()
    with alone(lock, told, wait_s=0.0):
        assert len(told) == 1


def test_where_the_common_lock_cannot_be_taken_one_of_the_user_is(tmp_path: Path) -> None:
    """A link, of which nobody knows where it leads, and a file system that refuses locks."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    told = list[str]()
    with alone(tmp_path / "link", told):
        assert not (tmp_path / "elsewhere").exists()
        with alone(tmp_path / "link", told, is_stopped=True):
            pass
    first, waits, _ = told
    assert str(tmp_path / "link") in first and "symbolic links" in first
    assert "waits only for other measurements of this user" in first
    assert "Another hardstone measurement" in waits


def test_a_kernel_that_refuses_locks_is_no_reason_to_wait_or_to_fail(tmp_path: Path) -> None:
    def refused(descriptor: int) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    told = list[str]()
    with alone(tmp_path / "lock", told, flock=refused):
        (said,) = told
    assert said.count("cannot be taken: No locks available") == 2


def test_a_holder_that_handed_the_lock_on_is_said_among_thousands_of_locks(tmp_path: Path) -> None:
    lock, locks = tmp_path / "lock", tmp_path / "locks"
    with lock.open("wb") as file:
        state = os.fstat(file.fileno())
        place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
        other = "1: POSIX  ADVISORY  WRITE 10 00:01:1 0 EOF\n"
        locks.write_text(f"{other * 9000}2: FLOCK  ADVISORY  WRITE 77 {place} 0 EOF\n")
        assert "pid 77 took the lock and has ended" in holder_text(file.fileno(), tmp_path)
        locks.write_text("1: FLOCK  ADVISORY  WRITE x\n2: POSIX\n")
        assert holder_text(file.fileno(), tmp_path) == ""
        assert holder_text(file.fileno(), tmp_path / "none") == ""


def test_a_lock_that_is_there_is_not_made(tmp_path: Path) -> None:
    """Where fs.protected_regular is set, the kernel refuses root O_CREAT for it. It is released
    after an error."""
    shared, waits = tmp_path / "shared", list[str]()
    shared.mkdir()
    shared.chmod(0o1777)
    lock = shared / "lock"
    lock.touch()
    if os.geteuid() == 0:
        os.chown(shared, 65533, 65533)
        os.chown(lock, 65534, 65534)
    for _ in range(2):
        with pytest.raises(BlockingIOError), alone(lock, waits), lock.open() as second:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert waits == []
