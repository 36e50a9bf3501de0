"""What a guest boots into: the probe, busybox, the drivers that it needs, nothing else."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from hardstone.files import followed, is_regular, read_regular, replace_file
from hardstone.lab.archive import Entry, folder, make_archive, plain, program
from hardstone.lab.extra_device import loaded_modules
from hardstone.lab.kernels import Kernel
from hardstone.lab.lab_folder import lab_errors, lab_folder
from hardstone.lab.programs import Programs

_FOLDERS = ("bin", "boot", "dev", "etc", "modules", "proc", "run", "sys", "tmp", "var")
_CONSOLE = Entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
_INIT = Path(__file__).with_name("init.sh")
_USERS = b"root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
KEPT_COUNT = 16
_MOST_BYTES = 256 * 2**20  # of a program or module


def initramfs_for(kernel: Kernel, programs: Programs, device: str | None = None) -> Path:
    """The archive for this kernel, from the cache if it is there; TargetError where it cannot be
    written. The drivers of `device` move nothing in guests without it."""
    archive = make_archive(_entries(kernel, programs, device))
    path = lab_folder() / "initramfs" / f"{hashlib.sha256(archive).hexdigest()[:32]}.cpio"
    with lab_errors("write the initramfs to", path.parent):
        if not (is_regular(path, len(archive)) and _read(path) == archive):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, archive, 0o644, is_durable=False)
            _forget_old(path)
        os.utime(path)  # the one in use is the newest
    return path


def _read(path: Path) -> bytes:
    return read_regular(followed(path), _MOST_BYTES)


def _entries(kernel: Kernel, programs: Programs, device: str | None) -> list[Entry]:
    config = [] if kernel.config is None else [kernel.config]
    modules = loaded_modules(kernel, device)
    return [
        *map(folder, _FOLDERS),
        _CONSOLE,
        program("init", _INIT.read_bytes()),
        plain("etc/passwd", _USERS),
        program("bin/busybox", _read(kernel.busybox)),
        program("bin/hardstone-guest", _read(programs.guest)),
        program("bin/hardstone-probe", _read(programs.probe)),
        *(plain(f"boot/config-{kernel.release}", _read(path)) for path in config),
        *(plain(f"modules/{path.name}", _read(path)) for path in modules),
    ]


def _forget_old(newest: Path) -> None:
    """Each build of the probe makes a new archive."""
    found = sorted(newest.parent.glob("*.cpio"), key=lambda path: path.stat().st_mtime)
    for path in found[:-KEPT_COUNT]:
        path.unlink(missing_ok=True)
