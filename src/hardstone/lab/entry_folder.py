"""The folders kernels/NAME: each appears and goes as a whole, also when a process is killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hardstone.errors import InputError
from hardstone.files import is_folder, one_line, sync_folder
from hardstone.lab.lab_folder import lab_folder, lab_lock
from hardstone.lab.settings import NAME

_OLD_SUFFIX = ".old"  # of names that begin with a dot, as no kernel's does


def check_name(name: str) -> None:
    """InputError unless `name` may be that of a kernel: it becomes the name of a folder."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"'{one_line(name)[:80]}' cannot be the name of a kernel",
            "use small letters, digits and . _ @ + -, at most 61, a letter or digit first",
        )


def entry_folder(name: str) -> Path:
    """The folder of the kernel `name`, which may be missing; InputError for a bad name."""
    check_name(name)
    return lab_folder() / "kernels" / name


def entry_names() -> list[str]:
    """Names of all entries, usable or not, sorted. OSError if the folder cannot be read."""
    folder = lab_folder() / "kernels"
    for name in _listed(folder):
        if name.startswith(".") and NAME.fullmatch(name[1:].removesuffix(_OLD_SUFFIX)):
            put_back(folder / name[1:].removesuffix(_OLD_SUFFIX))
    return sorted(filter(NAME.fullmatch, _listed(folder)))


def _listed(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []


def exchange(fresh: Path, folder: Path) -> None:
    """Puts `fresh` in the place of `folder`, which may be missing. OSError: all is as before.

    Whoever looks after a kill in between must call `put_back` first.
    """
    old = _old(folder)
    with lab_lock():
        folder.parent.mkdir(exist_ok=True)
        _settle(folder)
        if os.path.lexists(folder):
            folder.rename(old)
        try:
            fresh.rename(folder)
        except OSError:
            if os.path.lexists(old):
                old.rename(folder)
            raise
        sync_folder(folder.parent)
        _remove(old)


def put_back(folder: Path) -> None:
    """Ends what a killed process had begun: the old entry is in its place, or the new one."""
    if os.path.lexists(_old(folder)):
        with lab_lock():
            _settle(folder)


def _settle(folder: Path) -> None:
    old = _old(folder)
    if os.path.lexists(folder):
        _remove(old)
    elif os.path.lexists(old):
        old.rename(folder)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{_OLD_SUFFIX}")


def _remove(path: Path) -> None:
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
