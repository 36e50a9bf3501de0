"""Disks that fail for real: a limit on the size of files, and small file systems."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

_NEW_MOUNTS, _OWN_FOLDER = 0x20000, 0x200  # CLONE_NEWNS, CLONE_FS
_RECURSIVE, _PRIVATE = 1 << 14, 1 << 18
_REMOUNT_READ_ONLY = 32 | 1
_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)
_BLOCK_BYTES = 4096


@contextlib.contextmanager
def files_up_to(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond that: EFBIG, after as much as there is room for."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def mounted(folder: Path, kind: str, options: str = "") -> Iterator[None]:
    """A file system on `folder` that only this thread, and what it starts, can see.

    It goes with the process, however that ends. Skips where nothing can be mounted.
    """
    if os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists():
        pytest.skip("mounting takes root, and namespaces")
    before = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    try:
        _mount(folder, kind, options)
        yield
        _call("umount2", os.fsencode(folder), _DETACH)
    finally:
        with contextlib.suppress(PermissionError):  # root without rights never left
            _call("unshare", _OWN_FOLDER)  # a thread may be left that shares it
            _call("setns", before, _NEW_MOUNTS)
        os.close(before)


def _mount(folder: Path, kind: str, options: str) -> None:
    try:
        _call("unshare", _NEW_MOUNTS)
        _call("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
        names = (b"none", os.fsencode(folder), kind.encode())
        _call("mount", *names, ctypes.c_ulong(0), options.encode())
    except PermissionError as error:
        pytest.skip(f"nothing can be mounted here: {error}")


def make_read_only(folder: Path) -> None:
    """A file system that was `mounted` on `folder`."""
    names = (None, os.fsencode(folder), None)
    _call("mount", *names, ctypes.c_ulong(_REMOUNT_READ_ONLY), None)


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class SmallDisk:
    """A file system of its own that can be filled up and freed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Not a block is left."""
        with self._ballast.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * _BLOCK_BYTES)

    def free(self) -> None:
        self._ballast.unlink()
