"""Programs of a guest, kept as built: one folder for each state of their source and compiler."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hardstone.errors import TargetError
from hardstone.lab.elf import check_static
from hardstone.lab.lab_folder import lab_folder

_UNUSED_S = 7 * 24 * 3600


@dataclass(frozen=True)
class Programs:
    """Executables that need no shared library: the probe, and process 1 of a guest."""

    probe: Path
    guest: Path

    def check(self, arch: str) -> None:
        """TargetError unless both are there, for `arch`, and static."""
        check_static(self.probe, arch)
        check_static(self.guest, arch)


def kept_programs(arch: str, key: str, build: Callable[[Path], Programs]) -> Programs:
    """The programs for `arch` under `key`, built if they are missing or damaged.

    `build` puts them into the folder that it is given; they appear whole or not at all. The key
    names everything that they are made of: a probe of another state would give wrong figures.
    """
    folder = lab_folder() / "programs" / arch
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder):
            return _kept(folder / key, arch, build)
    except OSError as error:
        raise TargetError(
            f"the programs for {arch} cannot be kept in {folder}: {error.strerror or error}",
            "make room, or name another folder in HARDSTONE_LAB_DIR",
        ) from error


def _kept(place: Path, arch: str, build: Callable[[Path], Programs]) -> Programs:
    try:
        programs = Programs(place / "hardstone-probe", place / "hardstone-guest")
        programs.check(arch)
    except TargetError:  # missing, or damaged
        _drop_unused(place.parent)
        _build_whole(place, build)
    os.utime(place)
    return programs


def _build_whole(place: Path, build: Callable[[Path], Programs]) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
    try:
        built = build(fresh)
        for program in (built.probe, built.guest):
            with program.open("rb") as file:
                os.fsync(file.fileno())
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _drop_unused(folder: Path) -> None:
    """Former states, and what a killed build left: those that nobody has used for a week."""
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            if entry.lstat().st_mtime < time.time() - _UNUSED_S:
                shutil.rmtree(entry)
