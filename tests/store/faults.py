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
_DETACH = 2
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
    libc = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *arguments: object) -> None:
        if getattr(libc, name)(*arguments):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    before = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    try:
        try:
            call("unshare", _NEW_MOUNTS)
            call("mount", None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
            flags = ctypes.c_ulong(0)
            call("mount", b"none", os.fsencode(folder), kind.encode(), flags, options.encode())
        except OSError as error:
            pytest.skip(f"nothing can be mounted here: {error}")
        try:
            yield
        finally:
            call("umount2", os.fsencode(folder), _DETACH)
    finally:
        call("unshare", _OWN_FOLDER)  # a thread may be left that shares it
        call("setns", before, _NEW_MOUNTS)
        os.close(before)


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
