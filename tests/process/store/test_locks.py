from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.store import StoreError
from hardstone.store.locks import exclusive, try_lock

HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_lock_is_held_by_one_until_it_is_released(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    assert try_lock(tmp_path / "lock") is None
    lock.release()
    lock.release()
    again = try_lock(tmp_path / "lock")
    assert again is not None
    again.release()


def test_the_kernel_releases_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        assert try_lock(tmp_path / "lock") is None
        owner.kill()
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    lock.release()


def test_a_lock_that_stays_taken_is_an_error_and_no_hang(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path / "lock"),
        pytest.raises(StoreError, match="busy"),
        exclusive(tmp_path / "lock", wait_s=0.05),
    ):
        pass


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        try_lock(tmp_path / "none" / "lock")
