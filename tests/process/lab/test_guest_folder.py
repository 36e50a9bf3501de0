"""Folders of guests in memory: those that nobody lives for are removed, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.lab.guest_folder import make_guest_folder, remove_abandoned_guests
from hardstone.targets.host_memory import remove_abandoned

RACERS, ROUNDS = 4, 300
# Each makes folders and removes abandoned ones at once: none may lose what it has locked.
RACE = f"""
import os, sys
from pathlib import Path
from hardstone.lab.guest_folder import make_guest_folder, remove_abandoned_guests
base = Path(sys.argv[1])
for _ in range({ROUNDS}):
    folder, lock = make_guest_folder(base)
    (folder / "recording").write_bytes(b"kept")
    remove_abandoned_guests(base)
    assert (folder / "recording").read_bytes() == b"kept"
    os.close(lock)
"""


def test_a_folder_without_a_lock_goes_and_what_is_linked_elsewhere_stays(tmp_path: Path) -> None:
    folder, lock = make_guest_folder(tmp_path)
    (folder / "recording").write_bytes(b"values")
    run = tmp_path / "hardstone-20260101T000000Z-abcdef-x"
    run.mkdir()
    os.link(folder / "recording", run / "1.rec")
    remove_abandoned_guests(tmp_path)
    assert (folder / "recording").exists()
    os.close(lock)
    remove_abandoned_guests(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [run.name]
    assert (run / "1.rec").read_bytes() == b"values"


def test_only_folders_of_this_kind_go(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    (tmp_path / "hardstone-lab-link").symlink_to(elsewhere)
    (tmp_path / "hardstone-lab-file").touch()
    (tmp_path / "hardstone-other").mkdir()
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned_guests(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_another_user_s_folder_stays(tmp_path: Path) -> None:
    folder, lock = make_guest_folder(tmp_path)
    os.close(lock)
    os.chown(folder, 65534, 65534)
    remove_abandoned_guests(tmp_path)
    assert folder.exists()


def test_the_next_command_removes_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_MEMORY_DIR", str(tmp_path))
    folder, lock = make_guest_folder(tmp_path)
    os.close(lock)
    remove_abandoned(tmp_path / "store" / "journals")
    assert not folder.exists()


def test_in_a_race_nobody_loses_a_folder_and_none_is_left(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(RACERS)]
    said = [racer.communicate(timeout=300)[1].decode() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * RACERS, said
    remove_abandoned_guests(tmp_path)
    assert list(tmp_path.iterdir()) == []
