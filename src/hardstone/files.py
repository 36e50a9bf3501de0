"""Files that may be anything, read with care; files that are written as a whole; locks on files;
TOML of anybody.

A folder of ours may hold anything under a name of ours: `open_regular` is the one way to read it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import stat
from pathlib import Path
from typing import Any, BinaryIO

from hardstone.errors import InputError

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space of your quota there",
    errno.EFBIG: "raise the limit on file sizes",
    errno.EROFS: "it is on a read-only file system: mount it writable",
    errno.EACCES: "give yourself access",
    errno.EPERM: "give yourself access",
    errno.ENOLCK: "it is on a file system without file locks: use a local one",
    errno.ENOMEM: "free some memory, or raise the limit: ulimit -v",
    errno.ENOTDIR: "move the file that is in the way",
    errno.EEXIST: "move the file that is in the way",
}


class OddFileError(OSError):
    """A path that should be a file is something else, or too large."""

    def __init__(self, problem: str) -> None:
        super().__init__(errno.EINVAL, problem)


def pause(seconds: float) -> None:
    """Waits without a call that sleeps: a filter of system calls may refuse those."""
    select.select([], [], [], seconds)


def take_lock(descriptor: int, *, is_shared: bool = False) -> bool:
    """Takes an exclusive flock, or a shared one, which others may have too; False where another
    holds it. The kernel releases it when the last descriptor is closed, or the process dies."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def remedy_of(error: OSError, elsewhere: str) -> str:
    """What to do about `error`; `elsewhere` says how to name another place."""
    if isinstance(error, OddFileError):
        return "move it away"
    return f"{_REMEDIES.get(error.errno or 0, 'check the disk')}, or {elsewhere}"


def is_memory_short(error: BaseException | None) -> bool:
    """Whether memory ran out, or the address space of a limit, also where a library was loaded."""
    while error is not None:
        is_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
        if isinstance(error, MemoryError) or is_system:
            return True
        if isinstance(error, ImportError) and "failed to map segment" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def check_regular(mode: int) -> None:
    """OddFileError unless `mode` is that of a file."""
    if not stat.S_ISREG(mode):
        raise OddFileError(f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")


def check_folder(path: Path) -> None:
    """OddFileError unless `path` is a folder; a link to one is not."""
    mode = path.lstat().st_mode
    if not stat.S_ISDIR(mode):
        raise OddFileError(f"it is {_KINDS.get(stat.S_IFMT(mode), 'a file')}, not a folder")


def open_checked(path: Path, flags: int) -> int:
    """A descriptor of a file that may be anybody's; a link at `path` is not followed.

    Never waits for a pipe, never touches a device: the kind is checked before and, since the name
    may have been given to another file, after. OddFileError for what is not a file.
    """
    with contextlib.suppress(FileNotFoundError):
        check_regular(path.lstat().st_mode)
    safe = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags | safe, 0o600)
    try:
        check_regular(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: Path, most_bytes: int) -> BinaryIO:
    """Opens a file for reading that may be anybody's.

    OddFileError for what is not a file (a link is not) or has more than `most_bytes`.
    """
    file = os.fdopen(open_checked(path, os.O_RDONLY), "rb")
    if os.fstat(file.fileno()).st_size > most_bytes:
        file.close()
        raise OddFileError(f"it is larger than {most_bytes} bytes")
    return file


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The content of a file that may be anybody's; errors as `open_regular`."""
    with open_regular(path, most_bytes) as file:
        return file.read(most_bytes)


def followed(path: Path) -> Path:
    """Where the links at `path` lead; never an error, also for links that go round in a circle."""
    return Path(os.path.realpath(path))


def is_folder(path: Path) -> bool:
    """Whether `path` is a folder; a link to one is not."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):  # ValueError: a NUL in a name that was read somewhere
        return False


def is_regular(path: Path, most_bytes: int) -> bool:
    """Whether `path` is a file of at most `most_bytes`; a link to one is not."""
    try:
        state = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size <= most_bytes


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of `data`. After an OSError a part of it may be in the file."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Puts on disk which names were added to `folder` or removed from it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int | None, *, is_durable: bool) -> None:
    """Puts `data` at `path` as a whole, or raises OSError and leaves what was there.

    With `mode` None the umask decides who may read it. Durable: also after a power cut either all
    of it is there or what was before; else the file may then be empty. A link at `path` is
    replaced, not followed.
    """
    # Part of a name only: all of it and what is added may be longer than a name can be.
    temporary = path.with_name(f".{path.name[:40]}.{os.urandom(4).hex()}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        try:
            write_all(descriptor, data)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if is_durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_folder(path.parent)


def regular_target(path: Path) -> Path:
    """The file that a report at `path` replaces, which may not exist yet.

    A rename replaces anything with that name, as root even a device. So links are resolved
    first, and InputError is raised unless the end is a regular file. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    # Both: a link such as /dev/stdout names a pipe that has no path of its own.
    is_there, is_target_there = _is_regular(path), _is_regular(target)
    if False in (is_there, is_target_there) or is_there != is_target_there:
        raise InputError(f"{path} is not a regular file", "name another file with -o")
    return target


def _is_regular(path: Path) -> bool | None:
    """None where nothing is."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return None


_MOST_PARTS = 64
# Parts are bare or in quotes. A search from the start of a word, with quotes of bounded length,
# takes time in proportion to the text.
_PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.){0,64}"|'[^'\n]{0,64}')"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")


def parse_toml(data: bytes) -> dict[str, Any]:
    """The document; ValueError (of what is no UTF-8 a UnicodeDecodeError) or RecursionError for
    anything else.

    The parser's time grows with the square of the parts of a dotted key: they are bounded first.
    """
    text = data.decode("utf-8")
    found = _LONG_KEY.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key with more than {_MOST_PARTS} parts (at line {line})")
    import tomllib

    return tomllib.loads(text)
