"""A second measurement waits for the first; a lock that cannot be made stops nothing."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from hardstone.targets.alone import measuring_alone

_HOLDER = """
import sys
from pathlib import Path
from hardstone.targets.alone import measuring_alone
with measuring_alone(lambda: False, lambda: None, print, Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def alone(lock: Path, waits: list[str], is_stopped: bool = False) -> AbstractContextManager[None]:
    return measuring_alone(lambda: is_stopped, lambda: waits.append("waits"), waits.append, lock)


@contextmanager
def holder_of(lock: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", _HOLDER, str(lock)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        yield holder


def test_a_second_one_waits_until_the_first_is_killed(tmp_path: Path) -> None:
    lock, waits = tmp_path / "lock", list[str]()
    with holder_of(lock) as holder:

        def kill() -> None:
            waits.append("waits")
            holder.kill()

        with measuring_alone(lambda: False, kill, waits.append, lock):
            assert waits == ["waits"]
            assert holder.wait() < 0
            with pytest.raises(BlockingIOError), lock.open() as third:
                fcntl.flock(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert waits == ["waits"]


def test_a_second_one_that_is_stopped_does_not_wait(tmp_path: Path) -> None:
    lock, waits = tmp_path / "lock", list[str]()
    with holder_of(lock) as holder:
        with alone(lock, waits, is_stopped=True):
            assert holder.poll() is None
        holder.kill()
    assert waits == ["waits"]


def test_a_lock_that_cannot_be_made_is_no_reason_to_wait(tmp_path: Path) -> None:
    waits = list[str]()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with alone(tmp_path / "link", waits):
        assert not (tmp_path / "elsewhere").exists()
    (said,) = waits
    assert str(tmp_path / "link") in said and "symbolic links" in said


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
